//! Attention of one row to the rows up to its own, as causal models compute it.

use crate::head::softmax;
use crate::kernel::Kernel;
use crate::plain::dots_plain;

/// How many numbers are summed side by side.
const LANES: usize = 16;

/// A row that attends to itself and to the rows before it. Rows are computed one by one: then a row is the same to the bit
/// whatever is computed beside it.
pub struct LastRow<'a> {
    /// Its heads, `width` numbers each.
    pub q: &'a [f32],
    /// The keys of the rows that it sees, the last its own: heads of `width` numbers, each shared
    /// by the same number of heads of `q`.
    pub keys: &'a [f32],
    /// Their values.
    pub values: &'a [f32],
    /// How many heads of keys and values there are.
    pub shared: usize,
    /// How wide a head is.
    pub width: usize,
    /// The mixed values, as wide as `q`.
    pub out: &'a mut [f32],
}

impl LastRow<'_> {
    /// Mixes the values into `out`.
    ///
    /// # Panics
    /// If the sizes do not agree.
    pub fn attend(&mut self, kernel: Kernel) {
        let row = self.shared * self.width;
        assert!(row > 0 && self.q.len().is_multiple_of(row), "as many heads for each key");
        assert!(
            self.out.len() == self.q.len() && self.keys.len() == self.values.len(),
            "whole rows"
        );
        assert!(!self.keys.is_empty() && self.keys.len().is_multiple_of(row), "whole rows");
        kernel.attend_row(self);
    }
}

/// softmax(q·kᵀ / √width)·v for each head.
#[inline(always)]
pub(crate) fn attend_row_plain(row: &mut LastRow<'_>) {
    let LastRow { q, keys, values, shared, width, out } = row;
    let (width, wide) = (*width, *shared * *width);
    let each = q.len() / wide;
    let scale = 1.0 / (width as f32).sqrt();
    let seen = keys.len() / wide;
    let mut scores = vec![f32::NEG_INFINITY; seen.next_multiple_of(LANES)];
    for (head, (q, out)) in q.chunks_exact(width).zip(out.chunks_exact_mut(width)).enumerate() {
        let start = head / each * width;
        scores[seen..].fill(f32::NEG_INFINITY);
        for (score, key) in scores.iter_mut().zip(keys.chunks_exact(wide)) {
            let [dot] = dots_plain(q, [&key[start..start + width]]);
            *score = dot * scale;
        }
        softmax(&mut scores);
        out.fill(0.0);
        for (p, value) in scores.iter().zip(values.chunks_exact(wide)) {
            for (out, value) in out.iter_mut().zip(&value[start..start + width]) {
                *out += p * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_definition_on_every_kernel() {
        for (heads, shared, width, seen) in [(1, 1, 3, 1), (4, 2, 16, 5), (12, 2, 37, 33)] {
            let numbers = |n: usize, by: f32| -> Vec<f32> {
                (0..n * width).map(|i| (i as f32 * by).sin() * 2.0).collect()
            };
            let q = numbers(heads, 0.37);
            let (keys, values) = (numbers(seen * shared, 0.71), numbers(seen * shared, 0.13));
            let mut all = Vec::new();
            for kernel in Kernel::available() {
                let mut out = vec![f32::NAN; q.len()];
                LastRow { q: &q, keys: &keys, values: &values, shared, width, out: &mut out }
                    .attend(kernel);
                all.push(out);
            }
            assert!(all.iter().all(|out| *out == all[0]), "other bits");
            for (i, got) in all[0].iter().enumerate() {
                let (head, column) = (i / width, i % width);
                let at = |row: usize, column: usize| {
                    (row * shared + head / (heads / shared)) * width + column
                };
                let score = |row: usize| {
                    let dot: f64 = (0..width)
                        .map(|d| f64::from(q[head * width + d]) * f64::from(keys[at(row, d)]))
                        .sum();
                    (dot / (width as f64).sqrt()).exp()
                };
                let total: f64 = (0..seen).map(score).sum();
                let mixed = (0..seen).map(|row| score(row) * f64::from(values[at(row, column)]));
                let want = mixed.sum::<f64>() / total;
                assert!((f64::from(*got) - want).abs() < 1e-5, "{got} {want}");
            }
        }
    }
}
