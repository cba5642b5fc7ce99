//! Records added up: a point for each mechanism and ε, with intervals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// What is proven for any two tokens, if anything is.
    pub proven: Option<f64>,
    /// How many releases it rests on.
    pub releases: usize,
    /// What was measured, by name, as shares from 0 to 1: `rouge_l`, `similarity`, `unchanged`,
    /// `accuracy` (of the answers that could be read), `unread answers`, `coherence`, `alignment`,
    /// `task`, `details`, `preferred`, `agreement`; `privacy <attack>` is 1 − the attack's success, and
    /// `guessed <attack>` the ROUGE-L of what it guessed; `privacy <attack> on <label>` for spans. For words,
    /// `protected`, `protected on <label>`, `protected in spans` and `protected elsewhere`.
    pub measures: BTreeMap<String, Estimate>,
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

/// The 97.5th percentile of the normal distribution.
const Z: f64 = 1.959_964;

impl Estimate {
    /// Of a share: Wilson's interval.
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

    /// Of numbers: the normal interval of their mean.
    #[must_use]
    pub fn mean(values: &[f64]) -> Option<Self> {
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
    let mut put = |name: String, estimate: Option<Estimate>| {
        if let Some(estimate) = estimate {
            measures.insert(name, estimate);
        }
    };
    let numbers = |of: &dyn Fn(&Record) -> Option<f64>| {
        Estimate::mean(&group.iter().filter_map(|record| of(record)).collect::<Vec<f64>>())
    };
    put("rouge_l".into(), numbers(&|record| Some(record.rouge_l)));
    put("similarity".into(), numbers(&|record| record.similarity));
    let (unchanged, sensitive) = group.iter().fold((0, 0), |(same, all), record| {
        (same + record.unchanged as u64, all + record.sensitive as u64)
    });
    put("unchanged".into(), Estimate::share(unchanged, sensitive));
    let mut hits: BTreeMap<String, Hits> = BTreeMap::new();
    for record in group {
        for (attack, &found) in &record.attacks {
            *hits.entry(format!("privacy {attack}")).or_default() += found;
        }
        for (label, attacks) in &record.spans {
            for (attack, &found) in attacks {
                *hits.entry(format!("privacy {attack} on {label}")).or_default() += found;
            }
        }
    }
    for (name, hits) in hits {
        let found = Estimate::share(hits.found.into(), hits.of.into());
        put(name, found.map(Estimate::complement));
    }
    let mut protected: BTreeMap<String, Hits> = BTreeMap::new();
    for of in group.iter().filter_map(|record| record.protected.as_ref()) {
        let mut add = |name: String, hits: Hits| *protected.entry(name).or_default() += hits;
        add("protected".into(), of.words);
        for (label, &hits) in &of.spans {
            add(format!("protected on {label}"), hits);
            add("protected in spans".into(), hits);
        }
        add("protected elsewhere".into(), of.elsewhere);
    }
    if !protected.contains_key("protected in spans") {
        protected.remove("protected elsewhere");
    }
    for (name, hits) in protected {
        put(name, Estimate::share(hits.found.into(), hits.of.into()));
    }
    let unread: u64 =
        group.iter().flat_map(|record| record.unread.values()).map(|&n| u64::from(n)).sum();
    let read = group.iter().filter(|record| record.scores.contains_key("accuracy")).count() as u64;
    put("unread answers".into(), Estimate::share(unread, unread + read));
    let names = |of: fn(&Record) -> &BTreeMap<String, f64>| {
        let mut names: Vec<&String> = group.iter().flat_map(|record| of(record).keys()).collect();
        names.sort();
        names.dedup();
        names
    };
    for name in names(|record| &record.scores) {
        put(name.clone(), numbers(&|record| record.scores.get(name).copied()));
    }
    for name in names(|record| &record.guessed) {
        put(format!("guessed {name}"), numbers(&|record| record.guessed.get(name).copied()));
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
            attacks: BTreeMap::from([("knn-10".into(), Hits { found, of: 4 })]),
            guessed: BTreeMap::new(),
            spans: BTreeMap::from([(
                "PERSON".into(),
                BTreeMap::from([("knn-10".into(), Hits { found: 1, of: 2 })]),
            )]),
            protected: (epsilon == 6.0).then(|| Protected {
                words: Hits { found: 1, of: 4 },
                elsewhere: Hits { found: 0, of: 3 },
                spans: BTreeMap::from([("PERSON".into(), Hits { found: 2, of: 2 })]),
            }),
            scores: BTreeMap::from([("accuracy".into(), 1.0)]),
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
        let first = &points[0].measures;
        assert_eq!(points[0].releases, 2);
        assert!((first["privacy knn-10"].mean - 0.5).abs() < 1e-12);
        assert_eq!(first["privacy knn-10"].n, 8);
        assert_eq!(first["privacy knn-10 on PERSON"].n, 4);
        assert!((first["rouge_l"].mean - 0.6).abs() < 1e-12);
        assert!((first["unchanged"].mean - 0.25).abs() < 1e-12);
        assert_eq!(first["accuracy"].mean, 1.0);
        assert_eq!((first["unread answers"].mean, first["unread answers"].n), (1.0 / 3.0, 3));
        assert!(points[1].measures["privacy knn-10"].mean == 0.0);
        let shares = ["protected", "protected elsewhere", "protected on PERSON"];
        assert_eq!(shares.map(|name| points[1].measures[name].mean), [0.25, 0.0, 1.0]);
        assert!(shares.iter().all(|name| !first.contains_key(*name)));
    }
}
