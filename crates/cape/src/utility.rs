//! The hybrid utility of a candidate: how well it fits the context, and how near it is in meaning.

use crate::{Error, Result};

/// Public constants of a model that squash its logits to [0, 1]: found on public text, stored
/// beside the model, never taken from the prompt at hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    lo: f32,
    hi: f32,
}

impl Calibration {
    /// For a model that was never calibrated: wide enough for the masked and causal models seen so
    /// far, and public.
    pub const DEFAULT: Self = Self { lo: -20.0, hi: 20.0 };

    /// `lo` below `hi`, both finite.
    #[must_use]
    pub fn new(lo: f32, hi: f32) -> Option<Self> {
        (lo.is_finite() && hi.is_finite() && lo < hi).then_some(Self { lo, hi })
    }

    /// The logit that becomes 0.
    #[must_use]
    pub fn lo(self) -> f32 {
        self.lo
    }

    /// The logit that becomes 1.
    #[must_use]
    pub fn hi(self) -> f32 {
        self.hi
    }
}

/// The paper's utility, L^λ_L · D^λ_D with L the clipped logit and D = exp(−d_norm): how much context and
/// meaning count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utility {
    context_weight: f64,
    distance_weight: f64,
}

impl Utility {
    /// The paper's λ.
    pub const PAPER: Self = Self { context_weight: 0.5, distance_weight: 1.0 };

    /// Takes both λ: zero or positive, and finite.
    pub fn new(context_weight: f64, distance_weight: f64) -> Result<Self> {
        for (name, value) in [("lambda-l", context_weight), ("lambda-d", distance_weight)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::Setting { name, range: "zero or positive, and finite", value });
            }
        }
        Ok(Self { context_weight, distance_weight })
    }

    /// λ_L, the importance of the context.
    #[must_use]
    pub fn context_weight(self) -> f64 {
        self.context_weight
    }

    /// λ_D, the importance of the embedding distance.
    #[must_use]
    pub fn distance_weight(self) -> f64 {
        self.distance_weight
    }

    /// How well each candidate fits the context: L^λ_L.
    #[must_use]
    pub fn context(self, logits: &[f32], calibration: Calibration) -> Vec<f32> {
        let (lo, width) = (f64::from(calibration.lo), f64::from(calibration.hi - calibration.lo));
        let power = |l: f64| match self.context_weight {
            0.5 => l.sqrt(),
            1.0 => l,
            lambda => l.powf(lambda),
        };
        let of = |&logit: &f32| {
            if !logit.is_finite() {
                return f32::NAN;
            }
            power(((f64::from(logit) - lo) / width).clamp(0.0, 1.0)) as f32
        };
        logits.iter().map(of).collect()
    }

    /// How near each candidate is to the true token in meaning: D^λ_D.
    ///
    /// The distances are min-max normalised over the row, so D = exp(−d_norm) lies in [1/e, 1].
    pub(crate) fn nearness(self, distances: &[f32]) -> Vec<f32> {
        let (near, far) = distances
            .iter()
            .filter(|d| d.is_finite())
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), &d| (lo.min(d), hi.max(d)));
        let (near, range) = (f64::from(near), f64::from(far) - f64::from(near));
        let of = |&d: &f32| {
            if !d.is_finite() {
                return f32::NAN;
            }
            let d_norm = if range > 0.0 { (f64::from(d) - near) / range } else { 0.0 };
            ((-self.distance_weight * d_norm) as f32).exp()
        };
        distances.iter().map(of).collect()
    }

    /// The utility of each candidate from what `context` and `nearness` say.
    ///
    /// A logit or a distance that is not finite makes the worst utility: to refuse would tell something
    /// of the true token.
    #[must_use]
    pub fn combined(context: &[f32], nearness: &[f32]) -> Vec<f32> {
        let of = |(&context, &nearness): (&f32, &f32)| {
            let utility = context * nearness;
            if utility.is_finite() { utility } else { 0.0 }
        };
        context.iter().zip(nearness).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utilities(
        utility: Utility,
        logits: &[f32],
        distances: &[f32],
        range: Calibration,
    ) -> Vec<f32> {
        Utility::combined(&utility.context(logits, range), &utility.nearness(distances))
    }

    #[test]
    fn follows_the_formula() {
        let range = Calibration::new(-10.0, 10.0).unwrap();
        let (logits, distances) = ([10.0, 0.0, -30.0], [0.0, 2.0, 4.0]);
        let got = utilities(Utility::new(0.5, 2.0).unwrap(), &logits, &distances, range);
        let want = [1.0, 0.5_f64.sqrt() * (-1.0_f64).exp(), 0.0];
        for (g, w) in got.iter().zip(want) {
            assert!((f64::from(*g) - w).abs() < 1e-6);
        }
    }

    #[test]
    fn general_powers_agree_with_the_short_cuts() {
        let range = Calibration::DEFAULT;
        for lambda in [0.5, 1.0] {
            let exact = Utility::new(lambda, 1.0).unwrap();
            let near = Utility::new(lambda + 1e-12, 1.0).unwrap();
            let logits = [3.0, -4.0, 19.0];
            let (a, b) = (exact.context(&logits, range), near.context(&logits, range));
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6));
        }
    }

    #[test]
    fn what_is_not_finite_is_worst() {
        let range = Calibration::DEFAULT;
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let of =
            |logits: &[f32], distances: &[f32]| utilities(Utility::PAPER, logits, distances, range);
        let got = of(&[nan, 1.0, inf, 1.0], &[0.0, 1.0, 2.0, inf]);
        assert!(got[0] == 0.0 && got[1] > 0.0 && got[2] == 0.0 && got[3] == 0.0);
        assert!(of(&[1.0, 1.0], &[2.0, 2.0]).iter().all(|u| u.is_finite() && *u > 0.0));
        assert!(of(&[nan], &[inf]) == [0.0]);
        assert!(Utility::new(f64::NAN, 1.0).is_err() && Utility::new(0.5, -1.0).is_err());
        assert!(Calibration::new(1.0, 1.0).is_none());
    }
}
