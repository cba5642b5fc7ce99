//! Attention in f32, a head at a time.

use rayon::prelude::*;

use crate::Kernel;

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
    /// What distances add to the scores, where they do.
    pub bias: Option<Bias<'a>>,
}

/// What the distance of a key from a query adds to their score.
#[derive(Clone, Copy)]
pub struct Bias<'a> {
    /// For each head 2·n − 1 numbers, n the longest that a sequence can be: number n − 1 + j − i is for
    /// a query at i and a key at j.
    pub distances: &'a [f32],
    /// Where each row of `q` stands in its sequence.
    pub positions: &'a [usize],
}

/// One head of one sequence.
pub(crate) struct Head<'a> {
    /// The whole rows of the sequence.
    q: &'a [f32],
    k: &'a [f32],
    v: &'a [f32],
    out: &'a mut [f32],
    /// The columns of the head: where they begin, how many there are, and how long a row is.
    start: usize,
    width: usize,
    row: usize,
    /// What distances add in this head, and the positions of the sequence's queries.
    bias: Option<(&'a [f32], &'a [usize])>,
    /// Room for the keys with rows and columns exchanged, and for a row of scores.
    turned: &'a mut Vec<f32>,
    scores: &'a mut Vec<f32>,
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
                attend(
                    kernel,
                    &mut Head {
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
                    },
                );
            }
        });
    }
}

fn attend(kernel: Kernel, head: &mut Head<'_>) {
    #[cfg(target_arch = "x86_64")]
    crate::x86::attend(kernel, head);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = kernel;
        attend_plain(head);
    }
}

/// How many numbers are summed side by side.
const LANES: usize = 16;

/// How many queries meet the keys together: their sums do not wait for each other.
const TOGETHER: usize = 4;

/// softmax(q·kᵀ / √width + bias)·v for the columns of one head.
#[inline(always)]
pub(crate) fn attend_plain(head: &mut Head<'_>) {
    let Head { q, k, v, out, start, width, row, bias, turned, scores } = head;
    let (start, width, row, bias) = (*start, *width, *row, *bias);
    let len = k.len() / row;
    // keys with rows and columns exchanged, so that a query meets 16 of them at a time
    let wide = len.next_multiple_of(LANES);
    turned.clear();
    turned.resize(width * wide, 0.0);
    for (j, key) in k.chunks_exact(row).enumerate() {
        for (d, &value) in key[start..start + width].iter().enumerate() {
            turned[d * wide + j] = value;
        }
    }
    let scale = 1.0 / (width as f32).sqrt();
    scores.clear();
    scores.resize(TOGETHER * wide, 0.0);
    let blocks = q.chunks(TOGETHER * row).zip(out.chunks_mut(TOGETHER * row));
    for (first, (queries, out)) in (0..).step_by(TOGETHER).zip(blocks) {
        // a block that is not whole repeats its last query
        let last = queries.len() / row - 1;
        let query = |i: usize| &queries[i.min(last) * row + start..][..width];
        let together: [&[f32]; TOGETHER] = std::array::from_fn(query);
        for block in 0..wide / LANES {
            let mut sums = [[0_f32; LANES]; TOGETHER];
            for (d, keys) in turned.chunks_exact(wide).enumerate() {
                let keys = &keys[block * LANES..][..LANES];
                for (sums, query) in sums.iter_mut().zip(together) {
                    let x = query[d];
                    for (sum, key) in sums.iter_mut().zip(keys) {
                        *sum += x * key;
                    }
                }
            }
            for (scores, sums) in scores.chunks_exact_mut(wide).zip(sums) {
                for (score, sum) in scores[block * LANES..][..LANES].iter_mut().zip(sums) {
                    *score = sum * scale;
                }
            }
        }
        for (i, scores) in scores.chunks_exact_mut(wide).enumerate() {
            if let Some((distances, positions)) = bias {
                // the number in the middle is for a key where the query is
                let first_key = distances.len() / 2 - positions[first + i.min(last)];
                for (score, distance) in scores.iter_mut().zip(&distances[first_key..][..len]) {
                    *score += distance;
                }
            }
            scores[len..].fill(f32::NEG_INFINITY);
            softmax(scores);
        }
        let whole = width / LANES * LANES;
        for column in (start..start + whole).step_by(LANES) {
            let mut sums = [[0_f32; LANES]; TOGETHER];
            for (j, value) in v.chunks_exact(row).enumerate() {
                let values = &value[column..][..LANES];
                for (i, sums) in sums.iter_mut().enumerate() {
                    let p = scores[i * wide + j];
                    for (sum, value) in sums.iter_mut().zip(values) {
                        *sum += p * value;
                    }
                }
            }
            for (out, sums) in out.chunks_exact_mut(row).zip(sums) {
                out[column..][..LANES].copy_from_slice(&sums);
            }
        }
        for column in start + whole..start + width {
            for (out, scores) in out.chunks_exact_mut(row).zip(scores.chunks_exact(wide)) {
                let products = scores.iter().zip(v.chunks_exact(row)).map(|(p, v)| p * v[column]);
                out[column] = products.sum();
            }
        }
    }
}

/// Whole blocks of `LANES` numbers; what is minus infinity becomes next to nothing.
#[inline(always)]
fn softmax(x: &mut [f32]) {
    let blocks = x.as_chunks_mut::<LANES>().0;
    let mut most = [f32::NEG_INFINITY; LANES];
    for block in blocks.iter() {
        for (most, &v) in most.iter_mut().zip(block) {
            *most = if v > *most { v } else { *most };
        }
    }
    let most = most.iter().fold(f32::NEG_INFINITY, |most, &v| if v > most { v } else { most });
    let mut sums = [0.0; LANES];
    for block in blocks.iter_mut() {
        for (sum, v) in sums.iter_mut().zip(block) {
            *v = exp(*v - most);
            *sum += *v;
        }
    }
    let scale = 1.0 / sums.iter().sum::<f32>();
    for block in blocks {
        for v in block {
            *v *= scale;
        }
    }
}

/// e^x for x ≤ 0, to about 2 units in the last place; written so that compilers use vectors.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // x = n·ln 2 + r with |r| ≤ ln 2 / 2; ln 2 in two parts, the first with few bits
    const MAGIC: f32 = 12_582_912.0;
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = (x - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let mut p = 1.0 / 5040.0;
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = p * r + c;
    }
    let power = (shifted.to_bits() << 23).wrapping_add(0x3f80_0000);
    p * f32::from_bits(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_exp() {
        for i in 0..87_000 {
            let x = -(i as f32) / 1000.0;
            let want = f64::from(x).exp();
            assert!((f64::from(exp(x)) - want).abs() <= 4e-7 * want, "{x}");
        }
        assert!(exp(-1e30) < 1e-37 && exp(f32::NAN).is_nan());
    }

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
