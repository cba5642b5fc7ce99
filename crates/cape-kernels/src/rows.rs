//! Activations rounded to integers.

use rayon::prelude::*;

use crate::{Aligned, DEEP, Kernel};

/// How many bits an activation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// A row's largest activation becomes 127.
    Eight,
    /// A row's largest activation becomes 32,767: about as exact as f32 beside weights of 8 bits, at
    /// twice the cost of `Eight`.
    Sixteen,
}

impl Bits {
    /// How many rows of bytes make a row of activations.
    pub(crate) fn planes(self) -> usize {
        match self {
            Self::Eight => 1,
            Self::Sixteen => 2,
        }
    }
}

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
            .for_each(|((bytes, scale), x)| *scale = round_row(kernel, x, bits, bytes));
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

fn round_row(kernel: Kernel, x: &[f32], bits: Bits, bytes: &mut [u8]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    return crate::x86::round_row(kernel, x, bits, bytes);
    #[cfg(not(target_arch = "x86_64"))]
    round_row_plain(x, bits, bytes)
}

/// Writes the bytes of a row and gives its scale.
#[inline(always)]
pub(crate) fn round_row_plain(x: &[f32], bits: Bits, bytes: &mut [u8]) -> f32 {
    // of two floats without their signs, the larger one has the larger bits; infinity and NaN have
    // the largest
    let largest = x.iter().fold(0, |most: u32, v| most.max(v.to_bits() & 0x7fff_ffff));
    let largest = f32::from_bits(largest);
    if !largest.is_finite() {
        return f32::NAN;
    }
    let most = match bits {
        Bits::Eight => 127.0,
        Bits::Sixteen => 32767.0,
    };
    let scale = largest / most;
    // where the scale is too small for a quotient, all are zero
    let inverse = if scale > f32::MIN_POSITIVE { 1.0 / scale } else { 0.0 };
    match bits {
        Bits::Eight => {
            for (byte, v) in bytes.iter_mut().zip(x) {
                *byte = (nearest(v * inverse) + 128) as u8;
            }
        }
        Bits::Sixteen => {
            let (upper, lower) = bytes.split_at_mut(bytes.len() / 2);
            for ((upper, lower), v) in upper.iter_mut().zip(lower).zip(x) {
                let v = nearest(v * inverse);
                *upper = ((v >> 8) + 128) as u8;
                *lower = v as u8;
            }
        }
    }
    scale
}

/// The nearest integer of a number below 2^22, ties to even: adding 1.5·2^23 leaves it in the last
/// bits. Compilers turn this, unlike a cast, into a vector instruction or two.
#[inline(always)]
fn nearest(v: f32) -> i32 {
    const MAGIC: f32 = 12_582_912.0;
    (v + MAGIC).to_bits() as i32 - MAGIC.to_bits() as i32
}
