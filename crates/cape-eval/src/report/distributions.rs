//! Where do tokens go, what do candidates look like, and how is probability spread over them?

use super::chart::{Axis, Body, Chart, Histogram, Series, Spot};
use super::style::Styles;
use super::table::short;
use super::{BookToken, Mapping, Tail};

/// Lines of more points than this are thinned out: no screen shows them.
const MOST_SPOTS: usize = 200;
const BINS: u32 = 40;

/// How many outputs the tokens of each mechanism have, a row for each ε.
pub(super) fn sizes(all: &[Mapping], styles: &Styles) -> Vec<Chart> {
    let axis = Axis { log: true, ..Axis::new("different outputs in 1,000 draws") };
    histograms(all, styles, |mapping| mapping.sizes.clone(), &axis)
}

/// How often they stay the same.
pub(super) fn kept(all: &[Mapping], styles: &Styles) -> Vec<Chart> {
    let percent = |mapping: &Mapping| mapping.kept.iter().map(|share| 100.0 * share).collect();
    histograms(all, styles, percent, &Axis::new("draws that change nothing (%)"))
}

fn histograms(
    all: &[Mapping],
    styles: &Styles,
    values: impl Fn(&Mapping) -> Vec<f64>,
    axis: &Axis,
) -> Vec<Chart> {
    // the same axis for all mechanisms, so that they can be compared
    let edges = edges(all.iter().flat_map(&values), axis.log);
    let axis = Axis { range: edges.first().copied().zip(edges.last().copied()), ..axis.clone() };
    let chart = |(style, name): (usize, &String)| {
        let mut rows: Vec<&Mapping> = all.iter().filter(|one| one.mechanism == *name).collect();
        rows.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
        let row = |one: &&Mapping| {
            Histogram::new(format!("ε = {}", short(one.epsilon)), style, &values(one), &edges)
        };
        let rows: Vec<Histogram> = rows.iter().filter_map(row).collect();
        (!rows.is_empty()).then(|| Chart {
            title: name.clone(),
            caption: String::new(),
            wide: false,
            legend: Vec::new(),
            body: Body::Histograms { x: axis.clone(), rows },
        })
    };
    styles.names().iter().enumerate().filter_map(chart).collect()
}

