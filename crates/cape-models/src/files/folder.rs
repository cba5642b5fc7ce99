//! Where a model's files come from: the binary itself, a folder, or the hub's cache.

use std::borrow::Cow;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cape::utility::Calibration;
use serde::{Deserialize, Serialize};

use crate::architecture::Architecture;
use crate::bert::Family;
use crate::gguf::{Gguf, MAGIC};
use crate::hub::{Hub, Name};
use crate::shards::Index;
use crate::stored::{Stored, TensorFile};
use crate::tokens::TokenizerFiles;
use crate::weights::Weights;
use crate::{Device, Error, Options, Result, gguf_model};

/// The name of the embedded default model.
pub const DEFAULT: &str = "default";

pub(crate) const CONFIG: &str = "config.json";
pub(crate) const TOKENIZER: &str = "tokenizer.json";
pub(crate) const WEIGHTS: &str = "model.safetensors";
/// In the place of [`WEIGHTS`], where these are in several files.
pub(crate) const INDEX: &str = "model.safetensors.index.json";
/// The file with what Cape adds to a model.
pub(crate) const CAPE_JSON: &str = "cape.json";

/// No JSON file of a model comes near this: a larger one is not read.
pub(crate) const LARGEST_JSON: u64 = 100 << 20;
/// Nor do weights that a device could run.
pub(crate) const LARGEST_WEIGHTS: u64 = 64 << 30;

/// The files of one model.
pub struct Files {
    config: Cow<'static, [u8]>,
    tokenizer: TokenizerFiles,
    weights: Stored,
    cape: Option<Cow<'static, [u8]>>,
}

/// The contents of `cape.json`: public constants of a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CapeJson {
    /// The logit that becomes 0.
    pub(crate) lo: f32,
    /// The logit that becomes 1.
    pub(crate) hi: f32,
    /// How many tokens of a prompt the model is shown at once, where that is fewer than it could
    /// see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<usize>,
}

impl Files {
    /// The embedded model of this name: `default`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        (name == DEFAULT).then(|| Self {
            config: include_bytes!("../default/config.json").into(),
            tokenizer: TokenizerFiles::Whole(include_bytes!("../default/tokenizer.json").into()),
            weights: Stored::Bytes(include_bytes!("../default/model.safetensors").into()),
            cape: Some(include_bytes!("../default/cape.json").into()),
        })
    }

    /// An embedded model by name, a folder or a GGUF file, or a model of the hub's cache by its name
    /// there. Nothing is fetched.
    pub fn find(name_or_dir: &str) -> Result<Self> {
        match Self::named(name_or_dir) {
            Some(files) => Ok(files),
            None => Self::read(&folder(name_or_dir)?),
        }
    }

    /// The files of a folder; or one GGUF file, by its own name or as the only one of its folder.
    pub fn read(dir: &Path) -> Result<Self> {
        if let Some(path) = gguf_of(dir)? {
            return Self::read_gguf(&path);
        }
        let json = |name: &str| read(&dir.join(name), LARGEST_JSON).map(Cow::Owned);
        let config = json(CONFIG)?;
        let tokenizer = TokenizerFiles::read(dir)?;
        let weights = if !dir.join(WEIGHTS).exists() && dir.join(INDEX).exists() {
            Index::parse(&json(INDEX)?)?.open(dir)?
        } else {
            vec![TensorFile::open(&dir.join(WEIGHTS), Error::Weights)?]
        };
        let cape = dir.join(CAPE_JSON).exists().then(|| json(CAPE_JSON)).transpose()?;
        Ok(Self { config, tokenizer, weights: Stored::Files(weights), cape })
    }

    /// One file that is a model with its tokenizer.
    fn read_gguf(path: &Path) -> Result<Self> {
        let cape = path.with_file_name(CAPE_JSON);
        Ok(Self {
            config: Cow::default(),
            // it is in the weights
            tokenizer: TokenizerFiles::Whole(Cow::default()),
            weights: Stored::Bytes(read(path, LARGEST_WEIGHTS)?.into()),
            cape: cape.exists().then(|| read(&cape, LARGEST_JSON).map(Cow::Owned)).transpose()?,
        })
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

    /// Builds the model to calibrate it: whatever `cape.json` says of lo and hi does not count.
    pub fn load_uncalibrated(&self) -> Result<Device> {
        self.build(None, self.window(), Options::default())
    }

    /// The window of `cape.json`, where there is one that can be read.
    pub(crate) fn window(&self) -> Option<usize> {
        self.cape_json().ok().flatten().and_then(|cape| cape.window)
    }

    fn build(
        &self,
        calibration: Option<Calibration>,
        window: Option<usize>,
        options: Options,
    ) -> Result<Device> {
        let (tokenizer, network) = if let Some(bytes) = self.gguf() {
            let file = Gguf::new(bytes)?;
            rayon::join(|| gguf_model::tokenizer(&file), || Architecture::of_gguf(&file, options))
        } else {
            let network = || {
                let file = self.weights()?;
                Architecture::new(&self.model_type()?, &self.config, &file, options)
            };
            rayon::join(|| self.tokenizer.load(), network)
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

    /// What `config.json` calls the architecture; BERT where it does not say.
    fn model_type(&self) -> Result<String> {
        #[derive(Deserialize)]
        struct Config {
            model_type: Option<String>,
        }
        let config: Config = serde_json::from_slice(&self.config)
            .map_err(|source| Error::Json { file: "config.json", source })?;
        Ok(config.model_type.unwrap_or_else(|| "bert".into()))
    }

    /// What `config.json` says, where the model is an encoder.
    pub(crate) fn family(&self) -> Result<Family> {
        Family::parse(&self.model_type()?, &self.config)
    }

    /// The tokenizer's files.
    pub(crate) fn tokenizer(&self) -> &TokenizerFiles {
        &self.tokenizer
    }

    /// The bytes of a GGUF file, where it is one.
    pub(crate) fn gguf(&self) -> Option<&[u8]> {
        match &self.weights {
            Stored::Bytes(bytes) if bytes.starts_with(MAGIC) => Some(bytes),
            _ => None,
        }
    }

    /// The tensors.
    pub(crate) fn weights(&self) -> Result<Weights<'_>> {
        Weights::new(&self.weights)
    }

    /// Writes the files to a folder with other weights in place of its own.
    pub(crate) fn write_with(&self, weights: &[u8], dir: &Path) -> Result<()> {
        std::fs::create_dir_all(dir).map_err(|source| Error::Io { path: dir.into(), source })?;
        write(&dir.join(CONFIG), &self.config)?;
        self.tokenizer.write(dir)?;
        if let Some(cape) = &self.cape {
            write(&dir.join(CAPE_JSON), cape)?;
        }
        write(&dir.join(WEIGHTS), weights)
    }

    fn cape_json(&self) -> Result<Option<CapeJson>> {
        let parse = |bytes| {
            serde_json::from_slice(bytes).map_err(|source| Error::Json { file: CAPE_JSON, source })
        };
        self.cape.as_deref().map(parse).transpose()
    }
}

/// Whether a path names a GGUF file.
fn is_gguf(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "gguf") && path.is_file()
}

