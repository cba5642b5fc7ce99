//! What several tests of models ask.

use cape::model::{LanguageModel, Memory, View};
use cape::text::{Piece, TokenId};
use cape::vocab::Candidates;

/// A row of logits for each position, one per entry that can be drawn.
pub(crate) fn logits(
    model: &dyn LanguageModel,
    ids: &[TokenId],
    positions: &[usize],
) -> Vec<Vec<f32>> {
    let positions: Vec<_> = positions.iter().map(|&at| (at, Piece::Start)).collect();
    let view = View { ids, positions: &positions, memory: &mut Memory::default() };
    model.logits(&mut [view], Candidates::All).unwrap()
}
