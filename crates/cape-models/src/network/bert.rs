//! BERT and its relatives RoBERTa, DistilBERT and MPNet: their `config.json`, and the names of their
//! tensors.

use serde::Deserialize;

use super::encoder::{Names, Shape};
use super::relative::BUCKETS;
use crate::error::{Error, Result};
use crate::names::CONFIG;

/// A masked model without its weights.
pub(crate) struct Family {
    pub(crate) shape: Shape,
    pub(crate) names: &'static Names,
    /// The first of these that the tokenizer has.
    special: &'static [Special],
}

/// The tokens that begin and end a text, and the one that stands in for a token to be guessed.
#[derive(Clone, Copy)]
pub(crate) struct Special {
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
    pub(crate) mask: &'static str,
}

const BRACKETS: Special = Special { begin: "[CLS]", end: "[SEP]", mask: "[MASK]" };
const ANGLES: Special = Special { begin: "<s>", end: "</s>", mask: "<mask>" };

const BERT: Names = Names {
    prefix: "bert.",
    types: Some("embeddings.token_type_embeddings.weight"),
    layer: "encoder.layer",
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    attended: "attention.output.dense",
    attended_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    down_norm: "output.LayerNorm",
    transform: "cls.predictions.transform.dense",
    transform_norm: "cls.predictions.transform.LayerNorm",
    decoder: "cls.predictions.decoder.weight",
    bias: ["cls.predictions.bias", "cls.predictions.decoder.bias"],
};

const ROBERTA: Names = Names {
    prefix: "roberta.",
    transform: "lm_head.dense",
    transform_norm: "lm_head.layer_norm",
    decoder: "lm_head.decoder.weight",
    bias: ["lm_head.bias", "lm_head.decoder.bias"],
    ..BERT
};

const MPNET: Names = Names {
    prefix: "mpnet.",
    types: None,
    query: "attention.attn.q",
    key: "attention.attn.k",
    value: "attention.attn.v",
    attended: "attention.attn.o",
    attended_norm: "attention.LayerNorm",
    ..ROBERTA
};

const DISTILBERT: Names = Names {
    prefix: "distilbert.",
    types: None,
    layer: "transformer.layer",
    query: "attention.q_lin",
    key: "attention.k_lin",
    value: "attention.v_lin",
    attended: "attention.out_lin",
    attended_norm: "sa_layer_norm",
    up: "ffn.lin1",
    down: "ffn.lin2",
    down_norm: "output_layer_norm",
    transform: "vocab_transform",
    transform_norm: "vocab_layer_norm",
    decoder: "vocab_projector.weight",
    bias: ["vocab_projector.bias", "vocab_projector.bias"],
};

/// `config.json` of BERT, RoBERTa and MPNet.
#[derive(Deserialize)]
struct Config {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: Option<usize>,
    relative_attention_num_buckets: Option<usize>,
    #[serde(default = "small")]
    layer_norm_eps: f32,
    hidden_act: String,
    position_embedding_type: Option<String>,
    #[serde(default = "yes")]
    tie_word_embeddings: bool,
    #[serde(default)]
    pad_token_id: Option<usize>,
}

/// `config.json` of DistilBERT.
#[derive(Deserialize)]
struct DistilConfig {
    vocab_size: usize,
    dim: usize,
    n_layers: usize,
    n_heads: usize,
    hidden_dim: usize,
    max_position_embeddings: usize,
    activation: String,
    #[serde(default = "yes")]
    tie_word_embeddings: bool,
}

fn small() -> f32 {
    1e-12
}

fn yes() -> bool {
    true
}

