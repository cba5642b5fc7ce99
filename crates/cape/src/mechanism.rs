//! Mechanisms: what perturbs the tokens of a prompt, and what that guarantees.
//!
//! [`cape_paper`] is the paper's. [`santext`], [`custext`] and [`inferdpt`] are the ones it is compared with, each
//! with its weaknesses, which its page says.

use ethnum::U256;
use rand::CryptoRng;
use serde::Deserialize;

use crate::Result;
use crate::privacy::Guarantee;
use crate::sample::below;
use crate::text::{Outcome, TokenId, Tokens, Why};

pub mod cape;
pub mod cape_paper;
pub mod custext;
pub mod inferdpt;
mod kernel;
pub mod santext;

pub(crate) use kernel::DistanceKernel;

/// A way to perturb a prompt.
pub trait Mechanism: Send + Sync {
    /// The privacy statement, known before any prompt is.
    fn guarantee(&self) -> Guarantee;

    /// One outcome per token.
    fn perturb(&self, tokens: &Tokens, rng: &mut dyn CryptoRng) -> Result<Vec<Outcome>>;

    /// Perturbs several prompts, each with a generator of its own: what a prompt becomes does not
    /// depend on the others.
    fn perturb_all(
        &self,
        prompts: &mut [(&Tokens, &mut dyn CryptoRng)],
    ) -> Result<Vec<Vec<Outcome>>> {
        prompts.iter_mut().map(|(tokens, rng)| self.perturb(tokens, *rng)).collect()
    }
}

/// The treatment of a word that a mechanism on word vectors does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// Any word takes its place, each with the same probability.
    Replace,
    /// It is kept as it is: it leaks.
    Keep,
    /// It is left out: that it was unknown leaks.
    Drop,
}

impl Unknown {
    /// All choices.
    pub const ALL: [Self; 3] = [Self::Replace, Self::Keep, Self::Drop];

    /// As it appears in settings and in output for machines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Keep => "keep",
            Self::Drop => "drop",
        }
    }

    fn outcome(
        self,
        n: usize,
        id: impl FnOnce(usize) -> TokenId,
        rng: &mut dyn CryptoRng,
    ) -> Outcome {
        match self {
            Self::Replace => {
                Outcome::Drawn { id: id(below(n as u64, rng) as usize), retention: 0.0 }
            }
            Self::Keep => Outcome::Kept(Why::Unknown),
            Self::Drop => Outcome::Dropped,
        }
    }
}

/// The exact distribution of the draw at one word, for the mechanisms that see nothing but the word.
#[derive(Clone)]
pub struct Odds {
    /// The candidates, from the most to the least probable.
    pub candidates: Vec<Odd>,
    /// The sum of their weights; none where the draw is not one of integers alone.
    pub total: Option<U256>,
    /// The probability with which there is no draw, and the word is kept.
    pub kept: f64,
}

/// One candidate.
#[derive(Clone, Copy)]
pub struct Odd {
    /// The candidate.
    pub id: TokenId,
    /// Its distance to the word, or its similarity; none where the word has no vector.
    pub score: Option<f32>,
    /// Its integer weight.
    pub weight: Option<U256>,
    /// Its probability, given that there is a draw.
    pub probability: f64,
}

impl Odds {
    /// The distribution of these scores and integer weights.
    fn of_weights(weights: impl Iterator<Item = (TokenId, Option<f32>, U256)> + Clone) -> Self {
        let total: U256 = weights.clone().map(|(.., weight)| weight).sum();
        let mut candidates: Vec<Odd> = weights
            .map(|(id, score, weight)| {
                let probability = crate::exponential::ratio(weight, total);
                Odd { id, score, weight: Some(weight), probability }
            })
            .collect();
        candidates.sort_by(|a, b| b.weight.cmp(&a.weight).then(a.id.cmp(&b.id)));
        Self { candidates, total: Some(total), kept: 0.0 }
    }

    /// Where every candidate is as probable as any other.
    fn uniform(ids: impl Iterator<Item = TokenId> + Clone) -> Self {
        Self::of_weights(ids.map(|id| (id, None, U256::ONE)))
    }
}

/// One of the mechanisms that Cape's are compared with.
pub enum Baseline {
    /// SANTEXT or SANTEXT+.
    Santext(santext::Santext),
    /// CUSTEXT or CUSTEXT+.
    Custext(custext::Custext),
    /// InferDPT.
    Inferdpt(inferdpt::Inferdpt),
}

impl Baseline {
    /// The distribution of the draw for one word; none where it is not drawn for as a word: numbers,
    /// and unknown words that are kept or left out.
    #[must_use]
    pub fn odds(&self, t: TokenId) -> Option<Odds> {
        match self {
            Self::Santext(santext) => santext.odds(t),
            Self::Custext(custext) => custext.odds(t),
            Self::Inferdpt(inferdpt) => inferdpt.odds(t),
        }
    }

    fn mechanism(&self) -> &dyn Mechanism {
        match self {
            Self::Santext(santext) => santext,
            Self::Custext(custext) => custext,
            Self::Inferdpt(inferdpt) => inferdpt,
        }
    }
}

impl Mechanism for Baseline {
    fn guarantee(&self) -> Guarantee {
        self.mechanism().guarantee()
    }

    fn perturb(&self, tokens: &Tokens, rng: &mut dyn CryptoRng) -> Result<Vec<Outcome>> {
        self.mechanism().perturb(tokens, rng)
    }
}
