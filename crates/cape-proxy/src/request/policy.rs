//! The policy of the operator: the section `[proxy.policy]` of `cape.toml`.

use serde::Deserialize;

/// The treatment of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Its words are drawn anew.
    Perturb,
    /// It is sent unchanged.
    Pass,
    /// The request is refused.
    Block,
}

/// The treatment of the arguments of tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// Their strings are drawn anew, unless they are upstream's own.
    Perturb,
    /// The same, and on their way to the client's tools they get the user's names.
    Restore,
    /// They are sent unchanged.
    Pass,
    /// The request is refused.
    Block,
}

/// The treatment of something that cannot be perturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// It is sent unchanged.
    Pass,
    /// The request is refused.
    Block,
}

/// The treatment of something that the service can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Removal {
    /// It is left out.
    Strip,
    /// The request is refused.
    Block,
}

/// The names of tools and of their arguments that are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// Those that the request's own tools declare, if these pass.
    Declared,
    /// All.
    Pass,
}

/// Decides what may leave. The default sends no text unperturbed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Policy {
    /// The texts of users.
    pub user: Action,
    /// Earlier answers, which a conversation sends again; rewritten ones hold private words. To
    /// perturb is to send upstream's own words where they are remembered.
    pub assistant: Action,
    /// System prompts and instructions.
    pub system: Action,
    /// Strings in the arguments of tool calls.
    pub tool_calls: Calls,
    /// Results of tools.
    pub tool_results: Action,
    /// Fenced and inline code in a text that is perturbed.
    pub code: Action,
    /// Web addresses in a text that is perturbed.
    pub urls: Action,
    /// Descriptions of tools.
    pub tools: Gate,
    /// Schemas of answers.
    pub response_format: Gate,
    /// Stop sequences with letters or digits in them; others always pass.
    pub stop: Gate,
    /// Numbers and booleans in tool calls and results.
    pub tool_values: Gate,
    /// Names of tools, and keys of their arguments and results.
    pub tool_names: Names,
    /// Marks of the client: `user`, `metadata`, names of participants.
    pub identity: Removal,
    /// Images, sound and files.
    pub media: Removal,
    /// The models that may be asked; all if empty.
    pub models: Vec<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            user: Action::Perturb,
            assistant: Action::Perturb,
            system: Action::Block,
            tool_calls: Calls::Perturb,
            tool_results: Action::Perturb,
            code: Action::Perturb,
            urls: Action::Perturb,
            tools: Gate::Block,
            response_format: Gate::Block,
            stop: Gate::Block,
            tool_values: Gate::Block,
            tool_names: Names::Declared,
            identity: Removal::Strip,
            media: Removal::Block,
            models: Vec::new(),
        }
    }
}

/// The kind of a text, as the policy names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    User,
    Assistant,
    System,
    ToolCalls,
    ToolResults,
}

impl Policy {
    pub(crate) fn action(&self, field: Field) -> Action {
        match field {
            Field::User => self.user,
            Field::Assistant => self.assistant,
            Field::System => self.system,
            Field::ToolCalls => match self.tool_calls {
                Calls::Perturb | Calls::Restore => Action::Perturb,
                Calls::Pass => Action::Pass,
                Calls::Block => Action::Block,
            },
            Field::ToolResults => self.tool_results,
        }
    }
}

impl Field {
    /// Its key in the policy.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::ToolCalls => "tool-calls",
            Self::ToolResults => "tool-results",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_and_values_are_errors() {
        let read = |json: &str| serde_json::from_str::<Policy>(json);
        assert_eq!(read("{}").unwrap(), Policy::default());
        let policy = read(r#"{"system": "pass", "tool-names": "pass"}"#).unwrap();
        assert_eq!((policy.system, policy.tool_names), (Action::Pass, Names::Pass));
        for wrong in [r#"{"sytem": "pass"}"#, r#"{"tools": "perturb"}"#, r#"{"media": "pass"}"#] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
