//! The files of one model: embedded in the binary, in a folder, or in one GGUF file.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::disk::{LARGEST_JSON, LARGEST_WEIGHTS, read, write};
use super::gguf::MAGIC;
use super::shards::Index;
use super::stored::{Stored, TensorFile};
use super::tokenizer::TokenizerFiles;
use super::weights::Weights;
use crate::error::{Error, Result};
use crate::names::{CAPE_JSON, CONFIG, INDEX, WEIGHTS};

/// The name of the embedded default model.
pub const DEFAULT: &str = "default";

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

impl CapeJson {
    /// Writes it into a model's folder.
    pub(crate) fn write(&self, dir: &Path) -> Result<PathBuf> {
        let path = dir.join(CAPE_JSON);
        let mut json = serde_json::to_vec_pretty(self).map_err(Error::json(CAPE_JSON))?;
        json.push(b'\n');
        write(&path, &json)?;
        Ok(path)
    }
}

impl Files {
    /// The embedded model.
    #[cfg(embedded_model)]
    #[expect(clippy::unnecessary_wraps, reason = "a package may have none")]
    pub(crate) fn embedded() -> Result<Self> {
        Ok(Self {
            config: include_bytes!("../../default/config.json").into(),
            tokenizer: TokenizerFiles::Whole(include_bytes!("../../default/tokenizer.json").into()),
            weights: Stored::Bytes(include_bytes!("../../default/model.safetensors").into()),
            cape: Some(include_bytes!("../../default/cape.json").into()),
        })
    }

    /// The embedded model, which this package has no room for.
    #[cfg(not(embedded_model))]
    pub(crate) fn embedded() -> Result<Self> {
        Err(Error::NotEmbedded)
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
    pub(crate) fn read_gguf(path: &Path) -> Result<Self> {
        let cape = path.with_file_name(CAPE_JSON);
        Ok(Self {
            config: Cow::default(),
            // it is in the weights
            tokenizer: TokenizerFiles::Whole(Cow::default()),
            weights: Stored::Bytes(read(path, LARGEST_WEIGHTS)?.into()),
            cape: cape.exists().then(|| read(&cape, LARGEST_JSON).map(Cow::Owned)).transpose()?,
        })
    }

    /// The window of `cape.json`, where there is one that can be read.
    pub(crate) fn window(&self) -> Option<usize> {
        self.cape_json().ok().flatten().and_then(|cape| cape.window)
    }

    /// The architecture's name in `config.json`; BERT where it does not say.
    pub(crate) fn model_type(&self) -> Result<String> {
        #[derive(Deserialize)]
        struct Config {
            model_type: Option<String>,
        }
        let config: Config = serde_json::from_slice(&self.config).map_err(Error::json(CONFIG))?;
        Ok(config.model_type.unwrap_or_else(|| "bert".into()))
    }

    /// The bytes of `config.json`.
    pub(crate) fn config(&self) -> &[u8] {
        &self.config
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
        std::fs::create_dir_all(dir).map_err(Error::io(dir))?;
        write(&dir.join(CONFIG), &self.config)?;
        self.tokenizer.write(dir)?;
        if let Some(cape) = &self.cape {
            write(&dir.join(CAPE_JSON), cape)?;
        }
        write(&dir.join(WEIGHTS), weights)
    }

    /// The contents of `cape.json`, where there is one.
    pub(crate) fn cape_json(&self) -> Result<Option<CapeJson>> {
        let parse = |bytes| serde_json::from_slice(bytes).map_err(Error::json(CAPE_JSON));
        self.cape.as_deref().map(parse).transpose()
    }
}

/// Whether a path names a GGUF file.
pub(crate) fn is_gguf(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "gguf") && path.is_file()
}

/// The GGUF file at a path: the one named, or the only one of a folder that has no `config.json`.
fn gguf_of(path: &Path) -> Result<Option<PathBuf>> {
    if is_gguf(path) {
        return Ok(Some(path.into()));
    }
    if !path.is_dir() || path.join(CONFIG).exists() {
        return Ok(None);
    }
    let mut found = None;
    for entry in path.read_dir().map_err(Error::io(path))? {
        let path = entry.map_err(Error::io(path))?.path();
        if is_gguf(&path) && found.replace(path).is_some() {
            return Err(Error::Gguf("the folder has several: name one of them".into()));
        }
    }
    Ok(found)
}
