//! The points for other programs: one line for each point and measure.

use std::fmt::Write;

use super::Report;
use crate::summary::Point;

const HEAD: &str =
    "data,mechanism,epsilon,proven,releases,seconds,measure,mean,low,high,n,setting,value\n";

/// All lines, those of the ablations with the setting that was changed, and the costs of mechanisms.
pub(super) fn lines(report: &Report) -> String {
    let mut out = String::from(HEAD);
    for point in &report.points {
        put(&mut out, point, ",");
    }
    for ablation in &report.extras.ablations {
        let changed = format!("{},{}", quoted(&ablation.name), number(ablation.value));
        put(&mut out, &ablation.point, &changed);
    }
    for cost in &report.extras.efficiency {
        let mechanism = quoted(&cost.mechanism);
        for (name, value) in [
            ("set-up (s)", cost.set_up_s),
            ("a prompt (ms)", cost.prompt_ms),
            ("a token (ms)", cost.token_ms),
            ("memory (MB)", cost.memory_mb),
        ] {
            let _ = writeln!(out, ",{mechanism},,,,,{name},{},,,,,", number(value));
        }
    }
    out
}

fn put(out: &mut String, point: &Point, changed: &str) {
    let proven = point.proven.map(number).unwrap_or_default();
    let mut measures: Vec<_> =
        point.measures.iter().map(|(measure, of)| (measure.to_string(), of)).collect();
    measures.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    for (name, estimate) in measures {
        let start =
            [quoted(&point.data), quoted(&point.mechanism), number(point.epsilon), proven.clone()];
        let [mean, low, high] = [estimate.mean, estimate.low, estimate.high].map(number);
        let (releases, seconds) = (point.releases, number(point.seconds));
        let (start, name, n) = (start.join(","), quoted(&name), estimate.n);
        // writing to a string cannot fail
        let _ =
            writeln!(out, "{start},{releases},{seconds},{name},{mean},{low},{high},{n},{changed}");
    }
}

/// A field as RFC 4180 has it.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into()
    }
}

/// Nothing where it is not finite.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}
