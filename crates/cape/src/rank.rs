//! A public distribution over ranks, and the ranks of candidates.
//!
//! `q(r) ∝ max(r^−α, e^−ε)` for r = 1..n, as integers. Whatever order decides which candidate has which
//! rank, the draw is ε-LDP: the largest and the smallest of these integers are within e^ε of each other.

use rand::CryptoRng;

use crate::privacy::Epsilon;
use crate::sample::{below, check_candidates, log_ratio_up};
use crate::{Error, Result};

/// The weight of rank 1. The total over the most candidates still fits in 64 bits.
const TOP: f64 = (1_u64 << 44) as f64;
/// What lifts the floor above `TOP·e^−ε` whatever the rounding of `exp` (below 2^−50).
const FLOOR_MARGIN: f64 = 1.0 + 1.0 / (1_u64 << 40) as f64;

/// Integer weights of the ranks 1..n, non-increasing.
#[derive(Clone, Debug)]
pub struct RankTable {
    /// `cumulative[r]` is the weight of the ranks 1..=r; `cumulative[0]` is 0.
    cumulative: Vec<u64>,
    alpha: f64,
    epsilon: f64,
}

impl RankTable {
    /// The table for `n` candidates. `alpha` is the power law's exponent; without it, ε / ln n: the
    /// law that reaches its floor at the last rank.
    pub fn new(n: usize, epsilon: Epsilon, alpha: Option<f64>) -> Result<Self> {
        check_candidates(n)?;
        let alpha = alpha.unwrap_or(epsilon.get() / (n as f64).ln());
        if !(alpha.is_finite() && alpha >= 0.0) {
            return Err(Error::Setting {
                name: "alpha",
                range: "zero or positive, and finite",
                value: alpha,
            });
        }
        let floor =
            ((TOP * (-epsilon.get()).exp() * FLOOR_MARGIN).ceil() as u64).clamp(1, TOP as u64);
        let mut cumulative = Vec::with_capacity(n + 1);
        let (mut total, mut last) = (0_u64, u64::MAX);
        cumulative.push(total);
        for rank in 1..=n {
            // `min(last)` keeps the table non-increasing even if `powf` were not monotone
            let law = (TOP * (rank as f64).powf(-alpha)) as u64;
            last = law.max(floor).min(last);
            total += last;
            cumulative.push(total);
        }
        let epsilon = log_ratio_up(cumulative[1].into(), last.into());
        Ok(Self { cumulative, alpha, epsilon })
    }

    /// How many ranks there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.cumulative.len() - 1
    }

    /// The integer weight of a rank, counted from 1.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn weight(&self, rank: usize) -> u64 {
        self.cumulative[rank] - self.cumulative[rank - 1]
    }

    /// The sum of all weights.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.cumulative[self.len()]
    }

    /// The probability of a rank.
    #[must_use]
    pub fn probability(&self, rank: usize) -> f64 {
        self.weight(rank) as f64 / self.total() as f64
    }

    /// The exponent in use.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// ln(largest / smallest weight), computed from the integers and rounded up: what holds.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Draws a rank, counted from 1.
    pub fn draw(&self, rng: &mut dyn CryptoRng) -> usize {
        let x = below(self.total(), rng);
        self.cumulative.partition_point(|&c| c <= x)
    }
}

/// The r-th best candidate (r from 1) by utility, ties by index: the permutation that the ranks
/// speak of.
///
/// # Panics
/// If there is no such rank.
#[must_use]
pub fn nth_best(utilities: &[f32], r: usize) -> usize {
    let mut keys = keys(utilities);
    let (_, nth, _) = keys.select_nth_unstable(r - 1);
    index(*nth) as usize
}

/// The rank of a candidate, counted from 1.
///
/// # Panics
/// If there is no such candidate.
#[must_use]
pub fn rank_of(utilities: &[f32], candidate: usize) -> usize {
    let own = falling(utilities[candidate]);
    let (before, after) = utilities.split_at(candidate);
    // of equal ones those with a smaller index are better
    let before = before.iter().filter(|&&u| falling(u) <= own).count();
    1 + before + after.iter().filter(|&&u| falling(u) < own).count()
}

/// All candidates, best first.
#[must_use]
pub fn ranking(utilities: &[f32]) -> Vec<u32> {
    let mut keys = keys(utilities);
    keys.sort_unstable();
    keys.into_iter().map(index).collect()
}

/// A number for each candidate, the smaller the better: larger utility first, then smaller index.
fn keys(utilities: &[f32]) -> Vec<u64> {
    (0..).zip(utilities).map(|(i, &u)| u64::from(falling(u)) << 32 | i).collect()
}

fn index(key: u64) -> u32 {
    (key & u64::from(u32::MAX)) as u32
}

