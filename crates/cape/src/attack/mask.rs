//! Masked token inference: each released position is masked in turn, and a masked model says what it
//! expects there.

use crate::Result;
use crate::context::window;
use crate::model::{LanguageModel, Memory, View};
use crate::text::{Piece, TokenId};
use crate::vocab::Vocab;

/// One place of a release, in the pieces of the model that attacks.
pub struct MaskedUnit {
    /// Its pieces.
    pub ids: Vec<TokenId>,
    /// The kind of what is to be guessed there; none where nothing is.
    pub asked: Option<Piece>,
}

/// How many positions go to the model at once.
const BATCH: usize = 16;

/// For each unit that is asked for, in order, the logits of all entries [of its kind](Vocab::of_kind).
pub fn scores(model: &dyn LanguageModel, units: &[MaskedUnit]) -> Result<Vec<Vec<f32>>> {
    // every asked unit as one mask among the pieces of the others
    let mut asked = Vec::new();
    for (i, unit) in units.iter().enumerate() {
        let Some(piece) = unit.asked else { continue };
        let before: usize = units[..i].iter().map(|unit| unit.ids.len()).sum();
        let mut ids: Vec<TokenId> = Vec::with_capacity(before + 1);
        for (j, other) in units.iter().enumerate() {
            if i == j {
                ids.push(model.mask());
            } else {
                ids.extend(&other.ids);
            }
        }
        let seen = window(ids.len(), before, model.window());
        asked.push((ids[seen.clone()].to_vec(), [before - seen.start], piece));
    }
    let mut rows = Vec::with_capacity(asked.len());
    for batch in asked.chunks(BATCH) {
        let mut memories: Vec<Memory> = batch.iter().map(|_| Memory::default()).collect();
        let mut views: Vec<View<'_>> = batch
            .iter()
            .zip(&mut memories)
            .map(|((ids, positions, _), memory)| View { ids, positions, memory })
            .collect();
        let of_kinds = batch.iter().zip(model.logits(&mut views)?);
        rows.extend(of_kinds.map(|((.., piece), row)| of_kind(model.vocab(), *piece, &row)));
    }
    Ok(rows)
}

/// The entries of one kind, of the numbers of all drawable entries.
fn of_kind(vocab: &Vocab, piece: Piece, row: &[f32]) -> Vec<f32> {
    let all = vocab.drawable().iter().zip(row);
    all.filter(|(id, _)| vocab.piece(**id) == Some(piece)).map(|(_, &logit)| logit).collect()
}

/// The best candidate of each unit that is asked for.
pub fn guesses(model: &dyn LanguageModel, units: &[MaskedUnit]) -> Result<Vec<TokenId>> {
    let kinds = units.iter().filter_map(|unit| unit.asked);
    Ok(scores(model, units)?
        .iter()
        .zip(kinds)
        .map(|(row, piece)| best(model, piece, row))
        .collect())
}

/// The candidate of the largest logit.
#[must_use]
pub fn best(model: &dyn LanguageModel, piece: Piece, row: &[f32]) -> TokenId {
    let best = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
    model.vocab().of_kind(piece)[best]
}
