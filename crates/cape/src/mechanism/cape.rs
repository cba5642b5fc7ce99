#![doc = include_str!("cape.md")]

use std::sync::Arc;

use rand::CryptoRng;

use crate::buckets::EqualWidth;
use crate::context::{Context, view};
use crate::distance::distances;
use crate::mechanism::Mechanism;
use crate::model::LanguageModel;
use crate::privacy::{Epsilon, Evidence, Guarantee, Notion, Reach, round_up};
use crate::rank::{RankTable, nth_best, rank_of, ranking};
use crate::text::{Outcome, Piece, Token, TokenId, Tokens};
use crate::utility::{Lambdas, utilities};
use crate::vocab::Candidates;
use crate::{Error, Result};

/// How a candidate is selected by its utility.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buckets {
    /// A rank is drawn from a public distribution: ε holds as asked.
    Ranked {
        /// The exponent of the power law; ε / ln n without one.
        alpha: Option<f64>,
    },
    /// The paper's equal-width buckets.
    EqualWidth {
        /// N_b.
        count: usize,
    },
}

/// All that defines the mechanism beside the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// ε per token.
    pub epsilon: Epsilon,
    /// The selection.
    pub buckets: Buckets,
    /// What the model may see.
    pub context: Context,
    /// What a position draws from.
    pub candidates: Candidates,
    /// The exponents of the utility.
    pub lambdas: Lambdas,
}

/// The mechanism Cape on a device model.
pub struct Cape {
    model: Arc<dyn LanguageModel>,
    settings: Settings,
    selection: Selection,
}

/// The selection, with what can be computed before any prompt is seen.
enum Selection {
    /// One table for word beginnings, one for continuations; none where there is nothing to draw.
    Ranked {
        start: Option<RankTable>,
        continuation: Option<RankTable>,
    },
    EqualWidth(EqualWidth),
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

/// How many positions go to the model at once.
const BATCH: usize = 16;

impl Cape {
    /// The mechanism with these settings.
    pub fn new(model: Arc<dyn LanguageModel>, settings: Settings) -> Result<Self> {
        let n = |piece| model.vocab().candidates(piece, settings.candidates).len();
        let selection = match settings.buckets {
            Buckets::Ranked { alpha } => {
                let table = |piece| match n(piece) {
                    0 | 1 => Ok(None),
                    n => RankTable::new(n, settings.epsilon, alpha).map(Some),
                };
                Selection::Ranked {
                    start: table(Piece::Start)?,
                    continuation: table(Piece::Continuation)?,
                }
            }
            Buckets::EqualWidth { count } => {
                let rule = EqualWidth::new(count, settings.epsilon)?;
                rule.bound(n(Piece::Start).max(n(Piece::Continuation)))?;
                Selection::EqualWidth(rule)
            }
        };
        Ok(Self { model, settings, selection })
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &dyn LanguageModel {
        &*self.model
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The distribution at position `i` with everything that led to it. `drawn` says how the other
    /// sensitive tokens came out; none is a mask. It matters in the released context only.
    pub fn explain(
        &self,
        tokens: &Tokens,
        drawn: &[Option<TokenId>],
        i: usize,
    ) -> Result<Explanation<'_>> {
        let view = view(&*self.model, self.settings.context, tokens, drawn, i);
        let logits = self.model.logits(&view.ids, &[view.position])?;
        let token = &tokens.0[i];
        let scores = self.scores(token, logits.row(0));
        let distribution = self.distribution(token.piece, &scores.utilities)?;
        let alpha = match self.selection {
            Selection::Ranked { .. } => Some(self.table(token.piece)?.alpha()),
            Selection::EqualWidth(_) => None,
        };
        let (input, position) = self.model.input(&view.ids, view.position);
        Ok(Explanation { input, position, scores, distribution, alpha })
    }

    fn scores(&self, token: &Token, logits: &[f32]) -> Scores<'_> {
        let candidates = self.model.vocab().candidates(token.piece, self.settings.candidates);
        let logits: Vec<f32> = candidates.iter().map(|id| logits[id.index()]).collect();
        let distances = distances(self.model.embeddings(), token.id, candidates);
        let utilities =
            utilities(&logits, &distances, self.model.calibration(), self.settings.lambdas);
        Scores { candidates, logits, distances, utilities }
    }

    fn distribution(&self, piece: Piece, utilities: &[f32]) -> Result<Distribution> {
        let order = ranking(utilities);
        Ok(match &self.selection {
            Selection::Ranked { .. } => {
                let table = self.table(piece)?;
                let mut weights = vec![0; utilities.len()];
                for (i, &candidate) in order.iter().enumerate() {
                    weights[candidate as usize] = table.weight(i + 1);
                }
                Distribution {
                    order,
                    weights,
                    buckets: None,
                    total: table.total(),
                    paper_epsilon_prime: None,
                }
            }
            Selection::EqualWidth(rule) => {
                let bucketed = rule.apply(utilities)?;
                Distribution {
                    order,
                    weights: (0..utilities.len()).map(|c| bucketed.weight(c)).collect(),
                    total: bucketed.total,
                    paper_epsilon_prime: Some(bucketed.paper_epsilon_prime()),
                    buckets: Some(bucketed.bucket),
                }
            }
        })
    }

