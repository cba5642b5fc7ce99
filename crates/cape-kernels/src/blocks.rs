//! Weights as GGUF's K-quants store them: a few bits for each, and a scale and an offset for each part of a block.
//!
//! A weight is `scale·s·code − offset·o`: `scale` and `offset` are floats of its block of 256 inputs, `s` and `o` integers of its
//! part of 16 or 32 inputs. Products within a block are integers, and blocks are added in their order, so each kernel gives
//! the same bits, and a row gives the same bits alone as in a batch.

use rayon::prelude::*;

use crate::kernel::Kernel;
use crate::packing::Aligned;
use crate::plain::{largest, nearest};
use crate::product::{NEAR, Part, Parts, Then, threads};

/// How many inputs make a block.
pub const BLOCK: usize = 256;

/// How many outputs stand side by side in packed weights: two registers of AVX2.
pub(crate) const SIDE: usize = 16;

/// How the weights of a matrix are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Codes up to 15, in parts of 32: `Q4_K`.
    Four,
    /// Codes up to 63, in parts of 16: `Q6_K`.
    Six,
}

impl Coding {
    /// How many parts a block has.
    #[must_use]
    pub fn parts(self) -> usize {
        match self {
            Self::Four => 8,
            Self::Six => 16,
        }
    }

    fn largest(self) -> u8 {
        match self {
            Self::Four => 15,
            Self::Six => 63,
        }
    }
}

/// One block of one output.
#[derive(Clone, Copy, Debug)]
pub struct Coded {
    /// The code of each weight.
    pub codes: [u8; BLOCK],
    /// The scale of each part; those after the last part do not count.
    pub scales: [i8; 16],
    /// The offset of each part, at most 2^12.
    pub offsets: [i16; 16],
    /// The scale of the block.
    pub scale: f32,
    /// The scale of its offsets.
    pub offset: f32,
}

/// A matrix of `outputs × inputs` coded weights, packed as panels of `SIDE` outputs.
pub struct CodedWeights {
    coding: Coding,
    outputs: usize,
    inputs: usize,
    /// For each panel and block: groups of 4 inputs; in a group, the codes of each output one after the other.
    codes: Aligned<u8>,
    /// For each panel, block and part: the scale of each output, twice.
    scales: Aligned<i16>,
    /// For each panel, block and pair of parts: both offsets of each output.
    offsets: Aligned<i16>,
    /// For each panel and block: the scale of each output, then the scale of its offsets.
    floats: Aligned<f32>,
}

/// A panel of packed weights; see [`CodedWeights`].
#[derive(Clone, Copy)]
pub(crate) struct Panel<'a> {
    pub(crate) coding: Coding,
    pub(crate) codes: &'a [u8],
    pub(crate) scales: &'a [i16],
    pub(crate) offsets: &'a [i16],
    pub(crate) floats: &'a [f32],
}

impl CodedWeights {
    /// From the blocks of each output, one output after the other.
    ///
    /// # Panics
    /// If the sizes do not agree, or a code or an offset exceeds the range of its coding.
    #[must_use]
    pub fn new(
        coding: Coding,
        outputs: usize,
        inputs: usize,
        block: impl Fn(usize, usize) -> Coded + Sync,
    ) -> Self {
        assert!(inputs > 0 && inputs.is_multiple_of(BLOCK), "whole blocks");
        let (blocks, parts) = (inputs / BLOCK, coding.parts());
        let padded = outputs.next_multiple_of(SIDE);
        let mut this = Self {
            coding,
            outputs,
            inputs,
            codes: Aligned::zeros(padded * inputs),
            scales: Aligned::zeros(padded * blocks * parts * 2),
            offsets: Aligned::zeros(padded * blocks * parts),
            floats: Aligned::zeros(padded * blocks * 2),
        };
        let each = SIDE * blocks;
        this.codes
            .get_mut(padded * inputs)
            .par_chunks_mut(each * BLOCK)
            .zip(this.scales.get_mut(padded * blocks * parts * 2).par_chunks_mut(each * parts * 2))
            .zip(this.offsets.get_mut(padded * blocks * parts).par_chunks_mut(each * parts))
            .zip(this.floats.get_mut(padded * blocks * 2).par_chunks_mut(each * 2))
            .enumerate()
            .for_each(|(panel, (((codes, scales), offsets), floats))| {
                for (side, output) in (panel * SIDE..outputs).take(SIDE).enumerate() {
                    for at in 0..blocks {
                        let coded = block(output, at);
                        let fits = coded.codes.iter().all(|&code| code <= coding.largest())
                            && coded.offsets.iter().all(|offset| (-4096..=4096).contains(offset));
                        assert!(fits, "codes and offsets of this coding");
                        for (group, four) in coded.codes.as_chunks::<4>().0.iter().enumerate() {
                            let to = ((at * BLOCK / 4 + group) * SIDE + side) * 4;
                            codes[to..to + 4].copy_from_slice(four);
                        }
                        for part in 0..parts {
                            let to = ((at * parts + part) * SIDE + side) * 2;
                            scales[to..to + 2].fill(coded.scales[part].into());
                            let to = ((at * parts / 2 + part / 2) * SIDE + side) * 2 + part % 2;
                            offsets[to] = coded.offsets[part];
                        }
                        floats[at * 2 * SIDE + side] = coded.scale;
                        floats[(at * 2 + 1) * SIDE + side] = coded.offset;
                    }
                }
            });
        this
    }

