//! GPT-2: learned positions, layer normalisation before each part, a tied head.

use cape::model::Embeddings;
use rten_simd::SimdUnaryOp;
use rten_vecmath::ApproxGelu;
use serde::Deserialize;

use crate::causal::{self, Ends, Heads, Ids, Rows};
use crate::layers::{LayerNorm, Linear, add, project};
use crate::weights::Weights;
use crate::{Error, Result};

/// What `config.json` says.
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
        let config: Self = serde_json::from_slice(bytes)
            .map_err(|source| Error::Json { file: "config.json", source })?;
        let refuse = |why: String| Err(Error::Config(why));
        // two names of the same function
        if !["gelu_new", "gelu_pytorch_tanh"].contains(&config.activation_function.as_str()) {
            let other = &config.activation_function;
            return refuse(format!("activation_function `{other}` is not supported"));
        }
        if !config.scale_attn_weights || config.scale_attn_by_inverse_layer_idx {
            return refuse("attention scaled in another way is not supported".into());
        }
        if config.n_head == 0
            || config.n_embd == 0
            || !config.n_embd.is_multiple_of(config.n_head)
            || config.n_embd > usize::MAX / 4
        {
            return refuse("n_embd must be a multiple of n_head".into());
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
pub(crate) struct Network {
    heads: Heads,
    words: Embeddings,
    positions: Vec<f32>,
    layers: Vec<Layer>,
    norm: LayerNorm,
    /// The head's rows, where they are not the word embeddings.
    head: Option<Vec<f32>>,
    zeros: Vec<f32>,
    ends: Ends,
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

impl Network {
    /// From the bytes of `config.json` and `model.safetensors`.
    pub(crate) fn new(config: &[u8], weights: &[u8]) -> Result<Self> {
        let config = Config::parse(config)?;
        let file = Weights::new(weights)?;
        let load = Loader { file: &file, config: &config };
        let (hidden, vocab) = (config.n_embd, config.vocab_size);
        Ok(Self {
            heads: Heads {
                count: config.n_head,
                shared: config.n_head,
                width: hidden / config.n_head,
            },
            words: Embeddings::new(load.get("wte.weight", &[vocab, hidden])?, hidden),
            positions: load.get("wpe.weight", &[config.n_positions, hidden])?,
            layers: (0..config.n_layer).map(|i| load.layer(i)).collect::<Result<_>>()?,
            norm: load.norm("ln_f")?,
            head: if config.tie_word_embeddings {
                None
            } else {
                Some(file.get("lm_head.weight", &[vocab, hidden])?)
            },
            zeros: vec![0.0; vocab],
            ends: Ends {
                begin: config.bos_token_id.as_ref().and_then(Ids::first),
                end: config.eos_token_id.as_ref().and_then(Ids::first),
            },
        })
    }
}

impl causal::Network for Network {
    fn words(&self) -> &Embeddings {
        &self.words
    }

    fn positions(&self) -> usize {
        self.positions.len() / self.words.dim()
    }

    fn ends(&self) -> Ends {
        self.ends
    }

    fn shape(&self) -> String {
        let Self { layers, words, heads, .. } = self;
        format!("{} layers, {} wide, {} heads", layers.len(), words.dim(), heads.count)
    }

    fn forward(&self, rows: &mut Rows<'_>) -> Vec<f32> {
        let hidden = self.words.dim();
        let mut x = Vec::with_capacity(rows.ids.len() * hidden);
        for (&id, &place) in rows.ids.iter().zip(&rows.places) {
            let position = &self.positions[place * hidden..][..hidden];
            x.extend(self.words.row(id).iter().zip(position).map(|(w, p)| w + p));
        }
        for (i, layer) in self.layers.iter().enumerate() {
            let all = layer.all.forward(&layer.attended_norm.apply(&x));
            let [q, k, v] = [0, 1, 2].map(|part| columns(&all, part, hidden));
            add(&mut x, &layer.attended.forward(&rows.attend(i, self.heads, &q, &k, &v)));
            let mut up = layer.up.forward(&layer.wide_norm.apply(&x));
            ApproxGelu {}.map_mut(&mut up);
            add(&mut x, &layer.down.forward(&up));
        }
        x
    }

    fn head(&self, mut x: Vec<f32>) -> Vec<f32> {
        self.norm.forward(&mut x);
        project(&x, self.head.as_deref().unwrap_or(self.words.data()), &self.zeros)
    }
}

/// One of the three parts of every row.
fn columns(all: &[f32], part: usize, width: usize) -> Vec<f32> {
    let rows = all.chunks_exact(3 * width);
    rows.flat_map(|row| &row[part * width..(part + 1) * width]).copied().collect()
}

impl LayerNorm {
    /// A normalised copy.
    fn apply(&self, x: &[f32]) -> Vec<f32> {
        let mut y = x.to_vec();
        self.forward(&mut y);
        y
    }
}

/// Finds tensors under the names that GPT-2 checkpoints use.
struct Loader<'a> {
    file: &'a Weights<'a>,
    config: &'a Config,
}

impl Loader<'_> {
    /// A tensor, whose name may lack the `transformer.` in front.
    fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let full = format!("transformer.{name}");
        let plain = !self.file.has(&full) && self.file.has(name);
        self.file.get(if plain { name } else { &full }, shape)
    }

    /// A layer whose weights have one row per input, unlike everyone else's.
    fn conv(&self, name: &str, inputs: usize, outputs: usize) -> Result<Linear> {
        let weights = self.get(&format!("{name}.weight"), &[inputs, outputs])?;
        let bias = self.get(&format!("{name}.bias"), &[outputs])?;
        let mut rows = Vec::with_capacity(weights.len());
        for output in 0..outputs {
            rows.extend(weights.iter().skip(output).step_by(outputs));
        }
        Ok(Linear::new(&rows, bias, inputs))
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
