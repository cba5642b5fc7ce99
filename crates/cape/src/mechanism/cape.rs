#![doc = include_str!("cape.md")]
#![allow(rustdoc::broken_intra_doc_links, reason = "P[y] is a probability, not a link")]

use std::sync::Arc;

use rand::CryptoRng;

use crate::buckets::EqualWidth;
use crate::context::{Context, seen, turns};
use crate::distance::{Distance, directions, lengths};
use crate::mechanism::Mechanism;
use crate::model::{LanguageModel, Memory, View};
use crate::privacy::{Epsilon, Evidence, Guarantee, Notion, Reach, round_up};
use crate::rank::{RankTable, nth_best, rank_of};
use crate::recent::Recent;
use crate::text::{Again, Kinds, Outcome, Piece, Token, TokenId, Tokens};
use crate::utility::{Form, Utility};
use crate::vocab::Candidates;
use crate::{Error, Result};

mod position;

pub use position::{Distribution, Explanation, Position, Row, Scores};

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
    /// How good a candidate is.
    pub utility: Utility,
}

/// The mechanism Cape on a device model.
pub struct Cape {
    model: Arc<dyn LanguageModel>,
    settings: Settings,
    selection: Selection,
    /// How long the candidates' embeddings are, where directions are compared.
    lengths: Option<Kinds<Vec<f32>>>,
    /// The nearness of all candidates to the tokens met last.
    near: Recent<(TokenId, Piece), [f32]>,
}

/// The selection, with what can be computed before any prompt is seen.
enum Selection {
    /// A table for each kind of piece; none where there is nothing to draw.
    Ranked(Kinds<Option<RankTable>>),
    EqualWidth(EqualWidth),
}

/// How many positions go to the model at once.
const BATCH: usize = 16;

/// How many numbers the rows of nearness that are kept may have together: 8 MB.
const NEAR: usize = 1 << 21;

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
            Buckets::EqualWidth { .. } if settings.utility.form() != Form::Paper => {
                return Err(Error::Utility);
            }
            Buckets::EqualWidth { count } => {
                let rule = EqualWidth::new(count, settings.epsilon)?;
                rule.bound(n.start.max(n.continuation))?;
                Selection::EqualWidth(rule)
            }
        };
        let near = Recent::new(NEAR / n.start.max(n.continuation).max(1));
        let all = |piece| {
            let candidates = model.vocab().candidates(piece, settings.candidates);
            lengths(model.embeddings(), candidates)
        };
        let cosine = settings.utility.distance() == Distance::Cosine;
        let lengths = cosine.then(|| Kinds::of(all));
        Ok(Self { model, settings, selection, lengths, near })
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The device model.
    pub(crate) fn model(&self) -> &dyn LanguageModel {
        &*self.model
    }

    /// The largest probability of any candidate, whatever the utilities.
    pub(crate) fn most_kept(&self) -> Kinds<f64> {
        match &self.selection {
            Selection::Ranked(tables) => Kinds::of(|piece| {
                tables.get(piece).as_ref().map_or(0.0, |table| table.probability(1))
            }),
            Selection::EqualWidth(rule) => Kinds::of(|_| rule.most_kept()),
        }
    }

    /// The exact probability with which a draw by these utilities falls on one candidate.
    pub(crate) fn probability(
        &self,
        piece: Piece,
        utilities: &[f32],
        candidate: usize,
    ) -> Result<f64> {
        Ok(match &self.selection {
            Selection::Ranked(tables) => {
                self.table(tables, piece)?.probability(rank_of(utilities, candidate))
            }
            Selection::EqualWidth(rule) => rule.apply(utilities)?.probability(candidate),
        })
    }

    /// The utilities of a position's candidates from their logits.
    fn utilities(&self, t: TokenId, piece: Piece, logits: &[f32]) -> Vec<f32> {
        let context = self.settings.utility.context(logits, self.model.calibration());
        self.settings.utility.both(&context, &self.nearness(t, piece))
    }

    /// The nearness of a position's candidates to the token it holds.
    fn nearness(&self, t: TokenId, piece: Piece) -> Arc<[f32]> {
        self.near
            .get_or((t, piece), || self.settings.utility.nearness(&self.distances(t, piece)).into())
    }

    /// How far a position's candidates are from the token it holds, in order of ids.
    #[must_use]
    pub fn distances(&self, t: TokenId, piece: Piece) -> Vec<f32> {
        let mut distances = self.model.distances(t, piece, self.settings.candidates);
        if let Some(all) = &self.lengths {
            let own = lengths(self.model.embeddings(), &[t])[0];
            directions(&mut distances, own, all.get(piece));
        }
        distances
    }

    /// Draws a token, and says with which probability it would have been the true one.
    fn draw(&self, token: &Token, logits: &[f32], rng: &mut dyn CryptoRng) -> Result<Outcome> {
        let utilities = self.utilities(token.id, token.piece, logits);
        let candidates = self.candidates(token.piece);
        let own = candidates.binary_search(&token.id).ok();
        let (drawn, retention) = match &self.selection {
            Selection::Ranked(tables) => {
                let table = self.table(tables, token.piece)?;
                let rank = table.draw(rng);
                let drawn = nth_best(&utilities, rank);
                (drawn, own.map(|own| table.probability(rank_of(&utilities, own))))
            }
            Selection::EqualWidth(rule) => {
                let bucketed = rule.apply(&utilities)?;
                (bucketed.draw(rng), own.map(|own| bucketed.probability(own)))
            }
        };
        Ok(Outcome::Drawn { id: candidates[drawn], retention: retention.unwrap_or(0.0) })
    }

    /// What a position of this kind draws from.
    fn candidates(&self, piece: Piece) -> &[TokenId] {
        self.model.vocab().candidates(piece, self.settings.candidates)
    }

    fn table<'a>(
        &self,
        tables: &'a Kinds<Option<RankTable>>,
        piece: Piece,
    ) -> Result<&'a RankTable> {
        tables.get(piece).as_ref().ok_or_else(|| Error::Candidates(self.candidates(piece).len()))
    }
}