    /// Whether all scales are finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        let all = self.outputs.next_multiple_of(SIDE) * self.inputs / BLOCK * 2;
        self.floats.get(all).iter().all(|scale| scale.is_finite())
    }

    fn panel(&self, panel: usize) -> Panel<'_> {
        let (parts, each) = (self.coding.parts(), SIDE * self.inputs / BLOCK);
        let padded = self.outputs.next_multiple_of(SIDE);
        let blocks = padded * self.inputs / BLOCK;
        Panel {
            coding: self.coding,
            codes: &self.codes.get(blocks * BLOCK)[panel * each * BLOCK..][..each * BLOCK],
            scales: &self.scales.get(blocks * parts * 2)[panel * each * parts * 2..]
                [..each * parts * 2],
            offsets: &self.offsets.get(blocks * parts)[panel * each * parts..][..each * parts],
            floats: &self.floats.get(blocks * 2)[panel * each * 2..][..each * 2],
        }
    }

    /// `out = rows·Wᵀ + bias`, then `then` on each piece of a row of it. `then` must work number by
    /// number, since rows may be cut anywhere.
    ///
    /// # Panics
    /// If the sizes do not agree.
    pub fn product(&self, rows: &CodedRows, bias: &[f32], out: &mut [f32], then: Then<'_>) {
        self.run(rows, bias, out, |sum, _| sum, then);
    }

    /// `out += rows·Wᵀ + bias`.
    ///
    /// # Panics
    /// If the sizes do not agree.
    pub fn product_onto(&self, rows: &CodedRows, bias: &[f32], out: &mut [f32]) {
        self.run(rows, bias, out, |sum, out| out + sum, &|_| {});
    }

    fn run(
        &self,
        rows: &CodedRows,
        bias: &[f32],
        out: &mut [f32],
        onto: impl Fn(f32, f32) -> f32 + Sync,
        then: Then<'_>,
    ) {
        assert_eq!(rows.inputs, self.inputs, "as many inputs");
        assert_eq!(bias.len(), self.outputs, "one bias per output");
        assert_eq!(out.len(), rows.len() * self.outputs, "room for the result");
        if out.is_empty() {
            return;
        }
        let threads = threads(out.len() * self.inputs);
        Parts::new(rows.len(), (self.outputs, SIDE), threads, out).run(|part| {
            let Part { rows: all, panels, mut out } = part;
            let first = panels.start * SIDE;
            let mut sums = vec![[0.0; SIDE]; all.len()];
            for near in panels.clone().step_by(NEAR).map(|at| at..(at + NEAR).min(panels.end)) {
                for panel in near.clone() {
                    let at = panel * SIDE;
                    let bias = &bias[at..self.outputs.min(at + SIDE)];
                    rows.kernel.sums_of_blocks(self.panel(panel), rows, all.start, &mut sums);
                    for (line, sums) in out.iter_mut().zip(&sums) {
                        let line = &mut line[at - first..][..bias.len()];
                        for ((out, sum), bias) in line.iter_mut().zip(sums).zip(bias) {
                            *out = onto(*sum + bias, *out);
                        }
                    }
                }
                let columns = near.start * SIDE - first..self.outputs.min(near.end * SIDE) - first;
                for line in &mut out {
                    then(&mut line[columns.clone()]);
                }
            }
        });
    }
}

/// Rows of activations for coded weights: 8 bits each, with a scale for each block.
pub struct CodedRows {
    pub(crate) bytes: Vec<i8>,
    /// One for each block of each row.
    pub(crate) scales: Vec<f32>,
    /// For each block, the sums of its parts of 32, then of its parts of 16.
    pub(crate) sums: Vec<[i16; 24]>,
    pub(crate) inputs: usize,
    kernel: Kernel,
}

