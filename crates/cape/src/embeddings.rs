//! How far apart tokens are, over the model's input embeddings.

use crate::model::Embeddings;
use crate::text::TokenId;

/// ‖e_t − e_r‖ for each candidate r; exactly zero where r is t.
#[must_use]
pub fn distances(embeddings: &Embeddings, t: TokenId, candidates: &[TokenId]) -> Vec<f32> {
    let from = embeddings.row(t);
    candidates.iter().map(|&r| squared(from, embeddings.row(r)).sqrt()).collect()
}

/// Σ (a − b)², in lanes of its own so that the compiler can use vector registers.
pub(crate) fn squared(a: &[f32], b: &[f32]) -> f32 {
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
        let got = distances(&embeddings, TokenId(1), &ids);
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
