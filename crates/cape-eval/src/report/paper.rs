//! The paper's numbers, and which of our mechanisms they are about.

use crate::measure::{Attack, Measure, Score, read};

const ROUGE_L: &str = include_str!("../../data/paper/rouge_l_sst2.csv");
const KNN_10: &str = include_str!("../../data/paper/knn_privacy_top10_sst2.csv");
const ACCURACY: &str = include_str!("../../data/paper/accuracy.csv");
const GENERATION: &str = include_str!("../../data/paper/generation_wikitext.csv");
const EFFICIENCY: &str = include_str!("../../data/paper/efficiency.csv");

/// A row of one of the paper's tables.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) data: &'static str,
    pub(super) measure: Measure,
    pub(super) mechanism: &'static str,
    /// ε, and the value as a share.
    pub(super) points: Vec<(f64, f64)>,
}

/// The cost of a mechanism on the paper's machine.
pub(super) struct Cost {
    pub(super) mechanism: &'static str,
    pub(super) set_up_s: f64,
    pub(super) prompt_ms: f64,
    pub(super) memory_mb: f64,
}

/// The paper's numbers on this data, by its name.
pub(super) fn on(data: &str) -> Vec<Series> {
    let key = plain(data);
    all().into_iter().filter(|series| key.starts_with(&plain(series.data))).collect()
}

fn all() -> Vec<Series> {
    let mut all = Vec::new();
    for (table, measure) in [(ROUGE_L, Measure::RougeL), (KNN_10, Measure::Privacy(Attack::Knn10))]
    {
        all.extend(rows(table, |_| Some(("SST-2", measure.clone())), 0));
    }
    all.extend(rows(ACCURACY, |first| Some((first, Measure::Score(Score::Accuracy))), 1));
    all.extend(rows(GENERATION, |first| Some(("WikiText", Measure::Score(read(first)?))), 1));
    all
}

/// The rows of a table with a column for each ε, which begin after the mechanism in column `at`.
fn rows(
    table: &'static str,
    what: impl Fn(&'static str) -> Option<(&'static str, Measure)>,
    at: usize,
) -> Vec<Series> {
    let mut lines = table.lines().map(|line| line.trim().split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap_or_default();
    let series = |fields: Vec<&'static str>| {
        let (data, measure) = what(fields.first()?)?;
        let points = heads.iter().zip(&fields).skip(at + 1);
        let points = points.filter_map(|(epsilon, value)| {
            Some((epsilon.parse().ok()?, value.parse::<f64>().ok()? / 100.0))
        });
        Some(Series { data, measure, mechanism: fields.get(at)?, points: points.collect() })
    };
    lines.filter_map(series).collect()
}

/// The costs of the mechanisms in the paper.
pub(super) fn costs() -> Vec<Cost> {
    let lines = EFFICIENCY.lines().skip(1).map(|line| line.trim().split(',').collect::<Vec<_>>());
    let cost = |fields: Vec<&'static str>| {
        let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
        Some(Cost {
            mechanism: fields.first()?,
            set_up_s: number(1)?,
            prompt_ms: 1e3 * number(2)?,
            memory_mb: 1e3 * number(3)?,
        })
    };
    lines.filter_map(cost).collect()
}

/// Which of our mechanisms the paper means by a name. Its Cape is `cape-paper` where that is there, on the
/// device model in our name, which is BERT where it has none.
pub(super) fn ours<'a>(theirs: &str, mechanisms: &'a [String]) -> Option<&'a String> {
    let Some(model) = theirs.strip_prefix("Cape (") else {
        return mechanisms.iter().find(|ours| ours.to_lowercase() == theirs.to_lowercase());
    };
    let model = plain(model);
    let on = |ours: &str| {
        let ours = plain(ours);
        ["gpt2", "distilbert"].into_iter().find(|known| ours.contains(known)).unwrap_or("bert")
    };
    let mut same = mechanisms.iter().filter(|ours| ours.starts_with("cape") && on(ours) == model);
    let first = same.clone().next();
    same.find(|ours| ours.contains("paper")).or(first)
}

/// Whether it is a level to compare with and no mechanism.
pub(super) fn is_level(theirs: &str) -> bool {
    ["Random", "Non-private"].contains(&theirs)
}

/// Letters and digits in lower case: SST-2 and `sst2` are the same.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_read_whole() {
        assert_eq!((all().len(), costs().len()), (7 + 2 + 19 + 12, 5));
        assert!(all().iter().all(|series| series.points.len() == 7));
        let sst2 = on("sst2 validation");
        let knn =
            sst2.iter().find(|series| series.measure == Measure::Privacy(Attack::Knn10)).unwrap();
        assert_eq!((knn.mechanism, knn.points[3].0), ("Cape (BERT)", 6.0));
        assert!((knn.points[3].1 - 0.805_4).abs() < 1e-12);
        assert!(on("tab").is_empty() && !on("wikitext-103").is_empty());
    }

    #[test]
    fn names_are_matched() {
        let names = ["cape", "cape-paper", "cape, gpt2", "santext+"].map(String::from);
        let ours = |theirs: &str| ours(theirs, &names).map(String::as_str);
        assert_eq!(ours("Cape (BERT)"), Some("cape-paper"));
        assert_eq!(ours("Cape (GPT2)"), Some("cape, gpt2"));
        assert_eq!((ours("Cape (DistilBERT)"), ours("SANTEXT")), (None, None));
        assert_eq!(ours("SANTEXT+"), Some("santext+"));
    }
}