/// Logits and distances of the example, a row for each token.
pub(super) fn book(tokens: &[BookToken]) -> Vec<Chart> {
    let chart = |title: &str, label: &str, of: fn(&BookToken) -> &Vec<f32>| {
        let values =
            |token: &BookToken| of(token).iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
        let edges = edges(tokens.iter().flat_map(values), false);
        let row =
            |token: &BookToken| Histogram::new(token.token.clone(), 0, &values(token), &edges);
        let rows: Vec<Histogram> = tokens.iter().filter_map(row).collect();
        (!rows.is_empty()).then(|| Chart {
            title: title.into(),
            caption: String::new(),
            wide: false,
            legend: Vec::new(),
            body: Body::Histograms { x: Axis::new(label), rows },
        })
    };
    [
        chart("Logits of all candidates", "logit", |token| &token.logits),
        chart("Distances of all candidates", "distance from the true token", |token| {
            &token.distances
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Cumulative probability by rank, a chart for each ε.
pub(super) fn tails(all: &[Tail]) -> Vec<Chart> {
    let mut names: Vec<&str> = all.iter().map(|tail| tail.name.as_str()).collect();
    let mut seen = Vec::new();
    names.retain(|name| {
        !seen.contains(name) && {
            seen.push(*name);
            true
        }
    });
    let mut epsilons: Vec<f64> = all.iter().map(|tail| tail.epsilon).collect();
    epsilons.sort_by(f64::total_cmp);
    epsilons.dedup();
    let chart = |&epsilon: &f64| {
        let same = all.iter().filter(|tail| tail.epsilon.total_cmp(&epsilon).is_eq());
        let series: Vec<Series> = same.filter_map(|tail| line(tail, &names)).collect();
        let legend = series.iter().map(|one| (one.name.clone(), one.style)).collect();
        (!series.is_empty()).then(|| Chart {
            title: format!("Probability at ε = {}", short(epsilon)),
            caption: String::new(),
            wide: epsilons.len() == 1,
            legend,
            body: Body::Curves {
                x: Axis { log: true, ..Axis::new("rank, the best candidate first") },
                y: Axis { range: Some((0.0, 100.0)), ..Axis::new("cumulative probability (%)") },
                series,
                levels: Vec::new(),
                corner: false,
                smooth: true,
            },
        })
    };
    epsilons.iter().filter_map(chart).collect()
}

fn line(tail: &Tail, names: &[&str]) -> Option<Series> {
    let spot = |&(x, y): &(f64, f64)| Spot {
        x,
        y: 100.0 * y,
        across: None,
        along: None,
        label: String::new(),
    };
    let there = tail
        .cumulative
        .iter()
        .filter(|(rank, share)| rank.is_finite() && *rank > 0.0 && share.is_finite());
    let spots: Vec<Spot> = there.map(spot).collect();
    let style = names.iter().position(|name| *name == tail.name)?;
    let spots = thinned(spots);
    (!spots.is_empty()).then(|| Series { name: tail.name.clone(), style, paper: false, spots })
}

/// At most `MOST_SPOTS` of them and the last, evenly spread over a logarithmic axis.
fn thinned(mut spots: Vec<Spot>) -> Vec<Spot> {
    spots.sort_by(|a, b| a.x.total_cmp(&b.x));
    let (Some(first), Some(last)) = (spots.first(), spots.last()) else { return spots };
    if spots.len() <= MOST_SPOTS || last.x <= first.x {
        return spots;
    }
    let (start, end) = (first.x, last.x);
    let step = (end / start).ln() / MOST_SPOTS as f64;
    let mut next = start;
    spots.retain(|spot| {
        let taken = spot.x >= next || spot.x == end;
        while next <= spot.x && next < end {
            next *= step.exp();
        }
        taken
    });
    spots
}

/// Bins of equal width over all values that are finite; on a logarithmic axis over those above 0.
fn edges(values: impl Iterator<Item = f64>, log: bool) -> Vec<f64> {
    let values = values.filter(|value| value.is_finite() && (!log || *value > 0.0));
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low > high {
        return Vec::new();
    }
    let (low, high) = if low < high {
        (low, high)
    } else if log {
        (low / 2.0, high * 2.0)
    } else {
        (low - 0.5, high + 0.5)
    };
    let part = |at: u32| f64::from(at) / f64::from(BINS);
    let edge = |at: u32| {
        if log { low * (high / low).powf(part(at)) } else { low + (high - low) * part(at) }
    };
    (0..=BINS).map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_one_bin() {
        for log in [false, true] {
            let values: Vec<f64> = (1..=100).map(f64::from).chain([f64::NAN]).collect();
            let edges = edges(values.iter().copied(), log);
            let histogram = Histogram::new("x".into(), 0, &values, &edges).unwrap();
            let total: f64 = histogram.bins.iter().map(|bin| bin.2).sum();
            assert!((total - 100.0).abs() < 1e-9 && histogram.of == 100);
            assert_eq!(histogram.quartiles, [1.0, 25.0, 50.0, 75.0, 100.0]);
        }
        assert_eq!(edges([f64::INFINITY].into_iter(), false), Vec::<f64>::new());
        assert_eq!(edges([3.0, 3.0].into_iter(), true).len(), BINS as usize + 1);
    }

    #[test]
    fn long_lines_keep_their_ends() {
        let spot = |at: i32| Spot {
            x: f64::from(at),
            y: 0.0,
            across: None,
            along: None,
            label: String::new(),
        };
        let spots = thinned((1..=30_000).map(spot).collect());
        assert!(spots.len() <= MOST_SPOTS + 1 && spots.len() > 100);
        assert_eq!((spots[0].x, spots[spots.len() - 1].x), (1.0, 30_000.0));
    }
}
