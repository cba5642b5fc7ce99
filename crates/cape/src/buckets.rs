//! The paper's selection: equal-width buckets of utility.
//!
//! A bucket is drawn by the exponential mechanism over the buckets' mean utilities, then one of
//! its members uniformly. What that guarantees, and why it is not the paper's ε + ε′, is in
//! [`mechanism::cape_paper`](crate::mechanism::cape_paper).

use rand::CryptoRng;

use crate::privacy::{Epsilon, round_up};
use crate::sample::{Share, below, check_candidates};
use crate::{Error, Result};

/// The weight of the best bucket as a whole, before it is shared among its members.
const TOP: f64 = (1_u64 << 54) as f64;
/// The largest number of buckets: their weights together stay below 2^64.
const MOST_BUCKETS: usize = 1000;
/// How much the integers may differ from the exponentials: beyond this the draw is refused.
const MOST_ROUNDING: f64 = 1.0 / 1024.0;
/// What floating-point arithmetic may add to a bucket's score: more than 8·n·2^−53 for the most
/// candidates (see the document), far below anything that shows.
const FLOAT_SLACK: f64 = 1e-9;

/// The equal-width rule: how many intervals, and the ε of the exponential mechanism over them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EqualWidth {
    count: usize,
    epsilon: Epsilon,
}

/// One row of candidates put into buckets.
#[derive(Clone)]
pub struct Bucketed {
    /// For each candidate the number of its bucket; the best is `count − 1`.
    pub bucket: Vec<u32>,
    /// For each bucket how many candidates it holds.
    pub sizes: Vec<u64>,
    /// For each bucket the integer weight of **each** of its members; zero where it is empty.
    pub weights: Vec<u64>,
    /// The sum of all candidates' weights.
    pub total: u64,
}

impl EqualWidth {
    /// `count` intervals (N_b in the paper).
    pub fn new(count: usize, epsilon: Epsilon) -> Result<Self> {
        if (2..=MOST_BUCKETS).contains(&count) {
            Ok(Self { count, epsilon })
        } else {
            let value = count as f64;
            Err(Error::Setting { name: "bucket-count", range: "from 2 to 1000", value })
        }
    }

