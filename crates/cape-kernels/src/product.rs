//! The product of rows and weights.

use std::ops::Range;

use rayon::prelude::*;

use crate::kernel::Path;
use crate::{Bits, Kernel, Rows, WIDE, Weights};

/// The most rows of bytes that a kernel takes at once.
pub(crate) const HIGH: usize = 32;

/// The sums of one call of a kernel: rows of bytes × a panel's outputs.
pub(crate) type Sums = [[i32; WIDE]; HIGH];

/// How many rows stay in the cache while the panels go by.
const NEAR: usize = 48;

/// Fewer multiplications than this are not worth a second thread.
const SMALL: usize = 1 << 22;

/// What is done with each finished piece of a row of the result.
pub(crate) type Then<'a> = &'a (dyn Fn(&mut [f32]) + Sync);

/// What the product is added to.
#[derive(Clone, Copy)]
enum Onto {
    Nothing,
    Out,
}

/// A part of the result: some rows, some panels, and where each row's part goes.
struct Part<'a> {
    rows: Range<usize>,
    panels: Range<usize>,
    out: Vec<&'a mut [f32]>,
}

impl Weights {
    /// `out = rows·Wᵀ + bias`, then `then` on each piece of a row of it. `then` must work number by
    /// number: how rows are cut into pieces is not said.
    ///
    /// # Panics
    /// If the sizes do not agree.
    pub fn product(
        &self,
        rows: &Rows,
        bias: &[f32],
        kernel: Kernel,
        out: &mut [f32],
        then: Then<'_>,
    ) {
        self.run(rows, bias, kernel, Onto::Nothing, out, then);
    }

    /// `out += rows·Wᵀ + bias`.
    ///
    /// # Panics
    /// If the sizes do not agree.
    pub fn product_onto(&self, rows: &Rows, bias: &[f32], kernel: Kernel, out: &mut [f32]) {
        self.run(rows, bias, kernel, Onto::Out, out, &|_| {});
    }

    fn run(
        &self,
        rows: &Rows,
        bias: &[f32],
        kernel: Kernel,
        onto: Onto,
        out: &mut [f32],
        then: Then<'_>,
    ) {
        assert_eq!(rows.inputs(), self.inputs(), "as many inputs");
        assert_eq!(bias.len(), self.outputs(), "one bias per output");
        assert_eq!(out.len(), rows.len() * self.outputs(), "room for the result");
        if out.is_empty() {
            return;
        }
        let work = rows.len() * rows.bits().planes() * self.inputs() * self.outputs();
        let threads = if work < SMALL { 1 } else { rayon::current_num_threads() };
        let parts = self.parts(rows.len(), threads, out);
        let run = |part| self.part(rows, bias, kernel, onto, part, then);
        if parts.len() == 1 {
            parts.into_iter().for_each(run);
        } else {
            parts.into_par_iter().for_each(run);
        }
    }

