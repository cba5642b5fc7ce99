//! A transformer encoder with its masked-language-model head or its pooler.

use std::collections::HashMap;

use cape::tokens::{Embeddings, TokenId};
use cape_kernels::{Attention, Bias};

use super::layers::{Input, LayerNorm, Linear, gather, gelu};
use super::relative::{self, BUCKETS};
use super::word_tables::StoredTables;
use crate::error::{Error, Result};
use crate::files::{Matrix, Weights};
use crate::options::Math;
use crate::profile::{self, Stage};

/// The sizes of an encoder.
pub(crate) struct Shape {
    pub(crate) vocab: usize,
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) intermediate: usize,
    pub(crate) positions: usize,
    /// Where positions are counted from.
    pub(crate) first_position: usize,
    pub(crate) types: usize,
    /// Whether the distance of two rows adds to their score of attention.
    pub(crate) relative: bool,
    pub(crate) eps: f32,
    pub(crate) tied: bool,
}

/// The names of tensors in a family of encoders.
pub(crate) struct Names {
    /// The prefix of the encoder's names; some files lack it.
    pub(crate) prefix: &'static str,
    pub(crate) types: Option<&'static str>,
    pub(crate) layer: &'static str,
    pub(crate) query: &'static str,
    pub(crate) key: &'static str,
    pub(crate) value: &'static str,
    pub(crate) attended: &'static str,
    pub(crate) attended_norm: &'static str,
    pub(crate) up: &'static str,
    pub(crate) down: &'static str,
    pub(crate) down_norm: &'static str,
    pub(crate) transform: &'static str,
    pub(crate) transform_norm: &'static str,
    pub(crate) decoder: &'static str,
    /// The decoder's bias: one of these.
    pub(crate) bias: [&'static str; 2],
}

/// The network from the word embeddings to the last layer's rows.
pub(crate) struct Encoder {
    heads: usize,
    /// The embedding of each position, the first token type added to it.
    positions: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
    /// For each head, the number that each distance of two rows adds to their score of attention; empty
    /// where distances add nothing.
    distances: Vec<f32>,
    math: Math,
}

/// The part of a masked model between the encoder and the decoder.
pub(crate) struct Head {
    transform: Linear,
    norm: LayerNorm,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    up: Linear,
    down: Linear,
    down_norm: LayerNorm,
}

impl Shape {
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |why: String| Err(Error::Config(why));
        if self.heads == 0 || self.hidden == 0 || !self.hidden.is_multiple_of(self.heads) {
            return refuse("hidden_size must be a multiple of num_attention_heads".into());
        }
        let sizes = [
            ("num_hidden_layers", self.layers, 1),
            ("intermediate_size", self.intermediate, 1),
            ("type_vocab_size", self.types, 1),
            ("max_position_embeddings", self.positions, self.first_position.saturating_add(3)),
        ];
        if let Some((name, _, least)) = sizes.iter().find(|(_, size, least)| size < least) {
            return refuse(format!("{name} must be at least {least}"));
        }
        // a sum of products of this many bytes fits 32 bits
        if self.hidden.max(self.intermediate) > 65_536 {
            return refuse("hidden_size and intermediate_size must be at most 65536".into());
        }
        Ok(())
    }

    /// How many tokens fit, special ones included.
    pub(crate) fn longest(&self) -> usize {
        self.positions - self.first_position
    }
}

impl Encoder {
    /// The last layer's rows: those `asked` for of each sequence, or all of them.
    pub(crate) fn forward(
        &self,
        words: &Embeddings,
        inputs: &[Vec<TokenId>],
        asked: Option<&[Vec<usize>]>,
    ) -> Vec<f32> {
        let lens: Vec<usize> = inputs.iter().map(Vec::len).collect();
        let positions = lens.iter().flat_map(|&len| 0..len).collect();
        let (mut x, mut places) = self.embed(words, inputs);
        let starts = lens.iter().scan(0, |at, len| Some(std::mem::replace(at, *at + len)));
        let asked = asked.map(|rows| Asked {
            counts: rows.iter().map(Vec::len).collect(),
            positions: rows.concat(),
            rows: starts
                .zip(rows)
                .flat_map(|(start, rows)| rows.iter().map(move |row| start + row))
                .collect(),
        });
        let sequences = Sequences { lens, positions };
        let (last, before) = self.layers.split_last().expect("there is a layer at least");
        let mut room = Room::default();
        for (i, layer) in (1..).zip(before) {
            profile::layer(i);
            layer.forward(&mut x, places.as_deref(), &sequences, None, self, &mut room);
            places = None;
        }
        // the last layer is needed only at the rows asked for
        profile::layer(self.layers.len());
        last.forward(&mut x, places.as_deref(), &sequences, asked.as_ref(), self, &mut room);
        profile::layer(0);
        x
    }