    /// Buckets, means and integer weights of one row of utilities.
    pub fn apply(&self, utilities: &[f32]) -> Result<Bucketed> {
        self.rounding(utilities.len())?;
        let (min, max) =
            utilities.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &u| {
                (lo.min(f64::from(u)), hi.max(f64::from(u)))
            });
        let range = max - min;
        if !range.is_finite() {
            return Err(Error::NotFinite);
        }
        let last = self.count - 1;
        let bucket: Vec<u32> = utilities
            .iter()
            .map(|&u| {
                if range > 0.0 {
                    let slot = (f64::from(u) - min) / range * self.count as f64;
                    (slot as usize).min(last) as u32
                } else {
                    last as u32
                }
            })
            .collect();
        let mut sizes = vec![0_u64; self.count];
        let mut sums = vec![0_f64; self.count];
        for (&b, &u) in bucket.iter().zip(utilities) {
            sizes[b as usize] += 1;
            // from the minimum, so that rounding is relative to the range, however narrow
            sums[b as usize] += f64::from(u) - min;
        }
        let mean = |b: usize| sums[b] / sizes[b] as f64;
        let filled = || (0..self.count).filter(|&b| sizes[b] > 0);
        let lowest = filled().next().map_or(0.0, mean);
        let spread = filled().next_back().map_or(range, mean) - lowest;
        let mut weights = vec![0_u64; self.count];
        let mut total = 0;
        for b in filled() {
            // 0 for the lowest bucket, 1 for the highest; a single bucket is the highest
            let score =
                if spread > 0.0 { ((mean(b) - lowest) / spread).clamp(0.0, 1.0) } else { 1.0 };
            let share = TOP * (self.half() * (score - 1.0)).exp() / sizes[b] as f64;
            weights[b] = share as u64;
            total += weights[b] * sizes[b];
        }
        Ok(Bucketed { bucket, sizes, weights, total })
    }

    /// An upper bound of the loss of one draw among `n` candidates, for any two rows of utilities
    /// whatsoever: the theorem of the document, plus what rounding to integers can add.
    pub fn bound(&self, n: usize) -> Result<f64> {
        let rounding = self.rounding(n)?;
        let (half, slots) = (self.half(), self.count as f64);
        // ln of the largest (n − N + 1)·(1 + S_N) over N, everything scaled by e^−ε/2 to stay finite:
        // S_2 = a, and each further bucket adds at most a·e^(−(ε/2)·k/(N_b − 1)), k = 0, 1, …
        let (mut others, mut worst) = (1.0, f64::NEG_INFINITY);
        for filled in 2..=self.count.min(n) {
            if filled > 2 {
                others += (-half * (filled - 3) as f64 / (slots - 1.0)).exp();
            }
            let largest = (n - filled + 1) as f64;
            worst = worst.max((largest * ((-half).exp() + others)).ln() + half);
        }
        // ln(a / (1 + a)): the largest probability of a single candidate
        let best = -(-half).exp().ln_1p();
        let slack = -2.0 * (-rounding).ln_1p() + (2.0 * half + 1.0) * FLOAT_SLACK;
        Ok(round_up(worst + best + slack))
    }

    /// The largest probability that any draw can give to one candidate: a/(1 + a).
    pub(crate) fn most_kept(&self) -> f64 {
        1.0 / (1.0 + (-self.half()).exp())
    }

    fn half(&self) -> f64 {
        self.epsilon.get() / 2.0
    }

    /// How much smaller than its exponential a bucket's integer weight can be, as a fraction: each
    /// of up to n members loses less than 1, and the smallest bucket weighs `TOP·e^(−ε/2)`.
    fn rounding(&self, n: usize) -> Result<f64> {
        check_candidates(n)?;
        let rounding = n as f64 / TOP * self.half().exp();
        if rounding <= MOST_ROUNDING {
            return Ok(rounding);
        }
        let largest = 2.0 * (MOST_ROUNDING * TOP / n as f64).ln();
        let (what, epsilon) = ("equal-width buckets", self.epsilon.get());
        Err(Error::Underflow { what, epsilon, candidates: n, largest })
    }
}

impl Bucketed {
    /// The exact integer weight of a candidate.
    pub(crate) fn weight(&self, candidate: usize) -> u64 {
        self.weights[self.bucket[candidate] as usize]
    }

