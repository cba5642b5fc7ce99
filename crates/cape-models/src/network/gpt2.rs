//! GPT-2: learned positions, layer normalisation before each part, a tied head.

use cape::tokens::Embeddings;
use rten_simd::SimdUnaryOp;
use rten_vecmath::ApproxGelu;
use serde::Deserialize;

use super::causal::{self, Ends, Heads, Ids, Loaded, Rows};
use super::layers::{Input, LayerNorm, Linear, describe};
use super::word_tables::StoredTables;
use crate::error::{Error, Result};
use crate::files::{Matrix, Weights};
use crate::names::CONFIG;
use crate::options::{Math, Options};
use crate::profile::{self, Stage};

/// The contents of `config.json`.
#[derive(Deserialize)]
struct Config {
    vocab_size: usize,
    n_embd: usize,
    n_head: usize,
    n_layer: usize,
    n_positions: usize,
    n_inner: Option<usize>,
    #[serde(default = "Config::default_eps")]
    layer_norm_epsilon: f32,
    #[serde(default = "Config::default_activation")]
    activation_function: String,
    #[serde(default = "Config::yes")]
    scale_attn_weights: bool,
    #[serde(default)]
    scale_attn_by_inverse_layer_idx: bool,
    #[serde(default = "Config::yes")]
    tie_word_embeddings: bool,
    bos_token_id: Option<Ids>,
    eos_token_id: Option<Ids>,
}

impl Config {
    fn default_eps() -> f32 {
        1e-5
    }

    fn default_activation() -> String {
        "gelu_new".into()
    }

    fn yes() -> bool {
        true
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let config: Self = serde_json::from_slice(bytes).map_err(Error::json(CONFIG))?;
        let refuse = |why: String| Err(Error::Config(why));
        // two names of the same function
        if !["gelu_new", "gelu_pytorch_tanh"].contains(&config.activation_function.as_str()) {
            let other = &config.activation_function;
            return refuse(format!("activation_function `{other}` is not supported"));
        }
        if !config.scale_attn_weights || config.scale_attn_by_inverse_layer_idx {
            return refuse("this scaling of attention is not supported".into());
        }
        if config.n_head == 0 || config.n_embd == 0 || !config.n_embd.is_multiple_of(config.n_head)
        {
            return refuse("n_embd must be a multiple of n_head".into());
        }
        // sums of the integer kernels must fit 32 bits
        if config.n_embd.max(config.n_inner.unwrap_or(1)) > 65_536 / 4 {
            return refuse("n_embd and n_inner must be at most 16384".into());
        }
        if config.n_layer == 0 || config.n_inner == Some(0) || config.vocab_size == 0 {
            return refuse("n_layer, n_inner and vocab_size must be at least 1".into());
        }
        if config.n_positions < 2 {
            return refuse("n_positions must be at least 2".into());
        }
        Ok(config)
    }
}

/// The weights.
struct Network {
    heads: Heads,
    positions: Vec<f32>,
    layers: Vec<Layer>,
    norm: LayerNorm,
}

struct Layer {
    attended_norm: LayerNorm,
    /// Queries, keys and values side by side.
    all: Linear,
    attended: Linear,
    wide_norm: LayerNorm,
    up: Linear,
    down: Linear,
}

/// From `config.json` and the weights.
pub(crate) fn load(config: &[u8], file: &Weights<'_>, options: Options) -> Result<Loaded> {
    let config = Config::parse(config)?;
    // its matrices have one row per input, and so have the scales of packed ones: they are widened
    let math = options.math(false);
    let load = Loader { file, config: &config, math };
    let (hidden, vocab) = (config.n_embd, config.vocab_size);
    let count = config.n_head;
    let tables = StoredTables {
        words: file.matrix(&load.name("wte.weight"), [vocab, hidden])?,
        decoder: if config.tie_word_embeddings {
            None
        } else {
            Some(file.matrix("lm_head.weight", [vocab, hidden])?)
        },
        bias: vec![0.0; vocab],
    };
    let network = Network {
        heads: Heads { count, shared: count, width: hidden / count },
        positions: load.get("wpe.weight", &[config.n_positions, hidden])?,
        layers: (0..config.n_layer).map(|i| load.layer(i)).collect::<Result<_>>()?,
        norm: load.norm("ln_f")?,
    };
    Ok(Loaded {
        network: Box::new(network),
        tables,
        hidden,
        positions: config.n_positions,
        ends: Ends::new(config.bos_token_id.as_ref(), config.eos_token_id.as_ref()),
        shape: describe(config.n_layer, hidden, count),
        math,
    })
}

