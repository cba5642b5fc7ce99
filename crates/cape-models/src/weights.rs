//! Tensors from a `model.safetensors`, checked and widened to f32.
//!
//! Beside F32, F16 and BF16 there is a compact form of our own: a matrix `NAME` stored as I8 with
//! one F32 scale per row in `NAME.scale`.

use std::borrow::Cow;

use cape_kernels::rounded;
use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};

use crate::{Error, Result};

/// The suffix of the row scales of an I8 matrix.
pub(crate) const SCALE: &str = ".scale";

/// A matrix as it is stored: floats, or integers with one scale per row.
pub(crate) enum Matrix {
    Floats(Vec<f32>),
    Integers(Vec<i8>, Vec<f32>),
}

impl Matrix {
    pub(crate) fn into_floats(self, columns: usize) -> Vec<f32> {
        match self {
            Self::Floats(floats) => floats,
            Self::Integers(integers, scales) => {
                // row by row into room that is there: a flat map would grow it number by number
                let mut floats = Vec::with_capacity(integers.len());
                for (row, &scale) in integers.chunks(columns.max(1)).zip(&scales) {
                    floats.extend(row.iter().map(|&v| f32::from(v) * scale));
                }
                floats
            }
        }
    }

    /// As integers with one scale per row.
    pub(crate) fn rounded(&self, columns: usize) -> (Cow<'_, [i8]>, Cow<'_, [f32]>) {
        match self {
            Self::Floats(floats) => {
                let (integers, scales) = rounded(floats, columns);
                (integers.into(), scales.into())
            }
            Self::Integers(integers, scales) => (integers.into(), scales.into()),
        }
    }
}

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

    /// Whether any matrix is stored as integers.
    pub(crate) fn has_integers(&self) -> bool {
        self.tensors.iter().any(|(_, view)| view.dtype() == Dtype::I8)
    }

    /// Whether a matrix is stored as integers.
    pub(crate) fn is_integer(&self, name: &str) -> bool {
        self.view(name).is_ok_and(|view| view.dtype() == Dtype::I8)
    }

    /// The matrix of this name as it is stored; as [`Weights::get`] otherwise.
    pub(crate) fn matrix(&self, name: &str, shape: [usize; 2]) -> Result<Matrix> {
        if !self.is_integer(name) {
            return self.get(name, &shape).map(Matrix::Floats);
        }
        let view = self.shaped(name, &shape)?;
        let scales = self.get(&format!("{name}{SCALE}"), &shape[..1])?;
        if !scales.iter().all(|scale| (scale * 128.0).is_finite()) {
            return Err(Error::NotFinite(name.to_owned()));
        }
        let integers = view.data().iter().map(|byte| byte.cast_signed()).collect();
        Ok(Matrix::Integers(integers, scales))
    }

    fn shaped(&self, name: &str, shape: &[usize]) -> Result<safetensors::tensor::TensorView<'_>> {
        let view = self.view(name)?;
        if view.shape() == shape {
            return Ok(view);
        }
        Err(Error::Shape {
            name: name.to_owned(),
            found: view.shape().to_vec(),
            wanted: shape.to_vec(),
        })
    }

    /// The tensor of this name as f32; its shape must be the one given, its values finite.
    pub(crate) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let view = self.shaped(name, shape)?;
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
                self.matrix(name, [rows, columns])?.into_floats(columns)
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
