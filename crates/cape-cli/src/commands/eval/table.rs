//! The points as a table.

use std::fmt::Write as _;

use cape_eval::grid::Refused;
use cape_eval::summary::Point;
use cape_eval::{Attack, Measure, Score, is_reference};

/// How wide the column of names is at least.
const NAMES: usize = 14;

/// The points as a person reads them.
pub(super) fn table(points: &[Point], refused: &[Refused]) -> String {
    let columns = [
        (Measure::RougeL, "ROUGE-L"),
        (Measure::Similarity, "cosine"),
        (Measure::Score(Score::Accuracy), "accuracy"),
        (Measure::Unread, "unread"),
        (Measure::Score(Score::Task), "tasks"),
        (Measure::Score(Score::Details), "details"),
        (Measure::Score(Score::Preferred), "prefer."),
        (Measure::Score(Score::Coherence), "coherent"),
        (Measure::Score(Score::Alignment), "aligned"),
        (Measure::Unchanged, "kept"),
        (Measure::Protected, "protect."),
        (Measure::Privacy(Attack::Knn1), "KNN-1"),
        (Measure::Privacy(Attack::Knn10), "KNN-10"),
        (Measure::Privacy(Attack::Mti), "MTI"),
        (Measure::Privacy(Attack::Bayes), "Bayes"),
        (Measure::Privacy(Attack::Llm), "LLM"),
    ];
    let measured = |one: &Measure| points.iter().any(|point| point.measures.contains_key(one));
    let columns: Vec<_> = columns.into_iter().filter(|(one, _)| measured(one)).collect();
    let names = points.iter().map(|point| point.mechanism.chars().count());
    let wide = names.max().unwrap_or(0).max(NAMES);
    let mut out = format!("{:wide$} {:>6} {:>8}", "mechanism", "ε", "proven");
    for (_, title) in &columns {
        let _ = write!(out, " {title:>8}");
    }
    out.push('\n');
    for point in points {
        let proven = point.proven.map_or("-".into(), |proven| format!("{proven:.1}"));
        let reference = is_reference(&point.mechanism);
        let epsilon = if reference { "-".into() } else { point.epsilon.to_string() };
        let _ = write!(out, "{:wide$} {epsilon:>6} {proven:>8}", point.mechanism);
        for (measure, _) in &columns {
            let shown = point.measures.get(measure);
            let shown = shown.map_or("-".into(), |e| format!("{:.1}", 100.0 * e.mean));
            let _ = write!(out, " {shown:>8}");
        }
        out.push('\n');
    }
    let _ =
        writeln!(out, "\nper cent; KNN, MTI, Bayes, LLM: positions that the attack does not find");
    for refused in refused {
        let _ = writeln!(out, "{} at ε = {}: {}", refused.mechanism, refused.epsilon, refused.why);
    }
    out
}
