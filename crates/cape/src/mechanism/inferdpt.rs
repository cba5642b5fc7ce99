#![doc = include_str!("inferdpt.md")]

use std::sync::Arc;

use ethnum::U256;
use rand::CryptoRng;

use super::kernel::{DistanceKernel, KernelTerm};
use super::{Mechanism, Odd, Odds, Unknown};
use crate::exponential::{Scale, draw, ratio};
use crate::privacy::{Epsilon, Evidence, Guarantee, Notion};
use crate::recent::Recent;
use crate::rng::seeded;
use crate::sample::below;
use crate::text::{Outcome, Token, TokenId, Tokens};
use crate::vectors::WordVectors;
use crate::vocab::Vocab;
use crate::{Error, Result};

/// The mechanism RANTEXT of InferDPT.
pub struct Inferdpt {
    words: Arc<WordVectors>,
    vocab: Arc<Vocab>,
    epsilon: Epsilon,
    unknown: Unknown,
    scale: Scale,
    /// The scale of the Laplace noise on each dimension.
    noise: Vec<f64>,
    recent: Recent<u32, [f32]>,
}

/// The candidates within a radius, by their rows, and their weights.
struct Near {
    rows: Vec<usize>,
    weights: Vec<U256>,
    total: U256,
}

/// How many distances the rows that are kept may have together: 32 MB.
const RECENT: usize = 1 << 23;

/// How many radii the odds are an average of.
const RADII: u64 = 4096;

/// How many radii the Bayes attack averages over.
const ATTACKED_RADII: u64 = 64;

/// The budget ε_n of the noise that makes the radius: the public code's curve, fitted to keep the lists
/// at a size that its authors wanted.
pub(crate) fn noise_epsilon(epsilon: Epsilon) -> f64 {
    let epsilon = epsilon.get();
    if epsilon < 2.0 {
        epsilon
    } else {
        let inner = 19.064_721_649_556_482 * epsilon - 38.129_433_407_720_9;
        0.016_581_601_420_160_71 * inner.ln() + 9.311_083_811_697_406
    }
}

impl Inferdpt {
    /// Over these entries of a vocabulary.
    pub fn new(
        words: Arc<WordVectors>,
        vocab: Arc<Vocab>,
        epsilon: Epsilon,
        unknown: Unknown,
    ) -> Result<Self> {
        let scale = Scale::new(words.len());
        // the farthest candidate is just within the radius: its exponent is below ε/2
        let largest = 2.0 * scale.largest();
        if epsilon.get() > largest {
            let (what, epsilon) = ("InferDPT's candidates", epsilon.get());
            return Err(Error::Underflow { what, epsilon, candidates: words.len(), largest });
        }
        let dim = words.vectors().dim();
        let (mut least, mut most) = (vec![f32::INFINITY; dim], vec![f32::NEG_INFINITY; dim]);
        for row in words.vectors().data().chunks_exact(dim) {
            for ((least, most), &x) in least.iter_mut().zip(&mut most).zip(row) {
                (*least, *most) = (least.min(x), most.max(x));
            }
        }
        let noise_epsilon = noise_epsilon(epsilon);
        let ranges = least.iter().zip(&most).map(|(&least, &most)| f64::from(most - least));
        let noise = ranges.map(|range| range / noise_epsilon).collect();
        let recent = Recent::new((RECENT / words.len()).min(words.len()));
        Ok(Self { words, vocab, epsilon, unknown, scale, noise, recent })
    }

    /// Draws a radius: the length of the noise. It does not depend on the prompt.
    pub fn radius(&self, rng: &mut dyn CryptoRng) -> f64 {
        let squares = self.noise.iter().map(|scale| {
            // the size of Laplace noise is exponential; its sign does not change the length
            let uniform = ((rng.next_u64() >> 11) + 1) as f64 / 2_f64.powi(53);
            (scale * uniform.ln()).powi(2)
        });
        squares.sum::<f64>().sqrt()
    }

