//! How far apart tokens are, over the model's input embeddings.

use crate::model::Embeddings;
use crate::text::TokenId;

/// What counts as far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// ‖e_t − e_r‖, the paper's.
    Euclidean,
    /// The same of embeddings brought to length one, √(2 − 2·cos): blind to how long they are, which
    /// tells how frequent a token is, not what it means.
    Cosine,
}

impl Distance {
    /// As it appears in output for machines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Euclidean => "euclidean",
            Self::Cosine => "cosine",
        }
    }
}

/// The length of each row.
pub(crate) fn lengths(embeddings: &Embeddings, ids: &[TokenId]) -> Vec<f32> {
    let length = |row: &[f32]| squared(row, &vec![0.0; row.len()]).sqrt();
    ids.iter().map(|&id| length(embeddings.row(id))).collect()
}

/// Euclidean distances made into those of directions, given the lengths of t and of the candidates: the
/// law of cosines. A row of length zero has no direction, and counts as one at a right angle.
pub(crate) fn directions(distances: &mut [f32], own: f32, lengths: &[f32]) {
    let own = f64::from(own);
    for (distance, &length) in distances.iter_mut().zip(lengths) {
        let (d, length) = (f64::from(*distance), f64::from(length));
        let product = own * length;
        let square = (d * d - (own - length).powi(2)).max(0.0) / product;
        *distance = if product > 0.0 { square.sqrt() as f32 } else { std::f32::consts::SQRT_2 };
    }
}

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
    fn directions_are_those_of_the_cosine() {
        let dim = 7;
        let mut data: Vec<f32> =
            (0..6 * dim).map(|i| (i as f32 * 0.73).cos() * (1 + i / dim) as f32).collect();
        data[5 * dim..].fill(0.0);
        let embeddings = Embeddings::new(data, dim);
        let ids: Vec<TokenId> = (0..6).map(TokenId).collect();
        let lengths = lengths(&embeddings, &ids);
        for t in 0..5 {
            let mut got = distances(&embeddings, TokenId(t), &ids);
            directions(&mut got, lengths[t as usize], &lengths);
            assert_eq!(got[t as usize], 0.0);
            for r in 0..5 {
                let row = |id: u32| embeddings.row(TokenId(id));
                let dot: f64 =
                    row(t).iter().zip(row(r)).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                let cos = dot / f64::from(lengths[t as usize]) / f64::from(lengths[r as usize]);
                // squares: near zero the root would magnify what rounding did to the lengths
                let square = f64::from(got[r as usize]).powi(2);
                assert!((square - (2.0 - 2.0 * cos)).abs() < 1e-5, "{t} {r}");
            }
            assert_eq!(got[5], std::f32::consts::SQRT_2);
        }
    }

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
