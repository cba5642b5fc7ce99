#![doc = include_str!("custext.md")]

use std::sync::Arc;

use ethnum::U256;
use rand::CryptoRng;

use super::{Mechanism, Odds, Unknown};
use crate::exponential::{ROUNDING, Scale, draw, ratio};
use crate::privacy::{Epsilon, Evidence, Guarantee, Notion};
use crate::sample::below;
use crate::text::{Outcome, Token, TokenId, Tokens};
use crate::vectors::WordVectors;
use crate::vocab::Vocab;
use crate::{Error, Result};

/// The mechanism CUSTEXT; CUSTEXT+ is the same with a list of stopwords to keep.
pub struct Custext {
    words: Arc<WordVectors>,
    epsilon: Epsilon,
    unknown: Unknown,
    /// Rows, list by list.
    lists: Arc<[Vec<u32>]>,
    /// The list of each row; none has number `u32::MAX`.
    list_of: Vec<u32>,
    vocab: Arc<Vocab>,
}

const NO_LIST: u32 = u32::MAX;

impl Custext {
    /// Words with vectors of length one, and lists of their rows that have no row in common.
    ///
    /// # Panics
    /// If a list has a row that is not there, or that another list has.
    pub fn new(
        words: Arc<WordVectors>,
        lists: Arc<[Vec<u32>]>,
        vocab: Arc<Vocab>,
        epsilon: Epsilon,
        unknown: Unknown,
    ) -> Result<Self> {
        let candidates = lists.iter().map(Vec::len).max().unwrap_or(1);
        let largest = 2.0 * Scale::new(candidates).largest();
        if epsilon.get() > largest {
            let (what, epsilon) = ("CUSTEXT's lists", epsilon.get());
            return Err(Error::Underflow { what, epsilon, candidates, largest });
        }
        let mut list_of = vec![NO_LIST; words.len()];
        for (list, rows) in (0..).zip(&*lists) {
            for &row in rows {
                assert_eq!(list_of[row as usize], NO_LIST, "a word is on one list");
                list_of[row as usize] = list;
            }
        }
        Ok(Self { words, epsilon, unknown, lists, list_of, vocab })
    }

    /// The distribution of the draw for one word; none for a number without a list, and for what is
    /// unknown and not replaced.
    #[must_use]
    pub fn odds(&self, t: TokenId) -> Option<Odds> {
        let Some((row, list)) = self.list(t) else {
            let replaced = self.unknown == Unknown::Replace && !self.vocab.is_number(t);
            return replaced.then(|| Odds::uniform(self.words.ids().iter().copied()));
        };
        let (similarities, exponents) = self.exponents(row, list);
        let scale = Scale::new(list.len());
        let candidates = list.iter().zip(similarities.iter().zip(&exponents));
        Some(Odds::of_weights(candidates.map(|(&row, (&similarity, &x))| {
            (self.words.ids()[row as usize], Some(similarity as f32), scale.weight(x))
        })))
    }

    /// The words, lists or not.
    pub(crate) fn words(&self) -> &WordVectors {
        &self.words
    }

    /// The words that the promise speaks of: those on a list.
    pub(crate) fn covered(&self) -> impl Iterator<Item = TokenId> + '_ {
        let ids = self.words.ids().iter().zip(&self.list_of);
        ids.filter(|(_, list)| **list != NO_LIST).map(|(&id, _)| id)
    }

    /// The row of a word and its list.
    fn list(&self, t: TokenId) -> Option<(usize, &[u32])> {
        let row = self.words.row_of(t)?;
        Some((row, self.lists.get(self.list_of[row] as usize)?))
    }

    /// The similarities of a list's words to one of them, and ε/2 · (1 − score).
    fn exponents(&self, row: usize, list: &[u32]) -> (Vec<f64>, Vec<f64>) {
        let own = self.words.vector(row);
        let dot = |&other: &u32| -> f64 {
            let other = self.words.vector(other as usize);
            own.iter().zip(other).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        };
        let similarities: Vec<f64> = list.iter().map(dot).collect();
        let (least, most) = similarities
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &s| (lo.min(s), hi.max(s)));
        // what rounding to integers may add is taken off first
        let (range, half) = (most - least, (self.epsilon.get() - ROUNDING).max(0.0) / 2.0);
        let exponent = |&s: &f64| if range > 0.0 { half * ((most - s) / range) } else { 0.0 };
        let exponents = similarities.iter().map(exponent).collect();
        (similarities, exponents)
    }

    fn outcome(&self, token: &Token, rng: &mut dyn CryptoRng) -> Outcome {
        if let Some(why) = token.kept {
            return Outcome::Kept(why);
        }
        let Some((row, list)) = self.list(token.id) else {
            if self.vocab.is_number(token.id) {
                return Outcome::Shifted(below(1000, rng) as u32);
            }
            return self.unknown.outcome(self.words.len(), |i| self.words.ids()[i], rng);
        };
        let (_, exponents) = self.exponents(row, list);
        let scale = Scale::new(list.len());
        let weights: Vec<U256> = exponents.iter().map(|&x| scale.weight(x)).collect();
        let total = weights.iter().sum();
        let drawn = list[draw(&weights, total, rng)] as usize;
        let own = list.iter().position(|&at| at as usize == row);
        let retention = own.map_or(0.0, |own| ratio(weights[own], total));
        Outcome::Drawn { id: self.words.ids()[drawn], retention }
    }
}

impl Mechanism for Custext {
    fn guarantee(&self) -> Guarantee {
        let nominal = self.epsilon;
        // the word itself weighs e^(ε/2), each of the others on its list 1 at least
        let shortest = self.lists.iter().map(Vec::len).min().unwrap_or(1) as f64;
        let most_kept = 1.0 / (1.0 + (shortest - 1.0) * (-nominal.get() / 2.0).exp());
        let bound = nominal.get().max(ROUNDING);
        Guarantee::uniform(nominal, bound, most_kept, Notion::WithinList, Evidence::Proof)
    }

    fn perturb(&self, tokens: &Tokens, rng: &mut dyn CryptoRng) -> Result<Vec<Outcome>> {
        Ok(tokens.as_slice().iter().map(|token| self.outcome(token, rng)).collect())
    }
}
