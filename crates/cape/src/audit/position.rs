//! The exact loss of one draw of the paper's mechanism: one context, every token that could stand there.

use std::ops::RangeInclusive;

use super::{Extremes, Findings};
use crate::buckets::Bucketed;
use crate::mechanism::cape_paper::Position;
use crate::sample::Share;

/// The extremes of the rows of a position added so far.
#[derive(Clone)]
pub struct PositionExtremes {
    extremes: Extremes<Share>,
    buckets: Option<BucketRanges>,
}

/// The sizes and numbers of the buckets of all rows: what the paper's ε + ε′ is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct BucketRanges {
    /// The sizes of buckets, from the smallest to the largest.
    pub sizes: RangeInclusive<u64>,
    /// How many buckets a row has, from the fewest to the most.
    pub filled: RangeInclusive<usize>,
}

impl BucketRanges {
    /// The paper's ε′ = ln max |b_i|/|b_j|, over all rows.
    #[must_use]
    pub fn epsilon_prime(&self) -> f64 {
        (*self.sizes.end() as f64 / *self.sizes.start() as f64).ln()
    }

    fn merge(&self, other: &Self) -> Self {
        fn hull<T: Copy + Ord>(a: &RangeInclusive<T>, b: &RangeInclusive<T>) -> RangeInclusive<T> {
            *a.start().min(b.start())..=*a.end().max(b.end())
        }
        Self { sizes: hull(&self.sizes, &other.sizes), filled: hull(&self.filled, &other.filled) }
    }
}

impl PositionExtremes {
    /// No row so far.
    #[must_use]
    pub fn new(position: &Position<'_>) -> Self {
        Self { extremes: Extremes::new(position.candidates().len()), buckets: None }
    }

    /// Adds the row of an input, by rising numbers.
    #[must_use]
    pub fn add(mut self, input: u32, row: &Bucketed) -> Self {
        for (output, share) in row.shares().into_iter().enumerate() {
            self.extremes.add(input, output, share);
        }
        let filled = || row.sizes.iter().copied().filter(|&size| size > 0);
        if let (Some(least), Some(most)) = (filled().min(), filled().max()) {
            let count = filled().count();
            let new = BucketRanges { sizes: least..=most, filled: count..=count };
            self.buckets = Some(match self.buckets {
                Some(buckets) => buckets.merge(&new),
                None => new,
            });
        }
        self
    }

    /// Merges the two; the other's inputs have larger numbers.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let buckets = match (self.buckets, other.buckets) {
            (Some(a), Some(b)) => Some(a.merge(&b)),
            (a, b) => a.or(b),
        };
        Self { extremes: self.extremes.merge(other.extremes), buckets }
    }

    /// The losses, from the integers; none where no row was added.
    #[must_use]
    pub fn findings(&self) -> Option<Findings<Share>> {
        self.extremes.findings(Share::log_ratio_up)
    }

    /// The buckets of all rows; none where no row was added.
    #[must_use]
    pub fn buckets(&self) -> Option<&BucketRanges> {
        self.buckets.as_ref()
    }
}
