//! The policy of the operator: the section `[proxy.policy]` of `cape.toml`.

use std::sync::Arc;

use serde::Deserialize;

use super::system::SystemLines;

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

/// The treatment of the results of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Results {
    /// Their words are drawn anew.
    Perturb,
    /// JSON keeps its structure and its keys, and each value is drawn anew; the rest is text.
    Json,
    /// They are sent unchanged.
    Pass,
    /// The request is refused.
    Block,
}

/// Declares the policy, and the changes to one that a file asks for.
macro_rules! policy {
    ($($(#[$about:meta])* $field:ident: $type:ty = $default:expr,)*) => {
        /// Decides what may leave. The default sends no text unperturbed.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Policy {
            $($(#[$about])* pub $field: $type,)*
            /// The lines of system prompts that are sent unchanged.
            pub system_lines: Arc<SystemLines>,
            /// Whether earlier answers were rewritten with private words: code and addresses in them do
            /// not pass.
            pub rewritten: bool,
        }

        impl Default for Policy {
            fn default() -> Self {
                Self { $($field: $default,)* system_lines: Arc::default(), rewritten: false }
            }
        }

        /// The section `[proxy.policy]` of a file: what it says, and nothing of what it leaves out.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub struct PolicyChanges {
            $($(#[$about])* pub $field: Option<$type>,)*
        }

        impl PolicyChanges {
            /// These, and the others where these say nothing.
            #[must_use]
            pub fn or(self, others: Self) -> Self {
                Self { $($field: self.$field.or(others.$field),)* }
            }

            /// The policy that they make of the default.
            #[must_use]
            pub fn policy(self) -> Policy {
                let Policy { $($field,)* system_lines, rewritten } = Policy::default();
                Policy { $($field: self.$field.unwrap_or($field),)* system_lines, rewritten }
            }
        }
    };
}

policy! {
    /// The texts of users.
    user: Action = Action::Perturb,
    /// Earlier answers, which a conversation sends again; rewritten ones hold private words. To
    /// perturb is to send upstream's own words where they are remembered.
    assistant: Action = Action::Perturb,
    /// System prompts and instructions, but for the lines that the operator listed.
    system: Action = Action::Block,
    /// Strings and numbers in the arguments of tool calls.
    tool_calls: Calls = Calls::Perturb,
    /// Results of tools.
    tool_results: Results = Results::Perturb,
    /// Fenced and inline code in a text that is perturbed.
    code: Action = Action::Perturb,
    /// Web addresses in a text that is perturbed.
    urls: Action = Action::Perturb,
    /// Descriptions of tools.
    tools: Gate = Gate::Block,
    /// Schemas of answers.
    response_format: Gate = Gate::Block,
    /// Stop sequences with letters or digits in them; others always pass.
    stop: Gate = Gate::Block,
    /// Names of tools, and keys of their arguments and results.
    tool_names: Names = Names::Declared,
    /// Keys of results that pass beside those that tools declare.
    result_keys: Vec<String> = Vec::new(),
    /// Marks of the client: `user`, `metadata`, names of participants.
    identity: Removal = Removal::Strip,
    /// Images, sound and files.
    media: Removal = Removal::Block,
    /// The models that may be asked; all if empty.
    models: Vec<String> = Vec::new(),
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
            Field::ToolResults => match self.tool_results {
                Results::Perturb | Results::Json => Action::Perturb,
                Results::Pass => Action::Pass,
                Results::Block => Action::Block,
            },
        }
    }

    /// Whether a model may be asked.
    pub(crate) fn allows(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|allowed| allowed == model)
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
        let read = |json: &str| serde_json::from_str::<PolicyChanges>(json);
        assert_eq!(read("{}").unwrap().policy(), Policy::default());
        let policy = read(r#"{"system": "pass", "tool-results": "json"}"#).unwrap().policy();
        assert_eq!((policy.system, policy.tool_results), (Action::Pass, Results::Json));
        for wrong in [
            r#"{"sytem": "pass"}"#,
            r#"{"tools": "perturb"}"#,
            r#"{"media": "pass"}"#,
            r#"{"system-lines": []}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_changes_what_it_names_and_nothing_else() {
        let read = |json: &str| serde_json::from_str::<PolicyChanges>(json).unwrap();
        let preset = read(r#"{"system": "pass", "tools": "pass"}"#);
        let policy = read(r#"{"system": "perturb"}"#).or(preset).policy();
        let want = Policy { system: Action::Perturb, tools: Gate::Pass, ..Policy::default() };
        assert_eq!(policy, want);
    }
}
