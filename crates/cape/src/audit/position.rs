//! The exact loss of one draw of the paper's mechanism: one context, every token that could stand there.

use super::{Extremes, Findings};
use crate::buckets::Bucketed;
use crate::mechanism::cape_paper::Position;
use crate::sample::Share;

/// What the rows of a position have shown so far.
#[derive(Clone)]
pub struct Exact {
    extremes: Extremes<Share>,
    buckets: Option<Buckets>,
}

/// The sizes and numbers of the buckets of all rows: what the paper's ε + ε′ is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buckets {
    /// The sizes of the smallest and of the largest bucket.
    pub sizes: (u64, u64),
    /// The fewest and the most buckets that a row has.
    pub filled: (usize, usize),
}

impl Buckets {
    /// The paper's ε′ = ln max |b_i|/|b_j|, over all rows.
    #[must_use]
    pub fn epsilon_prime(&self) -> f64 {
        (self.sizes.1 as f64 / self.sizes.0 as f64).ln()
    }

    fn merge(self, other: Self) -> Self {
        Self {
            sizes: (self.sizes.0.min(other.sizes.0), self.sizes.1.max(other.sizes.1)),
            filled: (self.filled.0.min(other.filled.0), self.filled.1.max(other.filled.1)),
        }
    }
}

impl Exact {
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
            let new = Buckets { sizes: (least, most), filled: (count, count) };
            self.buckets = Some(self.buckets.map_or(new, |buckets| buckets.merge(new)));
        }
        self
    }

    /// Both together; the other's inputs have larger numbers.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let buckets = match (self.buckets, other.buckets) {
            (Some(a), Some(b)) => Some(a.merge(b)),
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
    pub fn buckets(&self) -> Option<Buckets> {
        self.buckets
    }
}
