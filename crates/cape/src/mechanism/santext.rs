#![doc = include_str!("santext.md")]

use std::sync::Arc;

use ethnum::U256;
use rand::CryptoRng;

use super::kernel::{DistanceKernel, KernelTerm};
use super::{Mechanism, Odds, Unknown};
use crate::embeddings::squared_distance;
use crate::exponential::{ROUNDING, Scale, below, ratio};
use crate::privacy::{Epsilon, Evidence, Guarantee, Notion, round_up};
use crate::recent::Recent;
use crate::text::{Outcome, Token, TokenId, Tokens, Why};
use crate::vectors::WordVectors;
use crate::{Error, Result};

/// The additions of SANTEXT+.
#[derive(Clone, Debug)]
pub struct Plus {
    /// The rows of the sensitive words, in order: the only ones that are drawn.
    sensitive: Vec<u32>,
    /// The probability with which a word that is not sensitive is drawn for nevertheless.
    p: f64,
}

impl Plus {
    /// The rarest share of the words, given their rows by falling frequency, and p.
    pub fn rarest(by_frequency: &[u32], share: f64, p: f64) -> Result<Self> {
        for (name, value) in [("sensitive-share", share), ("frequent-drawn", p)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::Setting { name, range: "from 0 to 1", value });
            }
        }
        let sensitive = (share * by_frequency.len() as f64) as usize;
        let mut sensitive = by_frequency[by_frequency.len() - sensitive..].to_vec();
        sensitive.sort_unstable();
        Ok(Self { sensitive, p })
    }

    /// How many words are sensitive.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "two at least make a mechanism")]
    pub fn len(&self) -> usize {
        self.sensitive.len()
    }
}

/// The mechanism SANTEXT, or SANTEXT+.
pub struct Santext {
    words: Arc<WordVectors>,
    epsilon: Epsilon,
    unknown: Unknown,
    /// The rows that are drawn, in order.
    drawn: Vec<u32>,
    /// The share of 2^32 with which a frequent word is drawn for; none for SANTEXT.
    p: Option<u64>,
    scale: Scale,
    recent: Recent<u32, Row>,
}

/// The distances of all words that are drawn to one word, and the sums of their weights block by block.
struct Row {
    distances: Vec<f32>,
    sums: Vec<U256>,
}

/// How many weights are summed between two sums that are kept.
const BLOCK: usize = 64;

/// How many distances the rows that are kept may have together: 256 MB.
const RECENT: usize = 1 << 26;

/// How many words' vectors are compared with a group of words before they leave the cache.
const TILE: usize = 64;

impl Santext {
    /// SANTEXT over these words, or SANTEXT+ with a choice of them.
    pub fn new(
        words: Arc<WordVectors>,
        epsilon: Epsilon,
        unknown: Unknown,
        plus: Option<Plus>,
    ) -> Result<Self> {
        let p = plus.as_ref().map(|plus| (plus.p * 2_f64.powi(32)) as u64);
        let drawn = plus.map_or_else(|| (0..words.len() as u32).collect(), |plus| plus.sensitive);
        if drawn.len() < 2 {
            return Err(Error::Candidates(drawn.len()));
        }
        let (diameter, scale) = (words.diameter(), Scale::new(drawn.len()));
        let largest = 2.0 * scale.largest() / diameter;
        if epsilon.get() > largest {
            let (what, epsilon) = ("SANTEXT's distances", epsilon.get());
            return Err(Error::Underflow { what, epsilon, candidates: drawn.len(), largest });
        }
        let recent = Recent::new((RECENT / drawn.len()).min(words.len()));
        Ok(Self { words, epsilon, unknown, drawn, p, scale, recent })
    }

    /// An upper bound of the distance between two words: the worst case costs ε times as much.
    #[must_use]
    pub fn diameter(&self) -> f64 {
        self.words.diameter()
    }

    /// The distribution of the draw for one word; none for what is not known and not replaced.
    #[must_use]
    pub fn odds(&self, t: TokenId) -> Option<Odds> {
        let id = |&row: &u32| self.words.ids()[row as usize];
        let Some(row) = self.words.row_of(t) else {
            let replaced = self.unknown == Unknown::Replace;
            return replaced.then(|| Odds::uniform(self.drawn.iter().map(id)));
        };
        let row = row as u32;
        let near = &self.rows(&[row])[0];
        let weights = self.drawn.iter().zip(&near.distances);
        let odds = Odds::of_weights(weights.map(|(row, &d)| (id(row), Some(d), self.weight(d))));
        let kept = match self.p {
            Some(p) if !self.is_drawn(row) => 1.0 - p as f64 / 2_f64.powi(32),
            _ => 0.0,
        };
        Some(Odds { kept, ..odds })
    }