    /// The distribution of the draw for one word, averaged over 4,096 radii that are always the same;
    /// none for a number, and for what is not known and not replaced.
    #[must_use]
    pub fn odds(&self, t: TokenId) -> Option<Odds> {
        if self.vocab.is_number(t) {
            return None;
        }
        let Some(own) = self.words.row_of(t) else {
            let replaced = self.unknown == Unknown::Replace;
            return replaced.then(|| Odds::uniform(self.words.ids().iter().copied()));
        };
        let distances = self.distances(own);
        let mut probabilities = vec![0.0; distances.len()];
        for stream in 0..RADII {
            // an average over public numbers, not a draw: a seed is in place
            let near = self.near(&distances, self.radius(&mut seeded(0, stream)));
            for (i, weight) in near.rows.into_iter().zip(near.weights) {
                probabilities[i] += ratio(weight, near.total) / RADII as f64;
            }
        }
        let mut candidates: Vec<Odd> = (0..distances.len())
            .map(|i| Odd {
                id: self.words.ids()[i],
                score: Some(distances[i]),
                weight: None,
                probability: probabilities[i],
            })
            .collect();
        candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability).then(a.id.cmp(&b.id)));
        Some(Odds { candidates, total: None, kept: 0.0 })
    }

    /// The draw as the Bayes attack needs to know it: an average over the first of the radii of [`Self::odds`].
    pub(crate) fn kernel(&self) -> DistanceKernel<'_> {
        let term = |stream| {
            let radius = self.radius(&mut seeded(0, stream));
            KernelTerm { rate: self.epsilon.get() / 2.0 / radius, radius }
        };
        let terms = (0..ATTACKED_RADII).map(term).collect();
        DistanceKernel { words: &self.words, drawn: None, drawn_for: 0.0, terms }
    }

    /// The exact distribution of the draw for one word at a given radius.
    #[must_use]
    pub fn odds_at(&self, t: TokenId, radius: f64) -> Option<Odds> {
        let distances = self.distances(self.words.row_of(t)?);
        let near = self.near(&distances, radius);
        let of = |(&i, &weight)| (self.words.ids()[i], Some(distances[i]), weight);
        Some(Odds::of_weights(near.rows.iter().zip(&near.weights).map(of)))
    }

    /// The candidates within a radius.
    fn near(&self, distances: &[f32], radius: f64) -> Near {
        let mut near = Near { rows: Vec::new(), weights: Vec::new(), total: U256::ZERO };
        for (i, &d) in distances.iter().enumerate() {
            let d = f64::from(d);
            if d < radius {
                let weight = self.scale.weight(self.exponent(d, radius));
                near.rows.push(i);
                near.weights.push(weight);
                near.total += weight;
            }
        }
        near
    }

    /// A candidate at this distance weighs e^(−this).
    pub(crate) fn exponent(&self, distance: f64, radius: f64) -> f64 {
        self.epsilon.get() / 2.0 * (distance / radius)
    }

    fn distances(&self, own: usize) -> Arc<[f32]> {
        self.recent.get_or(own as u32, || self.distances_anew(own))
    }

    pub(crate) fn distances_anew(&self, own: usize) -> Arc<[f32]> {
        (0..self.words.len()).map(|other| self.words.distance(own, other)).collect()
    }

    /// The scale of the noise on each dimension.
    pub(crate) fn noise(&self) -> &[f64] {
        &self.noise
    }

    pub(crate) fn words(&self) -> &WordVectors {
        &self.words
    }

    /// The words whose draws are of this kind: all but numbers.
    pub(crate) fn covered(&self) -> impl Iterator<Item = TokenId> + '_ {
        self.words.ids().iter().copied().filter(|&id| !self.vocab.is_number(id))
    }

    /// Whether an unknown word is drawn for as well.
    pub(crate) fn covers_unknown(&self) -> bool {
        self.unknown == Unknown::Replace
    }

    fn outcome(&self, token: &Token, rng: &mut dyn CryptoRng) -> Outcome {
        if let Some(why) = token.kept {
            return Outcome::Kept(why);
        }
        if self.vocab.is_number(token.id) {
            return Outcome::Number(below(1000, rng) as u32 + 1);
        }
        let Some(own) = self.words.row_of(token.id) else {
            return self.unknown.outcome(self.words.len(), |i| self.words.ids()[i], rng);
        };
        let near = self.near(&self.distances(own), self.radius(rng));
        // at a radius of zero the word is its own only candidate
        if near.rows.is_empty() {
            return Outcome::Drawn { id: token.id, retention: 1.0 };
        }
        let drawn = near.rows[draw(&near.weights, near.total, rng)];
        let retention = ratio(self.scale.weight(0.0), near.total);
        Outcome::Drawn { id: self.words.ids()[drawn], retention }
    }
}

impl Mechanism for Inferdpt {
    fn guarantee(&self) -> Guarantee {
        Guarantee::uniform(self.epsilon, f64::INFINITY, 1.0, Notion::None, Evidence::None)
    }

    fn perturb(&self, tokens: &Tokens, rng: &mut dyn CryptoRng) -> Result<Vec<Outcome>> {
        Ok(tokens.as_slice().iter().map(|token| self.outcome(token, rng)).collect())
    }
}
