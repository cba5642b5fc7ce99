//! How do privacy and utility go together, and how do they move with ε?

use super::chart::{Axis, Body, Chart, Series, Spot, percent};
use super::extras::Floor;
use super::paper;
use super::style::Styles;
use super::table::short;
use crate::measure::{Good, Measure};
use crate::method::is_reference;
use crate::summary::{Point, measures};

/// Points of one set of data.
pub(super) struct Set<'a> {
    pub(super) data: &'a str,
    pub(super) points: Vec<&'a Point>,
    /// The values of measures where nothing is left.
    pub(super) floors: Vec<&'a Floor>,
}

/// The points by data, in the order in which data first appears.
pub(super) fn sets<'a>(points: &'a [Point], floors: &'a [Floor]) -> Vec<Set<'a>> {
    let mut sets: Vec<Set> = Vec::new();
    for point in points {
        if let Some(set) = sets.iter_mut().find(|set| set.data == point.data) {
            set.points.push(point);
        } else {
            let floors = floors.iter().filter(|floor| floor.data == point.data).collect();
            sets.push(Set { data: &point.data, points: vec![point], floors });
        }
    }
    sets
}

impl<'a> Set<'a> {
    /// The points of each mechanism, by ε.
    pub(super) fn mechanisms(&self) -> Vec<(&'a str, Vec<&'a Point>)> {
        let mut all: Vec<(&str, Vec<&Point>)> = Vec::new();
        for &point in &self.points {
            match all.iter_mut().find(|(name, _)| *name == point.mechanism) {
                Some((_, points)) => points.push(point),
                None => all.push((&point.mechanism, vec![point])),
            }
        }
        for (_, points) in &mut all {
            points.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
        }
        all
    }

    /// The measures whose high values mean this.
    pub(super) fn measures(&self, good: Good) -> Vec<&'a Measure> {
        let all = measures(self.points.iter().copied());
        all.into_iter().filter(|measure| measure.good() == good).collect()
    }

    /// The points of each mechanism without the references.
    pub(super) fn compared(&self) -> Vec<(&'a str, Vec<&'a Point>)> {
        let all = self.mechanisms().into_iter();
        all.filter(|(name, _)| !is_reference(name)).collect()
    }

    /// The mechanisms without a proven ε.
    pub(super) fn unproven(&self) -> Vec<&'a str> {
        let all = self.compared().into_iter();
        all.filter(|(_, points)| points.iter().all(|point| proven(point).is_none()))
            .map(|(name, _)| name)
            .collect()
    }
}

/// The proven ε, if it is a number.
pub(super) fn proven(point: &Point) -> Option<f64> {
    point.proven.filter(|epsilon| epsilon.is_finite())
}

/// Each attack against each utility, the first over the whole width.
pub(super) fn trade_offs(set: &Set, styles: &Styles) -> Vec<Chart> {
    let mut charts = Vec::new();
    for privacy in set.measures(Good::Private) {
        for utility in set.measures(Good::Useful) {
            let with_references = utility.is_task();
            let drawn = if with_references { set.mechanisms() } else { set.compared() };
            let mut series = measured(drawn, styles, |point| {
                let (x, across) = percent(point.measures.get(privacy)?)?;
                let (y, along) = percent(point.measures.get(utility)?)?;
                let is_reference = is_reference(&point.mechanism);
                let label = if is_reference { String::new() } else { short(point.epsilon) };
                Some(Spot { x, y, across, along, label })
            });
            series.extend(paper_trade_off(set.data, privacy, utility, styles));
            if series.iter().all(|one| one.paper) {
                continue;
            }
            charts.push(Chart {
                title: format!("{} and {}", utility.title(), privacy.label()),
                caption: String::new(),
                wide: charts.is_empty(),
                legend: Vec::new(),
                body: Body::Curves {
                    x: Axis::new(privacy.axis()),
                    y: Axis::new(utility.axis()),
                    series,
                    levels: floors(set, utility),
                    corner: true,
                    smooth: false,
                },
            });
        }
    }
    charts
}

/// Each measure by ε as it was asked for.
pub(super) fn by_nominal(set: &Set, styles: &Styles) -> Vec<Chart> {
    by_epsilon(set, styles, "ε as asked for", |point| Some(point.epsilon), true)
}

/// Each measure by the ε that is proven.
pub(super) fn by_proven(set: &Set, styles: &Styles) -> Vec<Chart> {
    by_epsilon(set, styles, "ε as proven", proven, false)
}

