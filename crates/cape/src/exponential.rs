//! The exponential mechanism with scores that need no bound: weights e^(−x) as integers of 256 bits.
//!
//! A weight is ⌊2^s · e^(−x)⌋, where s leaves room for the sum of n weights. Exponents beyond
//! [`Scale::largest`] are not drawn from: their weights would lose precision, and then vanish.

use ethnum::U256;
use rand::CryptoRng;

/// How many bits the smallest weight has left at least: it is exact to one part in 2^20.
const PRECISION: u32 = 20;

/// The most that rounding adds to the log-ratio of two probabilities: each of two weights and of two
/// sums is too small by one part in 2^20 at most, and e^(−x) itself is off by less than 2^−50.
pub(crate) const ROUNDING: f64 = 4.0 / (1_u32 << PRECISION) as f64;

/// Weights for up to `n` candidates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    shift: u32,
}

impl Scale {
    /// For up to `n` candidates.
    ///
    /// # Panics
    /// If `n` is zero.
    pub(crate) fn new(n: usize) -> Self {
        Self { shift: 255 - n.ilog2() - 1 }
    }

    /// The largest exponent that may be drawn from.
    pub(crate) fn largest(self) -> f64 {
        f64::from(self.shift - PRECISION) * std::f64::consts::LN_2
    }

    /// The weight of the exponent `x`.
    ///
    /// # Panics
    /// If `x` does not lie between zero and the largest.
    pub(crate) fn weight(self, x: f64) -> U256 {
        assert!((0.0..=self.largest()).contains(&x), "an exponent out of range");
        let bits = (-x).exp().to_bits();
        // a normal number up to 1: (2^52 + fraction) · 2^(exponent − 1075)
        let mantissa = U256::from((bits & ((1 << 52) - 1)) | (1 << 52));
        let exponent = (bits >> 52) as u32 + self.shift;
        match exponent.checked_sub(1075) {
            Some(left) => mantissa << left,
            None => mantissa >> (1075 - exponent),
        }
    }
}

/// Draws one of the candidates with these weights, which sum to `total`.
///
/// # Panics
/// If the total is zero.
pub(crate) fn draw(weights: &[U256], total: U256, rng: &mut dyn CryptoRng) -> usize {
    let mut left = below(total, rng);
    for (i, &weight) in weights.iter().enumerate() {
        if left < weight {
            return i;
        }
        left -= weight;
    }
    unreachable!("the weights sum to the total")
}

/// A uniform integer in `0..total`, without bias: what is too large is rejected, which happens to less
/// than half of the tries.
///
/// # Panics
/// If `total` is zero.
pub(crate) fn below(total: U256, rng: &mut dyn CryptoRng) -> U256 {
    assert!(total > 0, "nothing to draw from");
    let mask = U256::MAX >> ((total - 1) | 1).leading_zeros();
    loop {
        let mut word = || u128::from(rng.next_u64());
        let x = U256::from_words(word() << 64 | word(), word() << 64 | word()) & mask;
        if x < total {
            return x;
        }
    }
}

/// The quotient of two integers, to the precision of a float.
pub(crate) fn ratio(a: U256, b: U256) -> f64 {
    a.as_f64() / b.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::seeded;

    #[test]
    fn weights_are_the_exponentials_to_their_precision() {
        for n in [1, 2, 20, 11_000, 221_642, 16_000_000] {
            let scale = Scale::new(n);
            let one = scale.weight(0.0);
            assert!(one.checked_mul(U256::from(n as u64)).is_some(), "{n} weights overflow");
            for x in [0.0, 1e-9, 0.3, 10.0, 100.0, scale.largest()] {
                let weight = scale.weight(x);
                assert!(weight >= 1 << (PRECISION - 1));
                let off = (ratio(weight, one).ln() + x).abs();
                assert!(off <= ROUNDING / 2.0 + x * 1e-15, "{off} at {x}");
            }
        }
        // the paper's largest ε at its largest distance, and its largest vocabulary
        assert!(Scale::new(221_642).largest() > 20.0 / 2.0 * 14.86);
    }

    #[test]
    fn draws_follow_the_weights() {
        // chi-square with 3 degrees of freedom exceeds 45 with probability 1e-9
        let exponents = [0.0, 0.5, 1.0, 3.0_f64];
        let weights = exponents.map(|x| Scale::new(4).weight(x));
        let total = weights.iter().sum();
        let sum: f64 = exponents.iter().map(|x| (-x).exp()).sum();
        let (mut rng, n) = (seeded(5, 0), 100_000);
        let mut counts = [0_u32; 4];
        for _ in 0..n {
            counts[draw(&weights, total, &mut rng)] += 1;
        }
        let chi2: f64 = counts
            .iter()
            .zip(exponents)
            .map(|(&count, x)| {
                let expected = f64::from(n) * (-x).exp() / sum;
                (f64::from(count) - expected).powi(2) / expected
            })
            .sum();
        assert!(chi2 < 45.0, "{chi2}");
    }

    #[test]
    fn integers_stay_below_and_fill_all_words() {
        let mut rng = seeded(6, 0);
        for bits in [1, 63, 64, 65, 128, 200, 255] {
            let total = (U256::ONE << bits) + U256::ONE;
            let mut seen = U256::ZERO;
            for _ in 0..200 {
                let x = below(total, &mut rng);
                assert!(x < total);
                seen |= x;
            }
            // 199 draws leave no bit below the highest unset but with probability 2^-190
            assert_eq!(seen | (U256::ONE << bits), U256::MAX >> (255 - bits));
        }
        let small: std::collections::BTreeSet<U256> =
            (0..200).map(|_| below(U256::new(5), &mut rng)).collect();
        assert_eq!(small.len(), 5);
    }
}
