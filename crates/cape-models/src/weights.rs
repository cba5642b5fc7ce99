//! Tensors from a `model.safetensors`, checked and widened to f32.
//!
//! Beside F32, F16 and BF16 there is a compact form of our own: a matrix `NAME` stored as I8 with
//! one F32 scale per row in `NAME.scale`.

use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};

use crate::{Error, Result};

/// The suffix of the row scales of an I8 matrix.
pub(crate) const SCALE: &str = ".scale";

pub(crate) struct Weights<'a> {
    tensors: SafeTensors<'a>,
}

impl<'a> Weights<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self> {
        SafeTensors::deserialize(bytes).map(|tensors| Self { tensors }).map_err(Error::Weights)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.tensors.names().into_iter().map(str::to_owned).collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.tensor(name).is_ok()
    }

    pub(crate) fn shape(&self, name: &str) -> Result<Vec<usize>> {
        self.view(name).map(|view| view.shape().to_vec())
    }

    /// The tensor of this name as f32; its shape must be the one given, its values finite.
    pub(crate) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let view = self.view(name)?;
        if view.shape() != shape {
            return Err(Error::Shape {
                name: name.to_owned(),
                found: view.shape().to_vec(),
                wanted: shape.to_vec(),
            });
        }
        let bytes = view.data();
        let values: Vec<f32> = match view.dtype() {
            Dtype::F32 => {
                bytes.as_chunks().0.iter().map(|&chunk| f32::from_le_bytes(chunk)).collect()
            }
            Dtype::F16 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|&chunk| f16::from_le_bytes(chunk).to_f32())
                .collect(),
            Dtype::BF16 => {
                let widen = |&chunk: &[u8; 2]| bf16::from_le_bytes(chunk).to_f32();
                bytes.as_chunks().0.iter().map(widen).collect()
            }
            Dtype::I8 => {
                let &[rows, columns] = shape else {
                    return Err(wrong_type(name, Dtype::I8));
                };
                let scales = self.get(&format!("{name}{SCALE}"), &[rows])?;
                let mut values = Vec::with_capacity(bytes.len());
                for (row, &scale) in bytes.chunks_exact(columns.max(1)).zip(&scales) {
                    values.extend(row.iter().map(|&byte| f32::from(byte.cast_signed()) * scale));
                }
                values
            }
            other => return Err(wrong_type(name, other)),
        };
        // a plain loop over bits: NaN and infinity are the values whose exponent is all ones
        if values.iter().fold(0, |most, v| most.max(v.to_bits() & 0x7fff_ffff)) >= 0x7f80_0000 {
            return Err(Error::NotFinite(name.to_owned()));
        }
        Ok(values)
    }

    fn view(&self, name: &str) -> Result<safetensors::tensor::TensorView<'_>> {
        self.tensors.tensor(name).map_err(|_| Error::Missing(name.to_owned()))
    }
}

fn wrong_type(name: &str, dtype: Dtype) -> Error {
    Error::Dtype { name: name.to_owned(), dtype: format!("{dtype:?}") }
}
