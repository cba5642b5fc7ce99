//! The question that several tests ask of models.

use cape::tokens::{LanguageModel, Memory, TokenId, View};

/// A row of logits for each position, one per entry that can be drawn.
pub(crate) fn logits(
    model: &dyn LanguageModel,
    ids: &[TokenId],
    positions: &[usize],
) -> Vec<Vec<f32>> {
    let view = View { ids, positions, memory: &mut Memory::default() };
    model.logits(&mut [view]).unwrap()
}
