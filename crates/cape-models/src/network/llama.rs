//! Llama-shaped networks (Llama, SmolLM2, Qwen2): rotary positions, RMS normalisation, keys and
//! values shared among heads, gated feed-forward layers.

use cape::tokens::Embeddings;
use cape_kernels::CodedWeights;
use rayon::prelude::*;
use rten_simd::SimdUnaryOp;
use rten_vecmath::Silu;

use super::causal::{self, Ends, Heads, Loaded, Rows};
use super::layers::{Input, Linear, describe};
use super::rope::Rope;
use super::word_tables::StoredTables;
use crate::error::{Error, Result};
use crate::files::{Matrix, Weights};
use crate::options::Math;
use crate::profile::{self, Stage};

/// The widest head: angles are computed for every column before any tensor is read.
const WIDEST: usize = 4096;

/// The sizes of a network.
pub(crate) struct Sizes {
    pub(crate) vocab: usize,
    pub(crate) hidden: usize,
    pub(crate) wide: usize,
    pub(crate) layers: usize,
    pub(crate) heads: Heads,
    pub(crate) positions: usize,
    pub(crate) eps: f32,
    pub(crate) biases: Biases,
    pub(crate) tied: bool,
    pub(crate) ends: Ends,
}

/// Which layers have a bias.
#[derive(Clone, Copy, Default)]
pub(crate) struct Biases {
    /// Queries, keys and values.
    pub(crate) inward: bool,
    /// The output of attention.
    pub(crate) outward: bool,
    /// The feed-forward layers.
    pub(crate) wide: bool,
}

impl Sizes {
    /// Refuses sizes that no network has, in the words of `config.json`.
    pub(crate) fn check(self) -> Result<Self> {
        let refuse = |why: &str| Err(Error::Config(why.into()));
        let Heads { count, shared, width } = self.heads;
        let sizes = [
            ("vocab_size", self.vocab, 1),
            ("hidden_size", self.hidden, 1),
            ("intermediate_size", self.wide, 1),
            ("num_hidden_layers", self.layers, 1),
            ("num_attention_heads", count, 1),
            ("num_key_value_heads", shared, 1),
            ("head_dim", width, 2),
            ("max_position_embeddings", self.positions, 2),
        ];
        if let Some((name, _, least)) = sizes.iter().find(|(_, size, least)| size < least) {
            return Err(Error::Config(format!("{name} must be at least {least}")));
        }
        if !count.is_multiple_of(shared) {
            return refuse("num_attention_heads must be a multiple of num_key_value_heads");
        }
        if !width.is_multiple_of(2) || width > WIDEST || count.checked_mul(width).is_none() {
            return refuse(&format!("head_dim must be even and at most {WIDEST}"));
        }
        // sums of the integer kernels must fit 32 bits
        if self.hidden.max(self.wide).max(count * width) > 65_536 {
            return refuse(
                "hidden_size, intermediate_size and the heads must be at most 65536 wide",
            );
        }
        if !(self.eps.is_finite() && self.eps >= 0.0) {
            return refuse("rms_norm_eps must be finite and not negative");
        }
        Ok(self)
    }
}

/// Where tensors come from.
pub(crate) trait Tensors: Sync {
    /// The matrix of this name as a GGUF file codes it, where it is to be multiplied so.
    fn coded(&self, _name: &str, _shape: [usize; 2]) -> Result<Option<CodedWeights>> {
        Ok(None)
    }

    /// The matrix of this name as it is stored; as `get` otherwise.
    fn matrix(&self, name: &str, shape: [usize; 2]) -> Result<Matrix>;

    /// The tensor of this name as f32; its shape must be the one given, its values finite.
    fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>>;
}

impl Tensors for Weights<'_> {
    fn matrix(&self, name: &str, shape: [usize; 2]) -> Result<Matrix> {
        self.matrix(name, shape)
    }

    fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        self.get(name, shape)
    }
}

