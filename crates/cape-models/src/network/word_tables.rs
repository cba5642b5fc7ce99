//! The tables with a row for each entry of the vocabulary: a word's embedding when it goes into a
//! network, its logit when a row comes out, and how far words are apart.

use std::sync::Arc;

use cape::tokens::{Embeddings, TokenId, Vocab};
use cape_kernels::{Bits, Kernel, Rows, Weights};
use rayon::prelude::*;

use crate::files::Matrix;
use crate::options::Math;

/// The tables as a model's file holds them.
pub(crate) struct StoredTables {
    pub(crate) words: Matrix,
    /// None where the decoder is tied to the embeddings.
    pub(crate) decoder: Option<Matrix>,
    pub(crate) bias: Vec<f32>,
}

/// The input embeddings and the decoder of a model.
pub(crate) struct WordTables {
    vocab: Arc<Vocab>,
    embeddings: Embeddings,
    tables: Numbers,
    bias: Vec<f32>,
}

/// The numbers that logits and distances are computed with.
enum Numbers {
    F32 {
        /// The decoder's rows, where they are not the embeddings.
        decoder: Option<Vec<f32>>,
        kernel: Kernel,
    },
    Integers {
        near: Arc<Part>,
        /// The same as `near` where the decoder is tied to the embeddings.
        decoder: Arc<Part>,
        /// That of each drawable entry.
        bias: Vec<f32>,
        /// The scale of each entry's embedding.
        scales: Vec<f32>,
        bits: Bits,
        kernel: Kernel,
    },
}

/// The rows of a table that can be drawn: only these are computed.
struct Part {
    rows: Weights,
    /// The squared length of each row.
    squares: Vec<f64>,
}

impl WordTables {
    /// Tables of `width` columns with a row for each entry.
    pub(crate) fn new(vocab: Arc<Vocab>, stored: StoredTables, width: usize, math: Math) -> Self {
        let StoredTables { words: embeddings, decoder, bias } = stored;
        let Some(bits) = math.integers else {
            let decoder = decoder.map(|decoder| decoder.into_floats(width));
            let embeddings = Embeddings::new(embeddings.into_floats(width), width);
            let tables = Numbers::F32 { decoder, kernel: math.kernel };
            return Self { vocab, embeddings, tables, bias };
        };
        let (near, scales) = part(&vocab, &embeddings, width);
        let near = Arc::new(near);
        let decoder = match decoder {
            Some(decoder) => Arc::new(part(&vocab, &decoder, width).0),
            None => Arc::clone(&near),
        };
        let tables = Numbers::Integers {
            near,
            decoder,
            bias: vocab.drawable().iter().map(|id| bias[id.index()]).collect(),
            scales,
            bits,
            kernel: math.kernel,
        };
        let embeddings = Embeddings::new(embeddings.into_floats(width), width);
        Self { vocab, embeddings, tables, bias }
    }

    pub(crate) fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    pub(crate) fn embeddings(&self) -> &Embeddings {
        &self.embeddings
    }

    /// For each row of `x`, one logit per drawable entry.
    pub(crate) fn logits(&self, x: &[f32]) -> Vec<Vec<f32>> {
        let width = self.embeddings.dim();
        match &self.tables {
            Numbers::F32 { decoder, kernel } => {
                let decoder = decoder.as_deref().unwrap_or(self.embeddings.data());
                let ids = self.vocab.drawable();
                let some = |ids: &[TokenId]| {
                    let at = |i: usize| ids[i.min(ids.len() - 1)].index();
                    let rows = std::array::from_fn(|i| &decoder[at(i) * width..][..width]);
                    x.chunks(width).map(|x| kernel.dots(x, rows)).collect::<Vec<[f32; 4]>>()
                };
                let fours: Vec<Vec<[f32; 4]>> =
                    ids.par_chunks(4).with_min_len(64).map(some).collect();
                let row = |i: usize| {
                    let dots = fours.iter().flat_map(|four| four[i]).zip(ids);
                    dots.map(|(dot, id)| dot + self.bias[id.index()]).collect()
                };
                (0..x.len() / width).map(row).collect()
            }
            Numbers::Integers { decoder, bias, bits, kernel, .. } => {
                let rows = Rows::new(x, width, *bits, *kernel);
                let outputs = decoder.rows.outputs();
                let mut logits = vec![0.0; x.len() / width * outputs];
                decoder.rows.product(&rows, bias, &mut logits, &|_| {});
                logits.chunks(outputs.max(1)).map(<[f32]>::to_vec).collect()
            }
        }
    }

    /// How far each drawable entry is from `t`.
    pub(crate) fn distances(&self, t: TokenId) -> Vec<f32> {
        let drawable = self.vocab.drawable();
        let Numbers::Integers { near, scales, kernel, .. } = &self.tables else {
            let some = |some: &[TokenId]| self.embeddings.distances(t, some);
            return drawable.par_chunks(1 << 12).flat_map_iter(some).collect();
        };
        let scale = scales[t.index()];
        let integer = |v: &f32| if scale == 0.0 { 0 } else { (v / scale).round() as i8 };
        let values: Vec<i8> = self.embeddings.row(t).iter().map(integer).collect();
        let own = square(&values, scale);
        let row = Rows::integers(&values, scale, *kernel);
        let Part { rows, squares } = &**near;
        let mut distances = vec![0.0; rows.outputs()];
        rows.product(&row, &vec![0.0; rows.outputs()], &mut distances, &|_| {});
        for (dot, square) in distances.iter_mut().zip(squares) {
            *dot = (own + square - 2.0 * f64::from(*dot)).max(0.0).sqrt() as f32;
        }
        if let Ok(i) = drawable.binary_search(&t) {
            distances[i] = 0.0;
        }
        distances
    }
}

/// The rows of a matrix that can be drawn, and the scale of each entry's row.
fn part(vocab: &Vocab, matrix: &Matrix, width: usize) -> (Part, Vec<f32>) {
    let (integers, scales) = matrix.rounded(width);
    let ids = vocab.drawable();
    let mut rows = Vec::with_capacity(ids.len() * width);
    for id in ids {
        rows.extend_from_slice(&integers[id.index() * width..][..width]);
    }
    let own: Vec<f32> = ids.iter().map(|id| scales[id.index()]).collect();
    let squares = rows.chunks(width).zip(&own).map(|(row, &scale)| square(row, scale));
    let part = Part { squares: squares.collect(), rows: Weights::new(&rows, &own, width) };
    (part, scales.into_owned())
}

/// The squared length of a row of integers with a scale.
fn square(row: &[i8], scale: f32) -> f64 {
    let sum: i64 = row.iter().map(|&v| i64::from(v) * i64::from(v)).sum();
    sum as f64 * f64::from(scale) * f64::from(scale)
}
