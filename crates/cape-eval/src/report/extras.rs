//! Sections beside the points.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::measure::Measure;
use crate::summary::Point;

/// Sections that are left out where there is nothing in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Extras {
    /// Where tokens go in many draws.
    pub mapping: Vec<Mapping>,
    /// The paper's example "This is a good book."
    pub book: Vec<BookToken>,
    /// How probability is spread over the ranks.
    pub tails: Vec<Tail>,
    /// Points with one setting changed.
    pub ablations: Vec<Ablation>,
    /// Prompts and their releases.
    pub examples: Vec<Example>,
    /// The costs in time and memory.
    pub efficiency: Vec<Efficiency>,
    /// The values of measures where nothing is left.
    pub floors: Vec<Floor>,
    /// Paragraphs: what differs from the paper, and other caveats.
    pub notes: Vec<String>,
}

/// The value of a measure where nothing is left of a prompt, or an answer is guessed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// The data's name.
    pub data: String,
    /// The measure.
    pub measure: Measure,
    /// The case that it is the value of.
    pub name: String,
    /// The value, 0 to 1.
    pub value: f64,
}

/// Where tokens go in 1,000 draws each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// The mechanism's name, as in the points.
    pub mechanism: String,
    /// ε as it was asked for.
    pub epsilon: f64,
    /// S_t for each token: how many different outputs there were.
    pub sizes: Vec<f64>,
    /// N_t for each token: in which share of the draws it stayed the same, 0 to 1.
    pub kept: Vec<f64>,
}

/// A token of the example prompt and how all candidates compare with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BookToken {
    /// The token.
    pub token: String,
    /// The model's logits of all candidates at its position.
    pub logits: Vec<f32>,
    /// The distances of all candidates from it.
    pub distances: Vec<f32>,
}

/// How much probability the best candidates have together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// Which way of drawing it is.
    pub name: String,
    /// Its ε.
    pub epsilon: f64,
    /// Ranks, and the probability of that rank and all better ones, 0 to 1.
    pub cumulative: Vec<(f64, f64)>,
}

/// A point with one setting changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ablation {
    /// The setting: `λ_L` or `N_b`.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The measures.
    pub point: Point,
}

/// A prompt and what became of it.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// The prompt.
    pub original: String,
    /// Its releases.
    pub rows: Vec<ExampleRow>,
}

/// One release of an example.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExampleRow {
    /// The mechanism's name.
    pub mechanism: String,
    /// ε as it was asked for.
    pub epsilon: f64,
    /// The released text.
    pub released: String,
}

impl fmt::Debug for Example {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Example({} releases)", self.rows.len())
    }
}

impl fmt::Debug for ExampleRow {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExampleRow({}, {})", self.mechanism, self.epsilon)
    }
}

/// The cost of a mechanism.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Efficiency {
    /// The mechanism's name.
    pub mechanism: String,
    /// Seconds until the first prompt can be released.
    pub set_up_s: f64,
    /// Milliseconds for a prompt.
    pub prompt_ms: f64,
    /// Milliseconds for a token, kept ones counted.
    pub token_ms: f64,
    /// Megabytes of memory at most, set-up included.
    pub memory_mb: f64,
}
