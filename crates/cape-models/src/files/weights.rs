//! Tensors from a `model.safetensors`, checked and widened to f32.
//!
//! Beside F32, F16 and BF16 there is a compact form of our own: a matrix `NAME` stored as I8 with
//! one F32 scale per row in `NAME.scale`.

use std::borrow::Cow;
use std::collections::HashMap;

use cape_kernels::rounded;
use rayon::prelude::*;
use safetensors::Dtype;
use safetensors::tensor::TensorInfo;

use super::quant::NumberType;
use super::stored::{Part, Stored};
use crate::error::{Error, Result};

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
                let mut floats = vec![0.0; integers.len()];
                floats
                    .par_chunks_mut(columns.max(1))
                    .zip(integers.par_chunks(columns.max(1)))
                    .zip(&scales)
                    .with_min_len(256)
                    .for_each(|((floats, integers), &scale)| {
                        for (float, &v) in floats.iter_mut().zip(integers) {
                            *float = f32::from(v) * scale;
                        }
                    });
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
    parts: Vec<Part<'a>>,
    /// The part of each tensor.
    places: HashMap<String, usize>,
}

impl<'a> Weights<'a> {
    pub(crate) fn new(stored: &'a Stored) -> Result<Self> {
        let parts = stored.parts()?;
        let names = |(i, part): (usize, &Part<'a>)| {
            part.header().offset_keys().into_iter().map(move |name| (name, i))
        };
        let places = parts.iter().enumerate().flat_map(names).collect();
        Ok(Self { parts, places })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.places.keys().cloned().collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    pub(crate) fn shape(&self, name: &str) -> Result<Vec<usize>> {
        self.find(name).map(|(_, info)| info.shape.clone())
    }

    /// Whether any matrix is stored as integers.
    pub(crate) fn has_integers(&self) -> bool {
        self.places.keys().any(|name| self.is_integer(name))
    }

    /// Whether a matrix is stored as integers.
    pub(crate) fn is_integer(&self, name: &str) -> bool {
        self.find(name).is_ok_and(|(_, info)| info.dtype == Dtype::I8)
    }

    /// The matrix of this name as it is stored; as [`Weights::get`] otherwise.
    pub(crate) fn matrix(&self, name: &str, shape: [usize; 2]) -> Result<Matrix> {
        if !self.is_integer(name) {
            return self.get(name, &shape).map(Matrix::Floats);
        }
        let (_, bytes) = self.shaped(name, &shape)?;
        let scales = self.get(&format!("{name}{SCALE}"), &shape[..1])?;
        if !scales.iter().all(|scale| (scale * 128.0).is_finite()) {
            return Err(Error::NotFinite(name.to_owned()));
        }
        let integers = bytes.iter().map(|byte| byte.cast_signed()).collect();
        Ok(Matrix::Integers(integers, scales))
    }

    /// The type and the bytes of a tensor, which must have this shape.
    fn shaped(&self, name: &str, shape: &[usize]) -> Result<(Dtype, Cow<'_, [u8]>)> {
        let (part, info) = self.find(name)?;
        if info.shape == shape {
            return Ok((info.dtype, part.read(name, info)?));
        }
        Err(Error::Shape {
            name: name.to_owned(),
            found: info.shape.clone(),
            wanted: shape.to_vec(),
        })
    }

    fn find(&self, name: &str) -> Result<(&Part<'a>, &TensorInfo)> {
        let place = self.places.get(name).map(|&i| &self.parts[i]);
        let found = place.and_then(|part| Some((part, part.header().info(name)?)));
        found.ok_or_else(|| Error::Missing(name.to_owned()))
    }

    /// The tensor of this name as f32; its shape must be the one given, its values finite.
    pub(crate) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (dtype, bytes) = self.shaped(name, shape)?;
        let values: Vec<f32> = match dtype {
            Dtype::F32 => NumberType::F32.widen(&bytes),
            Dtype::F16 => NumberType::F16.widen(&bytes),
            Dtype::BF16 => NumberType::BF16.widen(&bytes),
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
}

fn wrong_type(name: &str, dtype: Dtype) -> Error {
    Error::Dtype { name: name.to_owned(), dtype: format!("{dtype:?}") }
}