    /// The embedded words, each pair of word and position once, and where each row of the sequences
    /// is among them: the first layer's projections of a row are the same in all masked copies.
    fn embed(&self, words: &Embeddings, inputs: &[Vec<TokenId>]) -> (Vec<f32>, Option<Vec<usize>>) {
        let hidden = words.dim();
        let (mut x, mut known) = (Vec::new(), HashMap::new());
        let mut places = Vec::with_capacity(inputs.iter().map(Vec::len).sum());
        for input in inputs {
            for (position, &id) in input.iter().enumerate() {
                let place = *known.entry((id, position)).or_insert_with(|| {
                    let position = &self.positions[position * hidden..][..hidden];
                    x.extend(words.row(id).iter().zip(position).map(|(w, p)| w + p));
                    x.len() / hidden - 1
                });
                places.push(place);
            }
        }
        self.norm.forward(&mut x);
        let shared = known.len() < places.len();
        (x, shared.then_some(places))
    }
}

impl Head {
    /// The decoder's input for rows of the last layer.
    pub(crate) fn forward(&self, x: &[f32]) -> Vec<f32> {
        let mut y = self.transform.forward_then(&Input::new(x), gelu);
        self.norm.forward(&mut y);
        y
    }
}

/// How long each sequence is, and where each row stands in its own.
struct Sequences {
    lens: Vec<usize>,
    positions: Vec<usize>,
}

/// Rows of the sequences that are wanted, where they stand, and how many there are of each sequence.
struct Asked {
    rows: Vec<usize>,
    positions: Vec<usize>,
    counts: Vec<usize>,
}

/// Buffers for a layer's intermediate results, used by one layer after the other.
#[derive(Default)]
struct Room {
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    attended: Vec<f32>,
    up: Vec<f32>,
}

impl Layer {
    /// Replaces `x` by the layer's result: all rows, or those `asked` for. `places` says which row of
    /// `x` each row of the sequences is; without it they are the same.
    fn forward(
        &self,
        x: &mut Vec<f32>,
        places: Option<&[usize]>,
        sequences: &Sequences,
        asked: Option<&Asked>,
        encoder: &Encoder,
        room: &mut Room,
    ) {
        let hidden = self.attended_norm.weight.len();
        let spread = |x: &mut Vec<f32>| {
            if let Some(places) = places {
                *x = gather(x, hidden, places);
            }
        };
        let Room { query, key, value, attended, up } = room;
        let input = Input::new(x);
        self.key.forward_into(&input, key, |_| {});
        self.value.forward_into(&input, value, |_| {});
        if asked.is_none() {
            self.query.forward_into(&input, query, |_| {});
            spread(query);
        }
        drop(input);
        spread(key);
        spread(value);
        let (queries, positions) = if let Some(asked) = asked {
            let place = |&row: &usize| places.map_or(row, |places| places[row]);
            *x = gather(x, hidden, &asked.rows.iter().map(place).collect::<Vec<_>>());
            self.query.forward_into(&Input::new(x), query, |_| {});
            (&asked.counts, &asked.positions)
        } else {
            spread(x);
            (&sequences.lens, &sequences.positions)
        };
        let (heads, distances) = (encoder.heads, &encoder.distances);
        let attention = Attention {
            queries,
            lens: &sequences.lens,
            heads,
            width: hidden / heads,
            bias: (!distances.is_empty()).then_some(Bias { distances, positions }),
        };
        profile::timed(Stage::Attention, || {
            attention.forward(query, key, value, encoder.math.kernel, attended);
        });
        self.attended.add_to(&Input::new(attended), x);
        self.attended_norm.forward(x);
        self.up.forward_into(&Input::new(x), up, gelu);
        self.down.add_to(&Input::new(up), x);
        self.down_norm.forward(x);
    }
}

/// Finds tensors under the names of a family.
pub(crate) struct Loader<'a> {
    file: &'a Weights<'a>,
    shape: &'a Shape,
    names: &'a Names,
    prefix: &'a str,
    math: Math,
}

const WORDS: &str = "embeddings.word_embeddings.weight";
const DISTANCES: &str = "encoder.relative_attention_bias.weight";
const POOLER: &str = "pooler.dense";

impl<'a> Loader<'a> {
    pub(crate) fn new(
        file: &'a Weights<'a>,
        shape: &'a Shape,
        names: &'a Names,
        math: Math,
    ) -> Self {
        let plain = file.has(WORDS) && !file.has(&format!("{}{WORDS}", names.prefix));
        let prefix = if plain { "" } else { names.prefix };
        Self { file, shape, names, prefix, math }
    }

