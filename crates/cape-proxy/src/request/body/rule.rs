//! The language of the tables.

use serde_json::Value;

use crate::request::policy::Field;

/// A field and what may stand there.
pub(crate) type Entry = (&'static str, Rule);

/// The kind of an object that has none of the kinds before: its own table says which there are.
pub(crate) const OTHER: &str = "*";

/// What may stand in a place of a body, and what becomes of it.
pub(crate) enum Rule {
    /// True or false.
    Flag,
    /// An integer in this range.
    Integer(i64, i64),
    /// A number in this range, rounded to four decimals.
    Number(f64, f64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of a model.
    Model,
    /// An id that is used within the request alone: it is numbered anew.
    Id(&'static str),
    /// The id of an earlier answer, which the service made.
    ResponseId,
    /// The name of a tool.
    ToolName,
    /// A text.
    Text(Field),
    /// JSON whose strings and numbers are texts.
    Tree(Field),
    /// The arguments of a tool call: JSON in a string; what is no JSON is a text.
    Arguments,
    /// The result of a tool: a text, or JSON in a string.
    ToolResult,
    /// A stop sequence.
    Stop,
    /// The description of a tool: whole or not at all.
    Tool,
    /// A tool that the service has and runs itself: like descriptions of tools, but with known fields alone.
    ServiceTool(&'static [Entry]),
    /// A domain of the web that a tool of the service may or may not visit.
    Domain,
    /// The schema of an answer: whole or not at all.
    Schema,
    /// Who asks.
    Identity,
    /// An image, a sound, a file.
    Media,
    /// A block that the service signed or encrypted, and can do without: these fields of it are sent back if
    /// upstream gave them in this place, else it is left out.
    Own(&'static [&'static str]),
    /// Left out, whatever it is.
    Strip,
    /// A list.
    List(&'static Rule),
    /// A list of texts that have nothing to do with one another: none follows from the one before.
    Each(&'static Rule),
    /// An object with these fields and no others.
    Object(&'static [Entry]),
    /// An object whose kind is told by a field.
    By(&'static str, &'static [Entry]),
    /// Whichever of these fits the kind of JSON value.
    Either(&'static [Rule]),
}

impl Rule {
    /// Whether it is about this kind of JSON value.
    pub(crate) fn takes(&self, value: &Value) -> bool {
        match self {
            Self::Flag => value.is_boolean(),
            Self::Integer(..) | Self::Number(..) => value.is_number(),
            Self::Word(_)
            | Self::Model
            | Self::Id(_)
            | Self::ResponseId
            | Self::ToolName
            | Self::Text(_)
            | Self::Arguments
            | Self::ToolResult
            | Self::Domain
            | Self::Stop => value.is_string(),
            Self::List(_) | Self::Each(_) => value.is_array(),
            Self::Object(_)
            | Self::By(..)
            | Self::Tool
            | Self::ServiceTool(_)
            | Self::Schema
            | Self::Own(_) => value.is_object(),
            Self::Tree(_) | Self::Identity | Self::Media | Self::Strip => true,
            Self::Either(rules) => rules.iter().any(|rule| rule.takes(value)),
        }
    }

    /// What it takes, in words.
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Flag => "true or false".into(),
            Self::Integer(min, max) => format!("an integer from {min} to {max}"),
            Self::Number(min, max) => format!("a number from {min} to {max}"),
            Self::Word(words) => format!("one of: {}", words.join(", ")),
            Self::Model => "the name of a model: letters, digits and ._:/@-, at most 128".into(),
            Self::Id(_) => "an id, a string".into(),
            Self::ResponseId => "resp_ and 32 to 64 hexadecimal digits".into(),
            Self::ToolName => "the name of a tool: letters, digits, _ and -, at most 64".into(),
            Self::Text(_) | Self::Arguments | Self::ToolResult | Self::Stop => "a string".into(),
            Self::Domain => "a domain: letters, digits and ._*/-, at most 128".into(),
            Self::List(_) | Self::Each(_) => "a list".into(),
            Self::Object(_) | Self::Tool | Self::ServiceTool(_) | Self::Schema | Self::Own(_) => {
                "an object".into()
            }
            Self::By(tag, entries) => {
                let kinds = entries.iter().map(|(kind, _)| *kind);
                let kinds: Vec<&str> =
                    kinds.filter(|kind| !kind.is_empty() && *kind != OTHER).collect();
                format!("an object whose {tag} is one of: {}", kinds.join(", "))
            }
            Self::Tree(_) | Self::Identity | Self::Media | Self::Strip => "any value".into(),
            Self::Either(rules) => {
                let each: Vec<String> = rules.iter().map(Self::expected).collect();
                each.join("; or ")
            }
        }
    }
}
