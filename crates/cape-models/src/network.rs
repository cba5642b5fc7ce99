//! Networks: which kind a model's files hold, and how each computes its logits.

mod bert;
mod causal;
mod encoder;
mod generate;
mod gpt2;
mod layers;
mod llama;
mod llama_config;
mod llama_gguf;
mod masked;
mod relative;
mod rope;
mod word_tables;

pub(crate) use self::bert::Family;
pub(crate) use self::encoder::{Encoder, Loader};
pub(crate) use self::generate::{Generator, Sequence};
pub(crate) use self::layers::{Input, Linear};

use std::sync::Arc;

use cape::tokens::{Calibration, LanguageModel, Vocab};

use self::causal::Loaded;
use self::encoder::Shape;
use crate::error::Result;
use crate::files::{Gguf, Weights};
use crate::options::{Arithmetic, Options};

/// A network, by its kind.
pub(crate) enum Architecture {
    /// A masked model.
    Masked(Box<masked::Network>),
    /// A causal model, with the range that stands in for a calibration.
    Causal(Box<Loaded>, Range),
}

/// Public constants of an architecture, for a model that was never calibrated.
type Range = (f32, f32);

/// GPT-2's logits lie far below zero, the lower the longer the text.
const GPT2: Range = (-200.0, 20.0);
/// Llama-shaped models' lie about zero, the best well above it: SmolLM2's from -29 to 38.
const LLAMA: Range = (-30.0, 40.0);

impl Architecture {
    /// From `config.json` of a model of this type, and its weights.
    pub(crate) fn new(
        model_type: &str,
        config: &[u8],
        file: &Weights<'_>,
        options: Options,
    ) -> Result<Self> {
        Ok(match model_type {
            "gpt2" => Self::Causal(Box::new(gpt2::load(config, file, options)?), GPT2),
            "llama" | "qwen2" => {
                Self::Causal(Box::new(llama_config::load(config, file, options)?), LLAMA)
            }
            other => Self::Masked(Box::new(masked::Network::load(other, config, file, options)?)),
        })
    }

    /// From a GGUF file.
    pub(crate) fn of_gguf(file: &Gguf<'_>, options: Options) -> Result<Self> {
        Ok(Self::Causal(Box::new(llama_gguf::load(file, options)?), LLAMA))
    }

    /// The numbers that it computes in.
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        match self {
            Self::Masked(network) => network.math.arithmetic(),
            Self::Causal(loaded, _) => loaded.math.arithmetic(),
        }
    }

    /// The size in words.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Masked(network) => {
                let Shape { layers, hidden, heads, .. } = network.family.shape;
                layers::describe(layers, hidden, heads)
            }
            Self::Causal(loaded, _) => loaded.shape.clone(),
        }
    }

    /// The model with its vocabulary. `window` is how many tokens of a prompt to look at, at most.
    pub(crate) fn with(
        self,
        vocab: Arc<Vocab>,
        calibration: Option<Calibration>,
        window: Option<usize>,
    ) -> Result<Arc<dyn LanguageModel>> {
        Ok(match self {
            Self::Masked(network) => {
                let calibration = calibration.unwrap_or(Calibration::DEFAULT);
                Arc::new(network.with(vocab, calibration, window)?)
            }
            Self::Causal(loaded, (lo, hi)) => {
                let default = || Calibration::new(lo, hi).unwrap_or(Calibration::DEFAULT);
                Arc::new(loaded.with(vocab, calibration.unwrap_or_else(default), window)?)
            }
        })
    }
}
