//! Exact draws: an unbiased integer below a total.

use rand::CryptoRng;

use crate::{Error, Result};

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
