//! One position of a prompt, before any draw: its context, and the law of its draw for any token that
//! may stand there.

use super::{Cape, Selection};
use crate::Result;
use crate::buckets::{Bucketed, EqualWidth};
use crate::context::{earlier, seen};
use crate::model::{Memory, View};
use crate::rank::{RankTable, ranking};
use crate::sample::Share;
use crate::text::{Piece, TokenId, Tokens};

/// A position in its context. The context does not depend on the token at the position; the draw does.
pub struct Position<'a> {
    cape: &'a Cape,
    law: Law<'a>,
    piece: Piece,
    /// What the model was shown, and where the position is among it.
    seen: (Vec<TokenId>, usize),
    logits: Vec<f32>,
}

#[derive(Clone, Copy)]
enum Law<'a> {
    Ranked(&'a RankTable),
    EqualWidth(EqualWidth),
}

/// The distribution of a draw for one true token.
pub enum Row<'a> {
    /// A law over ranks, and candidates (as indices) from the best to the worst.
    Ranked(&'a RankTable, Vec<u32>),
    /// Candidates in buckets.
    EqualWidth(Bucketed),
}

impl Row<'_> {
    /// Every candidate (as an index) with its probability, in the order that is at hand.
    pub fn each(&self, mut f: impl FnMut(usize, Share)) {
        match self {
            Self::Ranked(table, order) => {
                for (i, &candidate) in order.iter().enumerate() {
                    let (weight, total) = (table.weight(i + 1), table.total());
                    f(candidate as usize, Share { weight, total });
                }
            }
            Self::EqualWidth(bucketed) => {
                for candidate in 0..bucketed.bucket.len() {
                    let (weight, total) = (bucketed.weight(candidate), bucketed.total);
                    f(candidate, Share { weight, total });
                }
            }
        }
    }

    /// The probability of each candidate.
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        let n = match self {
            Self::Ranked(_, order) => order.len(),
            Self::EqualWidth(bucketed) => bucketed.bucket.len(),
        };
        let mut shares = vec![Share { weight: 0, total: 1 }; n];
        self.each(|candidate, share| shares[candidate] = share);
        shares
    }
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
    /// The bucket of each candidate; none for ranked.
    pub buckets: Option<Vec<u32>>,
    /// The sum of the weights.
    pub total: u64,
    /// The paper's ε′ of this row, for equal-width: a diagnostic, itself private.
    pub paper_epsilon_prime: Option<f64>,
}

/// Everything about one position, before any draw.
pub struct Explanation<'a> {
    /// What the model saw, special tokens included.
    pub input: Vec<TokenId>,
    /// The position among them.
    pub position: usize,
    /// The scores.
    pub scores: Scores<'a>,
    /// The distribution.
    pub distribution: Distribution,
    /// The exponent of the power law, for ranked.
    pub alpha: Option<f64>,
}

impl Cape {
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
        let piece = tokens.0[i].piece;
        let law = match &self.selection {
            Selection::Ranked(tables) => Law::Ranked(self.table(tables, piece)?),
            Selection::EqualWidth(rule) => Law::EqualWidth(*rule),
        };
        let drawn = earlier(&*self.model, tokens, drawn, i);
        let (ids, at) = seen(&*self.model, self.settings.context, tokens, &drawn, i);
        let view = View { ids: &ids, positions: &[(at, piece)], memory: &mut Memory::default() };
        let logits = self.model.logits(&mut [view], self.settings.candidates)?.swap_remove(0);
        Ok(Position { cape: self, law, piece, seen: (ids, at), logits })
    }

    /// The distribution at position `i` with everything that led to it; `drawn` as for
    /// [`Cape::position`].
    ///
    /// # Panics
    /// If `i` is no position of `tokens`, or `drawn` is not as long as they are.
    pub fn explain(
        &self,
        tokens: &Tokens,
        drawn: &[Option<TokenId>],
        i: usize,
    ) -> Result<Explanation<'_>> {
        self.position(tokens, drawn, i)?.explain(tokens.0[i].id)
    }
}

impl<'a> Position<'a> {
    /// What can be drawn, in order of ids.
    #[must_use]
    pub fn candidates(&self) -> &'a [TokenId] {
        self.cape.candidates(self.piece)
    }

    /// The tokens that can stand here, in order of ids: those among which the draw hides which it was.
    #[must_use]
    pub fn inputs(&self) -> Vec<TokenId> {
        self.cape.model.vocab().inputs(self.piece, self.cape.settings.candidates)
    }

    /// The distribution of the draw where `t` stands here.
    pub fn row(&self, t: TokenId) -> Result<Row<'a>> {
        self.select(&self.utilities(t))
    }

    fn utilities(&self, t: TokenId) -> Vec<f32> {
        self.cape.utilities(t, self.piece, &self.logits)
    }

    fn select(&self, utilities: &[f32]) -> Result<Row<'a>> {
        Ok(match self.law {
            Law::Ranked(table) => Row::Ranked(table, ranking(utilities)),
            Law::EqualWidth(rule) => Row::EqualWidth(rule.apply(utilities)?),
        })
    }

    fn explain(self, t: TokenId) -> Result<Explanation<'a>> {
        let utilities = self.utilities(t);
        let row = self.select(&utilities)?;
        let weights = row.shares().iter().map(|share| share.weight).collect();
        let distribution = match row {
            Row::Ranked(table, order) => {
                let total = table.total();
                Distribution { order, weights, buckets: None, total, paper_epsilon_prime: None }
            }
            Row::EqualWidth(bucketed) => Distribution {
                order: ranking(&utilities),
                weights,
                total: bucketed.total,
                paper_epsilon_prime: Some(bucketed.paper_epsilon_prime()),
                buckets: Some(bucketed.bucket),
            },
        };
        let alpha = match self.law {
            Law::Ranked(table) => Some(table.alpha()),
            Law::EqualWidth(_) => None,
        };
        let (model, candidates) = (&self.cape.model, self.candidates());
        let distances = self.cape.distances(t, self.piece);
        let (input, position) = model.input(&self.seen.0, self.seen.1);
        let scores = Scores { candidates, logits: self.logits, distances, utilities };
        Ok(Explanation { input, position, scores, distribution, alpha })
    }
}
