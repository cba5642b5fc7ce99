//! Weights in several files: `model.safetensors.index.json` and the shards that it names.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use serde::Deserialize;

use super::stored::TensorFile;
use crate::error::{Error, Result};
use crate::names::INDEX;

/// `model.safetensors.index.json`, as far as it matters.
#[derive(Deserialize)]
pub(crate) struct Index {
    /// Which file each tensor lies in.
    weight_map: BTreeMap<String, String>,
}

impl Index {
    /// Reads an index; every file that it names must lie beside it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let index: Self = serde_json::from_slice(bytes).map_err(Error::json(INDEX))?;
        for file in index.files() {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if !file.ends_with(".safetensors") || file.starts_with('.') || !file.chars().all(plain)
            {
                return Err(Error::Index(format!("{file:?} is not a valid name for a shard")));
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

    /// Opens the shards in this folder; they must hold the tensors that the index lists, and no others.
    pub(crate) fn open(&self, dir: &Path) -> Result<Vec<TensorFile>> {
        let (mut shards, mut seen) = (Vec::new(), HashSet::new());
        for name in self.files() {
            let broken = |source| Error::Shard { file: name.to_owned(), source };
            let shard = TensorFile::open(&dir.join(name), broken)?;
            for tensor in shard.header().offset_keys() {
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
                seen.insert(tensor);
            }
            shards.push(shard);
        }
        match self.weight_map.iter().find(|(name, _)| !seen.contains(*name)) {
            Some((tensor, file)) => {
                Err(Error::Index(format!("{file} does not hold tensor `{tensor}`")))
            }
            None => Ok(shards),
        }
    }
}