/// The GGUF file that is meant: the one named, or the only one of a folder that has no `config.json`.
fn gguf_of(path: &Path) -> Result<Option<PathBuf>> {
    if is_gguf(path) {
        return Ok(Some(path.into()));
    }
    if !path.is_dir() || path.join(CONFIG).exists() {
        return Ok(None);
    }
    let io = |source| Error::Io { path: path.into(), source };
    let mut found = None;
    for entry in path.read_dir().map_err(io)? {
        let path = entry.map_err(io)?.path();
        if is_gguf(&path) && found.replace(path).is_some() {
            return Err(Error::Gguf("the folder has several: name one of them".into()));
        }
    }
    Ok(found)
}

/// Writes `cape.json` into a model's folder.
pub(crate) fn write_cape_json(dir: &Path, cape: &CapeJson) -> Result<PathBuf> {
    let path = dir.join(CAPE_JSON);
    let mut json = serde_json::to_vec_pretty(cape)
        .map_err(|source| Error::Json { file: CAPE_JSON, source })?;
    json.push(b'\n');
    write(&path, &json)?;
    Ok(path)
}

/// The folder that a model's files lie in, which is where its `cape.json` belongs: the folder of this
/// name, or the snapshot in the hub's cache; or the GGUF file that is named. Nothing is fetched.
pub fn folder(name_or_dir: &str) -> Result<PathBuf> {
    if Path::new(name_or_dir).is_dir() || is_gguf(Path::new(name_or_dir)) {
        return Ok(name_or_dir.into());
    }
    let name = Name::parse(name_or_dir).ok_or_else(|| Error::Unknown(name_or_dir.to_owned()))?;
    match Hub::from_env().and_then(|hub| hub.find(&name)) {
        Some(dir) => Ok(name.file().map_or(dir.clone(), |file| dir.join(file))),
        None => Err(Error::NotPulled(name_or_dir.to_owned())),
    }
}

/// Opens a plain file that is no larger than it may be.
pub(crate) fn open(path: &Path, most: u64) -> Result<(File, u64)> {
    let io = |source| Error::Io { path: path.into(), source };
    // asked before it is opened: to open a pipe would wait for a writer
    let metadata = std::fs::metadata(path).map_err(io)?;
    if !metadata.is_file() {
        return Err(io(std::io::Error::new(ErrorKind::InvalidInput, "it is not a file")));
    }
    if metadata.len() > most {
        return Err(Error::TooLarge { path: path.into(), most });
    }
    Ok((File::open(path).map_err(io)?, metadata.len()))
}

/// Room for so many bytes from `path`, or an error where there is none.
pub(crate) fn buffer(path: &Path, len: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let none = |_| Error::Io { path: path.into(), source: ErrorKind::OutOfMemory.into() };
    let len = usize::try_from(len).map_err(|_| Error::TooLarge { path: path.into(), most: len })?;
    bytes.try_reserve_exact(len).map_err(none)?;
    Ok(bytes)
}

pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, len) = open(path, most)?;
    let mut bytes = buffer(path, len)?;
    // a file that grows meanwhile is not followed
    let read = file.take(len).read_to_end(&mut bytes);
    read.map_err(|source| Error::Io { path: path.into(), source })?;
    Ok(bytes)
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|source| Error::Io { path: path.into(), source })
}
