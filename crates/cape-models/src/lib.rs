//! Device models for Cape: masked models (BERT, DistilBERT, RoBERTa, MPNet) and causal ones (GPT-2,
//! Llama, Qwen2) from a folder in the Hugging Face layout (`config.json`, `tokenizer.json`,
//! `model.safetensors` or its shards), from a GGUF file, from the hub's cache, and the embedded default.
//!
//! Loading never touches the network. Fetching does, on request: `pull`, with the feature `hub`.
//!
//! The paper's mechanism asks a device model; Cape's own needs none (see [`cape`]).
//!
//! ```
//! use cape::keep::KeepList;
//! use cape::mechanism::cape_paper::{CapePaper, Settings};
//! use cape::privacy::Epsilon;
//! use cape::rng::Secret;
//! use cape::sanitizer::{About, Sanitizer};
//!
//! let device = cape_models::load(cape_models::DEFAULT)?;
//! let settings = Settings::new(Epsilon::new(6.0)?);
//! let mechanism = CapePaper::new(device.model.clone(), settings)?;
//! let about = About { mechanism: "cape-paper", words: None, fingerprint: device.shape };
//! let (keep, mechanism) = (KeepList::default(), Box::new(mechanism));
//! let sanitizer = Sanitizer::tokens(device.tokenizer, keep, mechanism, about);
//! let release = sanitizer.release("a good book", &Secret::fresh()?)?;
//! assert!(release.text.starts_with("a "));
//! assert_eq!(release.privacy.draws, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod architecture;
pub mod baselines;
mod bert;
mod calibrate;
mod causal;
mod distances;
mod encoder;
mod error;
mod files;
mod gguf;
mod gguf_model;
mod gpt2;
pub mod groups;
pub mod hub;
mod layers;
mod llama;
mod llama_config;
mod masked;
mod options;
mod pack;
#[cfg(feature = "hub")]
pub mod pull;
mod quant;
mod replace;
mod rope;
pub mod sentence;
mod shards;
mod stored;
mod tokens;
#[cfg(feature = "hub")]
mod transfer;
pub mod vectors;
mod weights;
mod words;

pub use calibrate::{calibrate, save_calibration};
pub use cape_kernels::Kernel;
pub use error::{Error, Result};
pub use files::{DEFAULT, Files, folder};
pub use options::{Arithmetic, Options};
pub use pack::{Precision, pack};

use std::sync::Arc;

use cape::model::LanguageModel;
use cape::tokenizer::Tokenizer;

/// A model ready for use, with its tokenizer.
#[derive(Clone)]
pub struct Device {
    /// The model.
    pub model: Arc<dyn LanguageModel>,
    /// Its tokenizer.
    pub tokenizer: Arc<Tokenizer>,
    /// The model's architecture and size in words.
    pub shape: String,
    /// The numbers that it computes in; never `Auto`.
    pub arithmetic: Arithmetic,
    /// Whether the model came with a calibration of its own; without one the public default
    /// stands in.
    pub calibrated: bool,
}

impl Device {
    /// The SHA-256 of its embeddings: what is computed with the model can be told by it.
    #[must_use]
    pub fn checksum(&self) -> [u8; 32] {
        let mut sum = ring::digest::Context::new(&ring::digest::SHA256);
        for number in self.model.embeddings().data() {
            sum.update(&number.to_le_bytes());
        }
        let mut bytes = [0; 32];
        bytes.copy_from_slice(sum.finish().as_ref());
        bytes
    }
}

/// As much of a checksum as tells one from another, in hexadecimal.
#[must_use]
pub fn short(checksum: &[u8; 32]) -> String {
    checksum[..8].iter().fold(String::new(), |name, byte| name + &format!("{byte:02x}"))
}

/// Loads a model by name or from a folder (see [`Files::find`]).
pub fn load(name_or_dir: &str) -> Result<Device> {
    load_with(name_or_dir, Options::default())
}

/// Loads a model that computes in a given way.
pub fn load_with(name_or_dir: &str, options: Options) -> Result<Device> {
    Files::find(name_or_dir)?.load_with(options)
}
