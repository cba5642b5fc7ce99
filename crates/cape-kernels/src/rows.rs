//! Activations rounded to integers.

use rayon::prelude::*;

use crate::kernel::Kernel;
use crate::packing::{Aligned, DEEP};
use crate::plain::Bits;

/// Rows of activations.
///
/// A value v of 8 bits is stored as the byte v + 128. A value of 16 bits is stored as two bytes in
/// two rows, one below the other: its upper byte + 128, and its lower byte.
pub struct Rows {
    bytes: Aligned<u8>,
    scales: Vec<f32>,
    bits: Bits,
    inputs: usize,
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
        let (rows, stride) = (x.len() / inputs, inputs.next_multiple_of(DEEP));
        let mut bytes = Aligned::zeros((rows * bits.planes()).next_multiple_of(PADDED) * stride);
        let mut scales = vec![0.0; rows];
        bytes
            .get_mut(rows * bits.planes() * stride)
            .par_chunks_mut(bits.planes() * stride)
            .zip(&mut scales)
            .zip(x.par_chunks(inputs))
            .with_min_len(32)
            .for_each(|((bytes, scale), x)| *scale = kernel.round_row(x, bits, bytes));
        Self { bytes, scales, bits, inputs }
    }

    /// One row of integers as they are.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn integers(values: &[i8], scale: f32) -> Self {
        assert!(!values.is_empty(), "there is something to multiply");
        let stride = values.len().next_multiple_of(DEEP);
        let mut bytes = Aligned::zeros(PADDED * stride);
        for (byte, v) in bytes.get_mut(values.len()).iter_mut().zip(values) {
            *byte = v.cast_unsigned() ^ 0x80;
        }
        Self { bytes, scales: vec![scale], bits: Bits::Eight, inputs: values.len() }
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

    pub(crate) fn bits(&self) -> Bits {
        self.bits
    }

    pub(crate) fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// The bytes from a row on, to the end of the padding; rows of bytes are `stride` apart.
    pub(crate) fn from(&self, row: usize) -> (&[u8], usize) {
        let stride = self.inputs.next_multiple_of(DEEP);
        let all = (self.len() * self.bits.planes()).next_multiple_of(PADDED) * stride;
        (&self.bytes.get(all)[row * self.bits.planes() * stride..], stride)
    }
}
