//! The power of a test.

use super::binomial::{lower, upper};

/// The largest ε that a test can show with this many draws, for an event as probable as suits it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// The largest lower bound there can be: that of an event which always happens for one prompt,
    /// and never for the other.
    pub largest: f64,
    /// The smallest true ε that would likely be found above the claim; none if the claim is so
    /// large that nothing would be.
    pub visible: Option<f64>,
}

impl Power {
    /// For a claim, tested on `n` draws of each prompt with the chance `alpha` of an error for each
    /// event.
    pub(super) fn new(claim: f64, n: u64, alpha: f64) -> Self {
        let least = |hits| lower(hits, n, alpha / 2.0);
        let most = |hits| upper(hits, n, alpha / 2.0);
        let share = |tenths: u64| {
            let more = n * tenths / 10;
            let room = least(more) * (-claim).exp();
            // the most hits for the other prompt that still leave the bound above the claim
            let (mut fits, mut not) = (0, n + 1);
            if most(0) >= room {
                return None;
            }
            while not - fits > 1 {
                let hits = u64::midpoint(fits, not);
                if most(hits) < room { fits = hits } else { not = hits }
            }
            // no hit in n draws is as likely as not for a probability of ln 2 / n
            let less = (fits as f64).max(std::f64::consts::LN_2);
            Some((more as f64 / less).ln())
        };
        Self {
            largest: (least(n) / most(0)).ln(),
            visible: (1..=10).filter_map(share).min_by(f64::total_cmp),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_draws_see_more() {
        let power = |claim, n| Power::new(claim, n, 1e-4);
        assert!(power(1.0, 100_000).visible < power(1.0, 1000).visible);
        assert!((power(1.0, 100_000).visible.unwrap() - 1.0) < 0.05);
        assert!(power(1.0, 500).largest < power(1.0, 50_000).largest);
        // ln(n / ln(2/alpha)), about: an event that never happens is below ln(2/alpha) / n
        assert!((power(1.0, 10_000).largest - (10_000.0 / f64::ln(2e4)).ln()).abs() < 0.01);
        assert_eq!(power(12.0, 10_000).visible, None);
        assert!(power(6.0, 10_000).visible.unwrap() > 6.0);
    }
}
