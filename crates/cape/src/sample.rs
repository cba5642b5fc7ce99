//! Exact draws: an unbiased integer below a total.

use rand::CryptoRng;

/// A uniform integer in `0..total`, without bias.
///
/// Keeps the low bits that `total` needs and rejects what is too large: fewer than two tries on
/// average, and each accepted value has exactly the same probability.
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
    use crate::rng::seeded;

    #[test]
    fn stays_below_and_reaches_every_value() {
        let mut rng = seeded(1);
        for total in 1..70 {
            let seen: std::collections::BTreeSet<_> =
                (0..total * 40).map(|_| below(total, &mut rng)).collect();
            assert_eq!(seen.len() as u64, total);
            assert!(seen.last().is_some_and(|&last| last < total));
        }
        assert!(below(u64::MAX, &mut rng) < u64::MAX);
    }

    #[test]
    fn is_uniform_where_the_total_is_no_power_of_two() {
        // chi-square with 4 degrees of freedom; 45 is exceeded with probability 4e-9
        let (mut rng, n) = (seeded(2), 100_000);
        let mut counts = [0_u32; 5];
        for _ in 0..n {
            counts[below(5, &mut rng) as usize] += 1;
        }
        let expected = f64::from(n) / 5.0;
        let chi2: f64 = counts
            .iter()
            .map(|&c| (f64::from(c) - expected).powi(2) / expected)
            .sum();
        assert!(chi2 < 45.0, "{chi2}");
    }
}
