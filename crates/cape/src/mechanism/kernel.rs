//! Weights e^(−rate · distance): the draw of the mechanisms on word vectors, in floats.

use crate::vectors::WordVectors;

/// A draw whose weights fall with the distance between words: what the Bayes attack needs to know of a mechanism.
pub(crate) struct DistanceKernel<'a> {
    /// The words.
    pub(crate) words: &'a WordVectors,
    /// The rows that are drawn, in order; all without.
    pub(crate) drawn: Option<&'a [u32]>,
    /// The probability with which a word that cannot be drawn itself is drawn for.
    pub(crate) drawn_for: f64,
    /// The draw is an average of draws, each among the words within a radius.
    pub(crate) terms: Vec<KernelTerm>,
}

/// Weights e^(−rate · d) below a distance, and 0 from it on.
pub(crate) struct KernelTerm {
    pub(crate) rate: f64,
    pub(crate) radius: f64,
}

impl KernelTerm {
    pub(crate) fn weight(&self, distance: f64) -> f64 {
        if distance < self.radius { (-self.rate * distance).exp() } else { 0.0 }
    }
}

impl DistanceKernel<'_> {
    /// Z(t), for each term.
    pub(crate) fn normalisers(&self, t: usize) -> Box<[f64]> {
        let mut sums = vec![0.0; self.terms.len()];
        let drawn = self.drawn.map_or(self.words.len(), <[u32]>::len);
        for i in 0..drawn {
            let row = self.drawn.map_or(i, |drawn| drawn[i] as usize);
            let distance = f64::from(self.words.distance(t, row));
            for (sum, term) in sums.iter_mut().zip(&self.terms) {
                *sum += term.weight(distance);
            }
        }
        sums.into()
    }

    pub(crate) fn is_drawn(&self, t: usize) -> bool {
        self.drawn.is_none_or(|drawn| drawn.binary_search(&(t as u32)).is_ok())
    }

    /// P(y | t) by their distance and Z(t).
    pub(crate) fn likelihood(&self, t: usize, distance: f64, normalisers: &[f64]) -> f64 {
        let share = if self.is_drawn(t) { 1.0 } else { self.drawn_for };
        let each = self.terms.iter().zip(normalisers).filter(|(_, z)| **z > 0.0);
        share * each.map(|(term, z)| term.weight(distance) / z).sum::<f64>()
            / self.terms.len() as f64
    }
}
