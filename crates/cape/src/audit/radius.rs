//! The law of InferDPT's radius, as numbers: the length of a vector of independent noise.
//!
//! The square of the radius is a sum of (b·E)², E exponential. Each of them is put on a lattice, the mass
//! of a cell shared by its two ends such that its mean is right, and they are convolved one by one.
//! Only positive numbers are added and multiplied, so that small probabilities are as good as large ones.
//! The lattice makes each term's variance larger by h²/4 at most, which is all that is wrong with it.

/// The points of the lattice.
const POINTS: usize = 4096;

/// Intervals of the radius with their probabilities.
pub(super) struct Radii {
    /// Where the intervals meet, rising.
    pub(super) edges: Vec<f64>,
    /// One more: before the first edge, between two, and after the last.
    pub(super) probabilities: Vec<f64>,
}

/// How many intervals cut the part where the radius lies but once in a million times; and how many what
/// is beyond it.
const COMMON: usize = 64;
const RARE: usize = 24;

impl Radii {
    /// For noise of these scales; the last edge is about `end`, or twice the radius' typical size.
    pub(super) fn new(scales: &[f64], end: f64) -> Self {
        let typical = scales.iter().map(|b| 2.0 * b * b).sum::<f64>().sqrt();
        let end = end.max(2.0 * typical);
        let h = end * end / (POINTS - 1) as f64;
        let (mass, beyond) = sum_of_squares(scales, h);
        // below[k] is the probability of the points before k
        let mut below = vec![0.0; POINTS + 1];
        for k in 0..POINTS {
            below[k + 1] = below[k] + mass[k];
        }
        let mut above = vec![beyond; POINTS + 1];
        for k in (0..POINTS).rev() {
            above[k] = above[k + 1] + mass[k];
        }
        let first = below.partition_point(|&p| p < 1e-6).clamp(1, POINTS);
        let last = above.partition_point(|&p| p > 1e-6).clamp(first, POINTS);
        // by the square root, as it is the radius that is cut into equal parts
        let evenly = |from: usize, to: usize, parts: usize| {
            let (from, to) = ((from as f64).sqrt(), (to as f64).sqrt());
            (0..=parts).map(move |i| from + (to - from) * i as f64 / parts as f64)
        };
        let common = evenly(first, last, COMMON);
        let mut cuts: Vec<usize> = common
            .chain(evenly(last, POINTS, RARE))
            .map(|root| ((root * root).round() as usize).min(POINTS))
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        // edges lie between points
        let edges = cuts.iter().map(|&k| ((k as f64 - 0.5) * h).sqrt()).collect();
        let ends = std::iter::once(0).chain(cuts.iter().copied()).zip(&cuts);
        let mut probabilities: Vec<f64> =
            ends.map(|(from, &to)| mass[from..to].iter().sum()).collect();
        probabilities.push(above[cuts[cuts.len() - 1]]);
        Self { edges, probabilities }
    }
}

/// The law of the sum over the points 0, h, 2h, …, and the probability of what lies beyond them.
fn sum_of_squares(scales: &[f64], h: f64) -> (Vec<f64>, f64) {
    let mut law = vec![0.0; POINTS];
    law[0] = 1.0;
    let mut beyond = 0.0;
    for &b in scales.iter().filter(|&&b| b > 0.0) {
        let square = on_lattice(b, h);
        // tails[k] is the probability of the points from k on
        let last = ((POINTS - 1) as f64 * h).sqrt();
        let mut tails = vec![(-last / b).exp(); POINTS + 1];
        for k in (0..POINTS).rev() {
            tails[k] = tails[k + 1] + square[k];
        }
        let mut next = vec![0.0; POINTS];
        for (j, &p) in law.iter().enumerate() {
            beyond += p * tails[POINTS - j];
            for (next, &q) in next[j..].iter_mut().zip(&square) {
                *next += p * q;
            }
        }
        law = next;
    }
    (law, beyond)
}

/// The law of (b·E)² over the points, without what lies beyond the last of them.
fn on_lattice(b: f64, h: f64) -> Vec<f64> {
    let mut law = vec![0.0; POINTS];
    for k in 0..POINTS - 1 {
        let (u, v) = ((k as f64 * h).sqrt() / b, ((k + 1) as f64 * h).sqrt() / b);
        // ∫ e^−x and ∫ x² e^−x from u to v, without a difference of equal numbers
        let (at, width) = ((-u).exp(), v - u);
        let mass = -at * (-width).exp_m1();
        let second = at * second_moment(u, width);
        let share = ((second * b * b - k as f64 * h * mass) / (h * mass)).clamp(0.0, 1.0);
        if mass > 0.0 {
            law[k] += mass * (1.0 - share);
            law[k + 1] += mass * share;
        }
    }
    law
}

/// ∫ (u + x)² e^−x for x from 0 to w.
fn second_moment(u: f64, w: f64) -> f64 {
    let e0 = -(-w).exp_m1();
    let decay = (-w).exp();
    let e1 = e0 - w * decay;
    let e2 = 2.0 * e1 - w * w * decay;
    u * u * e0 + 2.0 * u * e1 + e2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dimension_is_exponential() {
        let radii = Radii::new(&[0.5], 5.0);
        let mut below = 0.0;
        for (edge, p) in radii.edges.iter().zip(&radii.probabilities) {
            below += p;
            let want = 1.0 - (-edge / 0.5).exp();
            // a cell at most is on the wrong side of an edge
            assert!((below - want).abs() < 0.02, "{below} is not {want} at {edge}");
        }
        let sum: f64 = radii.probabilities.iter().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }

    /// The mean and the variance against the formulas.
    #[test]
    fn many_dimensions_have_their_moments() {
        let scales: Vec<f64> = (0..30).map(|j| 0.2 + f64::from(j % 7) / 10.0).collect();
        let h = 0.25;
        let (law, beyond) = sum_of_squares(&scales, h);
        assert!(beyond < 1e-9);
        let point = |k: usize| k as f64 * h;
        let mean: f64 = law.iter().enumerate().map(|(k, p)| p * point(k)).sum();
        let square: f64 = law.iter().enumerate().map(|(k, p)| p * point(k).powi(2)).sum();
        let want: f64 = scales.iter().map(|b| 2.0 * b * b).sum();
        let spread: f64 = scales.iter().map(|b| 20.0 * b.powi(4)).sum();
        assert!((mean / want - 1.0).abs() < 1e-6, "{mean} {want}");
        let variance = square - mean * mean;
        // the lattice adds h²/4 for each term at most
        let added = scales.len() as f64 * h * h / 4.0;
        assert!(variance > spread - 1e-6 && variance < spread + added, "{variance} {spread}");
    }

    /// The lattice hardly changes the law: three times the step moves probabilities by little, also small
    /// ones. (Edges between points of the one are edges between points of the other.)
    #[test]
    fn a_finer_lattice_says_the_same() {
        let scales = [0.4; 40];
        let h = 0.015;
        let ((fine, beyond), (coarse, more)) =
            (sum_of_squares(&scales, h), sum_of_squares(&scales, 3.0 * h));
        let mut least = 1.0_f64;
        for k in (1..POINTS / 3).step_by(50) {
            let above = |law: &[f64], k: usize, beyond: f64| law[k..].iter().sum::<f64>() + beyond;
            let (a, b) = (above(&fine, 3 * k - 1, beyond), above(&coarse, k, more));
            assert!((a / b).ln().abs() < 1e-3, "{a} {b} at {k}");
            least = least.min(a);
        }
        assert!(least < 1e-4, "{least}");
    }
}
