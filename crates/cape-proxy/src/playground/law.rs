//! The law of protected words in numbers, and as a curve.

use cape::{Cape, Kind, Level};
use serde::Serialize;

/// How many points a curve has at least.
const POINTS: usize = 60;

#[derive(Serialize)]
pub(super) struct LawNumbers {
    ranks: usize,
    epsilon_protected: f64,
    epsilon_any: f64,
    /// The probability with which a word stays itself, at most.
    kept: f64,
    /// The probability of the k nearest together.
    near: f64,
    /// How often one who must decide between two given words is right, at most.
    guessed: f64,
    /// Ranks, and the probability of a word up to that rank.
    curve: Vec<(usize, f64)>,
}

impl LawNumbers {
    pub(super) fn new(cape: &Cape) -> Self {
        let (law, guarantee) = (cape.law(Level::Protected), cape.guarantee_for(&[Kind::Word]));
        let (n, k) = (law.ranked(), law.shape().k.min(law.ranked()));
        let step = |i: usize| (n as f64).powf(i as f64 / POINTS as f64).round() as usize;
        let mut ranks: Vec<usize> = (0..=POINTS).map(step).chain([k, (k + 1).min(n), n]).collect();
        ranks.sort_unstable();
        ranks.dedup();
        Self {
            ranks: n,
            epsilon_protected: guarantee.protected,
            epsilon_any: guarantee.bound,
            kept: guarantee.most_kept,
            near: law.first(k),
            guessed: guarantee.most_guessed,
            curve: ranks.into_iter().map(|rank| (rank, law.first(rank))).collect(),
        }
    }
}
