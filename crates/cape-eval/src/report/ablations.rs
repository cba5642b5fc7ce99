//! Charts of one setting's effect.

use super::Ablation;
use super::chart::{Axis, Body, Chart, Series, Spot, percent};
use super::curves::{Set, sets};
use super::table::short;
use crate::measure::{Good, Measure};
use crate::summary::measures;

/// From this style on colours have an order.
const ORDERED: usize = 100;

/// The values of one setting, of one mechanism on one set of data.
struct Group<'a> {
    name: &'a str,
    data: &'a str,
    mechanism: &'a str,
    all: Vec<&'a Ablation>,
}

/// For each setting one trade-off with a line for each value, and each measure by the value.
pub(super) fn charts(all: &[Ablation]) -> Vec<(String, Vec<Chart>)> {
    let mut groups: Vec<Group> = Vec::new();
    for one in all {
        let (data, mechanism) = (one.point.data.as_str(), one.point.mechanism.as_str());
        let same = |group: &&mut Group| {
            (group.name, group.data, group.mechanism) == (one.name.as_str(), data, mechanism)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.all.push(one),
            None => groups.push(Group { name: &one.name, data, mechanism, all: vec![one] }),
        }
    }
    let of = |group: &Group| {
        let title = format!("{} of {} on {}", group.name, group.mechanism, group.data);
        let mut charts: Vec<Chart> = trade_off(group).into_iter().collect();
        charts.extend(by_value(group));
        (title, charts)
    };
    groups.iter().map(of).collect()
}

fn trade_off(group: &Group) -> Option<Chart> {
    let points: Vec<_> = group.all.iter().map(|one| one.point.clone()).collect();
    let sets = sets(&points, &[]);
    let first = |good: Good| sets.iter().flat_map(|set: &Set| set.measures(good)).next();
    let (privacy, utility) = (first(Good::Private)?, first(Good::Useful)?);
    let spot = |one: &Ablation| {
        let (x, across) = percent(one.point.measures.get(privacy)?)?;
        let (y, along) = percent(one.point.measures.get(utility)?)?;
        let label = short(one.point.epsilon);
        Some((one.point.epsilon, Spot { x, y, across, along, label }))
    };
    let name = |one: &Ablation| format!("{} = {}", group.name, short(one.value));
    let body = Body::Curves {
        x: Axis::new(privacy.axis()),
        y: Axis::new(utility.axis()),
        series: lines(group, |one| one.value, name, spot),
        levels: Vec::new(),
        corner: true,
        smooth: false,
    };
    let title = format!("{} and {}", utility.title(), privacy.label());
    with_legend(title, "A line for each value; ε beside the points.", body)
}

fn by_value(group: &Group) -> Vec<Chart> {
    let x = Axis::through(group.name, group.all.iter().map(|one| one.value));
    let chart = |measure: &Measure| {
        let spot = |one: &Ablation| {
            let (y, along) = percent(one.point.measures.get(measure)?)?;
            let label = String::new();
            one.value
                .is_finite()
                .then_some((one.value, Spot { x: one.value, y, across: None, along, label }))
        };
        let name = |one: &Ablation| format!("ε = {}", short(one.point.epsilon));
        let body = Body::Curves {
            x: x.clone(),
            y: Axis::new(measure.axis()),
            series: lines(group, |one| one.point.epsilon, name, spot),
            levels: Vec::new(),
            corner: false,
            smooth: false,
        };
        with_legend(measure.title(), "A line for each ε.", body)
    };
    let measures = measures(group.all.iter().map(|one| &one.point));
    measures.into_iter().filter_map(chart).collect()
}

/// A line for each value of `key`, in their order, its spots in the order of what they come with.
fn lines(
    group: &Group,
    key: impl Fn(&Ablation) -> f64,
    name: impl Fn(&Ablation) -> String,
    spot: impl Fn(&Ablation) -> Option<(f64, Spot)>,
) -> Vec<Series> {
    let mut all = group.all.clone();
    all.sort_by(|a, b| key(a).total_cmp(&key(b)));
    let lines = all.chunk_by(|a, b| key(a).total_cmp(&key(b)).is_eq()).enumerate();
    let line = |(style, all): (usize, &[&Ablation])| {
        let mut spots: Vec<(f64, Spot)> = all.iter().filter_map(|one| spot(one)).collect();
        spots.sort_by(|a, b| a.0.total_cmp(&b.0));
        let spots = spots.into_iter().map(|(_, spot)| spot).collect();
        Series { name: name(all[0]), style: ORDERED + style, paper: false, spots }
    };
    lines.map(line).filter(|one| !one.spots.is_empty()).collect()
}

fn with_legend(title: String, caption: &str, body: Body) -> Option<Chart> {
    let Body::Curves { series, .. } = &body else { return None };
    let legend: Vec<_> = series.iter().map(|one| (one.name.clone(), one.style)).collect();
    let caption = caption.into();
    (!legend.is_empty()).then_some(Chart { title, caption, wide: false, legend, body })
}
