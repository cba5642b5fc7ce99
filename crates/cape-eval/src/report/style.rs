//! Which colour and mark belongs to a mechanism? Its number, the same in every chart.

use super::Report;

/// The mechanisms in the order in which they first appear; a style is a place in it.
pub(super) struct Styles(Vec<String>);

impl Styles {
    pub(super) fn of(report: &Report) -> Self {
        let measured = report.points.iter().map(|point| &point.mechanism);
        let mapped = report.extras.mapping.iter().map(|mapping| &mapping.mechanism);
        let mut names: Vec<String> = Vec::new();
        for name in measured.chain(mapped) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Self(names)
    }

    pub(super) fn names(&self) -> &[String] {
        &self.0
    }

    /// The style of this mechanism; the next free one for a name that is none.
    pub(super) fn get(&self, name: &str) -> usize {
        self.0.iter().position(|known| known == name).unwrap_or(self.0.len())
    }
}
