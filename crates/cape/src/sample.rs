//! Exact draws: an unbiased integer below a total.

use rand::CryptoRng;

use crate::{Error, Result};

/// A probability as it is drawn: an integer weight of an integer total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The weight.
    pub weight: u64,
    /// The sum of all weights.
    pub total: u64,
}

impl Share {
    /// To the precision of a float.
    #[must_use]
    pub fn probability(self) -> f64 {
        self.weight as f64 / self.total as f64
    }

    /// An upper bound of ln(self / other), off by less than 10^−13; infinite where the other is zero.
    #[must_use]
    pub fn log_ratio_up(self, other: Self) -> f64 {
        match self.crossed(other) {
            (0, _) => f64::NEG_INFINITY,
            (_, 0) => f64::INFINITY,
            (a, b) => log_ratio_up(a, b),
        }
    }

    /// Two integers that compare as the two probabilities do.
    fn crossed(self, other: Self) -> (u128, u128) {
        let (a, b) = (u128::from(self.weight), u128::from(other.weight));
        if self.total == other.total {
            (a, b)
        } else {
            (a * u128::from(other.total), b * u128::from(self.total))
        }
    }
}

impl PartialOrd for Share {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        let (a, b) = self.crossed(*other);
        Some(a.cmp(&b))
    }
}

/// An upper bound of ln(a/b).
pub(crate) fn log_ratio_up(a: u128, b: u128) -> f64 {
    if a == b {
        return 0.0;
    }
    // a rounding for each number and for the quotient, and less than one unit in `ln`; for ratios near
    // 1 the error is absolute, of the size of the float's unit at 1
    let log = (a as f64 / b as f64).ln();
    log + (log.abs() + 1.0) * 4.0 * f64::EPSILON
}

/// The largest number of candidates: the totals of their weights stay below 2^64.
pub(crate) const MOST_CANDIDATES: usize = (1 << 20) - 1;

/// Whether so many candidates can be drawn from.
pub(crate) fn check_candidates(n: usize) -> Result<()> {
    if (2..=MOST_CANDIDATES).contains(&n) { Ok(()) } else { Err(Error::Candidates(n)) }
}

/// A uniform integer in `0..total`, without bias.
///
/// Keeps the low bits that `total` needs and rejects what is too large: two tries on average at the
/// most, and each accepted value has exactly the same probability.
///
/// # Panics
/// If `total` is zero.
pub fn below(total: u64, rng: &mut dyn CryptoRng) -> u64 {
    assert!(total > 0, "nothing to draw from");
    let mask = u64::MAX >> ((total - 1) | 1).leading_zeros();
    loop {
        let x = rng.next_u64() & mask;
        if x < total {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::script::Script;
    use crate::rng::seeded;

    #[test]
    fn stays_below_and_reaches_every_value() {
        let mut rng = seeded(1, 0);
        for total in 1..70 {
            let seen: std::collections::BTreeSet<_> =
                (0..total * 40).map(|_| below(total, &mut rng)).collect();
            assert_eq!(seen.len() as u64, total);
            assert!(seen.last().is_some_and(|&last| last < total));
        }
        assert!(below(u64::MAX, &mut rng) < u64::MAX);
    }

    /// Rejects instead of folding back: a remainder or a product would favour small values.
    #[test]
    fn too_large_is_drawn_again() {
        let total = 3 << 62; // all 64 bits are needed, and a quarter of the values are too large
        let mut rng = Script::new(&[u64::MAX, total, total - 1]);
        assert_eq!(below(total, &mut rng), total - 1);
        let mut rng = Script::new(&[7, 6, 5, 4]);
        assert_eq!(below(5, &mut rng), 4);
        // bits above the mask do not count
        assert_eq!(below(5, &mut Script::new(&[8 + 3])), 3);
        assert_eq!(below(1, &mut Script::new(&[1, 2])), 0);
    }

    #[test]
    fn is_uniform_where_the_total_is_no_power_of_two() {
        // chi-square with 4 degrees of freedom; 45 is exceeded with probability 4e-9
        let (mut rng, n) = (seeded(2, 0), 100_000);
        let mut counts = [0_u32; 5];
        for _ in 0..n {
            counts[below(5, &mut rng) as usize] += 1;
        }
        let expected = f64::from(n) / 5.0;
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
        assert!(chi2 < 45.0, "{chi2}");
    }
}
