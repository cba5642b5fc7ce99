//! How similar in meaning texts are to the prompts of some data.

use cape_models::{SentenceEncoder, cosine};

use crate::Result;
use crate::data::Data;

/// A sentence encoder, and the vectors of all prompts.
pub struct Meaning {
    encoder: SentenceEncoder,
    originals: Vec<Vec<f32>>,
}

impl Meaning {
    /// Encodes these prompts.
    pub fn new(encoder: SentenceEncoder, data: &Data) -> Result<Self> {
        let texts: Vec<&str> = data.items.iter().map(|item| item.text.as_str()).collect();
        let originals = encoder.encode(&texts)?;
        Ok(Self { encoder, originals })
    }

    /// The vectors of other texts.
    pub(crate) fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(self.encoder.encode(texts)?)
    }

    /// The cosine of a prompt, by its number, with each vector of another text.
    pub(crate) fn similarity(&self, prompt: usize, vector: &[f32]) -> f64 {
        cosine(&self.originals[prompt], vector)
    }
}