/// The names of a network's parts in a file.
pub(crate) struct Names {
    pub(crate) words: &'static str,
    pub(crate) norm: &'static str,
    pub(crate) head: &'static str,
    /// The layers, before their number.
    pub(crate) layer: &'static str,
    pub(crate) attended_norm: &'static str,
    pub(crate) query: &'static str,
    pub(crate) key: &'static str,
    pub(crate) value: &'static str,
    pub(crate) attended: &'static str,
    pub(crate) wide_norm: &'static str,
    pub(crate) gate: &'static str,
    pub(crate) up: &'static str,
    pub(crate) down: &'static str,
}

impl Names {
    pub(crate) const HUGGING_FACE: Self = Self {
        words: "model.embed_tokens",
        norm: "model.norm",
        head: "lm_head",
        layer: "model.layers.",
        attended_norm: "input_layernorm",
        query: "self_attn.q_proj",
        key: "self_attn.k_proj",
        value: "self_attn.v_proj",
        attended: "self_attn.o_proj",
        wide_norm: "post_attention_layernorm",
        gate: "mlp.gate_proj",
        up: "mlp.up_proj",
        down: "mlp.down_proj",
    };
}

/// The weights.
struct Network {
    heads: Heads,
    rope: Rope,
    layers: Vec<Layer>,
    norm: RmsNorm,
}

struct Layer {
    attended_norm: RmsNorm,
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    wide_norm: RmsNorm,
    gate: Linear,
    up: Linear,
    down: Linear,
}

/// From tensors under these names.
pub(crate) fn load(
    sizes: &Sizes,
    rope: Rope,
    names: &Names,
    tensors: &dyn Tensors,
    math: Math,
) -> Result<Loaded> {
    let load = Loader { tensors, names, sizes, math };
    let hidden = sizes.hidden;
    let table = |name: &str| tensors.matrix(&format!("{name}.weight"), [sizes.vocab, hidden]);
    let tables = StoredTables {
        words: table(names.words)?,
        decoder: if sizes.tied { None } else { Some(table(names.head)?) },
        bias: vec![0.0; sizes.vocab],
    };
    // one after the other, up to the first that is missing: a large number alone starts no work
    for i in 0..sizes.layers {
        load.norm(&load.name(i, names.attended_norm))?;
    }
    let layers = (0..sizes.layers).into_par_iter().map(|i| load.layer(i)).collect::<Vec<_>>();
    let layers = layers.into_iter().collect::<Result<_>>()?;
    let norm = load.norm(names.norm)?;
    let Sizes { positions, ends, heads, .. } = *sizes;
    let shape = describe(sizes.layers, hidden, heads.count);
    let network = Box::new(Network { heads, rope, layers, norm });
    Ok(Loaded { network, tables, hidden, positions, ends, shape, math })
}

impl causal::Network for Network {
    fn forward(&self, words: &Embeddings, rows: &mut Rows<'_>) -> Vec<f32> {
        let heads = self.heads;
        let turns = self.rope.turns(&rows.places);
        let mut x: Vec<f32> = rows.ids.iter().flat_map(|&id| words.row(id)).copied().collect();
        // of one layer after the other: the system gives large memory out slowly, as zeros
        let [mut q, mut k, mut v, mut gate, mut up, mut normed, mut attended] =
            [const { Vec::new() }; 7];
        for (i, layer) in self.layers.iter().enumerate() {
            profile::layer(i + 1);
            layer.attended_norm.apply_into(&x, &mut normed);
            let input = Input::new(&normed);
            layer.query.forward_into(&input, &mut q, |_| {});
            layer.key.forward_into(&input, &mut k, |_| {});
            layer.value.forward_into(&input, &mut v, |_| {});
            turns.apply(&mut q, heads.count);
            turns.apply(&mut k, heads.shared);
            profile::timed(Stage::Attention, || rows.attend(i, heads, [&q, &k, &v], &mut attended));
            layer.attended.add_to(&Input::new(&attended), &mut x);
            layer.wide_norm.apply_into(&x, &mut normed);
            let input = Input::new(&normed);
            layer.gate.forward_into(&input, &mut gate, |x| Silu {}.map_mut(x));
            layer.up.forward_into(&input, &mut up, |_| {});
            gate.par_chunks_mut(1 << 14).zip(up.par_chunks(1 << 14)).for_each(|(gate, up)| {
                for (gate, up) in gate.iter_mut().zip(up) {
                    *gate *= up;
                }
            });
            layer.down.add_to(&Input::new(&gate), &mut x);
        }
        profile::layer(0);
        x
    }

