//! The product of rows and weights.

use std::ops::Range;

use rayon::prelude::*;

use crate::kernel::{Kernel, Path};
use crate::packing::WIDE;
use crate::plain::{Bits, Block, Onto, Sums};
use crate::rows::{Rows, Stored};
use crate::weights::Weights;

/// The most rows of integers that a kernel takes at once.
const HIGH: usize = 32;

/// How many panels go by before their part of the result is finished: a part that is still near.
pub(crate) const NEAR: usize = 16;

/// With so many rows for each thread, each thread gets its own.
const MANY: usize = 96;

/// Fewer multiplications than this are not worth a second thread.
const SMALL: usize = 1 << 22;

/// Done to each finished piece of a row of the result.
pub(crate) type Then<'a> = &'a (dyn Fn(&mut [f32]) + Sync);

/// A product to be computed.
struct Job<'a> {
    rows: &'a Rows,
    bias: &'a [f32],
    onto: Onto,
    then: Then<'a>,
}

/// A part of the result: some rows, some panels, and where each row's part goes.
pub(crate) struct Part<'a> {
    pub(crate) rows: Range<usize>,
    pub(crate) panels: Range<usize>,
    pub(crate) out: Vec<&'a mut [f32]>,
}

impl Weights {
    /// `out = rows·Wᵀ + bias`, then `then` on each piece of a row of it. `then` must work number by
    /// number, since rows may be cut anywhere.
    ///
    /// # Panics
    /// If the sizes do not agree.
    pub fn product(&self, rows: &Rows, bias: &[f32], out: &mut [f32], then: Then<'_>) {
        self.run(&Job { rows, bias, onto: Onto::Nothing, then }, out);
    }

    /// `out += rows·Wᵀ + bias`.
    ///
    /// # Panics
    /// If the sizes do not agree.
    pub fn product_onto(&self, rows: &Rows, bias: &[f32], out: &mut [f32]) {
        self.run(&Job { rows, bias, onto: Onto::Out, then: &|_| {} }, out);
    }

    fn run(&self, job: &Job<'_>, out: &mut [f32]) {
        let Job { rows, bias, .. } = *job;
        assert_eq!(rows.inputs(), self.inputs(), "as many inputs");
        assert_eq!(bias.len(), self.outputs(), "one bias per output");
        assert_eq!(out.len(), rows.len() * self.outputs(), "room for the result");
        if out.is_empty() {
            return;
        }
        let threads = threads(rows.len() * rows.planes() * self.inputs() * self.outputs());
        Parts::new(rows.len(), (self.outputs(), WIDE), threads, out)
            .run(|part| self.part(job, part));
    }

    fn part(&self, job: &Job<'_>, part: Part<'_>) {
        let Part { rows: all, panels, mut out } = part;
        let (kernel, planes, stride) = (job.rows.kernel(), job.rows.planes(), job.rows.stride());
        let high = high(kernel) / planes;
        let first = panels.start * WIDE;
        let mut sums = [[0; WIDE]; HIGH];
        for near in panels.clone().step_by(NEAR).map(|at| at..(at + NEAR).min(panels.end)) {
            for panel in near.clone() {
                let at = panel * WIDE;
                let width = (self.outputs() - at).min(WIDE);
                for (i, lines) in out.chunks_mut(high).enumerate() {
                    let row = all.start + i * high;
                    let sums = &mut sums[..lines.len() * planes];
                    let sums = match job.rows.from(row) {
                        Stored::Words(words) => {
                            kernel.sums_of_words(words, stride, self.panel(panel), sums);
                            Sums::Words(sums)
                        }
                        Stored::Bytes(bytes, bits) => {
                            kernel.sums_of_bytes(bytes, stride, self.panel(panel), sums);
                            match bits {
                                Bits::Eight => Sums::Bytes(sums, self.sums(panel)),
                                Bits::Sixteen => Sums::TwoBytes(sums, self.sums(panel)),
                            }
                        }
                    };
                    let block = Block {
                        sums,
                        scales: &job.rows.scales()[row..row + lines.len()],
                        steps: self.scales(panel),
                        bias: &job.bias[at..at + width],
                        onto: job.onto,
                        columns: at - first..at - first + width,
                    };
                    kernel.finish(&block, lines);
                }
            }
            let columns =
                (near.start * WIDE - first)..(near.end * WIDE).min(self.outputs()) - first;
            for line in &mut out {
                (job.then)(&mut line[columns.clone()]);
            }
        }
    }
}

/// How many threads so many multiplications are worth.
pub(crate) fn threads(work: usize) -> usize {
    if work < SMALL { 1 } else { rayon::current_num_threads() }
}

/// The parts of a result.
pub(crate) struct Parts<'a>(Vec<Part<'a>>);

impl<'a> Parts<'a> {
    /// Cuts the result for so many threads: by rows where there are many, else by outputs, in panels of `wide`.
    pub(crate) fn new(
        rows: usize,
        (outputs, wide): (usize, usize),
        threads: usize,
        out: &'a mut [f32],
    ) -> Self {
        let panels = outputs.div_ceil(wide);
        let mut lines: Vec<&'a mut [f32]> = out.chunks_exact_mut(outputs).collect();
        let mut parts = Vec::new();
        if rows >= threads * MANY || threads == 1 {
            let each = rows.div_ceil(threads).next_multiple_of(12);
            for start in (0..rows).step_by(each) {
                let end = (start + each).min(rows);
                let out = lines.drain(..end - start).collect();
                parts.push(Part { rows: start..end, panels: 0..panels, out });
            }
            return Self(parts);
        }
        // a few more parts than threads, as threads are rarely free at the same time
        let each = panels.div_ceil(threads * 2);
        for start in (0..panels).step_by(each) {
            let end = (start + each).min(panels);
            let width = end.saturating_mul(wide).min(outputs) - start * wide;
            let mut out = Vec::with_capacity(rows);
            for line in &mut lines {
                let (head, tail) = std::mem::take(line).split_at_mut(width);
                out.push(head);
                *line = tail;
            }
            parts.push(Part { rows: 0..rows, panels: start..end, out });
        }
        Self(parts)
    }

    /// Does the work of each part, one alone on this thread.
    pub(crate) fn run(self, work: impl Fn(Part<'a>) + Sync + Send) {
        if self.0.len() == 1 {
            self.0.into_iter().for_each(work);
        } else {
            self.0.into_par_iter().for_each(work);
        }
    }
}

/// How many rows of integers a kernel takes at once.
fn high(kernel: Kernel) -> usize {
    match kernel.0 {
        Path::Amx | Path::Portable => HIGH,
        Path::Vnni => 12,
        Path::Avx2 => 6,
    }
}
