//! Storing a model compactly.

use std::collections::BTreeMap;
use std::path::Path;

use cape_kernels::rounded;
use half::bf16;
use safetensors::{Dtype, tensor::TensorView};

use super::folder::Files;
use super::weights::SCALE;
use crate::error::{Error, Result};

/// How matrices are stored; vectors stay in F32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// As they are, in 32 bits.
    F32,
    /// Brain floats of 16 bits.
    Bf16,
    /// Bytes with one scale per row.
    Int8,
}

impl Precision {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::F32, Self::Bf16, Self::Int8];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }
}

/// Writes a copy of a model to a folder, its matrices in another precision.
pub fn pack(files: &Files, precision: Precision, dir: &Path) -> Result<()> {
    if files.gguf().is_some() {
        return Err(Error::Gguf("it is quantised already".into()));
    }
    let weights = files.weights()?;
    let mut tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)> = BTreeMap::new();
    for name in weights.names() {
        // scales come back with their matrices; some checkpoints carry plain position numbers
        if name.ends_with(SCALE) || name.ends_with("position_ids") {
            continue;
        }
        let shape = weights.shape(&name)?;
        let values = weights.get(&name, &shape)?;
        match (precision, &shape[..]) {
            // a table of short rows, such as that of distances, is too small to be worth any error
            (Precision::Int8, &[rows, columns]) if columns >= 16 => {
                let (integers, scales) = rounded(&values, columns);
                let bytes = integers.iter().map(|v| v.cast_unsigned()).collect();
                let scales = scales.iter().flat_map(|s| s.to_le_bytes()).collect();
                tensors.insert(format!("{name}{SCALE}"), (Dtype::F32, vec![rows], scales));
                tensors.insert(name, (Dtype::I8, shape, bytes));
            }
            (Precision::Bf16, [_, _]) => {
                let bytes = values.iter().flat_map(|&v| bf16::from_f32(v).to_le_bytes()).collect();
                tensors.insert(name, (Dtype::BF16, shape, bytes));
            }
            _ => {
                let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                tensors.insert(name, (Dtype::F32, shape, bytes));
            }
        }
    }
    let views = tensors.iter().map(|(name, (dtype, shape, bytes))| {
        TensorView::new(*dtype, shape.clone(), bytes)
            .map(|view| (name.as_str(), view))
            .map_err(Error::Weights)
    });
    let views = views.collect::<Result<Vec<_>>>()?;
    let bytes = safetensors::serialize(views, None).map_err(Error::Weights)?;
    files.write_with(&bytes, dir)
}