    /// Cuts the result for so many threads: by rows where there are many, else by outputs.
    fn parts<'a>(&self, rows: usize, threads: usize, out: &'a mut [f32]) -> Vec<Part<'a>> {
        let panels = self.outputs().div_ceil(WIDE);
        let mut lines: Vec<&'a mut [f32]> = out.chunks_exact_mut(self.outputs()).collect();
        if rows >= threads * 2 * NEAR || threads == 1 {
            let each = rows.div_ceil(threads).next_multiple_of(12);
            let mut parts = Vec::new();
            for start in (0..rows).step_by(each) {
                let end = (start + each).min(rows);
                let out = lines.drain(..end - start).collect();
                parts.push(Part { rows: start..end, panels: 0..panels, out });
            }
            return parts;
        }
        // a few more parts than threads, as threads are rarely free at the same time
        let each = panels.div_ceil(threads * 2);
        let mut parts = Vec::new();
        for start in (0..panels).step_by(each) {
            let end = (start + each).min(panels);
            let outputs = end.saturating_mul(WIDE).min(self.outputs()) - start * WIDE;
            let mut out = Vec::with_capacity(rows);
            for line in &mut lines {
                let (head, tail) = std::mem::take(line).split_at_mut(outputs);
                out.push(head);
                *line = tail;
            }
            parts.push(Part { rows: 0..rows, panels: start..end, out });
        }
        parts
    }

    fn part(
        &self,
        rows: &Rows,
        bias: &[f32],
        kernel: Kernel,
        onto: Onto,
        part: Part<'_>,
        then: Then<'_>,
    ) {
        let Part { rows: all, panels, mut out } = part;
        let planes = rows.bits().planes();
        let high = high(kernel) / planes;
        let first = panels.start * WIDE;
        let mut sums: Sums = [[0; WIDE]; HIGH];
        for near in out.chunks_mut(NEAR).enumerate() {
            let (i, near) = near;
            let start = all.start + i * NEAR;
            for panel in panels.clone() {
                let at = panel * WIDE;
                for (j, block) in near.chunks_mut(high).enumerate() {
                    let row = start + j * high;
                    let (bytes, stride) = rows.from(row);
                    let sums = &mut sums[..block.len() * planes];
                    kernel.sums(bytes, stride, self.panel(panel), sums);
                    for (k, line) in block.iter_mut().enumerate() {
                        let width = (self.outputs() - at).min(WIDE);
                        let line = &mut line[at - first..][..width];
                        let scaled = Scaled {
                            sums: &sums[k * planes..][..planes],
                            offsets: self.sums(panel),
                            scale: rows.scale(row + k),
                            scales: self.scales(panel),
                            bias: &bias[at..at + width],
                            onto,
                        };
                        kernel.scale(&scaled, rows.bits(), line);
                    }
                }
            }
            for line in near {
                then(line);
            }
        }
    }
}

/// How many rows of bytes a kernel takes at once.
fn high(kernel: Kernel) -> usize {
    match kernel.0 {
        #[cfg(target_arch = "x86_64")]
        Path::Amx => 32,
        #[cfg(target_arch = "x86_64")]
        Path::Vnni => 12,
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 => 4,
        Path::Portable => 4,
    }
}

impl Kernel {
    /// For each row of bytes and each output of the panel the sum of products; the rows of bytes are
    /// as many as there are sums, `stride` apart.
    fn sums(self, bytes: &[u8], stride: usize, panel: &[i8], sums: &mut [[i32; WIDE]]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Path::Amx | Path::Vnni | Path::Avx2 => {
                crate::x86::sums(self, bytes, stride, panel, sums);
            }
            Path::Portable => sums_plain(bytes, stride, panel, sums),
        }
    }

    fn scale(self, scaled: &Scaled<'_>, bits: Bits, out: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        crate::x86::scale(self, scaled, bits, out);
        #[cfg(not(target_arch = "x86_64"))]
        scale_plain(scaled, bits, out);
    }
}

/// The sums, by the definition.
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

/// The sums of one row and what they are worth.
pub(crate) struct Scaled<'a> {
    sums: &'a [[i32; WIDE]],
    offsets: &'a [i32],
    scale: f32,
    scales: &'a [f32],
    bias: &'a [f32],
    onto: Onto,
}

/// `out = sums · scale · scales + bias`, without what the offset of 128 added.
#[inline(always)]
pub(crate) fn scale_plain(row: &Scaled<'_>, bits: Bits, out: &mut [f32]) {
    let Scaled { sums, offsets, scale, scales: steps, bias, onto } = *row;
    let n = out.len().min(WIDE);
    let (out, offsets, steps, bias) = (&mut out[..n], &offsets[..n], &steps[..n], &bias[..n]);
    if matches!(onto, Onto::Nothing) {
        out.fill(0.0);
    }
    match bits {
        Bits::Eight => {
            for j in 0..n {
                let sum = sums[0][j] - 128 * offsets[j];
                out[j] += sum as f32 * (scale * steps[j]) + bias[j];
            }
        }
        Bits::Sixteen => {
            for j in 0..n {
                let upper = sums[0][j] - 128 * offsets[j];
                let sum = upper as f32 * 256.0 + sums[1][j] as f32;
                out[j] += sum * (scale * steps[j]) + bias[j];
            }
        }
    }
}
