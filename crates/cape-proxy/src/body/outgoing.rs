//! A body without its texts: they are put in once they are perturbed.

use std::fmt;

use serde_json::{Map, Value};

/// A body to be sent, and the texts that must be perturbed first.
pub(crate) struct Outgoing {
    pub(crate) root: Node,
    /// The texts in their order.
    pub(crate) texts: Vec<String>,
    /// What users wrote, as they wrote it: for the extractor alone.
    pub(crate) prompt: String,
}

/// A part of the body.
pub(crate) enum Node {
    /// As it is sent.
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
    /// The text of this index.
    Slot(usize),
}

impl Outgoing {
    /// The body with a text for each of its texts.
    pub(crate) fn fill(&self, texts: &[impl AsRef<str>]) -> Value {
        assert_eq!(self.texts.len(), texts.len(), "one text for each");
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
        write!(f, "Outgoing({})", self.texts.len())
    }
}
