//! Where a model's files come from: the binary itself, or a folder.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cape::tokenizer::Tokenizer;
use cape::utility::Calibration;
use serde::{Deserialize, Serialize};

use crate::architecture::Architecture;
use crate::gguf::{Gguf, MAGIC};
use crate::{Device, Error, Result, gguf_model};

/// The name of the embedded default model.
pub const DEFAULT: &str = "default";

/// The file with what Cape adds to a model.
const CAPE_JSON: &str = "cape.json";

/// The files of one model.
pub struct Files {
    config: Cow<'static, [u8]>,
    tokenizer: Cow<'static, [u8]>,
    weights: Cow<'static, [u8]>,
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
            tokenizer: include_bytes!("../default/tokenizer.json").into(),
            weights: include_bytes!("../default/model.safetensors").into(),
            cape: Some(include_bytes!("../default/cape.json").into()),
        })
    }

    /// An embedded model by name, a folder, or a GGUF file.
    pub fn find(name_or_dir: &str) -> Result<Self> {
        match Self::named(name_or_dir) {
            Some(files) => Ok(files),
            None if Path::new(name_or_dir).is_dir() || is_gguf(Path::new(name_or_dir)) => {
                Self::read(Path::new(name_or_dir))
            }
            None => Err(Error::Unknown(name_or_dir.to_owned())),
        }
    }

    /// The files of a folder; or one GGUF file, by its own name or as the only one of its folder.
    pub fn read(dir: &Path) -> Result<Self> {
        if let Some(path) = gguf_of(dir)? {
            return Self::read_gguf(&path);
        }
        let file = |name: &str| read(&dir.join(name)).map(Cow::Owned);
        Ok(Self {
            config: file("config.json")?,
            tokenizer: file("tokenizer.json")?,
            weights: file("model.safetensors")?,
            cape: dir.join(CAPE_JSON).exists().then(|| file(CAPE_JSON)).transpose()?,
        })
    }

    /// One file that is a model with its tokenizer.
    fn read_gguf(path: &Path) -> Result<Self> {
        let cape = path.with_file_name(CAPE_JSON);
        Ok(Self {
            config: Cow::default(),
            tokenizer: Cow::default(),
            weights: read(path)?.into(),
            cape: cape.exists().then(|| read(&cape).map(Cow::Owned)).transpose()?,
        })
    }

    /// Builds the model.
    pub fn load(&self) -> Result<Device> {
        let cape = self.cape_json()?;
        let calibration = cape
            .as_ref()
            .map(|cape| Calibration::new(cape.lo, cape.hi).ok_or(Error::Calibration))
            .transpose()?;
        self.build(calibration, cape.and_then(|cape| cape.window))
    }

    /// Builds the model to calibrate it: whatever `cape.json` says of lo and hi does not count.
    pub fn load_uncalibrated(&self) -> Result<Device> {
        self.build(None, self.window())
    }

    /// The window of `cape.json`, where there is one that can be read.
    pub(crate) fn window(&self) -> Option<usize> {
        self.cape_json().ok().flatten().and_then(|cape| cape.window)
    }

    fn build(&self, calibration: Option<Calibration>, window: Option<usize>) -> Result<Device> {
        let (tokenizer, network) = if self.weights.starts_with(MAGIC) {
            let file = Gguf::new(&self.weights)?;
            rayon::join(|| gguf_model::tokenizer(&file), || Architecture::of_gguf(&file))
        } else {
            rayon::join(
                || Tokenizer::from_json(&self.tokenizer).map_err(Error::from),
                || Architecture::new(&self.config, &self.weights),
            )
        };
        let tokenizer = tokenizer?;
        let (model, shape) = network?.model(Arc::clone(tokenizer.vocab()), calibration, window)?;
        Ok(Device {
            shape,
            model,
            tokenizer: Arc::new(tokenizer),
            calibrated: calibration.is_some(),
        })
    }

    /// The bytes of `model.safetensors`.
    pub(crate) fn weights(&self) -> &[u8] {
        &self.weights
    }

    /// Writes the files to a folder with other weights in place of its own.
    pub(crate) fn write_with(&self, weights: &[u8], dir: &Path) -> Result<()> {
        std::fs::create_dir_all(dir).map_err(|source| Error::Io { path: dir.into(), source })?;
        write(&dir.join("config.json"), &self.config)?;
        write(&dir.join("tokenizer.json"), &self.tokenizer)?;
        if let Some(cape) = &self.cape {
            write(&dir.join(CAPE_JSON), cape)?;
        }
        write(&dir.join("model.safetensors"), weights)
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
    if !path.is_dir() || path.join("config.json").exists() {
        return Ok(None);
    }
    let io = |source| Error::Io { path: path.into(), source };
    let mut found = None;
    for entry in path.read_dir().map_err(io)? {
        let path = entry.map_err(io)?.path();
        if is_gguf(&path) && found.replace(path).is_some() {
            return Err(Error::GgufFile("the folder has several: name one of them".into()));
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

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| Error::Io { path: path.into(), source })
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|source| Error::Io { path: path.into(), source })
}