    /// The exact probability of each candidate.
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        let share = |&b: &u32| Share { weight: self.weights[b as usize], total: self.total };
        self.bucket.iter().map(share).collect()
    }

    /// The probability of a candidate.
    #[must_use]
    pub fn probability(&self, candidate: usize) -> f64 {
        self.weight(candidate) as f64 / self.total as f64
    }

    /// The paper's ε′ = ln max |b_i| / |b_j| **of this row**: a diagnostic that is itself private,
    /// never a guarantee.
    pub(crate) fn paper_epsilon_prime(&self) -> f64 {
        let filled = || self.sizes.iter().copied().filter(|&s| s > 0);
        match (filled().max(), filled().min()) {
            (Some(max), Some(min)) => (max as f64 / min as f64).ln(),
            _ => 0.0,
        }
    }

    /// Draws a candidate: one integer decides the bucket and the member.
    pub(crate) fn draw(&self, rng: &mut dyn CryptoRng) -> usize {
        let mut rest = below(self.total, rng);
        for (b, (&size, &weight)) in self.sizes.iter().zip(&self.weights).enumerate() {
            if rest < size * weight {
                let member = (rest / weight) as usize;
                let mut members =
                    self.bucket.iter().enumerate().filter(|&(_, &at)| at as usize == b);
                if let Some((candidate, _)) = members.nth(member) {
                    return candidate;
                }
            }
            rest = rest.saturating_sub(size * weight);
        }
        unreachable!("the weights sum to the total")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rng::script::Script;
    use crate::rng::seeded;

    fn rule(count: usize, epsilon: f64) -> EqualWidth {
        EqualWidth::new(count, Epsilon::new(epsilon).unwrap()).unwrap()
    }

    /// The largest log-ratio of any candidate's probabilities between two rows, from the integers.
    fn loss(a: &Bucketed, b: &Bucketed) -> f64 {
        (0..a.bucket.len())
            .map(|c| (a.probability(c) / b.probability(c)).ln().abs())
            .fold(0.0, f64::max)
    }

    fn row(n: usize) -> impl Strategy<Value = Vec<f32>> {
        // a few levels give many ties and empty buckets, the worst cases; plus smooth rows
        prop_oneof![
            prop::collection::vec((0_u8..5).prop_map(|u| f32::from(u) / 4.0), n),
            prop::collection::vec(0.0_f32..1.0, n),
        ]
    }

    proptest! {
        #[test]
        fn the_loss_never_exceeds_the_bound(
            (a, b) in (2_usize..9).prop_flat_map(|n| (row(n), row(n))),
            count in 2_usize..8,
            epsilon in 0.1_f64..20.0,
        ) {
            let rule = rule(count, epsilon);
            let (pa, pb) = (rule.apply(&a).unwrap(), rule.apply(&b).unwrap());
            prop_assert!(loss(&pa, &pb) <= rule.bound(a.len()).unwrap());
            for p in [&pa, &pb] {
                let sum: u64 = (0..a.len()).map(|c| p.weight(c)).sum();
                prop_assert_eq!(sum, p.total);
                prop_assert!((0..a.len()).all(|c| p.weight(c) > 0));
            }
        }
    }

    /// Every row over a grid of utilities, every pair: the worst loss found by brute force comes
    /// close to the bound, so that the bound is not idle.
    #[test]
    fn brute_force_comes_close_to_the_bound() {
        let (n, count) = (5_usize, 3_usize);
        for epsilon in [0.5, 2.0, 6.0] {
            let rule = rule(count, epsilon);
            let levels = [0.0_f32, 0.001, 0.332, 0.334, 0.665, 0.667, 0.999, 1.0];
            let rows: Vec<Bucketed> = (0..levels.len().pow(n as u32))
                .map(|code| {
                    let row: Vec<f32> = (0..n)
                        .map(|i| levels[code / levels.len().pow(i as u32) % levels.len()])
                        .collect();
                    rule.apply(&row).unwrap()
                })
                .collect();
            let mut worst = 0.0_f64;
            for c in 0..n {
                let ps = rows.iter().map(|r| r.probability(c));
                let (lo, hi) = ps.fold((1.0_f64, 0.0_f64), |(lo, hi), p| (lo.min(p), hi.max(p)));
                worst = worst.max((hi / lo).ln());
            }
            let bound = rule.bound(n).unwrap();
            assert!(worst <= bound, "{worst} > {bound} at {epsilon}");
            assert!(worst > bound - 0.45, "{worst} far below {bound} at {epsilon}");
        }
    }

    /// The counterexample of the document: two rows whose loss exceeds the paper's ε + ε′, with ε′
    /// taken over all buckets of both rows, because they have different numbers of buckets.
    #[test]
    fn the_papers_epsilon_is_exceeded() {
        let rule = rule(50, 1.0);
        // y, the first of 21 candidates, alone on top of two buckets of ten …
        let first: Vec<f32> = (0..21)
            .map(|i| match i {
                0 => 1.0,
                1..=10 => 0.03,
                _ => 0.0,
            })
            .collect();
        // … and at the bottom among ten, below eleven that have a bucket each
        let second: Vec<f32> =
            (0..21).map(|i| if i < 10 { 0.0 } else { 0.5 + 0.05 * (i - 10) as f32 }).collect();
        let (a, b) = (rule.apply(&first).unwrap(), rule.apply(&second).unwrap());
        let filled = |p: &Bucketed| p.sizes.iter().filter(|&&s| s > 0).count();
        assert_eq!((filled(&a), filled(&b)), (3, 12));
        let epsilon_prime = a.paper_epsilon_prime().max(b.paper_epsilon_prime());
        assert!((epsilon_prime - 10_f64.ln()).abs() < 1e-12);
        let exact = loss(&a, &b);
        assert!(exact > 1.0 + epsilon_prime + 0.9, "{exact}");
        assert!(exact <= rule.bound(21).unwrap());
    }

    #[test]
    fn the_bound_is_near_what_is_expected_on_berts_vocabulary() {
        // the plain bound ln[(n−N+1)(1+(N−1)a)a/(1+a)] is 17.1 at ε = 6; ours is tighter
        let bound = rule(50, 6.0).bound(30_522).unwrap();
        assert!(bound > 15.0 && bound < 17.1, "{bound}");
        assert!(rule(50, 1.0).bound(30_522).unwrap() < 14.3);
    }

    /// Every candidate owns exactly its weight of integers.
    #[test]
    fn each_candidate_owns_its_integers() {
        let bucketed = rule(4, 3.0).apply(&[0.9, 0.1, 0.5, 0.12, 1.0, 0.0, 0.55]).unwrap();
        let mut order: Vec<usize> = (0..7).collect();
        order.sort_by_key(|&c| (bucketed.bucket[c], c));
        let mut from = 0;
        for c in order {
            let to = from + bucketed.weight(c);
            assert_eq!(bucketed.draw(&mut Script::new(&[from])), c);
            assert_eq!(bucketed.draw(&mut Script::new(&[to - 1])), c);
            from = to;
        }
        assert_eq!(from, bucketed.total);
    }

    /// The slack for rounding is needed and is enough: integers against exponentials.
    #[test]
    fn rounding_to_integers_stays_within_its_allowance() {
        let n = 2000;
        let rule = rule(50, 44.0);
        let allowed = rule.rounding(n).unwrap();
        assert!(allowed > 1e-5);
        let utilities: Vec<f32> = (0..n).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect();
        let bucketed = rule.apply(&utilities).unwrap();
        let exact = TOP * (-22.0_f64).exp();
        let got = (bucketed.weight(1) * (n as u64 - 1)) as f64;
        let lost = 1.0 - got / exact;
        assert!(lost > 0.0 && lost <= allowed, "{lost} of {allowed}");
    }

    #[test]
    fn draws_follow_the_weights() {
        // chi-square with 6 degrees of freedom; 55 is exceeded with probability 4.6e-10
        let bucketed = rule(4, 3.0).apply(&[0.9, 0.1, 0.5, 0.12, 1.0, 0.0, 0.55]).unwrap();
        let (mut rng, n) = (seeded(5, 0), 200_000_u32);
        let mut counts = [0_u32; 7];
        for _ in 0..n {
            counts[bucketed.draw(&mut rng)] += 1;
        }
        let chi2: f64 = counts
            .iter()
            .enumerate()
            .map(|(c, &count)| {
                let expected = f64::from(n) * bucketed.probability(c);
                (f64::from(count) - expected).powi(2) / expected
            })
            .sum();
        assert!(chi2 < 55.0, "{chi2}");
    }

    #[test]
    fn equal_utilities_make_one_bucket() {
        let bucketed = rule(50, 6.0).apply(&[0.3; 9]).unwrap();
        assert!((0..9).all(|c| bucketed.weight(c) == bucketed.weight(0)));
    }

    #[test]
    fn too_large_an_epsilon_is_refused() {
        assert!(matches!(rule(50, 80.0).apply(&[0.1, 0.2]), Err(Error::Underflow { .. })));
        assert!(rule(50, 40.0).bound(30_522).is_ok());
        assert!(EqualWidth::new(1, Epsilon::new(1.0).unwrap()).is_err());
        assert!(EqualWidth::new(1001, Epsilon::new(1.0).unwrap()).is_err());
    }
}
