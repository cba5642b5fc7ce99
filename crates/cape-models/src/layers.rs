//! The layers of a transformer encoder, on plain f32 rows.

use rayon::prelude::*;
use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_tensor::NdTensorView;
use rten_vecmath::{Gelu, Softmax};

/// `y = x·Wᵀ + b`, the weights packed once for the machine's kernel.
pub(crate) struct Linear {
    weights: PackedBMatrix<f32>,
    bias: Vec<f32>,
    inputs: usize,
}

impl Linear {
    /// `weights` has one row per output.
    pub(crate) fn new(weights: &[f32], bias: Vec<f32>, inputs: usize) -> Self {
        let rows = NdTensorView::from_data([bias.len(), inputs], weights);
        let weights = GemmExecutor::new().prepack_b(rows.transposed());
        Self { weights, bias, inputs }
    }

    pub(crate) fn forward(&self, x: &[f32]) -> Vec<f32> {
        let rows = x.len() / self.inputs;
        let mut y = vec![0.0; rows * self.bias.len()];
        let x = NdTensorView::from_data([rows, self.inputs], x);
        let bias = Some(BiasVector::Row(&self.bias));
        GemmExecutor::new()
            .gemm(
                &mut y,
                GemmInputA::Unpacked(x),
                GemmInputB::Packed(&self.weights),
                GemmOptions { bias, ..Default::default() },
            )
            .expect("the sizes agree by construction");
        y
    }
}

/// Layer normalisation over the last dimension.
pub(crate) struct LayerNorm {
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
    pub(crate) eps: f32,
}

impl LayerNorm {
    pub(crate) fn forward(&self, x: &mut [f32]) {
        let n = self.weight.len() as f32;
        for row in x.chunks_exact_mut(self.weight.len()) {
            let mean = row.iter().sum::<f32>() / n;
            let variance = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / n;
            let scale = 1.0 / (variance + self.eps).sqrt();
            for ((v, w), b) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
                *v = (*v - mean) * scale * w + b;
            }
        }
    }
}

/// `x += y`.
pub(crate) fn add(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

/// The exact (erf) GELU, in place.
pub(crate) fn gelu(x: &mut [f32]) {
    Gelu {}.map_mut(x);
}

/// Attention of some rows of each sequence to all rows of it.
///
/// Sequence i has `queries[i]` rows in `q`, and `lens[i]` rows in `k` and `v`. Each head looks at
/// `width` columns of the rows. The result has the shape of `q`.
pub(crate) struct Attention<'a> {
    pub(crate) queries: &'a [usize],
    pub(crate) lens: &'a [usize],
    pub(crate) heads: usize,
    pub(crate) width: usize,
}

impl Attention<'_> {
    pub(crate) fn forward(&self, q: &[f32], k: &[f32], v: &[f32]) -> Vec<f32> {
        let hidden = self.heads * self.width;
        let mut out = vec![0.0; q.len()];
        let (mut parts, mut rest, mut from, mut start) = (Vec::new(), &mut out[..], 0, 0);
        for (&queries, &len) in self.queries.iter().zip(self.lens) {
            let (part, after) = rest.split_at_mut(queries * hidden);
            let rows = start * hidden..(start + len) * hidden;
            parts.push((part, &q[from * hidden..][..queries * hidden], &k[rows.clone()], &v[rows]));
            (rest, from, start) = (after, from + queries, start + len);
        }
        parts.into_par_iter().for_each(|(out, q, k, v)| self.sequence(out, q, k, v));
        out
    }

    fn sequence(&self, out: &mut [f32], q: &[f32], k: &[f32], v: &[f32]) {
        let hidden = self.heads * self.width;
        let (queries, len) = (q.len() / hidden, k.len() / hidden);
        let gemm = GemmExecutor::new();
        let alpha = 1.0 / (self.width as f32).sqrt();
        let mut scores = vec![0.0; queries * len];
        let mut mixed = vec![0.0; queries * self.width];
        for head in 0..self.heads {
            let columns = head * self.width..(head + 1) * self.width;
            let part =
                |x, rows| NdTensorView::from_data([rows, hidden], x).slice_axis(1, columns.clone());
            let (q, k, v) = (part(q, queries), part(k, len), part(v, len));
            gemm.gemm(
                &mut scores,
                GemmInputA::Unpacked(q),
                GemmInputB::Unpacked(k.transposed()),
                GemmOptions { alpha, ..Default::default() },
            )
            .expect("the sizes agree by construction");
            for row in scores.chunks_exact_mut(len) {
                Softmax::new_mut(row).dispatch();
            }
            gemm.gemm(
                &mut mixed,
                GemmInputA::Unpacked(NdTensorView::from_data([queries, len], &scores[..])),
                GemmInputB::Unpacked(v),
                GemmOptions::default(),
            )
            .expect("the sizes agree by construction");
            for (out, mixed) in out.chunks_exact_mut(hidden).zip(mixed.chunks_exact(self.width)) {
                out[columns.clone()].copy_from_slice(mixed);
            }
        }
    }
}

/// One logit per row of `table` for each row of `x`: `x·tableᵀ + b`, the table used as it lies.
pub(crate) fn project(x: &[f32], table: &[f32], bias: &[f32]) -> Vec<f32> {
    let width = table.len() / bias.len();
    let rows = x.len() / width;
    let mut y = vec![0.0; rows * bias.len()];
    GemmExecutor::new()
        .gemm(
            &mut y,
            GemmInputA::Unpacked(NdTensorView::from_data([rows, width], x)),
            GemmInputB::Unpacked(NdTensorView::from_data([bias.len(), width], table).transposed()),
            GemmOptions { bias: Some(BiasVector::Row(bias)), ..Default::default() },
        )
        .expect("the sizes agree by construction");
    y
}
