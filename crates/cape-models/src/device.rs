//! A model found by name, and made ready with its tokenizer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cape::tokens::{Calibration, LanguageModel, Tokenizer};
use ring::digest::{Context, SHA256};

use crate::checksum;
use crate::error::{Error, Result};
use crate::files::{DEFAULT, Files, Gguf, gguf_tokenizer, is_gguf};
use crate::hub::{Hub, HubName};
use crate::network::Architecture;
use crate::options::{Arithmetic, Options};

/// A model ready for use, with its tokenizer.
#[derive(Clone)]
pub struct Device {
    /// The model.
    pub model: Arc<dyn LanguageModel>,
    /// Its tokenizer.
    pub tokenizer: Arc<Tokenizer>,
    /// The model's size in words: layers, width and heads.
    pub shape: String,
    /// The numbers that it computes in; never `Auto`.
    pub arithmetic: Arithmetic,
    /// Whether the model came with a calibration of its own; without one the public default
    /// stands in.
    pub calibrated: bool,
}

impl Device {
    /// The SHA-256 of its embeddings, by which results of this model can be told from another's.
    #[must_use]
    pub fn checksum(&self) -> [u8; 32] {
        let mut sum = Context::new(&SHA256);
        for number in self.model.embeddings().data() {
            sum.update(&number.to_le_bytes());
        }
        checksum::finish(sum)
    }
}

/// Loads a model by name or from a folder (see [`Files::find`]).
pub fn load(name_or_dir: &str) -> Result<Device> {
    load_with(name_or_dir, Options::default())
}

/// Loads a model that computes in a given way.
pub fn load_with(name_or_dir: &str, options: Options) -> Result<Device> {
    Files::find(name_or_dir)?.load_with(options)
}

/// The folder that a model's files lie in, which is where its `cape.json` belongs: the folder of this
/// name, or the snapshot in the hub's cache; or the GGUF file that is named. Nothing is fetched.
pub fn folder(name_or_dir: &str) -> Result<PathBuf> {
    if Path::new(name_or_dir).is_dir() || is_gguf(Path::new(name_or_dir)) {
        return Ok(name_or_dir.into());
    }
    let name = HubName::parse(name_or_dir).ok_or_else(|| Error::Unknown(name_or_dir.to_owned()))?;
    match Hub::from_env().and_then(|hub| hub.find(&name)) {
        Some(dir) => Ok(name.file().map_or(dir.clone(), |file| dir.join(file))),
        None => Err(Error::NotPulled(name_or_dir.to_owned())),
    }
}

impl Files {
    /// An embedded model by name, a folder or a GGUF file, or a model of the hub's cache by its name
    /// there. Nothing is fetched.
    pub fn find(name_or_dir: &str) -> Result<Self> {
        if name_or_dir == DEFAULT {
            return Self::embedded();
        }
        Self::read(&folder(name_or_dir)?)
    }

    /// Builds the model.
    pub fn load(&self) -> Result<Device> {
        self.load_with(Options::default())
    }

    /// Builds the model to compute in a given way.
    pub fn load_with(&self, options: Options) -> Result<Device> {
        let cape = self.cape_json()?;
        let calibration = cape
            .as_ref()
            .map(|cape| Calibration::new(cape.lo, cape.hi).ok_or(Error::Calibration))
            .transpose()?;
        self.build(calibration, cape.and_then(|cape| cape.window), options)
    }

    /// Builds the model in order to calibrate it: lo and hi of `cape.json` are ignored.
    pub fn load_uncalibrated(&self) -> Result<Device> {
        self.build(None, self.window(), Options::default())
    }

    fn build(
        &self,
        calibration: Option<Calibration>,
        window: Option<usize>,
        options: Options,
    ) -> Result<Device> {
        let (tokenizer, network) = if let Some(bytes) = self.gguf() {
            let file = Gguf::new(bytes)?;
            rayon::join(|| gguf_tokenizer(&file), || Architecture::of_gguf(&file, options))
        } else {
            let network =
                || Architecture::new(&self.model_type()?, self.config(), &self.weights()?, options);
            rayon::join(|| self.tokenizer().load(), network)
        };
        let (tokenizer, network) = (tokenizer?, network?);
        let (shape, arithmetic) = (network.describe(), network.arithmetic());
        let model = network.with(Arc::clone(tokenizer.vocab()), calibration, window)?;
        Ok(Device {
            model,
            tokenizer: Arc::new(tokenizer),
            shape,
            arithmetic,
            calibrated: calibration.is_some(),
        })
    }
}