    /// Draws a token, and says with which probability it would have been the true one.
    fn draw(&self, token: &Token, logits: &[f32], rng: &mut dyn CryptoRng) -> Result<Outcome> {
        let scores = self.scores(token, logits);
        let own = scores.candidates.binary_search(&token.id).ok();
        let (drawn, retention) = match &self.selection {
            Selection::Ranked { .. } => {
                let table = self.table(token.piece)?;
                let rank = table.draw(rng);
                let drawn = nth_best(&scores.utilities, rank);
                (drawn, own.map(|own| table.probability(rank_of(&scores.utilities, own))))
            }
            Selection::EqualWidth(rule) => {
                let bucketed = rule.apply(&scores.utilities)?;
                (bucketed.draw(rng), own.map(|own| bucketed.probability(own)))
            }
        };
        Ok(Outcome::Drawn { id: scores.candidates[drawn], retention: retention.unwrap_or(0.0) })
    }

    fn table(&self, piece: Piece) -> Result<&RankTable> {
        let Selection::Ranked { start, continuation } = &self.selection else {
            unreachable!("only asked for ranked")
        };
        let table = match piece {
            Piece::Start => start,
            Piece::Continuation => continuation,
        };
        let n = self.model.vocab().candidates(piece, self.settings.candidates).len();
        table.as_ref().ok_or(Error::Candidates(n))
    }
}

impl Mechanism for Cape {
    fn guarantee(&self) -> Guarantee {
        let nominal = self.settings.epsilon;
        let (bound, most_kept, evidence) = match &self.selection {
            Selection::Ranked { start, continuation } => {
                let most = |f: fn(&RankTable) -> f64| {
                    start.iter().chain(continuation).map(f).fold(0.0, f64::max)
                };
                let exact = most(RankTable::epsilon);
                let bound = round_up(exact).min(nominal.get().max(exact));
                (bound, most(|table| table.probability(1)), Evidence::Proof)
            }
            Selection::EqualWidth(rule) => {
                let bounds = [Piece::Start, Piece::Continuation].map(|piece| {
                    let n = self.model.vocab().candidates(piece, self.settings.candidates).len();
                    rule.bound(n).unwrap_or(0.0)
                });
                (bounds[0].max(bounds[1]), rule.most_kept(), Evidence::Bound)
            }
        };
        let reach = match self.settings.context {
            Context::Released => Reach::OwnDraw,
            Context::Raw => Reach::EveryDraw,
        };
        Guarantee { nominal, bound, most_kept, notion: Notion::Ldp, evidence, reach }
    }

    fn perturb(&self, tokens: &Tokens, rng: &mut dyn CryptoRng) -> Result<Vec<Outcome>> {
        let sensitive: Vec<usize> = tokens.sensitive().collect();
        let mut drawn = vec![None; tokens.0.len()];
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(sensitive.len());
        match self.settings.context {
            Context::Released => {
                for &i in &sensitive {
                    let view = view(&*self.model, Context::Released, tokens, &drawn, i);
                    let logits = self.model.logits(&view.ids, &[view.position])?;
                    let outcome = self.draw(&tokens.0[i], logits.row(0), rng)?;
                    if let Outcome::Drawn { id, .. } = outcome {
                        drawn[i] = Some(id);
                    }
                    outcomes.push(outcome);
                }
            }
            Context::Raw => {
                let views = sensitive
                    .iter()
                    .map(|&i| (i, view(&*self.model, Context::Raw, tokens, &drawn, i)));
                let views: Vec<_> = views.collect();
                // positions that see the same tokens share a call
                for same in views.chunk_by(|(_, a), (_, b)| a.ids == b.ids) {
                    for batch in same.chunks(BATCH) {
                        let positions: Vec<usize> =
                            batch.iter().map(|(_, view)| view.position).collect();
                        let logits = self.model.logits(&batch[0].1.ids, &positions)?;
                        for (row, (i, _)) in batch.iter().enumerate() {
                            outcomes.push(self.draw(&tokens.0[*i], logits.row(row), rng)?);
                        }
                    }
                }
            }
        }
        let mut outcomes = outcomes.into_iter();
        Ok(tokens
            .0
            .iter()
            .filter_map(|token| token.kept.map(Outcome::Kept).or_else(|| outcomes.next()))
            .collect())
    }
}
