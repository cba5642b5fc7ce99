//! Records added up: a point for each mechanism and ε, with intervals.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::measure::{Measure, Score};
use crate::record::{Hits, Record};

/// A mechanism at one ε on one set of data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The data's name.
    pub data: String,
    /// The mechanism's name.
    pub mechanism: String,
    /// ε as it was asked for.
    pub epsilon: f64,
    /// The ε that is proven for any two tokens, if any is.
    pub proven: Option<f64>,
    /// How many releases it rests on.
    pub releases: usize,
    /// The measures.
    pub measures: BTreeMap<Measure, Estimate>,
    /// Seconds for a release, on average.
    pub seconds: f64,
}

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean, or the share.
    pub mean: f64,
    /// The interval's lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How many prompts or positions it rests on.
    pub n: usize,
}

/// The measures of these points but those of spans, the most telling first.
pub(crate) fn measures<'a>(points: impl IntoIterator<Item = &'a Point>) -> Vec<&'a Measure> {
    let all = points.into_iter().flat_map(|point| point.measures.keys());
    let mut all: Vec<&Measure> = all.filter(|one| !matches!(one, Measure::PrivacyOn(..))).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The 97.5th percentile of the normal distribution.
const Z: f64 = 1.959_964;

impl Estimate {
    /// The estimate of a share: Wilson's interval.
    #[must_use]
    pub fn share(found: u64, of: u64) -> Option<Self> {
        let n = of as f64;
        let p = (of > 0).then(|| found as f64 / n)?;
        let (centre, spread) = (p + Z * Z / (2.0 * n), p * (1.0 - p) / n + Z * Z / (4.0 * n * n));
        let scale = 1.0 + Z * Z / n;
        let low = ((centre - Z * spread.sqrt()) / scale).clamp(0.0, p);
        let high = ((centre + Z * spread.sqrt()) / scale).clamp(p, 1.0);
        Some(Self { mean: p, low, high, n: of as usize })
    }

    /// The estimate of a mean: its normal interval.
    pub(crate) fn mean(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / n)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = if values.len() > 1 { Z * (squares / (n - 1.0) / n).sqrt() } else { 0.0 };
        Some(Self { mean, low: mean - error, high: mean + error, n: values.len() })
    }

    /// One minus it.
    #[must_use]
    pub fn complement(self) -> Self {
        Self { mean: 1.0 - self.mean, low: 1.0 - self.high, high: 1.0 - self.low, n: self.n }
    }
}

/// The points of all records, in the order in which their cells first appear.
#[must_use]
pub fn summarise(records: &[Record]) -> Vec<Point> {
    let mut groups: Vec<(&Record, Vec<&Record>)> = Vec::new();
    for record in records {
        let same = |of: &Record| {
            (&of.cell.data, &of.cell.mechanism) == (&record.cell.data, &record.cell.mechanism)
                && of.cell.epsilon == record.cell.epsilon
        };
        match groups.iter_mut().find(|(of, _)| same(of)) {
            Some((_, group)) => group.push(record),
            None => groups.push((record, vec![record])),
        }
    }
    groups.into_iter().map(|(first, group)| point(first, &group)).collect()
}

