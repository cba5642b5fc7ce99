//! Activations rounded to integers.

use rayon::prelude::*;

use crate::kernel::{Kernel, Path};
use crate::packing::{Aligned, DEEP};
use crate::plain::{Bits, Row};

/// Rows of activations, stored as the kernel that will multiply them wants them.
pub struct Rows {
    integers: Integers,
    scales: Vec<f32>,
    inputs: usize,
    kernel: Kernel,
}

/// The integers of all rows; a row is padded with zeros to a multiple of `DEEP`.
enum Integers {
    Words(Aligned<i16>),
    /// One or two rows of bytes for each row of activations; see [`Row`].
    Bytes(Aligned<u8>, Bits),
}

/// Integers from some row on.
pub(crate) enum Stored<'a> {
    Words(&'a [i16]),
    Bytes(&'a [u8], Bits),
}

/// AMX reads whole tiles of 16 rows, two at a time.
const PADDED: usize = 32;

impl Rows {
    /// Rounds rows of `inputs` numbers each. A row with a number that is not finite gives no finite
    /// product.
    ///
    /// # Panics
    /// If the data are not whole rows.
    #[must_use]
    pub fn new(x: &[f32], inputs: usize, bits: Bits, kernel: Kernel) -> Self {
        assert!(inputs > 0 && x.len().is_multiple_of(inputs), "whole rows");
        match kernel.0 {
            Path::Amx | Path::Vnni => Self::bytes(x, inputs, bits, kernel),
            Path::Avx2 | Path::Portable => Self::words(x, inputs, bits, kernel),
        }
    }

    fn words(x: &[f32], inputs: usize, bits: Bits, kernel: Kernel) -> Self {
        let (rows, stride) = (x.len() / inputs, inputs.next_multiple_of(DEEP));
        let mut words = Aligned::zeros(rows * stride);
        let mut scales = vec![0.0; rows];
        words
            .get_mut(rows * stride)
            .par_chunks_mut(stride)
            .zip(&mut scales)
            .zip(x.par_chunks(inputs))
            .with_min_len(32)
            .for_each(|((words, scale), x)| *scale = kernel.round_row(x, bits, Row::Words(words)));
        Self { integers: Integers::Words(words), scales, inputs, kernel }
    }

    fn bytes(x: &[f32], inputs: usize, bits: Bits, kernel: Kernel) -> Self {
        let (rows, stride) = (x.len() / inputs, inputs.next_multiple_of(DEEP));
        let mut bytes = Aligned::zeros((rows * planes(bits)).next_multiple_of(PADDED) * stride);
        let mut scales = vec![0.0; rows];
        bytes
            .get_mut(rows * planes(bits) * stride)
            .par_chunks_mut(planes(bits) * stride)
            .zip(&mut scales)
            .zip(x.par_chunks(inputs))
            .with_min_len(32)
            .for_each(|((bytes, scale), x)| {
                let row = match bits {
                    Bits::Eight => Row::Bytes(bytes),
                    Bits::Sixteen => {
                        let (upper, lower) = bytes.split_at_mut(stride);
                        Row::TwoBytes(upper, lower)
                    }
                };
                *scale = kernel.round_row(x, bits, row);
            });
        Self { integers: Integers::Bytes(bytes, bits), scales, inputs, kernel }
    }

    /// One row of integers as they are.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn integers(values: &[i8], scale: f32, kernel: Kernel) -> Self {
        assert!(!values.is_empty(), "there is something to multiply");
        let stride = values.len().next_multiple_of(DEEP);
        let integers = match kernel.0 {
            Path::Amx | Path::Vnni => {
                let mut bytes = Aligned::zeros(PADDED * stride);
                for (byte, v) in bytes.get_mut(values.len()).iter_mut().zip(values) {
                    *byte = v.cast_unsigned() ^ 0x80;
                }
                Integers::Bytes(bytes, Bits::Eight)
            }
            Path::Avx2 | Path::Portable => {
                let mut words = Aligned::zeros(stride);
                for (word, v) in words.get_mut(values.len()).iter_mut().zip(values) {
                    *word = i16::from(*v);
                }
                Integers::Words(words)
            }
        };
        Self { integers, scales: vec![scale], inputs: values.len(), kernel }
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    pub(crate) fn kernel(&self) -> Kernel {
        self.kernel
    }

    pub(crate) fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// How many rows of integers make a row of activations.
    pub(crate) fn planes(&self) -> usize {
        match self.integers {
            Integers::Words(_) => 1,
            Integers::Bytes(_, bits) => planes(bits),
        }
    }

    /// How far rows of integers are apart.
    pub(crate) fn stride(&self) -> usize {
        self.inputs.next_multiple_of(DEEP)
    }

    /// The integers from a row on, to the end of the padding.
    pub(crate) fn from(&self, row: usize) -> Stored<'_> {
        let (all, stride) = (self.len() * self.planes(), self.stride());
        match &self.integers {
            Integers::Words(words) => Stored::Words(&words.get(all * stride)[row * stride..]),
            Integers::Bytes(bytes, bits) => {
                let bytes = bytes.get(all.next_multiple_of(PADDED) * stride);
                Stored::Bytes(&bytes[row * planes(*bits) * stride..], *bits)
            }
        }
    }
}

/// How many rows of bytes hold a row of activations.
fn planes(bits: Bits) -> usize {
    match bits {
        Bits::Eight => 1,
        Bits::Sixteen => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weights;

    /// The two ways to store rows mean the same, also where the machine has no instructions for bytes.
    #[test]
    fn bytes_and_words_give_the_same_products() {
        for inputs in [5, 384, 3072] {
            let x: Vec<f32> = (0..7 * inputs).map(|i| (i as f32 * 0.7).sin() * 3.0).collect();
            let w: Vec<f32> = (0..40 * inputs).map(|i| (i as f32 * 1.3).cos()).collect();
            let weights = Weights::rounded(&w, inputs);
            let product = |rows: &Rows| {
                let mut out = vec![0.0; 7 * 40];
                weights.product(rows, &[0.5; 40], &mut out, &|_| {});
                out
            };
            for bits in [Bits::Eight, Bits::Sixteen] {
                let words = product(&Rows::words(&x, inputs, bits, Kernel::PORTABLE));
                assert_eq!(product(&Rows::bytes(&x, inputs, bits, Kernel::PORTABLE)), words);
            }
        }
    }
}
