//! A body without its texts, which are put in once they are perturbed.

use std::fmt;

use serde_json::{Map, Value};

use crate::request::policy::Field;

/// A body to be sent, and the texts that must be perturbed first.
pub(crate) struct Outgoing {
    pub(crate) root: Node,
    /// All texts in their order, which tells where in which conversation each stands.
    pub(crate) said: Vec<BodyText>,
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
}

/// A part of the body.
pub(crate) enum Node {
    /// A value that is sent unchanged.
    Fixed(Value),
    /// A string of parts.
    Text(Vec<Part>),
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
            Self::InString(node) => Value::String(node.fill(texts).to_string()),
            Self::List(nodes) => nodes.iter().map(|node| node.fill(texts)).collect(),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(name, node)| (name.clone(), node.fill(texts)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outgoing({})", self.said.len())
    }
}
