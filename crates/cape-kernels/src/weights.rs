//! Weights of 8 bits, packed for the kernels.

use rayon::prelude::*;

use crate::packing::{Aligned, DEEP, WIDE};

/// A matrix of `outputs × inputs` weights with one scale per output.
///
/// Packed as panels of `WIDE` outputs; in a panel, groups of 4 inputs; in a group, the 4 weights of
/// each output one after the other, as one `vpdpbusd` or a row of an AMX tile takes them. Rows and
/// panels are padded with zeros.
pub struct Weights {
    panels: Aligned<i8>,
    scales: Vec<f32>,
    /// The sum of each output's weights, by which an offset of the activations is taken off.
    sums: Vec<i32>,
    outputs: usize,
    inputs: usize,
}

impl Weights {
    /// From rows of integers, one row per output, and the scale of each row.
    ///
    /// # Panics
    /// If the sizes do not agree.
    #[must_use]
    pub fn new(values: &[i8], scales: &[f32], inputs: usize) -> Self {
        let outputs = scales.len();
        assert_eq!(values.len(), outputs * inputs, "one row of weights per scale");
        assert!(inputs <= 65_536, "sums of products must fit 32 bits");
        let (deep, padded) = (inputs.next_multiple_of(DEEP), outputs.next_multiple_of(WIDE));
        let mut panels = Aligned::zeros(padded * deep);
        let mut sums = vec![0; padded];
        panels
            .get_mut(padded * deep)
            .par_chunks_mut((WIDE * deep).max(1))
            .zip(sums.par_chunks_mut(WIDE))
            .zip(values.par_chunks((WIDE * inputs).max(1)))
            .for_each(|((panel, sums), rows)| {
                for (output, row) in rows.chunks(inputs).enumerate() {
                    sums[output] = row.iter().map(|&w| i32::from(w)).sum();
                    for (group, four) in row.chunks(4).enumerate() {
                        let at = (group * WIDE + output) * 4;
                        panel[at..at + four.len()].copy_from_slice(four);
                    }
                }
            });
        let mut scales = scales.to_vec();
        scales.resize(padded, 0.0);
        Self { panels, scales, sums, outputs, inputs }
    }

    /// Rounds rows of floats to integers, with the scale of each row such that its largest weight
    /// becomes 127.
    #[must_use]
    pub fn rounded(rows: &[f32], inputs: usize) -> Self {
        let (values, scales) = rounded(rows, inputs);
        Self::new(&values, &scales, inputs)
    }

    /// How many outputs there are.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// How many inputs there are.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    pub(crate) fn panel(&self, panel: usize) -> &[i8] {
        let deep = self.inputs.next_multiple_of(DEEP);
        &self.panels.get(self.scales.len() * deep)[panel * WIDE * deep..][..WIDE * deep]
    }

    pub(crate) fn scales(&self, panel: usize) -> &[f32] {
        &self.scales[panel * WIDE..][..WIDE]
    }

    pub(crate) fn sums(&self, panel: usize) -> &[i32; WIDE] {
        &self.sums.as_chunks::<WIDE>().0[panel]
    }
}

/// Rows of floats as integers of 8 bits with a scale each; the largest becomes 127.
#[must_use]
pub fn rounded(rows: &[f32], inputs: usize) -> (Vec<i8>, Vec<f32>) {
    let scale = |row: &[f32]| row.iter().fold(0_f32, |most, w| most.max(w.abs())) / 127.0;
    let scales: Vec<f32> = rows.par_chunks(inputs).map(scale).collect();
    let round = |(row, &scale): (&[f32], &f32)| {
        let integer = move |w: &f32| if scale > 0.0 { (w / scale).round() as i8 } else { 0 };
        row.iter().map(integer).collect::<Vec<i8>>()
    };
    let values = rows.par_chunks(inputs).zip(&scales).flat_map_iter(round).collect();
    (values, scales)
}
