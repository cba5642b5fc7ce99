//! What a request spends.

use crate::micros::Micros;

/// The two counts of a request, and the ε of its draws. None of them depends on which words are protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of new draws.
    pub draws: u64,
    /// The number of maps that were opened for them.
    pub maps: u64,
    /// The privacy loss of the draws, whichever words they are for.
    pub epsilon: Micros,
}

impl Cost {
    /// The cost of some draws, from the proven loss of each (not the ε that was asked for).
    #[must_use]
    pub fn new(draws: u64, per_draw: f64) -> Self {
        Self { draws, maps: 0, epsilon: Micros::at_least(per_draw).times(draws) }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            draws: self.draws.saturating_add(other.draws),
            maps: self.maps.saturating_add(other.maps),
            epsilon: self.epsilon.plus(other.epsilon),
        }
    }
}
