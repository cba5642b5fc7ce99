//! The exact loss of one draw of a mechanism that looks at the word alone.

use super::radius::Radii;
use super::{Extremes, Findings};
use crate::exponential::ROUNDING;
use crate::mechanism::inferdpt::Inferdpt;
use crate::mechanism::santext::Santext;
use crate::mechanism::{Baseline, Mechanism};
use crate::text::TokenId;
use crate::vectors::DISTANCE_ERROR;
use crate::vocab::Vocab;

/// A baseline with all that its rows need.
pub struct BaselineAudit<'a> {
    baseline: &'a Baseline,
    /// The inputs that its promise speaks of, in order of ids.
    inputs: Vec<TokenId>,
    /// The words that can be drawn.
    outputs: Vec<TokenId>,
    /// SANTEXT: the row of one word, which all others are compared with.
    own: Option<(u32, Vec<f64>)>,
    /// InferDPT: the law of its radius.
    radii: Option<Radii>,
}

/// The extremes of the rows added so far.
#[derive(Clone)]
pub struct BaselineExtremes {
    /// Extremes of the probabilities; where they are known between two bounds only, of the lower ones.
    extremes: Extremes<f64>,
    /// Extremes of the upper bounds.
    upper: Option<Extremes<f64>>,
    metric: Option<Metric>,
}

/// How the loss between one word and each of the others compares with their distance.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// How many words it was compared with.
    pub pairs: usize,
    /// The largest loss per unit of distance: what ε promises.
    pub epsilon: f64,
    /// The largest loss beyond ε times the distance, and beyond what rounding can add: not positive where
    /// the promise holds.
    pub excess: f64,
}

/// The probability of an output, between two bounds; equal ones where it is known exactly.
struct OutputBounds {
    /// The output, by its number.
    output: usize,
    low: f64,
    high: f64,
}

impl OutputBounds {
    fn exactly((output, probability): (usize, f64)) -> Self {
        Self { output, low: probability, high: probability }
    }
}

impl<'a> BaselineAudit<'a> {
    /// The audit of a baseline; SANTEXT's promise for each unit of distance is looked at between
    /// `own`, if it is a word, and all others.
    #[must_use]
    pub fn new(baseline: &'a Baseline, vocab: &Vocab, own: TokenId) -> Self {
        let unknown = |is: bool| is.then_some(vocab.unknown());
        let (mut inputs, outputs): (Vec<TokenId>, Vec<TokenId>) = match baseline {
            Baseline::Santext(santext) => {
                let ids = santext.words().ids();
                let words = santext.covered().iter().map(|&row| ids[row as usize]);
                let outputs: Vec<TokenId> = words.collect();
                let unknown = unknown(santext.covers_unknown());
                (outputs.iter().copied().chain(unknown).collect(), outputs)
            }
            Baseline::Custext(custext) => {
                (custext.covered().collect(), custext.words().ids().to_vec())
            }
            Baseline::Inferdpt(inferdpt) => {
                let unknown = unknown(inferdpt.covers_unknown());
                let inputs = inferdpt.covered().chain(unknown).collect();
                (inputs, inferdpt.words().ids().to_vec())
            }
        };
        inputs.sort_unstable();
        inputs.dedup();
        let own = match baseline {
            Baseline::Santext(santext) => santext
                .words()
                .row_of(own)
                .filter(|_| inputs.binary_search(&own).is_ok())
                .map(|row| (row as u32, santext.probabilities(Some(row as u32)))),
            _ => None,
        };
        let radii = match baseline {
            Baseline::Inferdpt(inferdpt) => {
                Some(Radii::new(inferdpt.noise(), inferdpt.words().diameter() * 1.02))
            }
            _ => None,
        };
        Self { baseline, inputs, outputs, own, radii }
    }

    /// The inputs that the promise speaks of, in order of ids.
    #[must_use]
    pub fn inputs(&self) -> &[TokenId] {
        &self.inputs
    }

    /// The words that can be drawn.
    #[must_use]
    pub fn outputs(&self) -> &[TokenId] {
        &self.outputs
    }

    /// No row so far.
    #[must_use]
    pub fn start(&self) -> BaselineExtremes {
        let extremes = Extremes::new(self.outputs.len());
        let upper = self.radii.is_some().then(|| extremes.clone());
        BaselineExtremes { extremes, upper, metric: None }
    }

    /// Adds the row of an input, by rising numbers.
    #[must_use]
    pub fn add(&self, mut exact: BaselineExtremes, input: u32, t: TokenId) -> BaselineExtremes {
        let row = self.row(t);
        for &OutputBounds { output, low, high } in &row {
            exact.extremes.add(input, output, low);
            if let Some(upper) = &mut exact.upper {
                upper.add(input, output, high);
            }
        }
        if let (Baseline::Santext(santext), Some((own, probabilities))) = (self.baseline, &self.own)
            && let Some(other) = santext.words().row_of(t).filter(|&other| other != *own as usize)
        {
            let new = Metric::between(santext, (*own, probabilities), (other as u32, &row));
            exact.metric = Some(exact.metric.map_or(new, |metric| metric.merge(new)));
        }
        exact
    }

