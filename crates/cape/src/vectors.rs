//! Words with vectors: what the mechanisms without a device model know of meaning.

use std::sync::OnceLock;

use crate::embeddings::{Embeddings, squared_distance};
use crate::text::TokenId;
use crate::{Error, Result};

/// Entries of a vocabulary with a vector each.
pub struct WordVectors {
    /// Sorted.
    ids: Vec<TokenId>,
    /// Row i is the vector of `ids[i]`.
    vectors: Embeddings,
    diameter: OnceLock<f64>,
}

/// How far a distance computed in f32 can be from the true one, as a fraction of it: a sum of up to
/// 4096 squares in 16 lanes, and its root.
pub(crate) const DISTANCE_ERROR: f64 = 1.0 / (1 << 15) as f64;

/// How many distances are computed in search of the largest before an upper bound must do.
const PAIRS: u64 = 5_000_000;

impl WordVectors {
    /// Entries in order of their ids, and as many rows.
    ///
    /// # Panics
    /// If they are not.
    pub fn new(ids: Vec<TokenId>, vectors: Embeddings) -> Result<Self> {
        assert!(ids.is_sorted_by(|a, b| a < b), "ids in order");
        assert_eq!(ids.len() * vectors.dim(), vectors.data().len(), "a row for each id");
        if ids.len() < 2 {
            return Err(Error::Candidates(ids.len()));
        }
        Ok(Self { ids, vectors, diameter: OnceLock::new() })
    }

    /// How many entries there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it has two entries at least")]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The entries, in order.
    #[must_use]
    pub fn ids(&self) -> &[TokenId] {
        &self.ids
    }

    /// The row of an entry, if it has one.
    pub(crate) fn row_of(&self, id: TokenId) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    /// The vector of a row.
    pub(crate) fn vector(&self, row: usize) -> &[f32] {
        &self.vectors.data()[row * self.vectors.dim()..][..self.vectors.dim()]
    }

    /// The vectors.
    pub(crate) fn vectors(&self) -> &Embeddings {
        &self.vectors
    }

    /// The Euclidean distance of two rows.
    #[must_use]
    pub fn distance(&self, a: usize, b: usize) -> f32 {
        squared_distance(self.vector(a), self.vector(b)).sqrt()
    }

    /// An upper bound of all distances between two entries: the largest itself, where it is found in
    /// reasonable time.
    pub(crate) fn diameter(&self) -> f64 {
        *self.diameter.get_or_init(|| self.find_diameter())
    }

    /// No two rows are farther apart than the sum of their distances to the mean. Pairs are tried by
    /// that sum, so that few are needed where few rows lie far out.
    fn find_diameter(&self) -> f64 {
        let dim = self.vectors.dim();
        let mut mean = vec![0_f64; dim];
        for row in self.vectors.data().chunks_exact(dim) {
            for (mean, &x) in mean.iter_mut().zip(row) {
                *mean += f64::from(x);
            }
        }
        let mean: Vec<f32> = mean.iter().map(|&sum| (sum / self.len() as f64) as f32).collect();
        let out = |row: usize| (squared_distance(self.vector(row), &mean).sqrt(), row);
        let mut outward: Vec<(f32, usize)> = (0..self.len()).map(out).collect();
        outward.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let (mut largest, mut tried) = (0_f32, 0);
        for (i, &(far, a)) in outward.iter().enumerate() {
            let reach = far + outward[0].0;
            if reach <= largest {
                break;
            }
            if tried > PAIRS {
                largest = reach;
                break;
            }
            for &(near, b) in &outward[..i] {
                if far + near <= largest {
                    break;
                }
                tried += 1;
                largest = largest.max(self.distance(a, b));
            }
        }
        f64::from(largest) * (1.0 + 2.0 * DISTANCE_ERROR)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vectors(data: Vec<f32>, dim: usize) -> WordVectors {
        let ids = (0..(data.len() / dim) as u32).map(TokenId).collect();
        WordVectors::new(ids, Embeddings::new(data, dim)).unwrap()
    }

    proptest! {
        #[test]
        fn the_diameter_is_the_largest_distance(data in prop::collection::vec(-4.0_f32..4.0, 6..90)) {
            let data = data[..data.len() / 3 * 3].to_vec();
            let vectors = vectors(data, 3);
            let n = vectors.len();
            let all = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
            let largest =
                all.map(|(a, b)| f64::from(vectors.distance(a, b))).fold(0.0, f64::max);
            let diameter = vectors.diameter();
            prop_assert!(diameter >= largest && diameter <= largest * 1.0001 + 1e-6);
        }
    }

    /// Corners of a cube all lie equally far out, and there are more pairs of them than are tried.
    #[test]
    fn where_there_are_too_many_pairs_the_sum_of_two_ways_out_must_do() {
        let (dim, n) = (64, 3400);
        let mut state = 5_u64;
        let mut corner = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if state >> 63 == 0 { -1.0 } else { 1.0 }
        };
        let vectors = vectors((0..n * dim).map(|_| corner()).collect(), dim);
        // two opposite corners are 16 apart; of so few of them no two are
        let some = (0..300).flat_map(|a| (0..n).map(move |b| (a, b)));
        let largest = some.map(|(a, b)| vectors.distance(a, b)).fold(0.0, f32::max);
        let diameter = vectors.diameter();
        assert!(largest < 14.5 && (15.5..16.5).contains(&diameter), "{largest} {diameter}");
    }

    #[test]
    fn one_word_is_not_enough() {
        assert!(WordVectors::new(vec![TokenId(0)], Embeddings::new(vec![1.0], 1)).is_err());
        let words = WordVectors::new(
            vec![TokenId(3), TokenId(9)],
            Embeddings::new(vec![0.0, 0.0, 3.0, 4.0], 2),
        )
        .unwrap();
        assert_eq!((words.row_of(TokenId(9)), words.row_of(TokenId(4))), (Some(1), None));
        assert_eq!(words.distance(0, 1), 5.0);
    }
}
