//! The report: curves, tables and plain sentences, made of measured points.
//!
//! ```text
//! points + extras → sections (text, charts, tables) → HTML or Markdown
//!                 → lines of CSV, JSON
//! ```

mod ablations;
mod chart;
mod csv;
mod curves;
mod distributions;
mod examples;
mod extras;
mod findings;
mod html;
mod markdown;
mod paper;
mod sections;
mod spans;
mod style;
mod table;

use serde::{Deserialize, Serialize};

pub use extras::{
    Ablation, BookToken, Efficiency, Example, ExampleRow, Extras, Floor, Mapping, Tail,
};

use crate::summary::Point;

/// Everything that is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The heading.
    pub title: String,
    /// Names and values: versions, model, data, date, command.
    pub about: Vec<(String, String)>,
    /// The measures.
    pub points: Vec<Point>,
    /// Further sections; each is left out where its data is empty.
    #[serde(default)]
    pub extras: Extras,
}

impl Report {
    /// One page that needs nothing but a browser: no network, no other file.
    #[must_use]
    pub fn html(&self) -> String {
        html::page(self, &sections::all(self))
    }

    /// The same text and tables without the charts.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::document(self, &sections::all(self))
    }

    /// One line for each point and measure.
    #[must_use]
    pub fn csv(&self) -> String {
        csv::lines(self)
    }

    /// Everything. Numbers that are not finite become `null`.
    #[must_use]
    pub fn json(&self) -> String {
        json(self)
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}

#[cfg(test)]
mod tests;
