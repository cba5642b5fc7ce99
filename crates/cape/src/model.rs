//! What a device model gives: one logit per vocabulary entry at a position it does not see.

use std::any::Any;

use crate::Result;
use crate::embeddings::distances;
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

    /// How many positions are drawn in one turn, none of which sees the draws of the others. More save
    /// passes; a model that sees only what comes before needs the draws just made.
    fn at_once(&self) -> usize {
        1
    }

    /// The ids the model is really given for one position: special tokens added, the position
    /// masked; and where the position is among them.
    fn input(&self, ids: &[TokenId], position: usize) -> (Vec<TokenId>, usize);

    /// For each view in turn and each of its positions, one logit per [drawable](Vocab::drawable) entry,
    /// in order of ids. A row is a function of its own view and position, and does not depend on the token
    /// at its position. A view has at most `window()` tokens.
    fn logits(&self, views: &mut [View<'_>]) -> Result<Vec<Vec<f32>>>;

    /// How far each drawable entry is from `t`; exactly zero for `t` itself.
    fn distances(&self, t: TokenId) -> Vec<f32> {
        distances(self.embeddings(), t, self.vocab().drawable())
    }
}

/// What the model is shown of one prompt, and where it is asked.
pub struct View<'a> {
    /// The tokens it may see.
    pub ids: &'a [TokenId],
    /// The positions among them to be scored.
    pub positions: &'a [usize],
    /// What the model remembers of earlier views of the same prompt.
    pub memory: &'a mut Memory,
}

/// Work of the model on one prompt, kept from one call to the next: the keys and values of a causal
/// model. It saves time and changes nothing else.
#[derive(Default)]
pub struct Memory(Option<Box<dyn Any + Send>>);

impl Memory {
    /// What the model keeps in it, made on first use.
    pub fn get<T: Any + Send + Default>(&mut self) -> &mut T {
        if !self.0.as_ref().is_some_and(|memory| memory.is::<T>()) {
            self.0 = Some(Box::new(T::default()));
        }
        match self.0.as_mut().and_then(|memory| memory.downcast_mut()) {
            Some(memory) => memory,
            None => unreachable!("it is of this type by the lines above"),
        }
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

    /// The same rows, each of length one; a row of zeros stays as it is.
    #[must_use]
    pub fn unit(mut self) -> Self {
        for row in self.data.chunks_exact_mut(self.dim) {
            let length = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
            if length > 0.0 {
                for x in row {
                    *x = (f64::from(*x) / length) as f32;
                }
            }
        }
        self
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
