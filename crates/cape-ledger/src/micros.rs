//! ε as an integer: sums of floats would drift.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount of ε in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(i64);

/// One ε.
const ONE: i64 = 1_000_000;

impl Micros {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than any account holds: a release at this cost is always refused.
    pub const NEVER: Self = Self(i64::MAX);
    /// The largest amount that an account holds.
    pub(crate) const FULL: Self = Self(i64::MAX - 1);

    /// The smallest amount that is not below ε, to the last bit; [`Self::NEVER`] where ε is not a
    /// finite number of at least 0, or too large to count.
    #[must_use]
    pub fn at_least(epsilon: f64) -> Self {
        if !(0.0..1e12).contains(&epsilon) {
            return Self::NEVER;
        }
        // ε = mantissa · 2^exponent, as the standard has it; a product of floats could round down
        let bits = epsilon.abs().to_bits();
        let fraction = u128::from(bits & ((1 << 52) - 1));
        let (mantissa, exponent) = match bits >> 52 {
            0 => (fraction, -1074),
            biased => (fraction | 1 << 52, biased as i32 - 1075),
        };
        // below 2^73, and no more than 1e18 once it is shifted
        let product = mantissa * ONE as u128;
        let micros = match exponent {
            0.. => product << exponent,
            -127..0 => product.div_ceil(1 << -exponent),
            _ => u128::from(product > 0),
        };
        i64::try_from(micros).map_or(Self::NEVER, Self)
    }

    /// The amount times `n`, or [`Self::NEVER`].
    #[must_use]
    pub fn times(self, n: u64) -> Self {
        Self(i64::try_from(n).map_or(i64::MAX * self.0.signum(), |n| self.0.saturating_mul(n)))
    }

    /// The sum of both, or [`Self::NEVER`].
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The rest after `spent`, at least zero.
    #[must_use]
    pub fn less(self, spent: Self) -> Self {
        Self((self.0.saturating_sub(spent.0)).max(0))
    }

    /// ε as a float, for display.
    #[must_use]
    pub fn epsilon(self) -> f64 {
        self.0 as f64 / ONE as f64
    }

    pub(crate) fn from_stored(micros: i64) -> Option<Self> {
        (0..i64::MAX).contains(&micros).then_some(Self(micros))
    }

    pub(crate) fn stored(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / ONE, self.0 % ONE);
        let decimals = format!("{rest:06}");
        match decimals.trim_end_matches('0') {
            "" => f.pad(&whole.to_string()),
            decimals => f.pad(&format!("{whole}.{decimals}")),
        }
    }
}

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.epsilon())
    }
}

impl<'de> Deserialize<'de> for Micros {
    /// Reads the float in the fewest decimal digits that mean it, as a person wrote it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = f64::deserialize(deserializer)?.to_string();
        written.parse().map_err(serde::de::Error::custom)
    }
}

/// A text that is not an amount of ε.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("it takes a number of at least 0, with six decimals at most")]
pub struct ParseMicrosError;

impl FromStr for Micros {
    type Err = ParseMicrosError;

    /// Reads a decimal number exactly, or refuses it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(decimals) || decimals.len() > 6 {
            return Err(ParseMicrosError);
        }
        let micros = format!("{whole}{decimals:0<6}").parse().map_err(|_| ParseMicrosError)?;
        Self::from_stored(micros).ok_or(ParseMicrosError)
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use proptest::prelude::*;

    use super::*;

    /// value = numerator / 2^1074, exactly.
    fn exact(value: f64) -> BigInt {
        let bits = value.to_bits();
        let fraction = BigInt::from(bits & ((1 << 52) - 1));
        match bits >> 52 {
            0 => fraction,
            biased => (fraction + (BigInt::from(1) << 52)) << (biased - 1),
        }
    }

    proptest! {
        #[test]
        fn rounding_goes_up_and_by_less_than_one(epsilon in prop_oneof![
            0.0..1e12_f64, 0.0..100.0_f64, 0.0..1e-6_f64,
            (0_u64..1_000_000_000).prop_map(|micros| micros as f64 / 1e6),
            (0_u64..4_700_000_000_000_000_000).prop_map(f64::from_bits).prop_filter("small", |x| *x < 1e12),
        ]) {
            let micros = Micros::at_least(epsilon).stored();
            let scaled = exact(epsilon) * ONE;
            prop_assert!(BigInt::from(micros) << 1074 >= scaled);
            prop_assert!(micros == 0 || BigInt::from(micros - 1) << 1074 < scaled);
        }

        #[test]
        fn sums_saturate(a in any::<i64>(), n in any::<u64>(), b in any::<i64>()) {
            let (a, b) = (a.saturating_abs(), b.saturating_abs());
            let capped = |exact: i128| exact.min(i128::from(i64::MAX)) as i64;
            prop_assert_eq!(Micros(a).times(n).0, capped(i128::from(a).saturating_mul(i128::from(n))));
            prop_assert_eq!(Micros(a).plus(Micros(b)).0, capped(i128::from(a) + i128::from(b)));
        }

        #[test]
        fn what_is_shown_is_read_back(micros in 0..i64::MAX) {
            prop_assert_eq!(Micros(micros).to_string().parse(), Ok(Micros(micros)));
        }
    }

    #[test]
    fn what_has_no_bound_is_never_released() {
        for epsilon in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0, -1e-300, 1e12, f64::MAX] {
            assert_eq!(Micros::at_least(epsilon), Micros::NEVER, "{epsilon}");
        }
        assert_eq!(Micros::at_least(0.0), Micros::ZERO);
        assert_eq!(Micros::at_least(-0.0), Micros::ZERO);
        assert_eq!(Micros::at_least(f64::from_bits(1)), Micros(1));
        assert_eq!(Micros::NEVER.times(0), Micros::ZERO);
        assert_eq!(Micros::NEVER.times(u64::MAX), Micros::NEVER);
        assert_eq!(Micros::ZERO.times(u64::MAX), Micros::ZERO);
    }

    #[test]
    fn limits_are_read_exactly() {
        assert_eq!("12".parse(), Ok(Micros(12_000_000)));
        assert_eq!("0.1".parse(), Ok(Micros(100_000)));
        assert_eq!("1000.000001".parse(), Ok(Micros(1_000_000_001)));
        let wrong = ["", ".", "1.", ".5", "-1", "+1", "1e3", "inf", "0.1234567", "٣", " 1"];
        for text in wrong.into_iter().chain(["9223372036854.775807", "99999999999999999999"]) {
            assert_eq!(text.parse::<Micros>(), Err(ParseMicrosError), "{text}");
        }
    }
}
