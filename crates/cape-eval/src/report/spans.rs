//! How often is a name, a place or a number found? Attacks on labelled spans.

use super::chart::{Axis, Body, Chart, Dot, percent};
use super::curves::Set;
use super::measure;
use super::style::Styles;
use super::table::short;
use crate::summary::Point;

/// A chart for each attack and ε.
pub(super) fn charts(set: &Set, styles: &Styles) -> Vec<Chart> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for span in set
        .points
        .iter()
        .flat_map(|point| point.measures.keys())
        .filter_map(|name| measure::span(name))
    {
        if !found.contains(&span) {
            found.push(span);
        }
    }
    let mut attacks: Vec<&str> = found.iter().map(|(attack, _)| *attack).collect();
    attacks.sort_unstable();
    attacks.dedup();
    let mut epsilons: Vec<f64> = set.points.iter().map(|point| point.epsilon).collect();
    epsilons.sort_by(f64::total_cmp);
    epsilons.dedup();
    let mut charts = Vec::new();
    for attack in attacks {
        let mut labels: Vec<&str> =
            found.iter().filter(|span| span.0 == attack).map(|span| span.1).collect();
        labels.sort_unstable();
        for &epsilon in &epsilons {
            let dot = |label: &str, point: &Point| {
                let privacy = point.measures.get(&format!("privacy {attack} on {label}"))?;
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
