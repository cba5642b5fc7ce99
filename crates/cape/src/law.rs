//! The public distribution over ranks.
//!
//! A law gives rank r = 1..n the weight `max(min(1, (r/k)^−α), e^−ε)`, as an integer: 1 for the first k
//! ranks, then a fall with the exponent α, and a floor. Without an α the fall is a step, and the law
//! is a **plateau**; with k = 1 it is the **power law**. The proof is in
//! [`mechanism::cape`](crate::mechanism::cape), the whole of it being that the largest and the smallest
//! of these integers are within e^ε of each other.
//!
//! Behind them there may be a **rest** of ranks with one small weight each. What stands there is the same for every word
//! that the law is for, so it tells none of them from another.

use rand::CryptoRng;

use crate::privacy::Epsilon;
use crate::sample::{below, check_candidates, log_ratio_up};
use crate::{Error, Result};

/// The weight of rank 1. The total over the most candidates still fits in 64 bits.
const TOP: f64 = (1_u64 << 44) as f64;
/// A factor that lifts the floor above `TOP·e^−ε` whatever the rounding of `exp` (below 2^−50).
const FLOOR_MARGIN: f64 = 1.0 + 1.0 / (1_u64 << 40) as f64;

/// How a law falls from its largest weight to its smallest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// How many ranks have the largest weight.
    pub k: usize,
    /// The exponent of the fall after them; without one it is a step.
    pub alpha: Option<f64>,
}

/// Integer weights of the ranks 1..n, non-increasing.
#[derive(Clone, Debug)]
pub struct Law {
    /// `cumulative[r]` is the weight of the ranks 1..=r; `cumulative[0]` is 0.
    cumulative: Vec<u64>,
    /// How many ranks stand before the rest.
    ranked: usize,
    shape: Shape,
    epsilon: f64,
}

impl Law {
    /// The law over `n` candidates. A plateau that is wider than the candidates are many is uniform.
    pub fn new(n: usize, epsilon: Epsilon, shape: Shape) -> Result<Self> {
        check_candidates(n)?;
        if shape.k == 0 {
            return Err(Error::Setting { name: "k", range: "1 or more", value: 0.0 });
        }
        if let Some(alpha) = shape.alpha.filter(|alpha| !(alpha.is_finite() && *alpha >= 0.0)) {
            let range = "zero or positive, and finite";
            return Err(Error::Setting { name: "alpha", range, value: alpha });
        }
        let floor =
            ((TOP * (-epsilon.get()).exp() * FLOOR_MARGIN).ceil() as u64).clamp(1, TOP as u64);
        let mut cumulative = Vec::with_capacity(n + 1);
        let (mut total, mut last) = (0_u64, TOP as u64);
        cumulative.push(total);
        for rank in 1..=n {
            if rank > shape.k {
                let fallen = match shape.alpha {
                    Some(alpha) => (TOP * (rank as f64 / shape.k as f64).powf(-alpha)) as u64,
                    None => floor,
                };
                // `min(last)` keeps the law non-increasing even if `powf` were not monotone
                last = fallen.max(floor).min(last);
            }
            total += last;
            cumulative.push(total);
        }
        let epsilon = log_ratio_up(cumulative[1].into(), last.into());
        Ok(Self { cumulative, ranked: n, shape, epsilon })
    }

    /// The law with a rest of so many ranks, each with at least `probability`, but with no more weight than any rank
    /// before it.
    pub fn with_rest(mut self, count: usize, probability: f64) -> Result<Self> {
        check_candidates(self.len() + count)?;
        let (ranked, least) = (self.total(), self.weight(self.len()));
        // of the total that has the rest in it
        let share = probability / (1.0 - probability * count as f64);
        let weight = (ranked as f64 * share * FLOOR_MARGIN).ceil();
        let weight = if share > 0.0 { (weight as u64).clamp(1, least) } else { least };
        self.cumulative.extend((1..=count as u64).map(|r| ranked + r * weight));
        Ok(self)
    }