fn point(first: &Record, group: &[&Record]) -> Point {
    let mut measures = BTreeMap::new();
    let mut put = |measure: Measure, estimate: Option<Estimate>| {
        if let Some(estimate) = estimate {
            measures.insert(measure, estimate);
        }
    };
    let numbers = |of: &dyn Fn(&Record) -> Option<f64>| {
        Estimate::mean(&group.iter().filter_map(|record| of(record)).collect::<Vec<f64>>())
    };
    put(Measure::RougeL, numbers(&|record| Some(record.rouge_l)));
    put(Measure::Similarity, numbers(&|record| record.similarity));
    let (unchanged, sensitive) = group.iter().fold((0, 0), |(same, all), record| {
        (same + record.unchanged as u64, all + record.sensitive as u64)
    });
    put(Measure::Unchanged, Estimate::share(unchanged, sensitive));
    let mut hits: BTreeMap<Measure, Hits> = BTreeMap::new();
    for record in group {
        for (&attack, &found) in &record.attacks {
            *hits.entry(Measure::Privacy(attack)).or_default() += found;
        }
        for (label, attacks) in &record.spans {
            for (&attack, &found) in attacks {
                *hits.entry(Measure::PrivacyOn(attack, label.clone())).or_default() += found;
            }
        }
    }
    for (measure, hits) in hits {
        let found = Estimate::share(hits.found.into(), hits.of.into());
        put(measure, found.map(Estimate::complement));
    }
    let mut protected: BTreeMap<Measure, Hits> = BTreeMap::new();
    for of in group.iter().filter_map(|record| record.protected.as_ref()) {
        let mut add = |measure: Measure, hits: Hits| *protected.entry(measure).or_default() += hits;
        add(Measure::Protected, of.words);
        for (label, &hits) in &of.spans {
            add(Measure::ProtectedOn(label.clone()), hits);
            add(Measure::ProtectedInSpans, hits);
        }
        add(Measure::ProtectedElsewhere, of.elsewhere);
    }
    if !protected.contains_key(&Measure::ProtectedInSpans) {
        protected.remove(&Measure::ProtectedElsewhere);
    }
    for (measure, hits) in protected {
        put(measure, Estimate::share(hits.found.into(), hits.of.into()));
    }
    let unread: u64 =
        group.iter().flat_map(|record| record.unread.values()).map(|&n| u64::from(n)).sum();
    let is_read = |record: &&&Record| record.scores.contains_key(&Score::Accuracy);
    let read = group.iter().filter(is_read).count() as u64;
    put(Measure::Unread, Estimate::share(unread, unread + read));
    let scores: BTreeSet<_> = group.iter().flat_map(|record| record.scores.keys()).collect();
    for score in scores {
        put(Measure::Score(*score), numbers(&|record| record.scores.get(score).copied()));
    }
    let guesses: BTreeSet<_> = group.iter().flat_map(|record| record.guessed.keys()).collect();
    for attack in guesses {
        put(Measure::Guessed(*attack), numbers(&|record| record.guessed.get(attack).copied()));
    }
    Point {
        data: first.cell.data.clone(),
        mechanism: first.cell.mechanism.clone(),
        epsilon: first.cell.epsilon,
        proven: first.cell.proven,
        releases: group.len(),
        measures,
        seconds: group.iter().map(|record| record.seconds).sum::<f64>() / group.len() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Attack;
    use crate::record::{Cell, Protected};

    #[test]
    fn intervals_are_the_known_ones() {
        // Wilson's interval of 8 of 10, by hand
        let share = Estimate::share(8, 10).unwrap();
        assert!((share.low - 0.490_2).abs() < 1e-3 && (share.high - 0.943_3).abs() < 1e-3);
        let none = Estimate::share(0, 20).unwrap();
        assert!(none.low == 0.0 && none.high > 0.1 && Estimate::share(0, 0).is_none());
        let mean = Estimate::mean(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let error = Z * (5.0_f64 / 3.0 / 4.0).sqrt();
        assert!((mean.mean - 2.5).abs() < 1e-12 && (mean.high - 2.5 - error).abs() < 1e-12);
        let privacy = share.complement();
        assert!((privacy.mean - 0.2).abs() < 1e-12 && privacy.low < 0.06);
    }

    #[test]
    fn records_of_a_cell_are_added_up() {
        let record = |epsilon: f64, found: u32, rouge_l: f64| Record {
            cell: Cell {
                version: "0".into(),
                data: "d".into(),
                mechanism: "m".into(),
                epsilon,
                proven: Some(epsilon),
                model: "x".into(),
                settings: BTreeMap::new(),
            },
            prompt: 0,
            seed: 0,
            tokens: 10,
            sensitive: 4,
            unchanged: 1,
            rouge_l,
            similarity: None,
            attacks: BTreeMap::from([(Attack::Knn10, Hits { found, of: 4 })]),
            guessed: BTreeMap::new(),
            spans: BTreeMap::from([(
                "PERSON".into(),
                BTreeMap::from([(Attack::Knn10, Hits { found: 1, of: 2 })]),
            )]),
            protected: (epsilon == 6.0).then(|| Protected {
                words: Hits { found: 1, of: 4 },
                elsewhere: Hits { found: 0, of: 3 },
                spans: BTreeMap::from([("PERSON".into(), Hits { found: 2, of: 2 })]),
            }),
            scores: BTreeMap::from([(Score::Accuracy, 1.0)]),
            unread: BTreeMap::from_iter((rouge_l == 0.7).then(|| ("sst2".into(), 1))),
            asked: true,
            seconds: 0.5,
            released: None,
        };
        let all = [record(2.0, 1, 0.5), record(6.0, 4, 1.0), record(2.0, 3, 0.7)];
        let line = serde_json::to_string(&all[0]).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), all[0]);
        let points = summarise(&all);
        assert_eq!(points.len(), 2);
        let on_person = Measure::PrivacyOn(Attack::Knn10, "PERSON".into());
        let (first, knn) = (&points[0].measures, Measure::Privacy(Attack::Knn10));
        assert_eq!(points[0].releases, 2);
        assert!((first[&knn].mean - 0.5).abs() < 1e-12);
        assert_eq!((first[&knn].n, first[&on_person].n), (8, 4));
        assert!((first[&Measure::RougeL].mean - 0.6).abs() < 1e-12);
        assert!((first[&Measure::Unchanged].mean - 0.25).abs() < 1e-12);
        assert_eq!(first[&Measure::Score(Score::Accuracy)].mean, 1.0);
        let unread = first[&Measure::Unread];
        assert_eq!((unread.mean, unread.n), (1.0 / 3.0, 3));
        assert!(points[1].measures[&knn].mean == 0.0);
        let on = Measure::ProtectedOn("PERSON".into());
        let shares = [Measure::Protected, Measure::ProtectedElsewhere, on];
        assert_eq!(shares.each_ref().map(|share| points[1].measures[share].mean), [0.25, 0.0, 1.0]);
        assert!(shares.iter().all(|share| !first.contains_key(share)));
    }
}
