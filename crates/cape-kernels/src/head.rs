//! Attention of one head in plain loops.

/// One head of one sequence.
pub(crate) struct Head<'a> {
    /// The whole rows of the sequence.
    pub(crate) q: &'a [f32],
    pub(crate) k: &'a [f32],
    pub(crate) v: &'a [f32],
    pub(crate) out: &'a mut [f32],
    /// The columns of the head: where they begin, how many there are, and how long a row is.
    pub(crate) start: usize,
    pub(crate) width: usize,
    pub(crate) row: usize,
    /// The numbers that distances add in this head, and the positions of the sequence's queries.
    pub(crate) bias: Option<(&'a [f32], &'a [usize])>,
    /// Room for the keys with rows and columns exchanged, and for a row of scores.
    pub(crate) turned: &'a mut Vec<f32>,
    pub(crate) scores: &'a mut Vec<f32>,
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

/// Softmax of whole blocks of `LANES` numbers; minus infinity becomes next to nothing.
#[inline(always)]
pub(crate) fn softmax(x: &mut [f32]) {
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
}
