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
    /// A row's largest activation becomes 32,767, or as much as lets every sum of products fit 32 bits (5,461 with
    /// 3,072 inputs): about as exact as f32 beside weights of 8 bits.
    Sixteen,
}

impl Bits {
    /// What the largest of so many activations becomes.
    fn largest(self, inputs: usize) -> f32 {
        match self {
            Self::Eight => 127.0,
            Self::Sixteen => (i32::MAX as usize / (128 * inputs)).min(32_767) as f32,
        }
    }
}

/// A row of activations as a kernel takes it. Bytes are unsigned, as the instructions for them want one side.
pub(crate) enum Row<'a> {
    /// The values.
    Words(&'a mut [i16]),
    /// The values + 128, of 8 bits.
    Bytes(&'a mut [u8]),
    /// The upper bytes + 128, and the lower bytes.
    TwoBytes(&'a mut [u8], &'a mut [u8]),
}

/// Writes the integers of a row and gives its scale.
#[inline(always)]
pub(crate) fn round_row_plain(x: &[f32], bits: Bits, row: Row<'_>) -> f32 {
    let Some(largest) = largest(x) else { return f32::NAN };
    let scale = largest / bits.largest(x.len());
    // where the scale is too small for a quotient, all are zero
    let inverse = if scale > f32::MIN_POSITIVE { 1.0 / scale } else { 0.0 };
    let integers = x.iter().map(|v| nearest(v * inverse));
    match row {
        Row::Words(words) => {
            for (word, v) in words.iter_mut().zip(integers) {
                *word = v as i16;
            }
        }
        Row::Bytes(bytes) => {
            for (byte, v) in bytes.iter_mut().zip(integers) {
                *byte = (v + 128) as u8;
            }
        }
        Row::TwoBytes(upper, lower) => {
            for ((upper, lower), v) in upper.iter_mut().zip(lower).zip(integers) {
                *upper = ((v >> 8) + 128) as u8;
                *lower = v as u8;
            }
        }
    }
    scale
}

/// The largest number without its sign; none where one is not finite.
#[inline(always)]
pub(crate) fn largest(x: &[f32]) -> Option<f32> {
    // of two floats without their signs, the larger one has the larger bits; infinity and NaN have
    // the largest
    let largest = x.iter().fold(0, |most: u32, v| most.max(v.to_bits() & 0x7fff_ffff));
    Some(f32::from_bits(largest)).filter(|largest| largest.is_finite())
}

/// The nearest integer of a number below 2^22, ties to even: adding 1.5·2^23 leaves it in the last
/// bits. Compilers turn this, unlike a cast, into a vector instruction or two.
#[inline(always)]
pub(crate) fn nearest(v: f32) -> i32 {
    const MAGIC: f32 = 12_582_912.0;
    (v + MAGIC).to_bits() as i32 - MAGIC.to_bits() as i32
}

/// For each row and each output of the panel the sum of products.
///
/// Written so that compilers make vector instructions of it: four outputs at a time, whose weights are widened and laid
/// one after the other for all rows. SSE2 and AVX2 multiply words and add the products in pairs by one instruction;
/// with one, two or eight outputs LLVM does not find it.
#[inline(always)]
pub(crate) fn sums_plain(words: &[i16], stride: usize, panel: &[i8], sums: &mut [[i32; WIDE]]) {
    const TOGETHER: usize = 4;
    let mut weights = vec![0; TOGETHER * stride];
    for first in (0..WIDE).step_by(TOGETHER) {
        for (output, weights) in (first..).zip(weights.chunks_exact_mut(stride)) {
            let groups = panel.as_chunks::<{ 4 * WIDE }>().0;
            for (to, group) in weights.as_chunks_mut::<4>().0.iter_mut().zip(groups) {
                *to = group.as_chunks::<4>().0[output].map(i16::from);
            }
        }
        let output = |i: usize| weights[i * stride..][..stride].as_chunks::<LANES>().0;
        let outputs: [&[[i16; LANES]]; TOGETHER] = std::array::from_fn(output);
        for (words, sums) in words.chunks_exact(stride).zip(sums.iter_mut()) {
            let mut pairs = [[0; LANES / 2]; TOGETHER];
            for (k, x) in words.as_chunks::<LANES>().0.iter().enumerate() {
                for (pairs, weights) in pairs.iter_mut().zip(outputs) {
                    add_pairs(x, &weights[k], pairs);
                }
            }
            for (sum, pairs) in sums[first..].iter_mut().zip(pairs) {
                *sum = pairs.iter().sum();
            }
        }
    }
}

/// Adds the products of words to sums, two neighbours to each.
#[inline(always)]
fn add_pairs(x: &[i16; LANES], weights: &[i16; LANES], sums: &mut [i32; LANES / 2]) {
    let product = |i: usize| i32::from(x[i]) * i32::from(weights[i]);
    let products: [i32; LANES] = std::array::from_fn(product);
    for (sum, [a, b]) in sums.iter_mut().zip(products.as_chunks::<2>().0) {
        *sum += a + b;
    }
}

/// The same for bytes: what kernels with instructions for bytes are judged by.
pub(crate) fn sums_of_bytes_plain(
    bytes: &[u8],
    stride: usize,
    panel: &[i8],
    sums: &mut [[i32; WIDE]],
) {
    let words: Vec<i16> = bytes.iter().map(|&byte| i16::from(byte)).collect();
    sums_plain(&words, stride, panel, sums);
}

/// Where the product is added to the result, or replaces it.
#[derive(Clone, Copy)]
pub(crate) enum Onto {
    Nothing,
    Out,
}

/// The sums of some rows for one panel, with their scales.
pub(crate) struct Block<'a> {
    pub(crate) sums: Sums<'a>,
    /// One scale per row, and one per output.
    pub(crate) scales: &'a [f32],
    pub(crate) steps: &'a [f32],
    pub(crate) bias: &'a [f32],
    pub(crate) onto: Onto,
    /// Where the outputs stand in a line of the result.
    pub(crate) columns: Range<usize>,
}

