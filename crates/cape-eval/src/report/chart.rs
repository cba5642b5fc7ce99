//! The content of a chart: all that is drawn and nothing more, so that its table can say the same.
//!
//! `assets/report.js` draws the three kinds.

use serde::Serialize;

use super::table::{Cell, Table, short};
use crate::summary::Estimate;

/// A chart with what is said about it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Chart {
    pub(super) title: String,
    #[serde(skip)]
    pub(super) caption: String,
    /// Over the whole width.
    pub(super) wide: bool,
    /// Names and styles that this chart alone has.
    #[serde(skip)]
    pub(super) legend: Vec<(String, usize)>,
    #[serde(flatten)]
    pub(super) body: Body,
}

/// The three kinds.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Body {
    /// Lines through points.
    Curves {
        x: Axis,
        y: Axis,
        series: Vec<Series>,
        /// Levels to compare with.
        levels: Vec<(String, f64)>,
        /// Up and to the right is better.
        corner: bool,
        /// Lines without marks, told apart by their dashes.
        smooth: bool,
    },
    /// Histograms over one axis, one above the other.
    Histograms { x: Axis, rows: Vec<Histogram> },
    /// Dots in rows.
    Dots { x: Axis, dots: Vec<Dot> },
}

/// An axis. Values are as it shows them: in percent if it says so.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) log: bool,
    /// Where it is labelled; empty leaves that to the chart.
    pub(super) ticks: Vec<f64>,
    /// The first and last value; none leaves that to the chart.
    pub(super) range: Option<(f64, f64)>,
}

/// One line.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) style: usize,
    /// Whether the numbers are the paper's.
    pub(super) paper: bool,
    pub(super) spots: Vec<Spot>,
}

/// A point of a line.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Spot {
    pub(super) x: f64,
    pub(super) y: f64,
    /// The intervals.
    pub(super) across: Option<(f64, f64)>,
    pub(super) along: Option<(f64, f64)>,
    /// The text beside it.
    pub(super) label: String,
}

/// A row of bars.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Histogram {
    pub(super) name: String,
    pub(super) style: usize,
    /// From, to, and the share of the values between, in percent.
    pub(super) bins: Vec<(f64, f64, f64)>,
    /// How many values there are, and the least, the quartiles and the greatest of them.
    pub(super) of: usize,
    pub(super) quartiles: [f64; 5],
}

/// A dot with its interval.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Dot {
    pub(super) row: String,
    pub(super) name: String,
    pub(super) style: usize,
    pub(super) x: f64,
    pub(super) range: Option<(f64, f64)>,
}

impl Axis {
    pub(super) fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// An axis of ε or a setting: labelled where values are, logarithmic if they are far apart.
    pub(super) fn through(label: impl Into<String>, values: impl Iterator<Item = f64>) -> Self {
        let mut ticks: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let ends = ticks.first().copied().zip(ticks.last().copied());
        let log = ends.is_some_and(|(low, high)| low > 0.0 && high / low > 30.0);
        if log || ticks.len() > 10 {
            ticks.clear();
        }
        Self { label: label.into(), log, ticks, range: None }
    }
}

/// An estimate in percent with its interval, if it is a number.
pub(super) fn percent(estimate: &Estimate) -> Option<(f64, Option<(f64, f64)>)> {
    let Estimate { mean, low, high, .. } = *estimate;
    let interval = (low.is_finite() && high.is_finite()).then_some((100.0 * low, 100.0 * high));
    mean.is_finite().then_some((100.0 * mean, interval))
}

impl Histogram {
    /// Counts all values that are finite, in bins between `edges`.
    pub(super) fn new(name: String, style: usize, values: &[f64], edges: &[f64]) -> Option<Self> {
        let mut values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let quartiles = [0, 1, 2, 3, 4].map(|quarter| values[last * quarter / 4]);
        let below = |edge: f64| values.partition_point(|value| *value < edge);
        let bin = |(at, pair): (usize, &[f64])| {
            // the last bin has its upper end as well
            let end = if at + 2 == edges.len() { values.len() } else { below(pair[1]) };
            let start = if at == 0 { 0 } else { below(pair[0]) };
            (pair[0], pair[1], 100.0 * end.saturating_sub(start) as f64 / values.len() as f64)
        };
        let bins = edges.windows(2).enumerate().map(bin).collect();
        Some(Self { name, style, bins, of: values.len(), quartiles })
    }
}

impl Chart {
    /// Whether something is written beside its points.
    pub(super) fn is_labelled(&self) -> bool {
        matches!(&self.body, Body::Curves { corner: true, .. })
    }

    /// The chart in words and numbers.
    pub(super) fn table(&self) -> Table {
        match &self.body {
            Body::Curves { x, y, series, levels, .. } => {
                let mut table = Table::new(&self.title, ["", "at", &x.label, &y.label]);
                for one in series {
                    let name = if one.paper {
                        format!("{}, in the paper", one.name)
                    } else {
                        one.name.clone()
                    };
                    table.rows.extend(one.spots.iter().map(|spot| {
                        let (x, y) = (between(spot.x, spot.across), between(spot.y, spot.along));
                        vec![
                            Cell::text(&name),
                            Cell::text(&spot.label),
                            Cell::Number(x),
                            Cell::Number(y),
                        ]
                    }));
                }
                table.rows.extend(levels.iter().map(|(name, level)| {
                    vec![
                        Cell::text(name),
                        Cell::text(""),
                        Cell::Number("any".into()),
                        Cell::number(*level),
                    ]
                }));
                if table.rows.iter().all(|row| row[1] == Cell::text("")) {
                    table.heads.remove(1);
                    table.rows.iter_mut().for_each(|row| drop(row.remove(1)));
                }
                table
            }
            Body::Histograms { x, rows } => {
                let caption = format!("{}: {}", self.title, x.label);
                let heads = [
                    "",
                    "values",
                    "least",
                    "a quarter below",
                    "median",
                    "a quarter above",
                    "greatest",
                ];
                let mut table = Table::new(&caption, heads);
                table.rows.extend(rows.iter().map(|row| {
                    let mut cells = vec![Cell::text(&row.name), Cell::number(row.of as f64)];
                    cells.extend(row.quartiles.map(Cell::number));
                    cells
                }));
                table
            }
            Body::Dots { x, dots } => {
                let mut table = Table::new(&self.title, ["", "mechanism", &x.label]);
                table.rows.extend(dots.iter().map(|dot| {
                    let x = Cell::Number(between(dot.x, dot.range));
                    vec![Cell::text(&dot.row), Cell::text(&dot.name), x]
                }));
                table
            }
        }
    }
}

fn between(value: f64, range: Option<(f64, f64)>) -> String {
    match range {
        Some((low, high)) => format!("{} ({} to {})", short(value), short(low), short(high)),
        None => short(value),
    }
}
