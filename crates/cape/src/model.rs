//! What a device model gives: one logit per vocabulary entry at a position it does not see.

use crate::Result;
use crate::text::TokenId;
use crate::utility::Calibration;
use crate::vocab::Vocab;

/// A small language model on the user's machine.
pub trait LanguageModel: Send + Sync {
    /// Its vocabulary.
    fn vocab(&self) -> &Vocab;

    /// Its input embeddings, one row per vocabulary entry.
    fn embeddings(&self) -> &Embeddings;

    /// The public constants that squash its logits.
    fn calibration(&self) -> Calibration;

    /// What stands for a token that must not be seen.
    fn mask(&self) -> TokenId;

    /// How many tokens of a prompt it can see at once.
    fn window(&self) -> usize;

    /// The ids the model is really given for one position: special tokens added, the position
    /// masked; and where the position is among them.
    fn input(&self, ids: &[TokenId], position: usize) -> (Vec<TokenId>, usize);

    /// One row of logits per position, one logit per vocabulary entry; row i does not depend on
    /// the token at `positions[i]`. `ids` has at most `window()` tokens.
    fn logits(&self, ids: &[TokenId], positions: &[usize]) -> Result<Logits>;
}

/// Rows of logits.
#[derive(Clone)]
pub struct Logits {
    data: Vec<f32>,
    vocab: usize,
}

impl Logits {
    /// Rows of `vocab` numbers each.
    ///
    /// # Panics
    /// If the data are not whole rows.
    #[must_use]
    pub fn new(data: Vec<f32>, vocab: usize) -> Self {
        assert!(vocab > 0 && data.len().is_multiple_of(vocab), "whole rows");
        Self { data, vocab }
    }

    /// The row of the i-th position asked for.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.vocab..][..self.vocab]
    }
}

/// The input embeddings as plain rows.
pub struct Embeddings {
    data: Vec<f32>,
    dim: usize,
}

impl Embeddings {
    /// Rows of `dim` numbers each.
    ///
    /// # Panics
    /// If the data are not whole rows.
    #[must_use]
    pub fn new(data: Vec<f32>, dim: usize) -> Self {
        assert!(dim > 0 && data.len().is_multiple_of(dim), "whole rows");
        Self { data, dim }
    }

    /// A token's row.
    #[must_use]
    pub fn row(&self, id: TokenId) -> &[f32] {
        &self.data[id.index() * self.dim..][..self.dim]
    }

    /// All rows, one after the other.
    #[must_use]
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// The width of a row.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }
}
