//! The definitions, in plain loops: the code that runs everywhere, and by which every other kernel is
//! judged. Compilers make vector instructions of most of it.

use std::ops::Range;

use crate::packing::WIDE;

/// How many numbers are summed side by side.
const LANES: usize = 16;

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

/// For each row of bytes and each output of the panel the sum of products.
pub(crate) fn sums_plain(bytes: &[u8], stride: usize, panel: &[i8], sums: &mut [[i32; WIDE]]) {
    for (bytes, sums) in bytes.chunks(stride).zip(sums) {
        *sums = [0; WIDE];
        for (four, group) in bytes.as_chunks::<4>().0.iter().zip(panel.chunks_exact(4 * WIDE)) {
            for (sum, weights) in sums.iter_mut().zip(group.as_chunks::<4>().0) {
                for (&x, &w) in four.iter().zip(weights) {
                    *sum += i32::from(x) * i32::from(w);
                }
            }
        }
    }
}

/// Where the product is added to the result, or replaces it.
#[derive(Clone, Copy)]
pub(crate) enum Onto {
    Nothing,
    Out,
}

/// The sums of some rows for one panel, with their scales.
pub(crate) struct Block<'a> {
    pub(crate) sums: &'a [[i32; WIDE]],
    /// The sum of each output's weights.
    pub(crate) offsets: &'a [i32],
    /// One scale per row, and one per output.
    pub(crate) scales: &'a [f32],
    pub(crate) steps: &'a [f32],
    pub(crate) bias: &'a [f32],
    pub(crate) onto: Onto,
    /// Where the outputs stand in a line of the result.
    pub(crate) columns: Range<usize>,
}

/// `line = sums · scale · steps + bias`, with the offset of 128 taken off the sums.
#[inline(always)]
pub(crate) fn finish_plain(block: &Block<'_>, bits: Bits, lines: &mut [&mut [f32]]) {
    // padded to whole panels, so that the loops below have a fixed length
    let (mut offsets, mut steps, mut bias) = ([0; WIDE], [0.0; WIDE], [0.0; WIDE]);
    let width = block.bias.len();
    steps.copy_from_slice(block.steps);
    bias[..width].copy_from_slice(block.bias);
    for (offset, sum) in offsets.iter_mut().zip(block.offsets) {
        *offset = 128 * sum;
    }
    let planes = bits.planes();
    for ((line, sums), &scale) in lines.iter_mut().zip(block.sums.chunks(planes)).zip(block.scales)
    {
        let mut numbers = [0.0; WIDE];
        match sums {
            [sums] => {
                for j in 0..WIDE {
                    numbers[j] = (sums[j] - offsets[j]) as f32 * (scale * steps[j]) + bias[j];
                }
            }
            [upper, lower] => {
                for j in 0..WIDE {
                    let sum = (upper[j] - offsets[j]) as f32 * 256.0 + lower[j] as f32;
                    numbers[j] = sum * (scale * steps[j]) + bias[j];
                }
            }
            _ => unreachable!("one plane or two"),
        }
        let line = &mut line[block.columns.clone()];
        if let Onto::Out = block.onto {
            for (number, &before) in numbers.iter_mut().zip(line.iter()) {
                *number += before;
            }
        }
        match line.as_mut_array::<WIDE>() {
            Some(line) => *line = numbers,
            None => line.copy_from_slice(&numbers[..width]),
        }
    }
}

/// The products of `x` with rows of its length, exact. Products of 16 bits that are summed in pairs are one
/// instruction.
#[inline(always)]
pub(crate) fn exact_dots_plain(x: &[i16], rows: &[i8], dots: &mut [i32]) {
    for (dot, row) in dots.iter_mut().zip(rows.chunks_exact(x.len())) {
        *dot = row.iter().zip(x).map(|(&w, &x)| i32::from(i16::from(w)) * i32::from(x)).sum();
    }
}

/// The products of `x` with four rows, summed in lanes.
#[inline(always)]
pub(crate) fn dots_plain(x: &[f32], rows: [&[f32]; 4]) -> [f32; 4] {
    let mut sums = [[0_f32; LANES]; 4];
    let (whole, rest) = x.as_chunks::<LANES>();
    let parts = rows.map(|row| row[..x.len()].as_chunks::<LANES>());
    for (i, x) in whole.iter().enumerate() {
        for (sums, (row, _)) in sums.iter_mut().zip(&parts) {
            for lane in 0..LANES {
                sums[lane] += x[lane] * row[i][lane];
            }
        }
    }
    let mut dots = [0.0; 4];
    for (dot, (sums, (_, row))) in dots.iter_mut().zip(sums.iter().zip(&parts)) {
        let rest: f32 = rest.iter().zip(*row).map(|(x, w)| x * w).sum();
        *dot = sums.iter().sum::<f32>() + rest;
    }
    dots
}