    /// How many ranks there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.cumulative.len() - 1
    }

    /// How many ranks there are before the rest.
    #[must_use]
    pub fn ranked(&self) -> usize {
        self.ranked
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
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

    /// F(r): the probability of the first r ranks together; of all, where there are fewer.
    #[must_use]
    pub fn first(&self, r: usize) -> f64 {
        self.cumulative[r.min(self.len())] as f64 / self.total() as f64
    }

    /// ln(largest / smallest weight) of the ranks before the rest, computed from the integers and rounded up: the loss
    /// between two words that are both drawn by this law.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The largest loss between a word drawn by this law and one drawn by another, in either
    /// direction; computed from the integers and rounded up.
    ///
    /// # Panics
    /// If the laws have different numbers of ranks.
    #[must_use]
    pub fn loss(&self, other: &Self) -> f64 {
        assert_eq!(self.len(), other.len(), "laws over the same list");
        let up = |a: &Self, b: &Self| {
            let (most, least) = (u128::from(a.weight(1)), u128::from(b.weight(b.len())));
            log_ratio_up(most * u128::from(b.total()), least * u128::from(a.total()))
        };
        up(self, other).max(up(other, self))
    }

    /// The largest probability with which somebody who must decide between two given words, equally
    /// likely beforehand, is right by one draw: F(m/2) for the m ranks before the rest, which is reached where one word's order
    /// of these is the other's reversed; and half of the rest.
    pub(crate) fn most_guessed(&self) -> f64 {
        let m = self.ranked;
        let middle = if m % 2 == 1 { self.probability(m / 2 + 1) / 2.0 } else { 0.0 };
        self.first(m / 2) + middle + (1.0 - self.first(m)) / 2.0
    }

    /// Draws a rank, counted from 1.
    pub(crate) fn draw(&self, rng: &mut dyn CryptoRng) -> usize {
        let x = below(self.total(), rng);
        self.cumulative.partition_point(|&c| c <= x)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rng::script::Script;
    use crate::rng::seeded;
    use crate::sample::MOST_CANDIDATES;

    fn law(n: usize, epsilon: f64, k: usize, alpha: Option<f64>) -> Law {
        Law::new(n, Epsilon::new(epsilon).unwrap(), Shape { k, alpha }).unwrap()
    }

    proptest! {
        #[test]
        fn the_stated_loss_is_at_most_epsilon(
            n in 2_usize..2000, epsilon in 1e-6_f64..60.0, k in 1_usize..2500,
            alpha in prop::option::of(0.0_f64..20.0)
        ) {
            let law = law(n, epsilon, k, alpha);
            prop_assert!(law.epsilon() <= epsilon, "{} > {epsilon}", law.epsilon());
            let weights: Vec<u64> = (1..=n).map(|r| law.weight(r)).collect();
            prop_assert!(weights.windows(2).all(|w| w[0] >= w[1] && w[1] > 0));
            prop_assert!(weights[..k.min(n)].iter().all(|&w| w == weights[0]));
            prop_assert_eq!(weights.iter().sum::<u64>(), law.total());
        }

        /// The loss between laws is that of the worst rank under each, and a law's own is `epsilon`.
        #[test]
        fn the_loss_between_laws_is_the_worst_of_all_ranks(
            n in 2_usize..40, e1 in 0.01_f64..9.0, e2 in 0.01_f64..20.0, k in 1_usize..20
        ) {
            let (a, b) = (law(n, e1, k, None), law(n, e2, 1, Some(1.5)));
            let mut worst = f64::NEG_INFINITY;
            for r in 1..=n {
                for s in 1..=n {
                    let ratio = (a.probability(r) / b.probability(s)).ln();
                    worst = worst.max(ratio.abs());
                }
            }
            prop_assert!((a.loss(&b) - worst).abs() < 1e-9);
            prop_assert_eq!(a.loss(&b), b.loss(&a));
            prop_assert!((a.loss(&a) - a.epsilon()).abs() < 1e-12);
        }

        /// Of all pairs of orders, none tells two words apart better than the reversed ones.
        #[test]
        fn nobody_decides_better_than_stated(
            n in 2_usize..30, epsilon in 0.1_f64..9.0, k in 1_usize..10,
            order in prop::collection::vec(any::<u32>(), 30)
        ) {
            let law = law(n, epsilon, k, None);
            let right = |second: &dyn Fn(usize) -> usize| -> f64 {
                (1..=n).map(|r| law.probability(r).max(law.probability(second(r))) / 2.0).sum()
            };
            prop_assert!((right(&|r| n + 1 - r) - law.most_guessed()).abs() < 1e-12);
            let mut ranks: Vec<usize> = (1..=n).collect();
            ranks.sort_by_key(|&r| order[r - 1]);
            prop_assert!(right(&|r| ranks[r - 1]) <= law.most_guessed() + 1e-12);
        }
    }

    proptest! {
        /// A rest has one weight, which is no larger than any before it and as large as asked for where it can be, and changes no
        /// quotient of the ranks before it.
        #[test]
        fn a_rest_is_flat_and_small(
            n in 2_usize..200, epsilon in 0.01_f64..20.0, k in 1_usize..50, count in 1_usize..200,
            share in 1e-9_f64..0.2
        ) {
            let plain = law(n, epsilon, k, None);
            let rest = plain.clone().with_rest(count, share).unwrap();
            prop_assert_eq!((rest.ranked(), rest.len()), (n, n + count));
            prop_assert_eq!(rest.epsilon(), plain.epsilon());
            prop_assert!((1..=n).all(|r| rest.weight(r) == plain.weight(r)));
            let weight = rest.weight(n + 1);
            prop_assert!((n + 1..=n + count).all(|r| rest.weight(r) == weight));
            prop_assert!(weight == plain.weight(n) || rest.probability(n + 1) >= share);
            prop_assert!(weight <= plain.weight(n));
            let pair = |second: &dyn Fn(usize) -> usize| -> f64 {
                let all = 1..=n + count;
                all.map(|r| rest.probability(r).max(rest.probability(second(r))) / 2.0).sum()
            };
            let reversed = pair(&|r| if r <= n { n + 1 - r } else { r });
            prop_assert!((reversed - rest.most_guessed()).abs() < 1e-12);
        }
    }

    #[test]
    fn the_plateau_is_the_one_of_the_formulas() {
        let (n, epsilon, k) = (16_000, 7.0_f64, 100);
        let law = law(n, epsilon, k, None);
        let total = k as f64 * (epsilon.exp() - 1.0) + n as f64;
        assert!((law.probability(1) / (epsilon.exp() / total) - 1.0).abs() < 1e-9);
        assert!((law.first(k) / (k as f64 * epsilon.exp() / total) - 1.0).abs() < 1e-9);
        assert!((law.probability(n) / (1.0 / total) - 1.0).abs() < 1e-8);
        assert_eq!((law.first(0), law.first(n), law.first(n + 5)), (0.0, 1.0, 1.0));
    }

    #[test]
    fn the_power_law_has_a_floor_and_may_begin_later() {
        let power = law(30_000, 12.0, 1, Some(2.0));
        let mixed = law(30_000, 12.0, 10, Some(2.0));
        for rank in [1, 2, 10, 11, 100, 403, 404, 4040, 30_000] {
            let floor = (-12.0_f64).exp();
            let of = |k: f64| (rank as f64 / k).max(1.0).powi(-2).max(floor);
            for (law, want) in [(&power, of(1.0)), (&mixed, of(10.0))] {
                let got = law.weight(rank) as f64 / law.weight(1) as f64;
                assert!((got / want - 1.0).abs() < 1e-6, "rank {rank}: {got} for {want}");
            }
        }
    }

    #[test]
    fn the_plain_power_law_spends_all_of_epsilon() {
        // it reaches its floor at the last rank
        let alpha = 12.0 / 24_000_f64.ln();
        let law = law(24_000, 12.0, 1, Some(alpha));
        assert!(law.epsilon() > 12.0 - 1e-6 && law.epsilon() <= 12.0);
    }

    /// Every rank owns exactly its weight of integers: the first and the last of each are its own.
    #[test]
    fn each_rank_owns_its_integers() {
        for (epsilon, k, alpha) in
            [(3.0, 1, Some(1.0)), (40.0, 3, None), (1e-13, 1, None), (5.0, 2, Some(0.0))]
        {
            let law = law(12, epsilon, k, alpha);
            let mut from = 0;
            for rank in 1..=12 {
                let to = from + law.weight(rank);
                assert!(to > from);
                assert_eq!(law.draw(&mut Script::new(&[from])), rank);
                assert_eq!(law.draw(&mut Script::new(&[to - 1])), rank);
                from = to;
            }
            assert_eq!(from, law.total());
        }
    }

    #[test]
    fn the_largest_law_does_not_overflow() {
        let most = law(MOST_CANDIDATES, 1e-13, 1, Some(0.0));
        assert_eq!(most.total(), MOST_CANDIDATES as u64 * (1 << 44));
        let (epsilon, shape) = (Epsilon::new(1.0).unwrap(), Shape { k: 1, alpha: None });
        assert!(Law::new(MOST_CANDIDATES + 1, epsilon, shape).is_err());
    }

    #[test]
    fn draws_follow_the_law() {
        // chi-square with 9 degrees of freedom; 60 is exceeded with probability 1.3e-9
        let law = law(10, 3.0, 2, Some(1.0));
        let (mut rng, n) = (seeded(3, 0), 200_000_u32);
        let mut counts = [0_u32; 10];
        for _ in 0..n {
            counts[law.draw(&mut rng) - 1] += 1;
        }
        let chi2: f64 = counts
            .iter()
            .enumerate()
            .map(|(i, &c)| {
                let expected = f64::from(n) * law.probability(i + 1);
                (f64::from(c) - expected).powi(2) / expected
            })
            .sum();
        assert!(chi2 < 60.0, "{chi2}");
    }

    #[test]
    fn bad_settings_are_refused() {
        let epsilon = Epsilon::new(1.0).unwrap();
        let refused = |n, k, alpha| Law::new(n, epsilon, Shape { k, alpha }).is_err();
        assert!(refused(1, 1, None) && refused(5, 0, None));
        assert!(refused(5, 1, Some(f64::NAN)) && refused(5, 1, Some(-1.0)));
    }
}