    /// The draw as the Bayes attack needs to know it.
    pub(crate) fn kernel(&self) -> DistanceKernel<'_> {
        let drawn_for = self.p.map_or(1.0, |p| p as f64 / 2_f64.powi(32));
        let terms = vec![KernelTerm { rate: self.epsilon.get() / 2.0, radius: f64::INFINITY }];
        DistanceKernel { words: &self.words, drawn: Some(&self.drawn), drawn_for, terms }
    }

    /// The words that the promise speaks of, as rows: those that can be drawn.
    pub(crate) fn covered(&self) -> &[u32] {
        &self.drawn
    }

    /// Whether an unknown word is drawn for as well.
    pub(crate) fn covers_unknown(&self) -> bool {
        self.unknown == Unknown::Replace
    }

    pub(crate) fn words(&self) -> &WordVectors {
        &self.words
    }

    /// The probabilities of all that can be drawn, for one row; none is an unknown word.
    pub(crate) fn probabilities(&self, row: Option<u32>) -> Vec<f64> {
        let Some(row) = row else { return vec![1.0 / self.drawn.len() as f64; self.drawn.len()] };
        // not kept: every row is wanted once
        let distances = self.distances(&[row]).swap_remove(0);
        let weights: Vec<U256> = distances.iter().map(|&d| self.weight(d)).collect();
        let total = weights.iter().sum();
        weights.iter().map(|&weight| ratio(weight, total)).collect()
    }

    fn is_drawn(&self, row: u32) -> bool {
        self.drawn.binary_search(&row).is_ok()
    }

    fn weight(&self, distance: f32) -> U256 {
        self.scale.weight(self.epsilon.get() / 2.0 * f64::from(distance))
    }

    /// The rows of several words: those that are not at hand are computed in one pass over the vectors.
    fn rows(&self, wanted: &[u32]) -> Vec<Arc<Row>> {
        let mut rows: Vec<Option<Arc<Row>>> =
            wanted.iter().map(|row| self.recent.get(row)).collect();
        let missing: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].is_none()).collect();
        let distances = self.distances(&missing.iter().map(|&i| wanted[i]).collect::<Vec<_>>());
        for (distances, i) in distances.into_iter().zip(missing) {
            let mut sum = U256::ZERO;
            let block = |block: &[f32]| {
                sum += block.iter().map(|&d| self.weight(d)).sum::<U256>();
                sum
            };
            let sums = distances.chunks(BLOCK).map(block).collect();
            let row = Arc::new(Row { distances, sums });
            self.recent.put(wanted[i], Arc::clone(&row));
            rows[i] = Some(row);
        }
        rows.into_iter().flatten().collect()
    }

    /// The distances of some words to all that are drawn, in one pass over the vectors.
    fn distances(&self, wanted: &[u32]) -> Vec<Vec<f32>> {
        let mut distances: Vec<Vec<f32>> =
            wanted.iter().map(|_| Vec::with_capacity(self.drawn.len())).collect();
        for tile in self.drawn.chunks(TILE) {
            for (distances, &row) in distances.iter_mut().zip(wanted) {
                let own = self.words.vector(row as usize);
                let to = |&row: &u32| squared_distance(own, self.words.vector(row as usize)).sqrt();
                distances.extend(tile.iter().map(to));
            }
        }
        distances
    }

    /// The outcome for a token; `rows` are those of the words `wanted`, this one among them.
    fn outcome(
        &self,
        token: &Token,
        wanted: &[u32],
        rows: &[Arc<Row>],
        rng: &mut dyn CryptoRng,
    ) -> Outcome {
        if let Some(why) = token.kept {
            return Outcome::Kept(why);
        }
        let Some(row) = self.words.row_of(token.id) else {
            let id = |i: usize| self.words.ids()[self.drawn[i] as usize];
            return self.unknown.outcome(self.drawn.len(), id, rng);
        };
        let own = self.drawn.binary_search(&(row as u32)).ok();
        if let (Some(p), None) = (self.p, own)
            && crate::sample::below(1 << 32, rng) >= p
        {
            return Outcome::Kept(Why::Frequent);
        }
        let at = wanted.partition_point(|&wanted| (wanted as usize) < row);
        self.draw(&rows[at], own, rng)
    }

    /// Draws from a row: the block first, then the word in it, by one integer.
    fn draw(&self, row: &Row, own: Option<usize>, rng: &mut dyn CryptoRng) -> Outcome {
        let total = row.sums.last().copied().unwrap_or_default();
        let at = below(total, rng);
        let block = row.sums.partition_point(|&sum| sum <= at);
        let mut sum = block.checked_sub(1).map_or(U256::ZERO, |before| row.sums[before]);
        let mut i = block * BLOCK;
        loop {
            sum += self.weight(row.distances[i]);
            if at < sum {
                break;
            }
            i += 1;
        }
        let retention = own.map_or(0.0, |own| ratio(self.weight(row.distances[own]), total));
        Outcome::Drawn { id: self.words.ids()[self.drawn[i] as usize], retention }
    }
}

impl Mechanism for Santext {
    fn guarantee(&self) -> Guarantee {
        let (nominal, n) = (self.epsilon, self.drawn.len() as f64);
        let worst = nominal.get() * self.diameter();
        let all = self.drawn.len() == self.words.len() || self.p == Some(1 << 32);
        let notion = if all { Notion::MetricLdp } else { Notion::MetricLdpOfSome };
        let (bound, notion, evidence) = match self.unknown {
            Unknown::Replace => (round_up(worst + ROUNDING), notion, Evidence::Proof),
            Unknown::Keep | Unknown::Drop => (f64::INFINITY, Notion::None, Evidence::None),
        };
        // the word itself weighs 1, each of the others e^(−ε/2·d) at least
        let most_kept = 1.0 / (1.0 + (n - 1.0) * (-worst / 2.0).exp());
        Guarantee::uniform(nominal, bound, most_kept, notion, evidence)
    }

    fn perturb(&self, tokens: &Tokens, rng: &mut dyn CryptoRng) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::with_capacity(tokens.as_slice().len());
        // as many tokens at a time as rows may be held
        for tokens in tokens.as_slice().chunks((RECENT / self.drawn.len()).max(1)) {
            let sensitive = tokens.iter().filter(|token| token.kept.is_none());
            let mut wanted: Vec<u32> = sensitive
                .filter_map(|token| self.words.row_of(token.id))
                .map(|row| row as u32)
                .collect();
            wanted.sort_unstable();
            wanted.dedup();
            let rows = self.rows(&wanted);
            outcomes.extend(tokens.iter().map(|token| self.outcome(token, &wanted, &rows, rng)));
        }
        Ok(outcomes)
    }
}
