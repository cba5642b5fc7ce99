//! The points as a table.

use std::fmt::Write as _;

use cape_eval::grid::Refused;
use cape_eval::subject::is_reference;
use cape_eval::summary::Point;

/// How wide the column of names is at least.
const NAMES: usize = 14;

/// The points as a person reads them.
pub(super) fn table(points: &[Point], refused: &[Refused]) -> String {
    let columns = [
        ("rouge_l", "ROUGE-L"),
        ("similarity", "cosine"),
        ("accuracy", "accuracy"),
        ("unread answers", "unread"),
        ("task", "tasks"),
        ("details", "details"),
        ("preferred", "prefer."),
        ("coherence", "coherent"),
        ("alignment", "aligned"),
        ("unchanged", "kept"),
        ("protected", "protect."),
        ("privacy knn-1", "KNN-1"),
        ("privacy knn-10", "KNN-10"),
        ("privacy mti", "MTI"),
        ("privacy bayes", "Bayes"),
        ("privacy llm", "LLM"),
    ];
    let measured = |name: &str| points.iter().any(|point| point.measures.contains_key(name));
    let columns: Vec<_> = columns.into_iter().filter(|(name, _)| measured(name)).collect();
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
        for (name, _) in &columns {
            let shown = point.measures.get(*name);
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
