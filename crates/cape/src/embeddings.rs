//! Rows of vectors, and how far apart they are.

use crate::text::TokenId;

/// The input embeddings as plain rows.
pub struct Embeddings {
    data: Vec<f32>,
    dim: usize,
}

impl Embeddings {
    /// Rows of `dim` numbers each.
    ///
    /// # Panics
    /// If the data are not whole rows.
    #[must_use]
    pub fn new(data: Vec<f32>, dim: usize) -> Self {
        assert!(dim > 0 && data.len().is_multiple_of(dim), "whole rows");
        Self { data, dim }
    }

    /// The same rows, each of length one; a row of zeros stays as it is.
    #[must_use]
    pub fn unit(mut self) -> Self {
        for row in self.data.chunks_exact_mut(self.dim) {
            let length = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
            if length > 0.0 {
                for x in row {
                    *x = (f64::from(*x) / length) as f32;
                }
            }
        }
        self
    }

    /// A token's row.
    #[must_use]
    pub fn row(&self, id: TokenId) -> &[f32] {
        &self.data[id.index() * self.dim..][..self.dim]
    }

    /// All rows, one after the other.
    #[must_use]
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// The width of a row.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// ‖e_t − e_r‖ for each candidate r; exactly zero where r is t.
    #[must_use]
    pub fn distances(&self, t: TokenId, candidates: &[TokenId]) -> Vec<f32> {
        let from = self.row(t);
        candidates.iter().map(|&r| squared_distance(from, self.row(r)).sqrt()).collect()
    }
}

/// Σ (a − b)², in lanes of its own so that the compiler can use vector registers.
pub(crate) fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0_f32; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            let d = x[lane] - y[lane];
            sums[lane] += d * d;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| (x - y) * (x - y)).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_euclidean_and_zero_at_the_token_itself() {
        let dim = 19;
        let data: Vec<f32> = (0..3 * dim).map(|i| (i as f32 * 0.37).sin()).collect();
        let embeddings = Embeddings::new(data.clone(), dim);
        let ids: Vec<TokenId> = (0..3).map(TokenId).collect();
        let got = embeddings.distances(TokenId(1), &ids);
        assert_eq!(got[1], 0.0);
        for r in [0, 2] {
            let plain: f64 = (0..dim)
                .map(|k| f64::from(data[dim + k] - data[r * dim + k]).powi(2))
                .sum::<f64>()
                .sqrt();
            assert!((f64::from(got[r]) - plain).abs() < 1e-5);
        }
    }
}