impl Family {
    /// Reads `config.json` of a model of this type: `bert`, `roberta`, `mpnet` or `distilbert`.
    pub(crate) fn parse(model_type: &str, config: &[u8]) -> Result<Self> {
        let family = match model_type {
            "bert" => {
                let config: Config = json(config)?;
                Self { shape: config.shape(0)?, names: &BERT, special: &[BRACKETS] }
            }
            "roberta" => {
                let config: Config = json(config)?;
                // its positions are counted from the one after that of padding
                let first = config.pad_token_id.unwrap_or(1).saturating_add(1);
                Self { shape: config.shape(first)?, names: &ROBERTA, special: &[ANGLES] }
            }
            "mpnet" => {
                let config: Config = json(config)?;
                if config.relative_attention_num_buckets != Some(BUCKETS) {
                    let why = format!("relative_attention_num_buckets must be {BUCKETS}");
                    return Err(Error::Config(why));
                }
                // whatever it says of padding, transformers counts its positions from 2
                let config = Config { type_vocab_size: Some(1), ..config };
                let shape = Shape { relative: true, ..config.shape(2)? };
                // its vocabulary has BERT's special tokens too, as words that it does not use
                Self { shape, names: &MPNET, special: &[ANGLES, BRACKETS] }
            }
            "distilbert" => {
                let config: DistilConfig = json(config)?;
                Self { shape: config.shape()?, names: &DISTILBERT, special: &[BRACKETS] }
            }
            other => {
                return Err(Error::Config(format!("model_type `{other}` is not supported")));
            }
        };
        family.shape.check()?;
        Ok(family)
    }

    /// The special tokens, for a tokenizer that knows some.
    pub(crate) fn special(&self, knows: impl Fn(&str) -> bool) -> Special {
        *self.special.iter().find(|special| knows(special.mask)).unwrap_or(&self.special[0])
    }
}

fn json<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(Error::json(CONFIG))
}

fn only_gelu(name: &str, value: &str) -> Result<()> {
    if value == "gelu" {
        return Ok(());
    }
    Err(Error::Config(format!("{name} `{value}` is not supported")))
}

impl Config {
    fn shape(self, first_position: usize) -> Result<Shape> {
        only_gelu("hidden_act", &self.hidden_act)?;
        if let Some(other) = self.position_embedding_type.as_deref().filter(|&t| t != "absolute") {
            return Err(Error::Config(format!(
                "position_embedding_type `{other}` is not supported"
            )));
        }
        let Some(types) = self.type_vocab_size else {
            return Err(Error::Config("type_vocab_size is missing".into()));
        };
        Ok(Shape {
            vocab: self.vocab_size,
            hidden: self.hidden_size,
            layers: self.num_hidden_layers,
            heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            positions: self.max_position_embeddings,
            first_position,
            types,
            relative: false,
            eps: self.layer_norm_eps,
            tied: self.tie_word_embeddings,
        })
    }
}

impl DistilConfig {
    fn shape(self) -> Result<Shape> {
        only_gelu("activation", &self.activation)?;
        Ok(Shape {
            vocab: self.vocab_size,
            hidden: self.dim,
            layers: self.n_layers,
            heads: self.n_heads,
            intermediate: self.hidden_dim,
            positions: self.max_position_embeddings,
            first_position: 0,
            types: 1,
            relative: false,
            eps: small(),
            tied: self.tie_word_embeddings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mpnet(buckets: usize) -> Result<Family> {
        let config = serde_json::json!({
            "vocab_size": 30_527, "hidden_size": 768, "num_hidden_layers": 12,
            "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 514,
            "layer_norm_eps": 1e-5, "hidden_act": "gelu", "pad_token_id": 1,
            "relative_attention_num_buckets": buckets,
        });
        Family::parse("mpnet", config.to_string().as_bytes())
    }

    #[test]
    fn mpnet_prefers_its_own_special_tokens_to_those_of_bert() {
        let family = mpnet(32).unwrap();
        assert_eq!(family.shape.longest(), 512);
        let begin = |words: &[&str]| family.special(|token| words.contains(&token)).begin;
        assert_eq!(begin(&["<mask>", "[MASK]"]), "<s>");
        assert_eq!(begin(&["[MASK]"]), "[CLS]");
        assert_eq!(begin(&[]), "<s>");
    }

    #[test]
    fn mpnet_has_as_many_buckets_as_transformers_computes() {
        let error = mpnet(64).err().unwrap().to_string();
        assert!(error.contains("relative_attention_num_buckets must be 32"), "{error}");
    }
}
