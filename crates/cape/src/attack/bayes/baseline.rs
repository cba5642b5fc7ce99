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

use super::cape_paper::TokenGuess;
use crate::mechanism::{Baseline, DistanceKernel};
use crate::text::TokenId;

/// The attack on one mechanism at one ε.
pub struct BaselineBayes {
    /// Z(t) for each term, by row.
    normalisers: Vec<OnceLock<Box<[f64]>>>,
    most: usize,
}

impl BaselineBayes {
    /// The attack on a mechanism with `words` words; at most `most` of them are looked at for a
    /// position, the most promising first.
    #[must_use]
    pub fn new(words: usize, most: usize) -> Self {
        Self { normalisers: (0..words).map(|_| OnceLock::new()).collect(), most }
    }

    /// The word of the largest posterior, if `y` can be drawn. The prior is the logarithm of a
    /// probability, up to a constant, for each row of the mechanism's words; the mechanism is always the
    /// same.
    #[must_use]
    pub fn guess(&self, baseline: &Baseline, y: TokenId, prior: &[f32]) -> Option<TokenGuess> {
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
                Some(TokenGuess { id, exact: true })
            }
            Baseline::Santext(santext) => self.search(&santext.kernel(), y, prior),
            Baseline::Inferdpt(inferdpt) => self.search(&inferdpt.kernel(), y, prior),
        }
    }

    fn search(&self, kernel: &DistanceKernel<'_>, y: TokenId, prior: &[f32]) -> Option<TokenGuess> {
        let y = kernel.words.row_of(y)?;
        let at_most = match &kernel.terms[..] {
            [_] => 1.0 / self.normalisers(kernel, y)[0],
            _ => 1.0,
        };
        let mut promising: Vec<(f64, f32, usize)> = (0..kernel.words.len())
            .map(|t| {
                let distance = kernel.words.distance(t, y);
                let weights = kernel.terms.iter().map(|term| term.weight(f64::from(distance)));
                let weight = weights.sum::<f64>() / kernel.terms.len() as f64;
                let bound = if kernel.is_drawn(t) {
                    weight.min(at_most)
                } else {
                    kernel.drawn_for * at_most
                };
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
                return guess.map(|id| TokenGuess { id, exact: false });
            }
            let likelihood = kernel.likelihood(t, f64::from(distance), self.normalisers(kernel, t));
            let posterior = f64::from(prior[t]) + likelihood.ln();
            if posterior > best {
                (best, guess) = (posterior, Some(kernel.words.ids()[t]));
            }
        }
        guess.map(|id| TokenGuess { id, exact: true })
    }

    fn normalisers(&self, kernel: &DistanceKernel<'_>, t: usize) -> &[f64] {
        self.normalisers[t].get_or_init(|| kernel.normalisers(t))
    }
}
