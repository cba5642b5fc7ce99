//! The hybrid utility of a candidate: how well it fits the context, and how near it is in meaning.

use crate::distance::Distance;
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

/// How context and meaning make one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The paper's: L^λ_L · D^λ_D, L the clipped logit and D = exp(−d_norm).
    Paper,
    /// λ_L · ln p − λ_D · d_norm, p the probability that the model gives the candidate.
    LogLinear,
}

impl Form {
    /// As it appears in output for machines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::LogLinear => "log-linear",
        }
    }
}

/// The utility: its form, and how much context and meaning count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utility {
    form: Form,
    distance: Distance,
    l: f64,
    d: f64,
}

impl Default for Utility {
    /// What the mechanism uses unless told otherwise: the paper's form on the distance that does best
    /// on public text.
    fn default() -> Self {
        Self { distance: Distance::Cosine, ..Self::PAPER }
    }
}

impl Utility {
    /// The paper's, with its λ.
    pub const PAPER: Self =
        Self { form: Form::Paper, distance: Distance::Euclidean, l: 0.5, d: 1.0 };

    /// Log-linear, with the λ that do best on public text.
    pub const LOG_LINEAR: Self =
        Self { form: Form::LogLinear, distance: Distance::Cosine, l: 0.02, d: 1.0 };

    /// The utility of this form with the distance and the λ that it has by itself.
    #[must_use]
    pub fn of(form: Form) -> Self {
        match form {
            Form::Paper => Self::default(),
            Form::LogLinear => Self::LOG_LINEAR,
        }
    }

    /// The same with another distance.
    #[must_use]
    pub fn by(self, distance: Distance) -> Self {
        Self { distance, ..self }
    }

    /// What counts as far.
    #[must_use]
    pub fn distance(self) -> Distance {
        self.distance
    }

    /// The same form with other λ: both zero or positive, and finite.
    pub fn with(self, l: f64, d: f64) -> Result<Self> {
        for (name, value) in [("lambda-l", l), ("lambda-d", d)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::Setting { name, range: "zero or positive, and finite", value });
            }
        }
        Ok(Self { l, d, ..self })
    }

    /// Its form.
    #[must_use]
    pub fn form(self) -> Form {
        self.form
    }

    /// λ_L, the importance of the context.
    #[must_use]
    pub fn l(self) -> f64 {
        self.l
    }

    /// λ_D, the importance of the embedding distance.
    #[must_use]
    pub fn d(self) -> f64 {
        self.d
    }

    /// What the context says of each candidate: L^λ_L, or λ_L · ln p. Of ln p a constant of the row is
    /// left out, which no rank depends on.
    #[must_use]
    pub fn context(self, logits: &[f32], calibration: Calibration) -> Vec<f32> {
        let (lo, width) = (f64::from(calibration.lo), f64::from(calibration.hi - calibration.lo));
        let power = |l: f64| match self.l {
            0.5 => l.sqrt(),
            1.0 => l,
            lambda => l.powf(lambda),
        };
        let of = |&logit: &f32| match self.form {
            _ if !logit.is_finite() => f32::NAN,
            Form::Paper => power(((f64::from(logit) - lo) / width).clamp(0.0, 1.0)) as f32,
            Form::LogLinear => (self.l * f64::from(logit)) as f32,
        };
        logits.iter().map(of).collect()
    }

    /// How near each candidate is to the true token in meaning: D^λ_D, or −λ_D · d_norm.
    ///
    /// The distances are min-max normalised over the row, so D = exp(−d_norm) lies in [1/e, 1].
    #[must_use]
    pub fn nearness(self, distances: &[f32]) -> Vec<f32> {
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
            let exponent = (-self.d * d_norm) as f32;
            match self.form {
                Form::Paper => exponent.exp(),
                Form::LogLinear => exponent,
            }
        };
        distances.iter().map(of).collect()
    }

    /// The utility of each candidate from what [`Self::context`] and [`Self::nearness`] say.
    ///
    /// A logit or a distance that is not finite makes the worst utility: to refuse would tell something
    /// of the true token.
    #[must_use]
    pub fn both(self, context: &[f32], nearness: &[f32]) -> Vec<f32> {
        let of = |(&context, &nearness): (&f32, &f32)| match self.form {
            Form::Paper if (context * nearness).is_finite() => context * nearness,
            Form::Paper => 0.0,
            Form::LogLinear if (context + nearness).is_finite() => context + nearness,
            Form::LogLinear => f32::MIN,
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
        utility.both(&utility.context(logits, range), &utility.nearness(distances))
    }

    #[test]
    fn follows_the_formula() {
        let range = Calibration::new(-10.0, 10.0).unwrap();
        let (logits, distances) = ([10.0, 0.0, -30.0], [0.0, 2.0, 4.0]);
        let paper = Utility::PAPER.with(0.5, 2.0).unwrap();
        let log_linear = Utility::LOG_LINEAR.with(0.1, 2.0).unwrap();
        for (utility, want) in [
            (paper, [1.0, 0.5_f64.sqrt() * (-1.0_f64).exp(), 0.0]),
            (log_linear, [1.0, -1.0, -5.0]),
        ] {
            let got = utilities(utility, &logits, &distances, range);
            for (g, w) in got.iter().zip(want) {
                assert!((f64::from(*g) - w).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn general_powers_agree_with_the_short_cuts() {
        let range = Calibration::DEFAULT;
        for lambda in [0.5, 1.0] {
            let exact = Utility::PAPER.with(lambda, 1.0).unwrap();
            let near = Utility::PAPER.with(lambda + 1e-12, 1.0).unwrap();
            let logits = [3.0, -4.0, 19.0];
            let (a, b) = (exact.context(&logits, range), near.context(&logits, range));
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6));
        }
    }

    #[test]
    fn what_is_not_finite_is_worst() {
        let range = Calibration::DEFAULT;
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for (utility, worst) in [(Utility::PAPER, 0.0), (Utility::LOG_LINEAR, f32::MIN)] {
            let of =
                |logits: &[f32], distances: &[f32]| utilities(utility, logits, distances, range);
            let got = of(&[nan, 1.0, inf, 1.0], &[0.0, 1.0, 2.0, inf]);
            assert!(got[0] == worst && got[1] > worst && got[2] == worst && got[3] == worst);
            assert!(of(&[1.0, 1.0], &[2.0, 2.0]).iter().all(|u| u.is_finite() && *u > worst));
            assert!(of(&[nan], &[inf]) == [worst]);
            assert!(utility.with(f64::NAN, 1.0).is_err() && utility.with(0.5, -1.0).is_err());
        }
        let huge = Utility::LOG_LINEAR.with(f64::MAX, 1.0).unwrap();
        assert_eq!(utilities(huge, &[1.0], &[1.0], range), [f32::MIN]);
        assert!(Calibration::new(1.0, 1.0).is_none());
    }
}
