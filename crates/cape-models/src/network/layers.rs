//! The layers of a transformer, on plain f32 rows.

use std::cell::OnceCell;

use cape_kernels::{Bits, CodedRows, CodedWeights, Rows, Weights};
use rayon::prelude::*;
use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_tensor::NdTensorView;
use rten_vecmath::{Gelu, Normalize, NormalizeOptions, Sum, SumSquareSub};

use crate::files::Matrix;
use crate::options::Math;
use crate::profile::{self, Stage};

/// Rows that go into one or more linear layers, rounded when the first of them asks.
pub(crate) struct Input<'a> {
    x: &'a [f32],
    rows: OnceCell<Rows>,
    coded: OnceCell<CodedRows>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(x: &'a [f32]) -> Self {
        Self { x, rows: OnceCell::new(), coded: OnceCell::new() }
    }
}

/// `y = x·Wᵀ + b`, the weights packed once for the machine's kernel.
pub(crate) struct Linear {
    weights: Packed,
    bias: Vec<f32>,
    inputs: usize,
    math: Math,
}

enum Packed {
    F32(PackedBMatrix<f32>),
    Integers(Weights, Bits),
    Coded(CodedWeights),
}

impl Linear {
    /// `weights` has one row per output.
    pub(crate) fn new(weights: Matrix, bias: Vec<f32>, inputs: usize, math: Math) -> Self {
        let weights = match math.integers {
            None => {
                let floats = weights.into_floats(inputs);
                let rows = NdTensorView::from_data([bias.len(), inputs], &floats[..]);
                Packed::F32(GemmExecutor::new().prepack_b(rows.transposed()))
            }
            Some(bits) => {
                let (integers, scales) = weights.rounded(inputs);
                Packed::Integers(Weights::new(&integers, &scales, inputs), bits)
            }
        };
        Self { weights, bias, inputs, math }
    }

    /// Weights that are multiplied as a GGUF file codes them.
    pub(crate) fn coded(weights: CodedWeights, bias: Vec<f32>, inputs: usize, math: Math) -> Self {
        Self { weights: Packed::Coded(weights), bias, inputs, math }
    }

    /// Puts the result into `y`, with `then` done to each number of it. The
    /// former contents of `y` do not matter: reusing it saves allocating large zeros.
    pub(crate) fn forward_into(
        &self,
        input: &Input<'_>,
        y: &mut Vec<f32>,
        then: impl Fn(&mut [f32]) + Sync + Send,
    ) {
        y.resize(input.x.len() / self.inputs * self.bias.len(), 0.0);
        match &self.weights {
            Packed::F32(weights) => profile::product(then, |then| {
                self.gemm(weights, input.x, 0.0, y);
                y.par_chunks_mut(1 << 14).for_each(then);
            }),
            Packed::Integers(weights, bits) => {
                let rows = self.rows(input, *bits);
                profile::product(then, |then| {
                    weights.product(rows, &self.bias, y, then);
                });
            }
            Packed::Coded(weights) => {
                let rows = self.coded_rows(input);
                profile::product(then, |then| {
                    weights.product(rows, &self.bias, y, then);
                });
            }
        }
    }

    /// The result, with `then` done to each number of it.
    pub(crate) fn forward_then(
        &self,
        input: &Input<'_>,
        then: impl Fn(&mut [f32]) + Sync + Send,
    ) -> Vec<f32> {
        let mut y = Vec::new();
        self.forward_into(input, &mut y, then);
        y
    }

    /// The result.
    pub(crate) fn forward(&self, input: &Input<'_>) -> Vec<f32> {
        self.forward_then(input, |_| {})
    }

    /// `y += x·Wᵀ + b`.
    pub(crate) fn add_to(&self, input: &Input<'_>, y: &mut [f32]) {
        match &self.weights {
            Packed::F32(weights) => {
                profile::timed(Stage::Products, || self.gemm(weights, input.x, 1.0, y));
            }
            Packed::Integers(weights, bits) => {
                let rows = self.rows(input, *bits);
                profile::timed(Stage::Products, || {
                    weights.product_onto(rows, &self.bias, y);
                });
            }
            Packed::Coded(weights) => {
                let rows = self.coded_rows(input);
                profile::timed(Stage::Products, || {
                    weights.product_onto(rows, &self.bias, y);
                });
            }
        }
    }

    fn rows<'a>(&self, input: &'a Input<'_>, bits: Bits) -> &'a Rows {
        let round = || Rows::new(input.x, self.inputs, bits, self.math.kernel);
        input.rows.get_or_init(|| profile::timed(Stage::Rounding, round))
    }

    fn coded_rows<'a>(&self, input: &'a Input<'_>) -> &'a CodedRows {
        let round = || CodedRows::new(input.x, self.inputs, self.math.kernel);
        input.coded.get_or_init(|| profile::timed(Stage::Rounding, round))
    }

    fn gemm(&self, weights: &PackedBMatrix<f32>, x: &[f32], beta: f32, y: &mut [f32]) {
        let x = NdTensorView::from_data([x.len() / self.inputs, self.inputs], x);
        let bias = Some(BiasVector::Row(&self.bias));
        GemmExecutor::new()
            .gemm(
                y,
                GemmInputA::Unpacked(x),
                GemmInputB::Packed(weights),
                GemmOptions { bias, beta, ..Default::default() },
            )
            .expect("the sizes agree by construction");
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
        let width = self.weight.len();
        let n = width as f32;
        let normalise = |row: &mut [f32]| {
            let mean = Sum::new(row).dispatch() / n;
            let variance = SumSquareSub::new(row, mean).dispatch() / n;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: 1.0 / (variance + self.eps).sqrt(),
                element_scale: Some(&self.weight),
                element_bias: Some(&self.bias),
                ..Default::default()
            };
            Normalize::new_mut(row, options).dispatch();
        };
        let rows = x.par_chunks_mut(width).with_min_len((1 << 14) / width.max(1));
        profile::timed(Stage::Normalisation, || rows.for_each(normalise));
    }
}

/// The exact (erf) GELU, in place.
pub(crate) fn gelu(x: &mut [f32]) {
    Gelu {}.map_mut(x);
}

/// Some rows of `x`, `width` wide, one after the other.
pub(crate) fn gather(x: &[f32], width: usize, rows: &[usize]) -> Vec<f32> {
    let mut y = Vec::with_capacity(rows.len() * width);
    for &row in rows {
        y.extend_from_slice(&x[row * width..][..width]);
    }
    y
}

/// The size of a network in words.
pub(crate) fn describe(layers: usize, width: usize, heads: usize) -> String {
    format!("{layers} layers, {width} wide, {heads} heads")
}
