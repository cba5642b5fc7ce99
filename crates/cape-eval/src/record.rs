//! The record of one release: a line of JSON, enough to make every table anew.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::measure::{Attack, Score};

/// The label under which attacks on protected words alone are recorded.
pub const PROTECTED_WORDS: &str = "protected words";
/// The label under which attacks on all labelled spans together are recorded.
pub(crate) const LABELLED_SPANS: &str = "labelled spans";

/// One prompt released once.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which cell of the grid it belongs to.
    #[serde(flatten)]
    pub cell: Cell,
    /// The number of the prompt in its data, from 0.
    pub prompt: usize,
    /// The seed of its draws, and the number of its repetition.
    pub seed: u64,
    /// How many tokens the prompt has.
    pub tokens: usize,
    /// How many of them were drawn for.
    pub sensitive: usize,
    /// How many of those came out as they were.
    pub unchanged: usize,
    /// ROUGE-L F1 of original and release, 0 to 1.
    pub rouge_l: f64,
    /// Cosine of the sentence embeddings of both.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub similarity: Option<f64>,
    /// How often attacks found a word.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub attacks: BTreeMap<Attack, Hits>,
    /// ROUGE-L of the prompt that an attack guessed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub guessed: BTreeMap<Attack, f64>,
    /// Attacks on labelled spans, by label and attack.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub spans: BTreeMap<String, BTreeMap<Attack, Hits>>,
    /// For mechanisms with levels: how many words are protected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub protected: Option<Protected>,
    /// How good a chat model's answers are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub scores: BTreeMap<Score, f64>,
    /// Answers of a chat model that could not be read, by task.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub unread: BTreeMap<String, u32>,
    /// Whether a chat model was asked about it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub asked: bool,
    /// How long the release took.
    pub seconds: f64,
    /// The release itself, where it is wanted as an example.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub released: Option<String>,
}

impl fmt::Debug for Record {
    /// Which it is; not what was released.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { mechanism, epsilon, .. } = &self.cell;
        write!(f, "Record({mechanism}, {epsilon}, prompt {}, seed {})", self.prompt, self.seed)
    }
}

/// A cell of the grid: everything but prompt and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The version of this program.
    pub version: String,
    /// The data's name.
    pub data: String,
    /// The mechanism's name in tables and charts: `cape`, `cape-paper`, `santext+`, …
    pub mechanism: String,
    /// ε as it was asked for.
    pub epsilon: f64,
    /// The ε that is proven for any two tokens in plain local differential privacy, and of words for any two
    /// protected ones; none where nothing is.
    pub proven: Option<f64>,
    /// The device model, or the vectors, by checksum.
    pub model: String,
    /// Every other setting.
    pub settings: BTreeMap<String, Value>,
}

/// How often something was found: the true token by an attack, or a protected word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hits {
    /// How often it was found.
    pub found: u32,
    /// At how many positions it was looked for.
    pub of: u32,
}

/// How many words a mechanism with levels protects; stopwords are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protected {
    /// Among the words that attacks count.
    pub words: Hits,
    /// Among those outside of labelled spans.
    #[serde(default)]
    pub elsewhere: Hits,
    /// Among all in labelled spans, numbers and addresses too, by label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub spans: BTreeMap<String, Hits>,
}

impl std::ops::AddAssign for Hits {
    fn add_assign(&mut self, other: Self) {
        self.found += other.found;
        self.of += other.of;
    }
}