impl Mechanism for Cape {
    fn guarantee(&self) -> Guarantee {
        let nominal = self.settings.epsilon;
        let most_kept = self.most_kept();
        let (bound, evidence) = match &self.selection {
            Selection::Ranked(tables) => {
                let exact =
                    Kinds::of(|piece| tables.get(piece).as_ref().map_or(0.0, RankTable::epsilon));
                let exact = exact.start.max(exact.continuation);
                (round_up(exact).min(nominal.get().max(exact)), Evidence::Proof)
            }
            Selection::EqualWidth(rule) => {
                // a kind with nothing to draw from is refused when it is met
                let bound = |piece| rule.bound(self.candidates(piece).len()).unwrap_or(0.0);
                let bounds = Kinds::of(bound);
                let bound = bounds.start.max(bounds.continuation);
                (bound, Evidence::Bound)
            }
        };
        let reach = match self.settings.context {
            Context::Released => Reach::OwnDraw,
            Context::Raw => Reach::EveryDraw,
        };
        Guarantee { nominal, bound, most_kept, notion: Notion::Ldp, evidence, reach }
    }

    fn perturb(&self, tokens: &Tokens, rng: &mut dyn CryptoRng) -> Result<Vec<Outcome>> {
        Ok(self.perturb_all(&mut [(tokens, rng)])?.swap_remove(0))
    }

    fn perturb_all(
        &self,
        prompts: &mut [(&Tokens, &mut dyn CryptoRng)],
    ) -> Result<Vec<Vec<Outcome>>> {
        let drawn = match self.settings.context {
            Context::Released => self.released(prompts)?,
            Context::Raw => self.raw(prompts)?,
        };
        let all = prompts.iter().zip(drawn).map(|((tokens, _), drawn)| {
            let mut drawn = drawn.into_iter();
            let outcome = |(i, token): (usize, &Token)| match token.kept {
                Some(why) => Some(Outcome::Kept(why)),
                None if tokens.1.contains_key(&i) => Some(Outcome::Dropped),
                None => drawn.next(),
            };
            tokens.0.iter().enumerate().filter_map(outcome).collect()
        });
        Ok(all.collect())
    }
}

