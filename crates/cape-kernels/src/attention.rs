//! Attention in f32, a head at a time.

use rayon::prelude::*;

use crate::head::Head;
use crate::kernel::Kernel;

/// Attention of some rows of each sequence to all rows of it.
///
/// Sequence i has `queries[i]` rows in `q`, and `lens[i]` rows in `k` and `v`. Rows are `heads` parts
/// of `width` numbers.
pub struct Attention<'a> {
    /// Rows of each sequence in `q`.
    pub queries: &'a [usize],
    /// Rows of each sequence in `k` and `v`.
    pub lens: &'a [usize],
    /// How many heads there are.
    pub heads: usize,
    /// How wide a head is.
    pub width: usize,
    /// The bias that distances add to the scores, where they do.
    pub bias: Option<Bias<'a>>,
}

/// The number that the distance of a key from a query adds to their score.
#[derive(Clone, Copy)]
pub struct Bias<'a> {
    /// For each head 2·n − 1 numbers, n the longest that a sequence can be: number n − 1 + j − i is for
    /// a query at i and a key at j.
    pub distances: &'a [f32],
    /// Where each row of `q` stands in its sequence.
    pub positions: &'a [usize],
}

impl Attention<'_> {
    /// The mixed values, one row per row of `q`.
    ///
    /// # Panics
    /// If the sizes do not agree.
    pub fn forward(&self, q: &[f32], k: &[f32], v: &[f32], kernel: Kernel, out: &mut Vec<f32>) {
        let row = self.heads * self.width;
        let rows = |counts: &[usize]| counts.iter().sum::<usize>() * row;
        assert_eq!(self.queries.len(), self.lens.len(), "as many sequences");
        assert_eq!(q.len(), rows(self.queries), "the queries of each sequence");
        assert!(k.len() == rows(self.lens) && v.len() == k.len(), "the rows of each sequence");
        let each = self.bias.map_or(0, |bias| bias.distances.len() / self.heads);
        if let Some(bias) = self.bias {
            assert!(each % 2 == 1 && each * self.heads == bias.distances.len(), "every distance");
            assert!(self.lens.iter().all(|&len| len <= each.div_ceil(2)), "no sequence is longer");
            assert_eq!(bias.positions.len() * row, q.len(), "the position of each query");
        }
        out.resize(q.len(), 0.0);
        let (mut parts, mut rest, mut from, mut start) = (Vec::new(), &mut out[..], 0, 0);
        for (&queries, &len) in self.queries.iter().zip(self.lens) {
            let (part, after) = rest.split_at_mut(queries * row);
            let rows = start * row..(start + len) * row;
            let positions = self.bias.map_or(&[][..], |bias| &bias.positions[from..][..queries]);
            assert!(positions.iter().all(|&position| position < len), "a position of the sequence");
            let q = &q[from * row..][..queries * row];
            parts.push((part, q, &k[rows.clone()], &v[rows], positions));
            (rest, from, start) = (after, from + queries, start + len);
        }
        parts.into_par_iter().for_each(|(out, q, k, v, positions)| {
            let (mut turned, mut scores) = (Vec::new(), Vec::new());
            for head in 0..self.heads {
                let bias =
                    self.bias.map(|bias| (&bias.distances[head * each..][..each], positions));
                kernel.attend(&mut Head {
                    q,
                    k,
                    v,
                    out,
                    start: head * self.width,
                    width: self.width,
                    row,
                    bias,
                    turned: &mut turned,
                    scores: &mut scores,
                });
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_definition_on_every_kernel() {
        // without whole lanes, with whole ones alone, and with both
        for width in [10, 32, 37] {
            follows_the_definition(3, width);
        }
    }

    fn follows_the_definition(heads: usize, width: usize) {
        let row = heads * width;
        let queries = [1, 5, 2];
        let lens = [7, 5, 33];
        let numbers = |n: usize, by: f32| -> Vec<f32> {
            (0..n * row).map(|i| (i as f32 * by).sin() * 2.0).collect()
        };
        let (q, k, v) = (numbers(8, 0.37), numbers(45, 0.71), numbers(45, 0.13));
        // as many distances as the longest sequence and two more rows can have
        let (longest, positions) = (35, [6, 0, 1, 2, 3, 4, 32, 17]);
        let distances: Vec<f32> =
            (0..heads * (2 * longest - 1)).map(|i| (i as f32 * 0.53).cos() * 1.5).collect();
        for bias in [None, Some(Bias { distances: &distances, positions: &positions })] {
            let attention = Attention { queries: &queries, lens: &lens, heads, width, bias };
            let added = |h: usize, i: usize, j: usize| {
                let at = h * (2 * longest - 1) + longest - 1 + j - positions[i];
                bias.map_or(0.0, |bias| f64::from(bias.distances[at]))
            };
            check(&attention, [&q, &k, &v], added);
        }
    }

    fn check(
        attention: &Attention<'_>,
        [q, k, v]: [&[f32]; 3],
        added: impl Fn(usize, usize, usize) -> f64,
    ) {
        let &Attention { queries, lens, heads, width, .. } = attention;
        let row = heads * width;
        let mut want = Vec::new();
        let (mut from, mut start) = (0, 0);
        for (&queries, &len) in queries.iter().zip(lens) {
            for i in from..from + queries {
                for h in 0..heads {
                    let part =
                        |x: &[f32], j: usize, d: usize| f64::from(x[j * row + h * width + d]);
                    let score = |j: usize| {
                        let dot: f64 = (0..width).map(|d| part(q, i, d) * part(k, j, d)).sum();
                        (dot / (width as f64).sqrt() + added(h, i, j - start)).exp()
                    };
                    let weights: Vec<f64> = (start..start + len).map(score).collect();
                    let sum: f64 = weights.iter().sum();
                    for d in 0..width {
                        let mixed = weights.iter().zip(start..).map(|(w, j)| w * part(v, j, d));
                        want.push(mixed.sum::<f64>() / sum);
                    }
                }
            }
            (from, start) = (from + queries, start + len);
        }
        for kernel in Kernel::available() {
            let (mut got, mut plain) = (Vec::new(), Vec::new());
            attention.forward(q, k, v, kernel, &mut got);
            attention.forward(q, k, v, Kernel::PORTABLE, &mut plain);
            assert!(got == plain, "{kernel:?} gives other bits");
            for (got, want) in got.iter().zip(&want) {
                assert!((f64::from(*got) - want).abs() < 1e-5, "{kernel:?}: {got} {want}");
            }
        }
    }
}