    fn norm(&self, x: &mut [f32]) {
        let mut normed = Vec::new();
        self.norm.apply_into(x, &mut normed);
        x.copy_from_slice(&normed);
    }
}

/// Root-mean-square normalisation over the last dimension.
struct RmsNorm {
    weight: Vec<f32>,
    eps: f32,
}

impl RmsNorm {
    /// Puts a normalised copy into `y`.
    fn apply_into(&self, x: &[f32], y: &mut Vec<f32>) {
        let n = self.weight.len();
        y.clear();
        profile::timed(Stage::Normalisation, || {
            for row in x.chunks_exact(n) {
                let square = row.iter().map(|v| v * v).sum::<f32>() / n as f32;
                let scale = 1.0 / (square + self.eps).sqrt();
                y.extend(row.iter().zip(&self.weight).map(|(v, w)| v * scale * w));
            }
        });
    }
}

/// A linear layer with the matrix of this name.
pub(crate) fn linear(
    tensors: &dyn Tensors,
    name: &str,
    bias: Vec<f32>,
    inputs: usize,
    math: Math,
) -> Result<Linear> {
    let shape = [bias.len(), inputs];
    Ok(match tensors.coded(name, shape)? {
        Some(weights) => Linear::coded(weights, bias, inputs, math),
        None => Linear::new(tensors.matrix(name, shape)?, bias, inputs, math),
    })
}

/// Finds the parts of a network.
struct Loader<'a> {
    tensors: &'a dyn Tensors,
    names: &'a Names,
    sizes: &'a Sizes,
    math: Math,
}

impl Loader<'_> {
    fn name(&self, layer: usize, part: &str) -> String {
        format!("{}{layer}.{part}", self.names.layer)
    }

    fn norm(&self, name: &str) -> Result<RmsNorm> {
        let weight = self.tensors.get(&format!("{name}.weight"), &[self.sizes.hidden])?;
        Ok(RmsNorm { weight, eps: self.sizes.eps })
    }

    fn layer(&self, i: usize) -> Result<Layer> {
        let Sizes { hidden, wide, heads, biases, .. } = *self.sizes;
        let (own, shared) = (heads.count * heads.width, heads.shared * heads.width);
        let norm = |part: &str| self.norm(&self.name(i, part));
        let linear = |part: &str, outputs: usize, inputs: usize, bias: bool| -> Result<Linear> {
            let name = self.name(i, part);
            let bias = if bias {
                self.tensors.get(&format!("{name}.bias"), &[outputs])?
            } else {
                vec![0.0; outputs]
            };
            linear(self.tensors, &format!("{name}.weight"), bias, inputs, self.math)
        };
        let names = self.names;
        Ok(Layer {
            attended_norm: norm(names.attended_norm)?,
            query: linear(names.query, own, hidden, biases.inward)?,
            key: linear(names.key, shared, hidden, biases.inward)?,
            value: linear(names.value, shared, hidden, biases.inward)?,
            attended: linear(names.attended, hidden, own, biases.outward)?,
            wide_norm: norm(names.wide_norm)?,
            gate: linear(names.gate, wide, hidden, biases.wide)?,
            up: linear(names.up, wide, hidden, biases.wide)?,
            down: linear(names.down, hidden, wide, biases.wide)?,
        })
    }
}
