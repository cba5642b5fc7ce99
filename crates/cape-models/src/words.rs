//! The tables with a row for each entry of the vocabulary: what a word is to a network when it goes
//! in, which logit it gets when a row comes out, and how far words are apart.

use std::sync::Arc;

use cape::distance::distances;
use cape::model::Embeddings;
use cape::text::{Kinds, Piece, TokenId};
use cape::vocab::{Candidates, Vocab};
use cape_kernels::{Bits, Kernel, Rows, Weights, dots};
use rayon::prelude::*;

use crate::layers::{Math, gather};
use crate::weights::Matrix;

/// The input embeddings and the decoder of a model.
pub(crate) struct Words {
    vocab: Arc<Vocab>,
    embeddings: Embeddings,
    tables: Tables,
    bias: Vec<f32>,
}

enum Tables {
    F32 {
        /// The decoder's rows, where they are not the embeddings.
        decoder: Option<Vec<f32>>,
        kernel: Kernel,
    },
    Integers {
        near: Arc<Lists<Part>>,
        /// The same as `near` where the decoder is tied to the embeddings.
        decoder: Arc<Lists<Part>>,
        bias: Lists<Vec<f32>>,
        /// The scale of each entry's embedding.
        scales: Vec<f32>,
        bits: Bits,
        kernel: Kernel,
    },
}

/// The rows of a table that can be drawn at a position of one kind: only these are computed.
struct Part {
    rows: Weights,
    /// The squared length of each row.
    squares: Vec<f64>,
}

/// Something for each list of candidates that is computed by itself; all of them are two of these.
struct Lists<T> {
    typed: Kinds<T>,
    /// The common beginnings.
    common: T,
}

impl<T> Lists<T> {
    fn of(make: impl Fn(Piece, Candidates) -> T) -> Self {
        Self {
            typed: Kinds::of(|piece| make(piece, Candidates::Typed)),
            common: make(Piece::Start, Candidates::Common),
        }
    }

    fn get(&self, piece: Piece, which: Candidates) -> &T {
        match (piece, which) {
            (Piece::Start, Candidates::Common) => &self.common,
            _ => self.typed.get(piece),
        }
    }
}

