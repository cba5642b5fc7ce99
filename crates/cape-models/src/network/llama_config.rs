//! Llama-shaped networks in the Hugging Face layout.

use serde::Deserialize;

use super::causal::{Ends, Heads, Ids, Loaded};
use super::llama::{self, Biases, Names, Sizes};
use super::rope::{Rope, Scaling};
use crate::error::{Error, Result};
use crate::files::Weights;
use crate::names::CONFIG;
use crate::options::Options;

/// The contents of `config.json`.
#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the file has them")]
struct Config {
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    max_position_embeddings: usize,
    #[serde(default = "Config::default_eps")]
    rms_norm_eps: f32,
    hidden_act: String,
    rope_theta: Option<f32>,
    rope_scaling: Option<Scaling>,
    rope_parameters: Option<Scaling>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    use_sliding_window: bool,
    #[serde(default)]
    tie_word_embeddings: bool,
    bos_token_id: Option<Ids>,
    eos_token_id: Option<Ids>,
}

impl Config {
    fn default_eps() -> f32 {
        1e-6
    }

    fn sizes(&self) -> Result<Sizes> {
        let refuse = |why: String| Err(Error::Config(why));
        if self.hidden_act != "silu" {
            return refuse(format!("hidden_act `{}` is not supported", self.hidden_act));
        }
        if self.use_sliding_window {
            return refuse("use_sliding_window is not supported".into());
        }
        let count = self.num_attention_heads;
        if self.head_dim.is_none() && (count == 0 || !self.hidden_size.is_multiple_of(count)) {
            return refuse("hidden_size must be a multiple of num_attention_heads".into());
        }
        let heads = Heads {
            count,
            shared: self.num_key_value_heads.unwrap_or(count),
            width: self.head_dim.unwrap_or_else(|| self.hidden_size / count),
        };
        let biases = match self.model_type.as_str() {
            // it has them whatever the file says
            "qwen2" => Biases { inward: true, ..Biases::default() },
            _ => Biases {
                inward: self.attention_bias,
                outward: self.attention_bias,
                wide: self.mlp_bias,
            },
        };
        let sizes = Sizes {
            vocab: self.vocab_size,
            hidden: self.hidden_size,
            wide: self.intermediate_size,
            layers: self.num_hidden_layers,
            heads,
            positions: self.max_position_embeddings,
            eps: self.rms_norm_eps,
            biases,
            tied: self.tie_word_embeddings,
            ends: Ends::new(self.bos_token_id.as_ref(), self.eos_token_id.as_ref()),
        };
        sizes.check()
    }

    fn rope(&self, width: usize) -> Result<Rope> {
        let all = [&self.rope_parameters, &self.rope_scaling];
        let theta = all.into_iter().flatten().find_map(|scaling| scaling.rope_theta);
        let rope = Rope::new(theta.or(self.rope_theta).unwrap_or(10_000.0), width)?;
        // newer files say it in the first of the two, some in both
        match all.into_iter().flatten().next() {
            Some(scaling) => rope.scale(scaling),
            None => Ok(rope),
        }
    }
}

/// From `config.json` and the weights.
pub(crate) fn load(config: &[u8], file: &Weights<'_>, options: Options) -> Result<Loaded> {
    let config: Config = serde_json::from_slice(config).map_err(Error::json(CONFIG))?;
    let sizes = config.sizes()?;
    let rope = config.rope(sizes.heads.width)?;
    let math = options.math(file.has_integers());
    llama::load(&sizes, rope, &Names::HUGGING_FACE, file, math)
}