fn by_epsilon(
    set: &Set,
    styles: &Styles,
    label: &str,
    epsilon: impl Fn(&Point) -> Option<f64>,
    with_paper: bool,
) -> Vec<Chart> {
    let epsilon = |point: &Point| epsilon(point).filter(|value| value.is_finite());
    let x = Axis::through(label, set.points.iter().filter_map(|point| epsilon(point)));
    let chart = |measure: &Measure| {
        let mut series = measured(set.compared(), styles, |point| {
            let (y, along) = percent(point.measures.get(measure)?)?;
            Some(Spot { x: epsilon(point)?, y, across: None, along, label: String::new() })
        });
        let mut levels = references(set, measure);
        levels.extend(floors(set, measure));
        if with_paper && !series.is_empty() {
            for theirs in
                paper::on(set.data).into_iter().filter(|theirs| theirs.measure == *measure)
            {
                if paper::is_level(theirs.mechanism) {
                    let is_open = theirs.mechanism == "Non-private";
                    let name = if is_open { "paper: unprotected" } else { "paper: at random" };
                    levels
                        .extend(theirs.points.first().map(|point| (name.into(), 100.0 * point.1)));
                } else if let Some(ours) = paper::ours(theirs.mechanism, styles.names()) {
                    let spot = |&(x, y): &(f64, f64)| {
                        let (y, label) = (100.0 * y, String::new());
                        Spot { x, y, across: None, along: None, label }
                    };
                    series.push(Series {
                        name: theirs.mechanism.into(),
                        style: styles.get(ours),
                        paper: true,
                        spots: theirs.points.iter().map(spot).collect(),
                    });
                }
            }
        }
        let better = match measure.good() {
            Good::Private => "Higher is more private.",
            Good::Useful => "Higher is more useful.",
            Good::Revealing => "Lower is more private.",
        };
        let caption = [measure.meaning(), Some(better)].into_iter().flatten();
        let caption = caption.collect::<Vec<&str>>().join(" ");
        let y = Axis::new(measure.axis());
        let (x, title) = (x.clone(), measure.title());
        let body = Body::Curves { x, y, series, levels, corner: false, smooth: false };
        Chart { title, caption, wide: false, legend: Vec::new(), body }
    };
    let charts = measures(set.points.iter().copied()).into_iter().map(chart);
    charts
        .filter(|chart| matches!(&chart.body, Body::Curves { series, .. } if !series.is_empty()))
        .collect()
}

/// The references to compare a measure with.
fn references(set: &Set, measure: &Measure) -> Vec<(String, f64)> {
    let level = |point: &&&Point| is_reference(&point.mechanism);
    let of =
        |point: &&Point| Some((point.mechanism.clone(), percent(point.measures.get(measure)?)?.0));
    let points = set.points.iter().filter(level).filter(|_| measure.is_task());
    points.filter_map(of).collect()
}

/// The value of a measure where nothing is left of a prompt, or nothing is known.
fn floors(set: &Set, measure: &Measure) -> Vec<(String, f64)> {
    let of = set.floors.iter().filter(|floor| floor.measure == *measure);
    of.map(|floor| (floor.name.clone(), 100.0 * floor.value)).collect()
}

/// A line for each mechanism, without those that have no spot.
fn measured<'a>(
    mechanisms: Vec<(&'a str, Vec<&'a Point>)>,
    styles: &Styles,
    spot: impl Fn(&Point) -> Option<Spot>,
) -> Vec<Series> {
    let line = |(name, points): (&str, Vec<&Point>)| {
        let mut spots: Vec<Spot> = points.into_iter().filter_map(&spot).collect();
        // by what is proven a mechanism need not stay in the order of ε
        if spots.iter().all(|spot| spot.across.is_none() && spot.label.is_empty()) {
            spots.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        Series { name: name.into(), style: styles.get(name), paper: false, spots }
    };
    mechanisms.into_iter().map(line).filter(|one| !one.spots.is_empty()).collect()
}

/// The paper's mechanisms for which it has both numbers.
fn paper_trade_off(
    data: &str,
    privacy: &Measure,
    utility: &Measure,
    styles: &Styles,
) -> Vec<Series> {
    let all = paper::on(data);
    let of = |measure: &Measure, mechanism: &str| {
        let same = |one: &&paper::Series| one.measure == *measure && one.mechanism == mechanism;
        all.iter().find(same).map(|one| one.points.clone())
    };
    let line = |theirs: &paper::Series| {
        let ours = paper::ours(theirs.mechanism, styles.names())?;
        let utilities = of(utility, theirs.mechanism)?;
        let spot = |&(epsilon, x): &(f64, f64)| {
            let (_, y) = utilities.iter().find(|(other, _)| *other == epsilon)?;
            let (x, y, label) = (100.0 * x, 100.0 * y, short(epsilon));
            Some(Spot { x, y, across: None, along: None, label })
        };
        Some(Series {
            name: theirs.mechanism.into(),
            style: styles.get(ours),
            paper: true,
            spots: theirs.points.iter().filter_map(spot).collect(),
        })
    };
    all.iter().filter(|theirs| theirs.measure == *privacy).filter_map(line).collect()
}
