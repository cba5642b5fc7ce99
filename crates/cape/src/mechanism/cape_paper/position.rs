//! One position of a prompt, before any draw: its context, and the law of its draw for any token that
//! may stand there.

use super::CapePaper;
use crate::Result;
use crate::buckets::Bucketed;
use crate::context::{earlier, seen};
use crate::model::{Memory, View};
use crate::rank::ranking;
use crate::text::{Piece, TokenId, Tokens};

/// A position in its context. The context does not depend on the token at the position; the draw does.
pub struct Position<'a> {
    cape: &'a CapePaper,
    piece: Piece,
    /// The tokens that the model was shown.
    shown: Vec<TokenId>,
    /// Where the position is among them.
    at: usize,
    logits: Vec<f32>,
}

/// The candidates of one position with their scores, in order of ids.
pub struct Scores<'a> {
    /// The candidates.
    pub candidates: &'a [TokenId],
    /// Their context logits.
    pub logits: Vec<f32>,
    /// Their distances to the true token.
    pub distances: Vec<f32>,
    /// Their utilities.
    pub utilities: Vec<f32>,
}

/// The exact distribution of one draw, candidate by candidate as in [`Scores`].
pub struct Distribution {
    /// Candidates (as indices into [`Scores`]) from the best to the worst.
    pub order: Vec<u32>,
    /// The integer weight of each candidate.
    pub weights: Vec<u64>,
    /// The bucket of each candidate.
    pub buckets: Vec<u32>,
    /// The sum of the weights.
    pub total: u64,
    /// The paper's ε′ of this row: a diagnostic, itself private.
    pub paper_epsilon_prime: f64,
}

/// Everything about one position, before any draw.
pub struct Explanation<'a> {
    /// The tokens that the model saw, special ones included.
    pub input: Vec<TokenId>,
    /// The position among them.
    pub position: usize,
    /// The scores.
    pub scores: Scores<'a>,
    /// The distribution.
    pub distribution: Distribution,
}

impl CapePaper {
    /// Position `i` in its context. `drawn` says how the other sensitive tokens came out; those of
    /// earlier turns are seen, in the released context only, and none is a mask.
    ///
    /// # Panics
    /// If `i` is no position of `tokens`, or `drawn` is not as long as they are.
    pub fn position(
        &self,
        tokens: &Tokens,
        drawn: &[Option<TokenId>],
        i: usize,
    ) -> Result<Position<'_>> {
        let piece = tokens.as_slice()[i].piece;
        let drawn = earlier(&*self.model, tokens, drawn, i);
        let (ids, at) = seen(&*self.model, self.settings.context, tokens, &drawn, i);
        let view = View { ids: &ids, positions: &[at], memory: &mut Memory::default() };
        let logits = self.model.logits(&mut [view])?.swap_remove(0);
        Ok(Position { cape: self, piece, shown: ids, at, logits })
    }

    /// The distribution at position `i` with everything that led to it; `drawn` as for
    /// [`CapePaper::position`].
    ///
    /// # Panics
    /// If `i` is no position of `tokens`, or `drawn` is not as long as they are.
    pub fn explain(
        &self,
        tokens: &Tokens,
        drawn: &[Option<TokenId>],
        i: usize,
    ) -> Result<Explanation<'_>> {
        self.position(tokens, drawn, i)?.explain(tokens.as_slice()[i].id)
    }
}

impl<'a> Position<'a> {
    /// The entries that can be drawn, in order of ids.
    #[must_use]
    pub fn candidates(&self) -> &'a [TokenId] {
        self.cape.candidates()
    }

    /// The tokens that can stand here, in order of ids: those among which the draw hides which it was.
    #[must_use]
    pub fn inputs(&self) -> Vec<TokenId> {
        self.cape.model.vocab().inputs(self.piece)
    }

    /// The distribution of the draw where `t` stands here.
    pub fn row(&self, t: TokenId) -> Result<Bucketed> {
        self.cape.rule.apply(&self.utilities(t))
    }

    fn utilities(&self, t: TokenId) -> Vec<f32> {
        self.cape.utilities(t, &self.logits)
    }

    fn explain(self, t: TokenId) -> Result<Explanation<'a>> {
        let utilities = self.utilities(t);
        let bucketed = self.cape.rule.apply(&utilities)?;
        let distribution = Distribution {
            order: ranking(&utilities),
            weights: (0..utilities.len()).map(|candidate| bucketed.weight(candidate)).collect(),
            total: bucketed.total,
            paper_epsilon_prime: bucketed.paper_epsilon_prime(),
            buckets: bucketed.bucket,
        };
        let (model, candidates) = (&self.cape.model, self.candidates());
        let distances = model.distances(t);
        let (input, position) = model.input(&self.shown, self.at);
        let scores = Scores { candidates, logits: self.logits, distances, utilities };
        Ok(Explanation { input, position, scores, distribution })
    }
}
