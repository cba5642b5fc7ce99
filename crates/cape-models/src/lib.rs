//! Device models for Cape: a BERT-shaped masked model from a folder in the Hugging Face layout
//! (`config.json`, `tokenizer.json`, `model.safetensors`), and the embedded default.

mod bert;
mod calibrate;
mod error;
mod files;
mod layers;
mod pack;
mod weights;

pub use bert::Bert;
pub use calibrate::{calibrate, save_calibration};
pub use error::{Error, Result};
pub use files::{DEFAULT, Files};
pub use pack::{Precision, pack};

use std::sync::Arc;

use cape::tokenizer::Tokenizer;

/// A model ready for use, with its tokenizer.
#[derive(Clone)]
pub struct Device {
    /// The model.
    pub model: Arc<Bert>,
    /// Its tokenizer.
    pub tokenizer: Arc<Tokenizer>,
    /// Whether the model came with a calibration of its own; without one the public default
    /// stands in.
    pub calibrated: bool,
}

/// Loads a model by name (see [`Files::named`]) or from a folder.
pub fn load(name_or_dir: &str) -> Result<Device> {
    Files::find(name_or_dir)?.load()
}
