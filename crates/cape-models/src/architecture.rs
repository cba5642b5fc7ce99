//! Which kind of network a model's files hold.

use std::sync::Arc;

use cape::model::LanguageModel;
use cape::utility::Calibration;
use cape::vocab::Vocab;
use serde::Deserialize;

use crate::bert::{self, Bert};
use crate::causal::{self, Causal};
use crate::gguf::Gguf;
use crate::{Error, Result, gguf_model, gpt2, llama_config};

/// A network, by its kind.
pub(crate) enum Architecture {
    /// A masked model.
    Bert(Box<bert::Network>),
    /// A causal model, with the range that stands in for a calibration.
    Causal(Box<dyn causal::Network>, Range),
}

/// Public constants of an architecture, for a model that was never calibrated.
type Range = (f32, f32);

/// The types that `bert.rs` looks at.
const MASKED: [&str; 3] = ["bert", "distilbert", "roberta"];

/// GPT-2's logits lie far below zero, the lower the longer the text.
const GPT2: Range = (-200.0, 20.0);
/// Llama-shaped models' lie about zero, the best well above it: SmolLM2's from -29 to 38.
const LLAMA: Range = (-30.0, 40.0);

impl Architecture {
    /// From the bytes of `config.json` and `model.safetensors`.
    pub(crate) fn new(config: &[u8], weights: &[u8]) -> Result<Self> {
        /// The one entry that says which kind it is.
        #[derive(Deserialize)]
        struct Config {
            model_type: Option<String>,
        }
        let parsed: Config = serde_json::from_slice(config)
            .map_err(|source| Error::Json { file: "config.json", source })?;
        Ok(match parsed.model_type.as_deref() {
            Some("gpt2") => Self::Causal(Box::new(gpt2::Network::new(config, weights)?), GPT2),
            Some("llama" | "qwen2") => {
                Self::Causal(Box::new(llama_config::network(config, weights)?), LLAMA)
            }
            Some(other) if !MASKED.contains(&other) => {
                let known = "bert, gpt2, llama and qwen2 are";
                return Err(Error::Config(format!(
                    "model_type `{other}` is not supported, {known}"
                )));
            }
            // what has no type has always been taken for a BERT
            _ => Self::Bert(Box::new(bert::Network::new(config, weights)?)),
        })
    }

    /// From a GGUF file.
    pub(crate) fn of_gguf(file: &Gguf<'_>) -> Result<Self> {
        Ok(Self::Causal(Box::new(gguf_model::network(file)?), LLAMA))
    }

    /// The model with its vocabulary, and its size in words.
    pub(crate) fn model(
        self,
        vocab: Arc<Vocab>,
        calibration: Option<Calibration>,
        window: Option<usize>,
    ) -> Result<(Arc<dyn LanguageModel>, String)> {
        let range = |(lo, hi)| Calibration::new(lo, hi).unwrap_or(Calibration::DEFAULT);
        Ok(match self {
            Self::Bert(network) => {
                let calibration = calibration.unwrap_or(Calibration::DEFAULT);
                let model = Bert::new(*network, vocab, calibration, window)?;
                let shape = model.shape();
                (Arc::new(model), shape)
            }
            Self::Causal(network, default) => {
                let calibration = calibration.unwrap_or_else(|| range(default));
                let model = Causal::new(network, vocab, calibration, window)?;
                let shape = model.shape();
                (Arc::new(model), shape)
            }
        })
    }
}
