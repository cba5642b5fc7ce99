#![doc = include_str!("cape_paper.md")]
#![allow(rustdoc::broken_intra_doc_links, reason = "P[y] is a probability, not a link")]

use std::sync::Arc;

use rand::CryptoRng;

use crate::Result;
use crate::buckets::EqualWidth;
use crate::context::{Context, seen, turns};
use crate::mechanism::Mechanism;
use crate::model::{LanguageModel, Memory, View};
use crate::privacy::{Epsilon, Evidence, Guarantee, Notion, Reach};
use crate::text::{Outcome, Token, TokenId, Tokens};
use crate::utility::Utility;

mod position;

pub use position::{Distribution, Explanation, Position, Scores};

/// All that defines the mechanism beside the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// ε per token.
    pub epsilon: Epsilon,
    /// N_b, the number of equal-width buckets.
    pub bucket_count: usize,
    /// The context that the model may see.
    pub context: Context,
    /// How good a candidate is.
    pub utility: Utility,
}

impl Settings {
    /// The paper's at this ε: 50 buckets, and the true prompt around each position.
    #[must_use]
    pub fn new(epsilon: Epsilon) -> Self {
        Self { epsilon, bucket_count: 50, context: Context::Raw, utility: Utility::PAPER }
    }
}

/// The paper's mechanism on a device model.
pub struct CapePaper {
    model: Arc<dyn LanguageModel>,
    settings: Settings,
    rule: EqualWidth,
    /// The proven bound of one draw.
    bound: f64,
}

/// How many positions go to the model at once.
const BATCH: usize = 16;

impl CapePaper {
    /// The mechanism with these settings.
    pub fn new(model: Arc<dyn LanguageModel>, settings: Settings) -> Result<Self> {
        let n = model.vocab().drawable().len();
        let rule = EqualWidth::new(settings.bucket_count, settings.epsilon)?;
        let bound = rule.bound(n)?;
        Ok(Self { model, settings, rule, bound })
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
    pub(crate) fn most_kept(&self) -> f64 {
        self.rule.most_kept()
    }

    /// The exact probability with which a draw by these utilities falls on one candidate.
    pub(crate) fn probability(&self, utilities: &[f32], candidate: usize) -> Result<f64> {
        Ok(self.rule.apply(utilities)?.probability(candidate))
    }

    /// The utilities of all candidates at a position that holds `t`, from their logits.
    fn utilities(&self, t: TokenId, logits: &[f32]) -> Vec<f32> {
        let context = self.settings.utility.context(logits, self.model.calibration());
        Utility::combined(&context, &self.nearness(t))
    }

    /// The nearness of all candidates to a token, computed anew for every draw: if rows were kept, the time
    /// of one request would tell which words another one had.
    fn nearness(&self, t: TokenId) -> Vec<f32> {
        self.settings.utility.nearness(&self.model.distances(t))
    }

    /// Draws a token, and says with which probability it would have been the true one.
    fn draw(&self, token: &Token, logits: &[f32], rng: &mut dyn CryptoRng) -> Result<Outcome> {
        let utilities = self.utilities(token.id, logits);
        let candidates = self.candidates();
        let bucketed = self.rule.apply(&utilities)?;
        let own = candidates.binary_search(&token.id).ok();
        let retention = own.map_or(0.0, |own| bucketed.probability(own));
        Ok(Outcome::Drawn { id: candidates[bucketed.draw(rng)], retention })
    }

    /// The entries that can be drawn, in order of ids.
    fn candidates(&self) -> &[TokenId] {
        self.model.vocab().drawable()
    }
}

impl Mechanism for CapePaper {
    fn guarantee(&self) -> Guarantee {
        let (nominal, kept) = (self.settings.epsilon, self.most_kept());
        let reach = match self.settings.context {
            Context::Released => Reach::OwnDraw,
            Context::Raw => Reach::EveryDraw,
        };
        let bounded = Guarantee::uniform(nominal, self.bound, kept, Notion::Ldp, Evidence::Bound);
        Guarantee { reach, ..bounded }
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
            let outcome = |token: &Token| match token.kept {
                Some(why) => Some(Outcome::Kept(why)),
                None => drawn.next(),
            };
            tokens.as_slice().iter().filter_map(outcome).collect()
        });
        Ok(all.collect())
    }
}

impl CapePaper {
    /// The draws of each prompt, left to right; prompts side by side, a turn of each at a time.
    fn released(&self, prompts: &mut [(&Tokens, &mut dyn CryptoRng)]) -> Result<Vec<Vec<Outcome>>> {
        let mut under_way: Vec<UnderWay> =
            prompts.iter().map(|(tokens, _)| UnderWay::new(tokens)).collect();
        loop {
            let mut asked = Vec::new();
            for (i, (prompt, (tokens, _))) in under_way.iter().zip(prompts.iter()).enumerate() {
                let to_come = &prompt.sensitive[prompt.outcomes.len()..];
                let (n, window) = (tokens.as_slice().len(), self.model.window());
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
            let rows = self.model.logits(&mut views)?;
            let places =
                asked.iter().flat_map(|(i, turn, ..)| turn.iter().map(move |&at| (*i, at)));
            for ((i, at), row) in places.zip(rows) {
                let (tokens, rng) = &mut prompts[i];
                let outcome = self.draw(&tokens.as_slice()[at], &row, *rng)?;
                if let Outcome::Drawn { id, .. } = outcome {
                    under_way[i].drawn[at] = Some(id);
                }
                under_way[i].outcomes.push(outcome);
            }
        }
    }

    /// The tokens that the model is shown in one turn, and where it is asked.
    fn shown(
        &self,
        context: Context,
        tokens: &Tokens,
        drawn: &[Option<TokenId>],
        turn: &[usize],
    ) -> (Vec<TokenId>, Vec<usize>) {
        let (ids, first) = seen(&*self.model, context, tokens, drawn, turn[0]);
        (ids, turn.iter().map(|&i| first + i - turn[0]).collect())
    }

    /// The draws of each prompt; positions that see the same window share a view.
    fn raw(&self, prompts: &mut [(&Tokens, &mut dyn CryptoRng)]) -> Result<Vec<Vec<Outcome>>> {
        let mut all = Vec::with_capacity(prompts.len());
        for (tokens, rng) in prompts {
            let sensitive: Vec<usize> = tokens.sensitive().collect();
            let nothing_drawn = vec![None; tokens.as_slice().len()];
            let mut memory = Memory::default();
            let mut outcomes = Vec::with_capacity(sensitive.len());
            for turn in turns(&sensitive, tokens.as_slice().len(), self.model.window(), BATCH) {
                let (ids, positions) = self.shown(Context::Raw, tokens, &nothing_drawn, turn);
                let view = View { ids: &ids, positions: &positions, memory: &mut memory };
                let rows = self.model.logits(&mut [view])?;
                for (row, &i) in rows.iter().zip(turn) {
                    outcomes.push(self.draw(&tokens.as_slice()[i], row, *rng)?);
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
        Self {
            sensitive: tokens.sensitive().collect(),
            drawn: vec![None; tokens.as_slice().len()],
            memory: Memory::default(),
            outcomes: Vec::new(),
        }
    }
}