/// A number that falls as the float rises, in the total order of floats.
fn falling(u: f32) -> u32 {
    let bits = u.to_bits();
    // the bits of positive floats rise with them, those of negative ones fall
    if bits >> 31 == 0 { 0x7fff_ffff - bits } else { bits }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rng::script::Script;
    use crate::rng::seeded;

    fn table(n: usize, epsilon: f64, alpha: Option<f64>) -> RankTable {
        RankTable::new(n, Epsilon::new(epsilon).unwrap(), alpha).unwrap()
    }

    proptest! {
        #[test]
        fn the_stated_loss_is_at_most_epsilon(
            n in 2_usize..2000, epsilon in 1e-6_f64..60.0, alpha in prop::option::of(0.0_f64..20.0)
        ) {
            let table = table(n, epsilon, alpha);
            prop_assert!(table.epsilon() <= epsilon, "{} > {epsilon}", table.epsilon());
            let weights: Vec<u64> = (1..=n).map(|r| table.weight(r)).collect();
            prop_assert!(weights.windows(2).all(|w| w[0] >= w[1] && w[1] > 0));
            prop_assert_eq!(weights.iter().sum::<u64>(), table.total());
        }

        #[test]
        fn selection_agrees_with_sorting(
            utilities in prop::collection::vec(
                prop_oneof![(0_u8..6).prop_map(|u| f32::from(u) / 5.0), any::<u32>().prop_map(f32::from_bits)],
                2..60,
            )
        ) {
            let mut sorted: Vec<u32> = (0..utilities.len() as u32).collect();
            sorted.sort_by(|&a, &b| utilities[b as usize].total_cmp(&utilities[a as usize]));
            let ranking = ranking(&utilities);
            prop_assert_eq!(&ranking, &sorted);
            for (r, &best) in ranking.iter().enumerate() {
                prop_assert_eq!(nth_best(&utilities, r + 1), best as usize);
                prop_assert_eq!(rank_of(&utilities, best as usize), r + 1);
            }
        }
    }

    #[test]
    fn the_shape_is_a_power_law_with_a_floor() {
        let table = table(30_000, 12.0, Some(2.0));
        let top = table.weight(1) as f64;
        for rank in [1, 2, 10, 100, 403, 404, 1000, 30_000] {
            let law = (rank as f64).powi(-2).max((-12.0_f64).exp());
            let got = table.weight(rank) as f64 / top;
            assert!((got / law - 1.0).abs() < 1e-6, "rank {rank}: {got} for {law}");
        }
    }

    #[test]
    fn the_plain_law_spends_all_of_epsilon() {
        let table = table(24_000, 12.0, None);
        assert!((table.alpha() - 12.0 / 24_000_f64.ln()).abs() < 1e-12);
        assert!(table.epsilon() > 12.0 - 1e-6 && table.epsilon() <= 12.0);
    }

    /// Every rank owns exactly its weight of integers: the first and the last of each are its own.
    #[test]
    fn each_rank_owns_its_integers() {
        for (epsilon, alpha) in [(3.0, Some(1.0)), (40.0, None), (1e-13, None), (5.0, Some(0.0))] {
            let table = table(12, epsilon, alpha);
            let mut from = 0;
            for rank in 1..=12 {
                let to = from + table.weight(rank);
                assert!(to > from);
                assert_eq!(table.draw(&mut Script::new(&[from])), rank);
                assert_eq!(table.draw(&mut Script::new(&[to - 1])), rank);
                from = to;
            }
            assert_eq!(from, table.total());
        }
    }

    #[test]
    fn the_largest_table_does_not_overflow() {
        use crate::sample::MOST_CANDIDATES;
        let most = table(MOST_CANDIDATES, 1e-13, Some(0.0));
        assert_eq!(most.total(), MOST_CANDIDATES as u64 * (1 << 44));
        assert!(RankTable::new(MOST_CANDIDATES + 1, Epsilon::new(1.0).unwrap(), None).is_err());
    }

    #[test]
    fn draws_follow_the_table() {
        // chi-square with 9 degrees of freedom; 60 is exceeded with probability 1.3e-9
        let table = table(10, 3.0, Some(1.0));
        let (mut rng, n) = (seeded(3, 0), 200_000_u32);
        let mut counts = [0_u32; 10];
        for _ in 0..n {
            counts[table.draw(&mut rng) - 1] += 1;
        }
        let chi2: f64 = counts
            .iter()
            .enumerate()
            .map(|(i, &c)| {
                let expected = f64::from(n) * table.probability(i + 1);
                (f64::from(c) - expected).powi(2) / expected
            })
            .sum();
        assert!(chi2 < 60.0, "{chi2}");
    }

    #[test]
    fn bad_settings_are_refused() {
        let epsilon = Epsilon::new(1.0).unwrap();
        assert!(RankTable::new(1, epsilon, None).is_err());
        assert!(RankTable::new(5, epsilon, Some(f64::NAN)).is_err());
        assert!(RankTable::new(5, epsilon, Some(-1.0)).is_err());
    }
}
