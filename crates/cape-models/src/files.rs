//! Where a model's files come from: the binary itself, or a folder.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cape::tokenizer::Tokenizer;
use cape::utility::Calibration;
use serde::{Deserialize, Serialize};

use crate::architecture::Architecture;
use crate::{Device, Error, Result};

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

    /// An embedded model by name, or a folder.
    pub fn find(name_or_dir: &str) -> Result<Self> {
        match Self::named(name_or_dir) {
            Some(files) => Ok(files),
            None if Path::new(name_or_dir).is_dir() => Self::read(Path::new(name_or_dir)),
            None => Err(Error::Unknown(name_or_dir.to_owned())),
        }
    }

    /// The files of a folder.
    pub fn read(dir: &Path) -> Result<Self> {
        let file = |name: &str| read(&dir.join(name)).map(Cow::Owned);
        Ok(Self {
            config: file("config.json")?,
            tokenizer: file("tokenizer.json")?,
            weights: file("model.safetensors")?,
            cape: dir.join(CAPE_JSON).exists().then(|| file(CAPE_JSON)).transpose()?,
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
        let (tokenizer, network) = rayon::join(
            || Tokenizer::from_json(&self.tokenizer),
            || Architecture::new(&self.config, &self.weights),
        );
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