    fn row(&self, t: TokenId) -> Vec<OutputBounds> {
        let exactly = |probabilities: Vec<f64>| -> Vec<OutputBounds> {
            probabilities.into_iter().enumerate().map(OutputBounds::exactly).collect()
        };
        match self.baseline {
            Baseline::Santext(santext) => {
                exactly(santext.probabilities(santext.words().row_of(t).map(|row| row as u32)))
            }
            Baseline::Custext(custext) => {
                let odds = custext.odds(t).map_or(Vec::new(), |odds| odds.candidates);
                let output = |id| custext.words().row_of(id);
                let each =
                    odds.into_iter().filter_map(|odd| Some((output(odd.id)?, odd.probability)));
                each.map(OutputBounds::exactly).collect()
            }
            Baseline::Inferdpt(inferdpt) => match (inferdpt.words().row_of(t), &self.radii) {
                (Some(row), Some(radii)) => within_radii(inferdpt, row, radii),
                _ => exactly(vec![1.0 / self.outputs.len() as f64; self.outputs.len()]),
            },
        }
    }

    /// The losses; none where no row was added. Where probabilities are known between bounds, the loss
    /// is at least the first and at most the second.
    #[must_use]
    pub fn findings(&self, exact: &BaselineExtremes) -> Option<(Findings<f64>, f64)> {
        let Some(upper) = &exact.upper else {
            let found = exact.extremes.findings(log_ratio_up)?;
            let loss = found.loss();
            return Some((found, loss));
        };
        let (mut least, mut most) = (Extremes::new(self.outputs.len()), 0.0_f64);
        for output in 0..self.outputs.len() {
            let (Some(low), Some(high)) = (exact.extremes.get(output), upper.get(output)) else {
                continue;
            };
            most = most.max(log_ratio_up(high.most.share, low.least.share));
            least.add(low.most.input, output, low.most.share);
            // bounds that overlap show no loss
            if high.least.share < low.most.share {
                least.add(high.least.input, output, high.least.share);
            }
        }
        Some((least.findings(log_ratio_up)?, most))
    }
}

impl BaselineExtremes {
    /// Merges the two; the other's inputs have larger numbers.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            extremes: self.extremes.merge(other.extremes),
            upper: self.upper.zip(other.upper).map(|(a, b)| a.merge(b)),
            metric: match (self.metric, other.metric) {
                (Some(a), Some(b)) => Some(a.merge(b)),
                (a, b) => a.or(b),
            },
        }
    }

    /// SANTEXT: the losses between the word of the prompt and the others, by their distance.
    #[must_use]
    pub fn metric(&self) -> Option<Metric> {
        self.metric
    }
}

impl Metric {
    fn between(
        santext: &Santext,
        (own, probabilities): (u32, &[f64]),
        (other, row): (u32, &[OutputBounds]),
    ) -> Self {
        let ratios = probabilities.iter().zip(row).map(|(a, bounds)| a / bounds.low);
        let (least, most) = ratios
            .fold((1.0_f64, 1.0_f64), |(least, most), ratio| (least.min(ratio), most.max(ratio)));
        let loss = most.ln().max(-least.ln());
        let distance = f64::from(santext.words().distance(own as usize, other as usize));
        let nominal = santext.guarantee().nominal.get();
        // what the theorem allows for distances in f32 and weights in integers
        let slack = 2.0 * nominal * santext.diameter() * DISTANCE_ERROR + ROUNDING;
        let epsilon = if distance > 0.0 { loss / distance } else { 0.0 };
        Self { pairs: 1, epsilon, excess: loss - nominal * distance - slack }
    }

    fn merge(self, other: Self) -> Self {
        Self {
            pairs: self.pairs + other.pairs,
            epsilon: self.epsilon.max(other.epsilon),
            excess: self.excess.max(other.excess),
        }
    }
}

/// Bounds of the probabilities of InferDPT's candidates, over the law of its radius. At a greater radius
/// a candidate weighs more, and so do all of them together: an interval has its least quotient with
/// the weight at its beginning and the sum at its end.
fn within_radii(inferdpt: &Inferdpt, row: usize, radii: &Radii) -> Vec<OutputBounds> {
    let distances = inferdpt.distances_anew(row);
    let n = distances.len();
    let intervals = radii.edges.len();
    let mut weights = vec![0.0; n * intervals];
    let mut sums = vec![0.0; intervals];
    for (weights, &d) in weights.chunks_exact_mut(intervals).zip(&*distances) {
        let d = f64::from(d);
        for ((weight, sum), &radius) in weights.iter_mut().zip(&mut sums).zip(&radii.edges) {
            if d < radius {
                *weight = (-inferdpt.exponent(d, radius)).exp();
                *sum += *weight;
            }
        }
    }
    // integer weights are smaller by one part in 2^20 at most, and sums of floats as exact as they
    let (down, up) = (1.0 - ROUNDING, 1.0 + ROUNDING);
    let last = intervals - 1;
    let of = |(y, weights): (usize, &[f64])| {
        // the word itself weighs 1 at any radius, alone at the smallest
        let itself = f64::from(u8::from(distances[y] == 0.0));
        let p = &radii.probabilities;
        let mut low = p[0] * itself / sums[0];
        let mut high = p[0] * weights[0];
        for i in 0..last {
            low += p[i + 1] * weights[i] / sums[i + 1];
            high += p[i + 1] * weights[i + 1] / sums[i];
        }
        low += p[last + 1] * weights[last] / n as f64;
        high += p[last + 1] / sums[last];
        OutputBounds { output: y, low: low * down, high: high * up }
    };
    weights.chunks_exact(intervals).enumerate().map(of).collect()
}

/// An upper bound of ln(a/b) for probabilities that are floats, each off by a few units.
fn log_ratio_up(a: f64, b: f64) -> f64 {
    if a == b {
        return 0.0;
    }
    let log = (a / b).ln();
    log + (log.abs() + 1.0) * 16.0 * f64::EPSILON
}