impl causal::Network for Network {
    fn forward(&self, words: &Embeddings, rows: &mut Rows<'_>) -> Vec<f32> {
        let hidden = words.dim();
        let mut x = Vec::with_capacity(rows.ids.len() * hidden);
        for (&id, &place) in rows.ids.iter().zip(&rows.places) {
            let position = &self.positions[place * hidden..][..hidden];
            x.extend(words.row(id).iter().zip(position).map(|(w, p)| w + p));
        }
        let mut attended = Vec::new();
        for (i, layer) in self.layers.iter().enumerate() {
            profile::layer(i + 1);
            let all = layer.all.forward(&Input::new(&normed(&layer.attended_norm, &x)));
            let [q, k, v] = [0, 1, 2].map(|part| columns(&all, part, hidden));
            profile::timed(Stage::Attention, || {
                rows.attend(i, self.heads, [&q, &k, &v], &mut attended);
            });
            layer.attended.add_to(&Input::new(&attended), &mut x);
            let wide = normed(&layer.wide_norm, &x);
            let wide = layer.up.forward_then(&Input::new(&wide), |x| ApproxGelu {}.map_mut(x));
            layer.down.add_to(&Input::new(&wide), &mut x);
        }
        profile::layer(0);
        x
    }

    fn norm(&self, x: &mut [f32]) {
        self.norm.forward(x);
    }
}

/// A normalised copy.
fn normed(norm: &LayerNorm, x: &[f32]) -> Vec<f32> {
    let mut y = x.to_vec();
    norm.forward(&mut y);
    y
}

/// One of the three parts of every row.
fn columns(all: &[f32], part: usize, width: usize) -> Vec<f32> {
    let rows = all.chunks_exact(3 * width);
    rows.flat_map(|row| &row[part * width..(part + 1) * width]).copied().collect()
}

/// Finds tensors under the names that GPT-2 checkpoints use.
struct Loader<'a> {
    file: &'a Weights<'a>,
    config: &'a Config,
    math: Math,
}

impl Loader<'_> {
    /// The name of a tensor, which may lack the `transformer.` in front.
    fn name(&self, name: &str) -> String {
        let full = format!("transformer.{name}");
        if !self.file.has(&full) && self.file.has(name) { name.to_owned() } else { full }
    }

    fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        self.file.get(&self.name(name), shape)
    }

    /// A layer whose weights have one row per input, unlike everyone else's.
    fn conv(&self, name: &str, inputs: usize, outputs: usize) -> Result<Linear> {
        let weights = self.get(&format!("{name}.weight"), &[inputs, outputs])?;
        let bias = self.get(&format!("{name}.bias"), &[outputs])?;
        let mut rows = Vec::with_capacity(weights.len());
        for output in 0..outputs {
            rows.extend(weights.iter().skip(output).step_by(outputs));
        }
        Ok(Linear::new(Matrix::Floats(rows), bias, inputs, self.math))
    }

    fn norm(&self, name: &str) -> Result<LayerNorm> {
        let get = |part: &str| self.get(&format!("{name}.{part}"), &[self.config.n_embd]);
        let eps = self.config.layer_norm_epsilon;
        Ok(LayerNorm { weight: get("weight")?, bias: get("bias")?, eps })
    }

    fn layer(&self, i: usize) -> Result<Layer> {
        let hidden = self.config.n_embd;
        let wide = self.config.n_inner.unwrap_or(4 * hidden);
        let at = |part: &str| format!("h.{i}.{part}");
        Ok(Layer {
            attended_norm: self.norm(&at("ln_1"))?,
            all: self.conv(&at("attn.c_attn"), hidden, 3 * hidden)?,
            attended: self.conv(&at("attn.c_proj"), hidden, hidden)?,
            wide_norm: self.norm(&at("ln_2"))?,
            up: self.conv(&at("mlp.c_fc"), hidden, wide)?,
            down: self.conv(&at("mlp.c_proj"), wide, hidden)?,
        })
    }
}
