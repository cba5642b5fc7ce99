//! The largest and the smallest probability of every output, over the inputs seen so far.

/// For every output the inputs that make it most and least probable. Rows are added one by one and
/// forgotten; two of these are merged where rows were added in two places.
#[derive(Clone)]
pub struct Extremes<S> {
    outputs: Vec<Option<Span<S>>>,
}

/// The extremes of one output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span<S> {
    /// The largest probability, and the first input that has it.
    pub most: Extreme<S>,
    /// The smallest.
    pub least: Extreme<S>,
}

/// A probability, and the input that gives it to an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extreme<S> {
    /// The probability.
    pub share: S,
    /// The number of the input.
    pub input: u32,
}

/// The losses that follow from the extremes.
#[derive(Clone, Debug)]
pub struct Findings<S> {
    /// The loss of every output, from the smallest to the largest.
    pub losses: Vec<f64>,
    /// The output with the largest loss.
    pub output: usize,
    /// Its extremes: the pair of inputs that the loss is between.
    pub span: Span<S>,
}

impl<S: Copy + PartialOrd> Extremes<S> {
    /// No input so far.
    pub(crate) fn new(outputs: usize) -> Self {
        Self { outputs: (0..outputs).map(|_| None).collect() }
    }

    /// An output's probability for one input. Inputs come by rising numbers.
    pub(crate) fn add(&mut self, input: u32, output: usize, share: S) {
        let new = Extreme { share, input };
        match &mut self.outputs[output] {
            Some(span) => {
                if share > span.most.share {
                    span.most = new;
                } else if share < span.least.share {
                    span.least = new;
                }
            }
            none => *none = Some(Span { most: new, least: new }),
        }
    }

    /// Merges the two; the other's inputs have larger numbers.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        for (span, other) in self.outputs.iter_mut().zip(other.outputs) {
            match (span.as_mut(), other) {
                (Some(span), Some(other)) => {
                    if other.most.share > span.most.share {
                        span.most = other.most;
                    }
                    if other.least.share < span.least.share {
                        span.least = other.least;
                    }
                }
                (None, other) => *span = other,
                (_, None) => {}
            }
        }
        self
    }

    /// The extremes of an output; none where no input was added that can make it.
    pub(crate) fn get(&self, output: usize) -> Option<Span<S>> {
        self.outputs[output]
    }

    /// The losses, by a function that bounds the logarithm of a quotient from above; none where there
    /// is nothing to compare.
    pub(crate) fn findings(&self, log_ratio_up: impl Fn(S, S) -> f64) -> Option<Findings<S>> {
        let loss = |span: &Span<S>| log_ratio_up(span.most.share, span.least.share);
        let spans =
            self.outputs.iter().enumerate().filter_map(|(y, span)| Some((y, span.as_ref()?)));
        let each = spans.map(|(output, span)| (loss(span), output, *span));
        let mut losses = Vec::with_capacity(self.outputs.len());
        let mut worst: Option<(f64, usize, Span<S>)> = None;
        for (loss, output, span) in each {
            losses.push(loss);
            if worst.is_none_or(|(largest, ..)| loss > largest) {
                worst = Some((loss, output, span));
            }
        }
        losses.sort_unstable_by(f64::total_cmp);
        worst.map(|(_, output, span)| Findings { losses, output, span })
    }
}

impl<S> Findings<S> {
    /// The largest loss: the worst case.
    #[must_use]
    pub fn loss(&self) -> f64 {
        self.losses.last().copied().unwrap_or(0.0)
    }

    /// The loss that a share of the outputs does not exceed.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let at = (share * self.losses.len() as f64).ceil() as usize;
        self.losses.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(rows: &[Vec<u8>], from: usize) -> Extremes<u8> {
        let mut extremes = Extremes::new(rows[0].len());
        for (i, row) in rows.iter().enumerate() {
            for (y, &share) in row.iter().enumerate() {
                extremes.add((from + i) as u32, y, share);
            }
        }
        extremes
    }

    fn ln(a: u8, b: u8) -> f64 {
        (f64::from(a) / f64::from(b)).ln()
    }

    proptest! {
        #[test]
        fn merged_parts_are_the_whole_and_the_pairs_attain_it(
            rows in (2_usize..7).prop_flat_map(|n| {
                prop::collection::vec(prop::collection::vec(1_u8..9, n), 2..9)
            }),
            cut in 1_usize..8,
        ) {
            let cut = cut.min(rows.len() - 1);
            let whole = of(&rows, 0);
            let merged = of(&rows[..cut], 0).merge(of(&rows[cut..], cut));
            prop_assert_eq!(&whole.outputs, &merged.outputs);
            let found = whole.findings(ln).unwrap();
            let Findings { output, span, .. } = &found;
            let (most, least) = (rows[span.most.input as usize][*output], rows[span.least.input as usize][*output]);
            prop_assert_eq!((most, least), (span.most.share, span.least.share));
            prop_assert_eq!(ln(most, least), found.loss());
            // every pair of inputs, every output
            let mut worst = 0.0_f64;
            for a in &rows {
                for b in &rows {
                    worst = a.iter().zip(b).map(|(&a, &b)| ln(a, b)).fold(worst, f64::max);
                }
            }
            prop_assert_eq!(worst, found.loss());
        }
    }

    #[test]
    fn quantiles_are_losses_that_occur() {
        let rows = [vec![1, 1, 1, 1], vec![2, 4, 8, 16]];
        let found = of(&rows, 0).findings(ln).unwrap();
        assert_eq!(found.quantile(0.5), 4_f64.ln());
        assert_eq!((found.quantile(0.9), found.quantile(0.0)), (16_f64.ln(), 2_f64.ln()));
        assert!(Extremes::<u8>::new(3).findings(ln).is_none());
    }
}
