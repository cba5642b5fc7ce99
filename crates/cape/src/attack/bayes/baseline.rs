//! The adversary who knows the mechanism, against those that see nothing but the word: the most probable
//! word given the one that was released.
//!
//! The posterior of t is `prior(t) · P(y | t)`, t among the words that the mechanism has vectors of.
//! CUSTEXT makes y of the words on its list alone, and their probabilities are those of its integers. For
//! SANTEXT the weights are computed in floats: `P(y | t) = e^(−ε/2·d(t,y)) / Z(t)`. InferDPT's draw is an
//! average over its radius, which is taken over 64 radii that are always the same.
//!
//! Z(t) sums over all words, so it is computed only for those t that could be the best, and kept:
//! `Z(t) ≥ 1` where t can be drawn itself, and for SANTEXT `Z(t) ≥ e^(−ε/2·d(t,y)) · Z(y)` by the triangle
//! inequality.

use std::sync::OnceLock;

use super::cape_paper::Guess;
use crate::mechanism::Baseline;
use crate::text::TokenId;
use crate::vectors::WordVectors;

/// How a mechanism draws, as the attack needs to know it.
pub(crate) struct Law<'a> {
    /// The words.
    pub(crate) words: &'a WordVectors,
    /// The rows that are drawn, in order; all without.
    pub(crate) drawn: Option<&'a [u32]>,
    /// The probability with which a word that cannot be drawn itself is drawn for.
    pub(crate) p: f64,
    /// The draw is an average of draws, each among the words within a radius.
    pub(crate) terms: Vec<Term>,
}

/// Weights e^(−rate · d) below a distance, and 0 from it on.
pub(crate) struct Term {
    pub(crate) rate: f64,
    pub(crate) radius: f64,
}

impl Term {
    fn weight(&self, distance: f64) -> f64 {
        if distance < self.radius { (-self.rate * distance).exp() } else { 0.0 }
    }
}

impl Law<'_> {
    /// Z(t), for each term.
    fn normalisers(&self, t: usize) -> Box<[f64]> {
        let mut sums = vec![0.0; self.terms.len()];
        let drawn = self.drawn.map_or(self.words.len(), <[u32]>::len);
        for i in 0..drawn {
            let row = self.drawn.map_or(i, |drawn| drawn[i] as usize);
            let distance = f64::from(self.words.distance(t, row));
            for (sum, term) in sums.iter_mut().zip(&self.terms) {
                *sum += term.weight(distance);
            }
        }
        sums.into()
    }

    fn is_drawn(&self, t: usize) -> bool {
        self.drawn.is_none_or(|drawn| drawn.binary_search(&(t as u32)).is_ok())
    }

    /// P(y | t) by their distance and Z(t).
    fn likelihood(&self, t: usize, distance: f64, normalisers: &[f64]) -> f64 {
        let share = if self.is_drawn(t) { 1.0 } else { self.p };
        let each = self.terms.iter().zip(normalisers).filter(|(_, z)| **z > 0.0);
        share * each.map(|(term, z)| term.weight(distance) / z).sum::<f64>()
            / self.terms.len() as f64
    }
}

/// The attack on one mechanism at one ε.
pub struct WordBayes {
    /// Z(t) for each term, by row.
    normalisers: Vec<OnceLock<Box<[f64]>>>,
    most: usize,
}

impl WordBayes {
    /// On a mechanism with so many words; at the most so many of them are looked at for a position, the
    /// most promising first.
    #[must_use]
    pub fn new(words: usize, most: usize) -> Self {
        Self { normalisers: (0..words).map(|_| OnceLock::new()).collect(), most }
    }

    /// The word of the largest posterior, if `y` can be drawn. The prior is the logarithm of a
    /// probability, up to a constant, for each row of the mechanism's words; the mechanism is always the
    /// same.
    #[must_use]
    pub fn guess(&self, baseline: &Baseline, y: TokenId, prior: &[f32]) -> Option<Guess> {
        match baseline {
            Baseline::Custext(custext) => {
                let posterior = |t: TokenId| {
                    let odds = custext.odds(t)?;
                    let made = odds.candidates.iter().find(|odd| odd.id == y)?.probability;
                    Some(f64::from(prior[custext.words().row_of(t)?]) + made.ln())
                };
                let could = custext.odds(y)?.candidates;
                let all = could.iter().filter_map(|odd| Some((odd.id, posterior(odd.id)?)));
                let (id, _) = all.max_by(|a, b| a.1.total_cmp(&b.1))?;
                Some(Guess { id, exact: true })
            }
            Baseline::Santext(santext) => self.search(&santext.law(), y, prior),
            Baseline::Inferdpt(inferdpt) => self.search(&inferdpt.law(), y, prior),
        }
    }

    fn search(&self, law: &Law<'_>, y: TokenId, prior: &[f32]) -> Option<Guess> {
        let y = law.words.row_of(y)?;
        let at_most = match &law.terms[..] {
            [_] => 1.0 / self.normalisers(law, y)[0],
            _ => 1.0,
        };
        let mut promising: Vec<(f64, f32, usize)> = (0..law.words.len())
            .map(|t| {
                let distance = law.words.distance(t, y);
                let weights = law.terms.iter().map(|term| term.weight(f64::from(distance)));
                let weight = weights.sum::<f64>() / law.terms.len() as f64;
                let bound = if law.is_drawn(t) { weight.min(at_most) } else { law.p * at_most };
                (f64::from(prior[t]) + bound.ln(), distance, t)
            })
            .collect();
        promising.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let (mut best, mut guess) = (f64::NEG_INFINITY, None);
        for (count, &(bound, distance, t)) in promising.iter().enumerate() {
            if bound < best {
                break;
            }
            if count == self.most {
                return guess.map(|id| Guess { id, exact: false });
            }
            let likelihood = law.likelihood(t, f64::from(distance), self.normalisers(law, t));
            let posterior = f64::from(prior[t]) + likelihood.ln();
            if posterior > best {
                (best, guess) = (posterior, Some(law.words.ids()[t]));
            }
        }
        guess.map(|id| Guess { id, exact: true })
    }

    fn normalisers(&self, law: &Law<'_>, t: usize) -> &[f64] {
        self.normalisers[t].get_or_init(|| law.normalisers(t))
    }
}