/// Sums of products by what was multiplied. Those of bytes hold the offset of 128 times the sum of each output's weights,
/// which comes along.
pub(crate) enum Sums<'a> {
    Words(&'a [[i32; WIDE]]),
    Bytes(&'a [[i32; WIDE]], &'a [i32; WIDE]),
    /// In turn those of the upper and of the lower bytes.
    TwoBytes(&'a [[i32; WIDE]], &'a [i32; WIDE]),
}

impl Sums<'_> {
    /// The sum of products of a row with each output, exact: it fits 32 bits by the choice of [`Bits::largest`], so what
    /// overflows on the way comes back.
    #[inline(always)]
    fn exact(&self, row: usize) -> [i32; WIDE] {
        let mut exact = [0; WIDE];
        match self {
            Self::Words(sums) => exact = sums[row],
            Self::Bytes(sums, weights) => {
                for ((exact, sum), all) in exact.iter_mut().zip(sums[row]).zip(*weights) {
                    *exact = sum.wrapping_sub(all << 7);
                }
            }
            Self::TwoBytes(sums, weights) => {
                let (upper, lower) = (&sums[2 * row], &sums[2 * row + 1]);
                for j in 0..WIDE {
                    let upper = upper[j].wrapping_sub(weights[j] << 7);
                    exact[j] = (upper << 8).wrapping_add(lower[j]);
                }
            }
        }
        exact
    }
}

/// `line = sums · scale · steps + bias`.
#[inline(always)]
pub(crate) fn finish_plain(block: &Block<'_>, lines: &mut [&mut [f32]]) {
    // padded to whole panels, so that the loops below have a fixed length
    let (mut steps, mut bias) = ([0.0; WIDE], [0.0; WIDE]);
    let width = block.bias.len();
    steps.copy_from_slice(block.steps);
    bias[..width].copy_from_slice(block.bias);
    for (row, (line, &scale)) in lines.iter_mut().zip(block.scales).enumerate() {
        let exact = block.sums.exact(row);
        let mut numbers = [0.0; WIDE];
        for j in 0..WIDE {
            numbers[j] = exact[j] as f32 * (scale * steps[j]) + bias[j];
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

/// The products of `x` with some rows, summed in lanes.
#[inline(always)]
pub(crate) fn dots_plain<const N: usize>(x: &[f32], rows: [&[f32]; N]) -> [f32; N] {
    let mut sums = [[0_f32; LANES]; N];
    let (whole, rest) = x.as_chunks::<LANES>();
    let parts = rows.map(|row| row[..x.len()].as_chunks::<LANES>());
    for (i, x) in whole.iter().enumerate() {
        for (sums, (row, _)) in sums.iter_mut().zip(&parts) {
            for lane in 0..LANES {
                sums[lane] += x[lane] * row[i][lane];
            }
        }
    }
    let mut dots = [0.0; N];
    for (dot, (sums, (_, row))) in dots.iter_mut().zip(sums.iter().zip(&parts)) {
        let rest: f32 = rest.iter().zip(*row).map(|(x, w)| x * w).sum();
        *dot = sums.iter().sum::<f32>() + rest;
    }
    dots
}