impl CodedRows {
    /// Rounds rows of `inputs` numbers each. A row with a number that is not finite gives no finite
    /// product.
    ///
    /// # Panics
    /// If the data are not whole rows of whole blocks.
    #[must_use]
    pub fn new(x: &[f32], inputs: usize, kernel: Kernel) -> Self {
        assert!(
            inputs > 0 && inputs.is_multiple_of(BLOCK) && x.len().is_multiple_of(inputs),
            "whole blocks"
        );
        let mut bytes = vec![0; x.len()];
        let mut scales = vec![0.0; x.len() / BLOCK];
        let mut sums = vec![[0; 24]; x.len() / BLOCK];
        bytes
            .par_chunks_mut(BLOCK)
            .zip(&mut scales)
            .zip(&mut sums)
            .zip(x.par_chunks(BLOCK))
            .with_min_len(128)
            .for_each(|(((bytes, scale), sums), x)| *scale = kernel.round_block(x, bytes, sums));
        Self { bytes, scales, sums, inputs, kernel }
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.inputs
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Writes the integers of a block and the sums of its parts, and gives its scale.
#[inline(always)]
pub(crate) fn round_block_plain(x: &[f32], bytes: &mut [i8], sums: &mut [i16; 24]) -> f32 {
    let Some(largest) = largest(x) else { return f32::NAN };
    let inverse = if largest > 127.0 * f32::MIN_POSITIVE { 127.0 / largest } else { 0.0 };
    for (byte, v) in bytes.iter_mut().zip(x) {
        *byte = nearest(v * inverse) as i8;
    }
    let (wide, narrow) = sums.split_at_mut(8);
    for (sum, part) in narrow.iter_mut().zip(bytes.as_chunks::<16>().0) {
        *sum = part.iter().map(|&v| i16::from(v)).sum();
    }
    for (sum, two) in wide.iter_mut().zip(narrow.as_chunks::<2>().0) {
        *sum = two[0] + two[1];
    }
    if inverse > 0.0 { 1.0 / inverse } else { 0.0 }
}

/// For some rows and each output of a panel the sum of products.
pub(crate) fn sums_of_blocks_plain(
    panel: Panel<'_>,
    rows: &CodedRows,
    first: usize,
    sums: &mut [[f32; SIDE]],
) {
    let (parts, blocks) = (panel.coding.parts(), rows.inputs / BLOCK);
    let groups = BLOCK / 4 / parts;
    let codes = panel.codes.as_chunks::<{ 4 * SIDE }>().0;
    let scales = panel.scales.as_chunks::<{ 2 * SIDE }>().0;
    let offsets = panel.offsets.as_chunks::<{ 2 * SIDE }>().0;
    for (row, sums) in (first..).zip(sums) {
        *sums = [0.0; SIDE];
        let fours = rows.bytes[row * rows.inputs..][..rows.inputs].as_chunks::<4>().0;
        for at in 0..blocks {
            let part_sums = &rows.sums[row * blocks + at];
            let part_sums = if parts == 8 { &part_sums[..8] } else { &part_sums[8..] };
            let (mut coded, mut offset) = ([0; SIDE], [0; SIDE]);
            for (part, &part_sum) in (at * parts..).zip(part_sums) {
                let mut own = [0; SIDE];
                let here = part * groups..(part + 1) * groups;
                for (four, codes) in fours[here.clone()].iter().zip(&codes[here]) {
                    for (own, codes) in own.iter_mut().zip(codes.as_chunks::<4>().0) {
                        let product = |i: usize| i32::from(codes[i]) * i32::from(four[i]);
                        *own += product(0) + product(1) + product(2) + product(3);
                    }
                }
                for side in 0..SIDE {
                    coded[side] += own[side] * i32::from(scales[part][2 * side]);
                    let of_part = offsets[part / 2][2 * side + part % 2];
                    offset[side] += i32::from(of_part) * i32::from(part_sum);
                }
            }
            let scale = rows.scales[row * blocks + at];
            let floats = &panel.floats[at * 2 * SIDE..][..2 * SIDE];
            for (side, sum) in sums.iter_mut().enumerate() {
                *sum += floats[side] * scale * coded[side] as f32;
                *sum -= floats[SIDE + side] * scale * offset[side] as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of this coding, with the largest numbers in the first block of the first output.
    fn coded(coding: Coding, output: usize, at: usize) -> Coded {
        let n = output * 31 + at * 17;
        let extreme = n == 0;
        let most = coding.largest();
        Coded {
            codes: std::array::from_fn(|i| {
                if extreme { most } else { ((i * 7 + n) % (usize::from(most) + 1)) as u8 }
            }),
            scales: std::array::from_fn(|i| match coding {
                Coding::Four => {
                    if extreme {
                        63
                    } else {
                        ((i * 5 + n) % 64) as i8
                    }
                }
                Coding::Six => {
                    if extreme {
                        -128
                    } else {
                        (i * 37 + n) as i8
                    }
                }
            }),
            offsets: std::array::from_fn(|i| match coding {
                Coding::Four => {
                    if extreme {
                        63
                    } else {
                        ((i * 11 + n) % 64) as i16
                    }
                }
                Coding::Six => 32 * i16::from(if extreme { -128 } else { (i * 37 + n) as i8 }),
            }),
            scale: 1e-3 + output as f32 * 1e-4,
            offset: 2e-3 - at as f32 * 1e-4,
        }
    }

    /// As floats, by the definition.
    fn weights(coding: Coding, output: usize, inputs: usize) -> Vec<f64> {
        let wide = BLOCK / coding.parts();
        let block = |at| {
            let coded = coded(coding, output, at);
            (0..BLOCK).map(move |i| {
                let scale = f64::from(coded.scale) * f64::from(coded.scales[i / wide]);
                let offset = f64::from(coded.offset) * f64::from(coded.offsets[i / wide]);
                scale * f64::from(coded.codes[i]) - offset
            })
        };
        (0..inputs / BLOCK).flat_map(block).collect()
    }

    #[test]
    fn follows_the_definition_and_gives_the_same_bits_everywhere() {
        for (coding, outputs, inputs, rows) in [
            (Coding::Four, 16, 256, 1),
            (Coding::Four, 37, 512, 7),
            (Coding::Six, 16, 256, 2),
            (Coding::Six, 50, 768, 8),
            (Coding::Four, 1, 1536, 3),
            // as many rows as a kernel takes together, fewer, and one
            (Coding::Four, 33, 512, 12),
            (Coding::Six, 33, 512, 19),
            (Coding::Six, 600, 512, 200),
        ] {
            let packed = CodedWeights::new(coding, outputs, inputs, |o, at| coded(coding, o, at));
            let mut x: Vec<f32> = (0..rows * inputs).map(|i| (i as f32 * 0.7).sin()).collect();
            // the largest sums that there can be
            x[..BLOCK].fill(1.0);
            let bias: Vec<f32> = (0..outputs).map(|i| i as f32).collect();
            let product = |x: &[f32], kernel: Kernel| {
                let rounded = CodedRows::new(x, inputs, kernel);
                let mut out = vec![0.0; x.len() / inputs * outputs];
                packed.product(&rounded, &bias, &mut out, &|_| {});
                out
            };
            let plain = product(&x, Kernel::PORTABLE);
            let rounded = CodedRows::new(&x, inputs, Kernel::PORTABLE);
            for output in [0, outputs / 2, outputs - 1] {
                let weights = weights(coding, output, inputs);
                for row in [0, rows - 1] {
                    let (mut want, mut size) = (f64::from(bias[output]), 1.0);
                    for (i, weight) in weights.iter().enumerate() {
                        let scale = rounded.scales[(row * inputs + i) / BLOCK];
                        let x = f64::from(rounded.bytes[row * inputs + i]) * f64::from(scale);
                        want += weight * x;
                        size += (weight * x).abs();
                    }
                    let got = f64::from(plain[row * outputs + output]);
                    assert!((got - want).abs() < 1e-5 * size, "{coding:?} {got} {want}");
                }
            }
            for kernel in Kernel::available() {
                assert!(product(&x, kernel) == plain, "{kernel:?} gives other bits");
                // alone as in a batch
                let last = product(&x[(rows - 1) * inputs..], kernel);
                assert!(last == plain[(rows - 1) * outputs..], "{kernel:?} alone");
                let mut twice = plain.clone();
                packed.product_onto(&CodedRows::new(&x, inputs, kernel), &bias, &mut twice);
                assert!(twice.iter().zip(&plain).all(|(twice, once)| *twice == once + once));
            }
        }
    }

    #[test]
    fn rounding_keeps_what_is_largest_and_refuses_what_is_not_finite() {
        let mut x: Vec<f32> = (0..2 * BLOCK).map(|i| i as f32 * 0.01).collect();
        let rows = CodedRows::new(&x, 2 * BLOCK, Kernel::best());
        assert_eq!((rows.bytes[255], rows.bytes[511], rows.bytes[0]), (127, 127, 0));
        assert!((rows.scales[1] * 127.0 - 5.11).abs() < 1e-5);
        x[3] = f32::NAN;
        let rows = CodedRows::new(&x, 2 * BLOCK, Kernel::best());
        assert!(rows.scales[0].is_nan() && rows.scales[1].is_finite());
        assert_eq!(CodedRows::new(&[0.0; BLOCK], BLOCK, Kernel::best()).scales, [0.0]);
    }
}