impl Words {
    /// Tables of `width` columns with a row for each entry; without a decoder of its own, it is tied
    /// to the embeddings.
    pub(crate) fn new(
        vocab: Arc<Vocab>,
        embeddings: Matrix,
        decoder: Option<Matrix>,
        bias: Vec<f32>,
        width: usize,
        math: Math,
    ) -> Self {
        let Some(bits) = math.integers else {
            let decoder = decoder.map(|decoder| decoder.into_floats(width));
            let embeddings = Embeddings::new(embeddings.into_floats(width), width);
            let tables = Tables::F32 { decoder, kernel: math.kernel };
            return Self { vocab, embeddings, tables, bias };
        };
        let (near, scales) = parts(&vocab, &embeddings, width);
        let near = Arc::new(near);
        let decoder = match decoder {
            Some(decoder) => Arc::new(parts(&vocab, &decoder, width).0),
            None => Arc::clone(&near),
        };
        let tables = Tables::Integers {
            near,
            decoder,
            bias: Lists::of(|piece, which| {
                let ids = vocab.candidates(piece, which);
                ids.iter().map(|id| bias[id.index()]).collect()
            }),
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

    /// For each row of `x`, one logit per candidate of a position of its kind.
    pub(crate) fn logits(&self, x: &[f32], kinds: &[Piece], which: Candidates) -> Vec<Vec<f32>> {
        match &self.tables {
            Tables::F32 { decoder, kernel } => {
                let decoder = decoder.as_deref().unwrap_or(self.embeddings.data());
                let width = self.embeddings.dim();
                let mut out = vec![Vec::new(); kinds.len()];
                for piece in [Piece::Start, Piece::Continuation] {
                    let wanted: Vec<usize> =
                        (0..kinds.len()).filter(|&i| kinds[i] == piece).collect();
                    let ids = self.vocab.candidates(piece, which);
                    let some = |ids: &[TokenId]| {
                        let at = |i: usize| ids[i.min(ids.len() - 1)].index();
                        let rows = std::array::from_fn(|i| &decoder[at(i) * width..][..width]);
                        let of = |&i: &usize| dots(*kernel, &x[i * width..][..width], rows);
                        wanted.iter().map(of).collect::<Vec<[f32; 4]>>()
                    };
                    let fours: Vec<Vec<[f32; 4]>> =
                        ids.par_chunks(4).with_min_len(64).map(some).collect();
                    for (k, &i) in wanted.iter().enumerate() {
                        let row = fours.iter().flat_map(|four| four[k]).zip(ids);
                        out[i] = row.map(|(dot, id)| dot + self.bias[id.index()]).collect();
                    }
                }
                out
            }
            Tables::Integers { decoder, bias, bits, kernel, .. } => {
                let width = self.embeddings.dim();
                let mut out = vec![Vec::new(); kinds.len()];
                for piece in [Piece::Start, Piece::Continuation] {
                    let wanted = |&i: &usize| which == Candidates::All || kinds[i] == piece;
                    let wanted: Vec<usize> = (0..kinds.len()).filter(wanted).collect();
                    let rows = Rows::new(&gather(x, width, &wanted), width, *bits, *kernel);
                    let table = &decoder.get(piece, which).rows;
                    let mut logits = vec![0.0; wanted.len() * table.outputs()];
                    table.product(&rows, bias.get(piece, which), *kernel, &mut logits, &|_| {});
                    for (i, row) in wanted.iter().zip(logits.chunks(table.outputs().max(1))) {
                        out[*i].extend_from_slice(row);
                    }
                }
                if which == Candidates::All {
                    for row in &mut out {
                        *row = self.in_order_of_ids(row);
                    }
                }
                out
            }
        }
    }

    /// How far each candidate of a position of this kind is from `t`.
    pub(crate) fn distances(&self, t: TokenId, piece: Piece, which: Candidates) -> Vec<f32> {
        let candidates = self.vocab.candidates(piece, which);
        let Tables::Integers { near, scales, kernel, .. } = &self.tables else {
            let some = |some: &[TokenId]| distances(&self.embeddings, t, some);
            return candidates.par_chunks(1 << 12).flat_map_iter(some).collect();
        };
        let scale = scales[t.index()];
        let integer = |v: &f32| if scale == 0.0 { 0 } else { (v / scale).round() as i8 };
        let values: Vec<i8> = self.embeddings.row(t).iter().map(integer).collect();
        let own = square(&values, scale);
        let row = Rows::integers(&values, scale);
        let of = |piece| {
            let Part { rows, squares } = near.get(piece, which);
            let mut dots = vec![0.0; rows.outputs()];
            rows.product(&row, &vec![0.0; rows.outputs()], *kernel, &mut dots, &|_| {});
            for (dot, square) in dots.iter_mut().zip(squares) {
                *dot = (own + square - 2.0 * f64::from(*dot)).max(0.0).sqrt() as f32;
            }
            dots
        };
        let mut distances = match which {
            Candidates::Common | Candidates::Typed => of(piece),
            Candidates::All => {
                self.in_order_of_ids(&[of(Piece::Start), of(Piece::Continuation)].concat())
            }
        };
        if let Ok(i) = candidates.binary_search(&t) {
            distances[i] = 0.0;
        }
        distances
    }

    /// Numbers of all word beginnings and then of all continuations, put in order of ids.
    fn in_order_of_ids(&self, numbers: &[f32]) -> Vec<f32> {
        let of = |piece| self.vocab.candidates(piece, Candidates::Typed);
        let (starts, continuations) = (of(Piece::Start), of(Piece::Continuation));
        let (mut start, mut continuation) = (0, starts.len());
        let all = starts.len() + continuations.len();
        let next = |_| {
            let begins = starts.get(start);
            let continues = continuations.get(continuation - starts.len());
            let at = match (begins, continues) {
                (Some(a), Some(b)) if a > b => &mut continuation,
                (None, _) => &mut continuation,
                _ => &mut start,
            };
            *at += 1;
            numbers[*at - 1]
        };
        (0..all).map(next).collect()
    }
}

/// The rows of a matrix by kind, and the scale of each entry's row.
fn parts(vocab: &Vocab, matrix: &Matrix, width: usize) -> (Lists<Part>, Vec<f32>) {
    let (integers, scales) = matrix.rounded(width);
    let part = |piece, which| {
        let ids = vocab.candidates(piece, which);
        let mut rows = Vec::with_capacity(ids.len() * width);
        for id in ids {
            rows.extend_from_slice(&integers[id.index() * width..][..width]);
        }
        let part: Vec<f32> = ids.iter().map(|id| scales[id.index()]).collect();
        let squares = rows.chunks(width).zip(&part).map(|(row, &scale)| square(row, scale));
        Part { squares: squares.collect(), rows: Weights::new(&rows, &part, width) }
    };
    (Lists::of(part), scales.into_owned())
}

/// The squared length of a row of integers with a scale.
fn square(row: &[i8], scale: f32) -> f64 {
    let sum: i64 = row.iter().map(|&v| i64::from(v) * i64::from(v)).sum();
    sum as f64 * f64::from(scale) * f64::from(scale)
}
