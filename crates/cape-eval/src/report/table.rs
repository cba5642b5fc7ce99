//! Tables, and how numbers are written in them.

use crate::summary::Estimate;

/// A table with a heading over each column.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) caption: String,
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Number(String),
    /// Pieces of a text, and whether each is new in it.
    Words(Vec<(String, bool)>),
}

impl Table {
    pub(super) fn new<'a>(caption: &str, heads: impl IntoIterator<Item = &'a str>) -> Self {
        let heads = heads.into_iter().map(String::from).collect();
        Self { caption: caption.into(), heads, rows: Vec::new() }
    }

    /// Whether a column holds numbers, which stand to the right.
    pub(super) fn is_number(&self, column: usize) -> bool {
        self.rows.first().is_some_and(|row| matches!(row.get(column), Some(Cell::Number(_))))
    }
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A number as short as it can be written.
    pub(super) fn number(value: f64) -> Self {
        Self::Number(short(value))
    }

    /// A share in percent with its interval.
    pub(super) fn share(estimate: Option<&Estimate>) -> Self {
        Self::Number(estimate.map_or_else(|| NONE.into(), share))
    }
}

/// The mark where there is no number.
pub(super) const NONE: &str = "–";

/// Up to four digits that count.
pub(super) fn short(value: f64) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    let whole = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let places = (3 - whole).clamp(0, 6) as usize;
    let text = format!("{value:.places$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text.as_str()
    };
    if text == "-0" { "0".into() } else { text.into() }
}

/// A share in percent.
pub(super) fn percent(value: f64) -> String {
    if value.is_finite() { format!("{:.1}", 100.0 * value) } else { NONE.into() }
}

/// A share in percent, and its interval where it has one.
pub(super) fn share(estimate: &Estimate) -> String {
    let Estimate { mean, low, high, .. } = *estimate;
    if !mean.is_finite() || !low.is_finite() || !high.is_finite() {
        return percent(mean);
    }
    format!("{} ({} to {})", percent(mean), percent(low), percent(high))
}