    /// The word embeddings.
    pub(crate) fn words(&self) -> Result<Matrix> {
        self.file.matrix(&self.name(WORDS), [self.shape.vocab, self.shape.hidden])
    }

    pub(crate) fn encoder(&self) -> Result<Encoder> {
        Ok(Encoder {
            heads: self.shape.heads,
            positions: self.positions()?,
            norm: self.norm(&self.name("embeddings.LayerNorm"))?,
            layers: (0..self.shape.layers).map(|i| self.layer(i)).collect::<Result<_>>()?,
            distances: self.distances()?,
            math: self.math,
        })
    }

    /// The head of a masked model, and its tables.
    pub(crate) fn head(&self) -> Result<(Head, StoredTables)> {
        let Shape { vocab, hidden, tied, .. } = *self.shape;
        let decoder = || self.file.matrix(self.names.decoder, [vocab, hidden]);
        let tables = StoredTables {
            words: self.words()?,
            decoder: (!tied).then(decoder).transpose()?,
            bias: self.bias()?,
        };
        let head = Head {
            transform: self.linear(self.names.transform, hidden, hidden)?,
            norm: self.norm(self.names.transform_norm)?,
        };
        Ok((head, tables))
    }

    /// The layer that makes a sentence's vector of its first row, where the file has it.
    pub(crate) fn pooler(&self) -> Result<Option<Linear>> {
        let (name, hidden) = (self.name(POOLER), self.shape.hidden);
        let there = ["weight", "bias"].iter().any(|part| self.file.has(&format!("{name}.{part}")));
        there.then(|| self.linear(&name, hidden, hidden)).transpose()
    }

    /// The name of a tensor of the encoder.
    fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn linear(&self, name: &str, outputs: usize, inputs: usize) -> Result<Linear> {
        let weights = self.file.matrix(&format!("{name}.weight"), [outputs, inputs])?;
        let bias = self.file.get(&format!("{name}.bias"), &[outputs])?;
        Ok(Linear::new(weights, bias, inputs, self.math))
    }

    /// A layer normalisation by its present names or by TensorFlow's.
    fn norm(&self, name: &str) -> Result<LayerNorm> {
        let either = |new: &str, old: &str| {
            let old = format!("{name}.{old}");
            let new = format!("{name}.{new}");
            let is_old = !self.file.has(&new) && self.file.has(&old);
            self.file.get(if is_old { &old } else { &new }, &[self.shape.hidden])
        };
        Ok(LayerNorm {
            weight: either("weight", "gamma")?,
            bias: either("bias", "beta")?,
            eps: self.shape.eps,
        })
    }

    /// The embeddings of the positions in use, the first token type added.
    fn positions(&self) -> Result<Vec<f32>> {
        let Shape { hidden, positions, first_position, types, .. } = *self.shape;
        let name = self.name("embeddings.position_embeddings.weight");
        let mut table =
            self.file.get(&name, &[positions, hidden])?.split_off(first_position * hidden);
        if let Some(name) = self.names.types {
            let types = self.file.get(&self.name(name), &[types, hidden])?;
            for row in table.chunks_exact_mut(hidden) {
                for (p, t) in row.iter_mut().zip(&types) {
                    *p += t;
                }
            }
        }
        Ok(table)
    }

    /// The number that each distance adds to the scores of each head.
    fn distances(&self) -> Result<Vec<f32>> {
        let Shape { heads, relative, .. } = *self.shape;
        if !relative {
            return Ok(Vec::new());
        }
        let table = self.file.get(&self.name(DISTANCES), &[BUCKETS, heads])?;
        Ok(relative::bias_of_each_head(&table, heads, self.shape.longest()))
    }

    fn layer(&self, i: usize) -> Result<Layer> {
        let (hidden, wide) = (self.shape.hidden, self.shape.intermediate);
        let name = |part: &str| self.name(&format!("{}.{i}.{part}", self.names.layer));
        let linear = |part, outputs, inputs| self.linear(&name(part), outputs, inputs);
        let norm = |part| self.norm(&name(part));
        Ok(Layer {
            query: linear(self.names.query, hidden, hidden)?,
            key: linear(self.names.key, hidden, hidden)?,
            value: linear(self.names.value, hidden, hidden)?,
            attended: linear(self.names.attended, hidden, hidden)?,
            attended_norm: norm(self.names.attended_norm)?,
            up: linear(self.names.up, wide, hidden)?,
            down: linear(self.names.down, hidden, wide)?,
            down_norm: norm(self.names.down_norm)?,
        })
    }

    fn bias(&self) -> Result<Vec<f32>> {
        let [first, second] = self.names.bias;
        let only_second = !self.file.has(first) && self.file.has(second);
        self.file.get(if only_second { second } else { first }, &[self.shape.vocab])
    }
}
