//! How often is a name, a place or a number found? Attacks on labelled spans.

use std::collections::{BTreeMap, BTreeSet};

use super::chart::{Axis, Body, Chart, Dot, percent};
use super::curves::Set;
use super::style::Styles;
use super::table::short;
use crate::measure::{Attack, Measure};
use crate::summary::Point;

/// A chart for each attack and ε.
pub(super) fn charts(set: &Set, styles: &Styles) -> Vec<Chart> {
    let mut found: BTreeMap<String, (Attack, BTreeSet<&str>)> = BTreeMap::new();
    for measure in set.points.iter().flat_map(|point| point.measures.keys()) {
        if let Measure::PrivacyOn(attack, label) = measure {
            let of = found.entry(attack.to_string()).or_insert((*attack, BTreeSet::new()));
            of.1.insert(label);
        }
    }
    let mut epsilons: Vec<f64> = set.points.iter().map(|point| point.epsilon).collect();
    epsilons.sort_by(f64::total_cmp);
    epsilons.dedup();
    let mut charts = Vec::new();
    for (attack, labels) in found.into_values() {
        for &epsilon in &epsilons {
            let dot = |label: &str, point: &Point| {
                let privacy = point.measures.get(&Measure::PrivacyOn(attack, label.to_owned()))?;
                let (x, range) = percent(&privacy.complement())?;
                let (row, name, style) =
                    (label.into(), point.mechanism.clone(), styles.get(&point.mechanism));
                Some(Dot { row, name, style, x, range })
            };
            let here: Vec<&&Point> =
                set.points.iter().filter(|point| point.epsilon == epsilon).collect();
            let dots: Vec<Dot> = labels
                .iter()
                .flat_map(|label| {
                    here.iter().filter_map(|point| dot(label, point)).collect::<Vec<_>>()
                })
                .collect();
            if dots.is_empty() {
                continue;
            }
            let x = Axis {
                range: Some((0.0, 100.0)),
                ..Axis::new(format!("tokens that {attack} finds (%)"))
            };
            charts.push(Chart {
                title: format!("{attack} at ε = {}", short(epsilon)),
                caption: String::new(),
                wide: false,
                legend: Vec::new(),
                body: Body::Dots { x, dots },
            });
        }
    }
    charts
}
