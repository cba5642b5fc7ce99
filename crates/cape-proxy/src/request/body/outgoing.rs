//! A body without its texts, which are put in once they are perturbed.

use std::fmt;

use cape_ledger::{Conversation, Place};
use serde_json::{Map, Number, Value, json};

use crate::request::policy::Field;

/// A body to be sent, and the texts that must be perturbed first.
pub(crate) struct Outgoing {
    pub(crate) root: Node,
    /// All texts in their order, which tells where in which conversation each stands.
    pub(crate) said: Vec<BodyText>,
    /// Descriptions of tools, schemas and stop sequences, which are sent as they came.
    pub(crate) beside: Vec<String>,
    /// The system prompts: for the operator's list alone.
    pub(crate) system: Vec<String>,
    /// The true texts of users: for the extractor alone.
    pub(crate) prompt: String,
}

/// A text of the body.
pub(crate) struct BodyText {
    /// The field of the policy that it falls under.
    pub(crate) field: Field,
    pub(crate) text: String,
    /// Whether it is sent unchanged.
    pub(crate) passes: bool,
    /// Whether it begins a conversation: it follows from nothing that was said before.
    pub(crate) begins: bool,
    /// Whether it is a block that only upstream can have made: sent if it did, else left out.
    pub(crate) own: bool,
}

impl BodyText {
    /// Its place in a conversation. What follows does not depend on a block of upstream's own, which
    /// clients may leave out.
    pub(crate) fn place(&self, conversation: &mut Conversation) -> Place {
        if self.own {
            conversation.clone().next("own", &self.text)
        } else {
            conversation.next(self.field.key(), &self.text)
        }
    }
}

/// A part of the body.
pub(crate) enum Node {
    /// A value that is sent unchanged.
    Fixed(Value),
    /// A string of parts.
    Text(Vec<Part>),
    /// A number, whose perturbed text has this index.
    Number(usize),
    /// A block of upstream's own, whose text of this index is empty where it is left out.
    Own(usize),
    /// JSON to be written in a string.
    InString(Box<Node>),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// A part of a string.
pub(crate) enum Part {
    Fixed(String),
    /// The perturbed text of this index.
    Slot(usize),
}

impl Outgoing {
    /// The texts that must be perturbed, in their order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.said.iter().filter(|said| !said.passes).map(|said| said.text.as_str())
    }

    /// The body with a text for each of its texts.
    pub(crate) fn fill(&self, texts: &[impl AsRef<str>]) -> Value {
        assert_eq!(self.texts().count(), texts.len(), "one text for each");
        self.root.fill(texts)
    }
}

impl Node {
    fn fill(&self, texts: &[impl AsRef<str>]) -> Value {
        match self {
            Self::Fixed(value) => value.clone(),
            Self::Text(parts) => Value::String(
                parts
                    .iter()
                    .map(|part| match part {
                        Part::Fixed(text) => text.as_str(),
                        Part::Slot(i) => texts[*i].as_ref(),
                    })
                    .collect(),
            ),
            Self::Number(i) => number(texts[*i].as_ref()),
            Self::InString(node) => Value::String(node.fill(texts).to_string()),
            Self::Own(i) => serde_json::from_str(texts[*i].as_ref()).unwrap_or_default(),
            Self::List(nodes) => {
                let left = |node: &&Self| match node {
                    Self::Own(i) => !texts[*i].as_ref().is_empty(),
                    _ => true,
                };
                let filled = nodes.iter().filter(left).map(|node| node.fill(texts));
                // services refuse a message of which nothing is left
                filled
                    .filter(|item| item.get("role").is_none() || item["content"] != json!([]))
                    .collect()
            }
            Self::Object(fields) => {
                let fields = fields.iter().map(|(name, node)| (name.clone(), node.fill(texts)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

/// A released number as JSON. A mechanism on tokens may release anything: its digits stand for it then,
/// so that a number stays a number.
fn number(released: &str) -> Value {
    let digits = || released.chars().filter(char::is_ascii_digit).take(15).collect::<String>();
    let number = serde_json::from_str::<Number>(released.trim()).ok();
    Value::Number(number.unwrap_or_else(|| digits().parse::<u64>().unwrap_or(0).into()))
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outgoing({})", self.said.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_a_number_whatever_is_released() {
        for (released, want) in [
            ("57", json!(57)),
            ("999912345678901", json!(999_912_345_678_901_u64)),
            ("1.5", json!(1.5)),
            ("movie", json!(0)),
            ("9am, 30", json!(930)),
            ("1e999", json!(1999)),
            ("", json!(0)),
            ("00123456789012345678901234567890", json!(1_234_567_890_123_u64)),
        ] {
            assert_eq!(number(released), want, "{released}");
        }
    }
}
