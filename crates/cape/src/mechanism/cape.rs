#![doc = include_str!("cape.md")]
#![allow(rustdoc::broken_intra_doc_links, reason = "P[y] is a probability, not a link")]

use std::sync::Arc;

use rand::CryptoRng;

use crate::buckets::EqualWidth;
use crate::context::{Context, view, window};
use crate::distance::distances;
use crate::mechanism::Mechanism;
use crate::model::LanguageModel;
use crate::privacy::{Epsilon, Evidence, Guarantee, Notion, Reach, round_up};
use crate::rank::{RankTable, nth_best, rank_of, ranking};
use crate::text::{Kinds, Outcome, Piece, Token, TokenId, Tokens};
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

impl Buckets {
    /// As it appears in output for machines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ranked { .. } => "ranked",
            Self::EqualWidth { .. } => "equal-width",
        }
    }
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
    /// A table for each kind of piece; none where there is nothing to draw.
    Ranked(Kinds<Option<RankTable>>),
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
        let n = Kinds::of(|piece| model.vocab().candidates(piece, settings.candidates).len());
        let selection = match settings.buckets {
            Buckets::Ranked { alpha } => {
                let table = |&n: &usize| match n {
                    0 | 1 => Ok(None),
                    n => RankTable::new(n, settings.epsilon, alpha).map(Some),
                };
                let [start, continuation] = n.both().map(table);
                Selection::Ranked(Kinds { start: start?, continuation: continuation? })
            }
            Buckets::EqualWidth { count } => {
                let rule = EqualWidth::new(count, settings.epsilon)?;
                rule.bound(n.start.max(n.continuation))?;
                Selection::EqualWidth(rule)
            }
        };
        Ok(Self { model, settings, selection })
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The distribution at position `i` with everything that led to it. `drawn` says how the other
    /// sensitive tokens came out; none is a mask. It matters in the released context only.
    ///
    /// # Panics
    /// If `i` is no position of `tokens`, or `drawn` is not as long as they are.
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
            Selection::Ranked(ref tables) => Some(self.table(tables, token.piece)?.alpha()),
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
            Selection::Ranked(tables) => {
                let table = self.table(tables, piece)?;
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
            Selection::Ranked(tables) => {
                let table = self.table(tables, token.piece)?;
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

    /// How many candidates a position of this kind has.
    fn candidates(&self, piece: Piece) -> usize {
        self.model.vocab().candidates(piece, self.settings.candidates).len()
    }

    fn table<'a>(
        &self,
        tables: &'a Kinds<Option<RankTable>>,
        piece: Piece,
    ) -> Result<&'a RankTable> {
        tables.get(piece).as_ref().ok_or_else(|| Error::Candidates(self.candidates(piece)))
    }
}

impl Mechanism for Cape {
    fn guarantee(&self) -> Guarantee {
        let nominal = self.settings.epsilon;
        let (bound, most_kept, evidence) = match &self.selection {
            Selection::Ranked(tables) => {
                let of = |f: fn(&RankTable) -> f64| {
                    Kinds::of(|piece| tables.get(piece).as_ref().map_or(0.0, f))
                };
                let exact = of(RankTable::epsilon);
                let exact = exact.start.max(exact.continuation);
                let bound = round_up(exact).min(nominal.get().max(exact));
                (bound, of(|table| table.probability(1)), Evidence::Proof)
            }
            Selection::EqualWidth(rule) => {
                // a kind with nothing to draw from is refused when it is met
                let bound = |piece| rule.bound(self.candidates(piece)).unwrap_or(0.0);
                let bounds = Kinds::of(bound);
                let bound = bounds.start.max(bounds.continuation);
                (bound, Kinds::of(|_| rule.most_kept()), Evidence::Bound)
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
                // positions that see the same window share a call
                let seen = |&i: &usize| window(tokens.0.len(), i, self.model.window());
                for same in sensitive.chunk_by(|a, b| seen(a) == seen(b)) {
                    for batch in same.chunks(BATCH) {
                        let start = seen(&batch[0]).start;
                        let positions: Vec<usize> = batch.iter().map(|i| i - start).collect();
                        let view = view(&*self.model, Context::Raw, tokens, &drawn, batch[0]);
                        let logits = self.model.logits(&view.ids, &positions)?;
                        for (row, &i) in batch.iter().enumerate() {
                            outcomes.push(self.draw(&tokens.0[i], logits.row(row), rng)?);
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
