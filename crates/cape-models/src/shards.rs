//! Weights in several files: `model.safetensors.index.json` and the shards that it names.
//!
//! The shards are read into one buffer that is itself a safetensors file, so that nothing after
//! this sees a difference, and no byte of a weight is held twice.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use safetensors::SafeTensorError;
use safetensors::tensor::Metadata;
use serde::Deserialize;

use crate::files::{self, INDEX};
use crate::{Error, Result};

/// The length field in front of the header.
const LENGTH: u64 = 8;

/// `model.safetensors.index.json`, as far as it matters.
#[derive(Deserialize)]
pub(crate) struct Index {
    /// Which file each tensor lies in.
    weight_map: BTreeMap<String, String>,
}

impl Index {
    /// Reads an index; every file that it names must lie beside it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let index: Self =
            serde_json::from_slice(bytes).map_err(|source| Error::Json { file: INDEX, source })?;
        for file in index.files() {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if !file.ends_with(".safetensors") || file.starts_with('.') || !file.chars().all(plain)
            {
                return Err(Error::Index(format!("{file:?} is no name for a shard")));
            }
        }
        if index.weight_map.is_empty() {
            return Err(Error::Index("it names no shard".into()));
        }
        Ok(index)
    }

    /// The names of the shards.
    pub(crate) fn files(&self) -> BTreeSet<&str> {
        self.weight_map.values().map(String::as_str).collect()
    }

    /// The shards of this folder as one safetensors file.
    pub(crate) fn read(&self, dir: &Path) -> Result<Vec<u8>> {
        let (mut shards, mut tensors, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        let mut len = 0_usize;
        for name in self.files() {
            let (shard, header) = Shard::open(dir, name)?;
            for tensor in header.offset_keys() {
                match self.weight_map.get(&tensor) {
                    Some(file) if file == name => {}
                    Some(file) => {
                        let twice = format!("tensor `{tensor}` is in {file}, and {name} holds it");
                        return Err(Error::Index(twice));
                    }
                    None => {
                        let new = format!("{name} holds tensor `{tensor}`, which is not listed");
                        return Err(Error::Index(new));
                    }
                }
                let Some(info) = header.info(&tensor) else { continue };
                let (start, end) = info.data_offsets;
                let mut info = info.clone();
                info.data_offsets = (start + len, end + len);
                tensors.push((tensor.clone(), info));
                seen.insert(tensor);
            }
            len += header.data_len();
            shards.push(shard);
        }
        if let Some((tensor, file)) = self.weight_map.iter().find(|(name, _)| !seen.contains(*name))
        {
            return Err(Error::Index(format!("{file} does not hold tensor `{tensor}`")));
        }
        let header = Metadata::new(None, tensors).map_err(Error::Weights)?;
        let header =
            serde_json::to_vec(&header).map_err(|source| Error::Json { file: INDEX, source })?;
        let mut bytes = files::buffer(dir, LENGTH + (header.len() + len) as u64)?;
        bytes.extend((header.len() as u64).to_le_bytes());
        bytes.extend(header);
        for shard in shards {
            shard.append(&mut bytes)?;
        }
        Ok(bytes)
    }
}

/// A shard whose header was read and fits the length of the file.
struct Shard {
    path: PathBuf,
    file: File,
    data: u64,
}

impl Shard {
    fn open(dir: &Path, name: &str) -> Result<(Self, Metadata)> {
        let path = dir.join(name);
        let broken = |source| Error::Shard { file: name.to_owned(), source };
        let (mut file, size) = files::open(&path, files::LARGEST_WEIGHTS)?;
        let mut length = [0; LENGTH as usize];
        if size < LENGTH {
            return Err(broken(SafeTensorError::HeaderTooSmall));
        }
        read_exact(&mut file, &path, &mut length)?;
        // what the header claims is only believed as far as the file reaches
        let length = u64::from_le_bytes(length);
        let Some(data) = (size - LENGTH).checked_sub(length) else {
            return Err(broken(SafeTensorError::InvalidHeaderLength));
        };
        if length > files::LARGEST_JSON {
            return Err(broken(SafeTensorError::HeaderTooLarge));
        }
        let mut header = vec![0; length as usize];
        read_exact(&mut file, &path, &mut header)?;
        let header: Metadata = serde_json::from_slice(&header)
            .map_err(|source| broken(SafeTensorError::InvalidHeaderDeserialization(source)))?;
        if header.data_len() as u64 != data {
            return Err(broken(SafeTensorError::MetadataIncompleteBuffer));
        }
        Ok((Self { path, file, data }, header))
    }

    fn append(self, bytes: &mut Vec<u8>) -> Result<()> {
        let io = |source| Error::Io { path: self.path.clone(), source };
        let read = self.file.take(self.data).read_to_end(bytes).map_err(io)?;
        if read as u64 == self.data {
            Ok(())
        } else {
            Err(io(std::io::ErrorKind::UnexpectedEof.into()))
        }
    }
}

fn read_exact(file: &mut File, path: &Path, bytes: &mut [u8]) -> Result<()> {
    file.read_exact(bytes).map_err(|source| Error::Io { path: path.into(), source })
}