impl Cape {
    /// The draws of each prompt, left to right; prompts side by side, a turn of each at a time.
    fn released(&self, prompts: &mut [(&Tokens, &mut dyn CryptoRng)]) -> Result<Vec<Vec<Outcome>>> {
        let mut under_way: Vec<UnderWay> =
            prompts.iter().map(|(tokens, _)| UnderWay::new(tokens)).collect();
        loop {
            let mut asked = Vec::new();
            for (i, (prompt, (tokens, _))) in under_way.iter().zip(prompts.iter()).enumerate() {
                let to_come = &prompt.sensitive[prompt.outcomes.len()..];
                let (n, window) = (tokens.0.len(), self.model.window());
                if let Some(turn) = turns(to_come, n, window, self.model.at_once()).next() {
                    let (ids, positions) =
                        self.shown(Context::Released, tokens, &prompt.drawn, turn);
                    asked.push((i, turn.to_vec(), ids, positions));
                }
            }
            if asked.is_empty() {
                return Ok(under_way.into_iter().map(|prompt| prompt.outcomes).collect());
            }
            let mut memories = under_way
                .iter_mut()
                .filter(|prompt| prompt.outcomes.len() < prompt.sensitive.len())
                .map(|prompt| &mut prompt.memory);
            let mut views: Vec<View<'_>> = asked
                .iter()
                .zip(&mut memories)
                .map(|((.., ids, positions), memory)| View { ids, positions, memory })
                .collect();
            let rows = self.model.logits(&mut views, self.settings.candidates)?;
            let places =
                asked.iter().flat_map(|(i, turn, ..)| turn.iter().map(move |&at| (*i, at)));
            for ((i, at), row) in places.zip(rows) {
                let (tokens, rng) = &mut prompts[i];
                let outcome = self.draw(&tokens.0[at], &row, *rng)?;
                if let Outcome::Drawn { id, .. } = outcome {
                    under_way[i].know(tokens, at, id);
                }
                under_way[i].outcomes.push(outcome);
            }
        }
    }

    /// What the model is shown in one turn, and where it is asked.
    fn shown(
        &self,
        context: Context,
        tokens: &Tokens,
        drawn: &[Option<TokenId>],
        turn: &[usize],
    ) -> (Vec<TokenId>, Vec<(usize, Piece)>) {
        let (ids, first) = seen(&*self.model, context, tokens, drawn, turn[0]);
        let position = |&i: &usize| (first + i - turn[0], tokens.0[i].piece);
        (ids, turn.iter().map(position).collect())
    }

    /// The draws of each prompt; positions that see the same window share a view.
    fn raw(&self, prompts: &mut [(&Tokens, &mut dyn CryptoRng)]) -> Result<Vec<Vec<Outcome>>> {
        let mut all = Vec::with_capacity(prompts.len());
        for (tokens, rng) in prompts {
            let sensitive: Vec<usize> = tokens.sensitive().collect();
            let nothing_drawn = vec![None; tokens.0.len()];
            let mut memory = Memory::default();
            let mut outcomes = Vec::with_capacity(sensitive.len());
            for turn in turns(&sensitive, tokens.0.len(), self.model.window(), BATCH) {
                let (ids, positions) = self.shown(Context::Raw, tokens, &nothing_drawn, turn);
                let view = View { ids: &ids, positions: &positions, memory: &mut memory };
                let rows = self.model.logits(&mut [view], self.settings.candidates)?;
                for (row, &i) in rows.iter().zip(turn) {
                    outcomes.push(self.draw(&tokens.0[i], row, *rng)?);
                }
            }
            all.push(outcomes);
        }
        Ok(all)
    }
}

/// A prompt whose draws are being made.
struct UnderWay {
    sensitive: Vec<usize>,
    drawn: Vec<Option<TokenId>>,
    memory: Memory,
    outcomes: Vec<Outcome>,
}

impl UnderWay {
    fn new(tokens: &Tokens) -> Self {
        let mut drawn = vec![None; tokens.0.len()];
        for (&i, again) in &tokens.1 {
            if let Again::Drawn(id) = *again {
                drawn[i] = Some(id);
            }
        }
        Self {
            sensitive: tokens.sensitive().collect(),
            drawn,
            memory: Memory::default(),
            outcomes: Vec::new(),
        }
    }

    /// What was drawn is known, there and wherever the same word follows.
    fn know(&mut self, tokens: &Tokens, at: usize, id: TokenId) {
        self.drawn[at] = Some(id);
        for (&i, again) in &tokens.1 {
            if matches!(again, Again::Position(before) if *before == at) {
                self.drawn[i] = Some(id);
            }
        }
    }
}
