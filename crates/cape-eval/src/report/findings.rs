//! Which mechanism is best where privacy is equal? Read off the measured curves between their points.

use super::curves::{Set, proven};
use super::table::{Cell, NONE, Table, percent, short};
use crate::measure::{Attack, Good, Measure};
use crate::record::PROTECTED_WORDS;
use crate::summary::Point;

/// Privacy where mechanisms are compared: against the first attack, and against this one.
const PRIVACIES: [f64; 2] = [0.5, 0.8];
/// The adversary who knows the mechanism.
const KNOWS_ALL: Measure = Measure::Privacy(Attack::Bayes);
/// Proven ε where they are.
const PROVEN: [f64; 3] = [6.0, 10.0, 14.0];
/// The utilities that are compared.
const UTILITIES: [Measure; 2] = [Measure::RougeL, Measure::Similarity];
/// A curve that ends this much short of a level, as a share of it, has reached it: an ε that is
/// computed from integers is a little below the one that was asked for.
const NEAR: f64 = 0.005;

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Knot {
    x: f64,
    epsilon: f64,
    /// Mean and interval.
    y: [f64; 3],
}

/// A curve at a level.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reach {
    /// Mean and interval, and ε as asked for.
    At([f64; 3], f64),
    /// It lies elsewhere: from, to.
    Not(f64, f64),
    /// There is no curve.
    None,
}

/// The findings on one set of data: sentences, and the numbers behind them.
pub(super) struct Findings {
    pub(super) sentences: Vec<String>,
    pub(super) table: Option<Table>,
}

/// A level and the curves there.
struct Level<'a> {
    /// How a sentence and a column begin.
    start: String,
    head: String,
    /// How places on the curves are written, from and to.
    range: fn(f64, f64) -> String,
    /// For each utility each mechanism.
    utilities: Vec<(Measure, Vec<(&'a str, Reach)>)>,
}

/// All that can be said.
pub(super) fn of(set: &Set) -> Findings {
    let levels = levels(set);
    let mut sentences: Vec<String> = levels.iter().map(sentence).collect();
    sentences.extend(partly(set));
    let without = set.unproven();
    if !without.is_empty() && without.len() < set.compared().len() && !levels.is_empty() {
        let names: Vec<String> = without.into_iter().map(quoted).collect();
        sentences.push(format!("No ε is proven: {}.", names.join(", ")));
    }
    Findings { sentences, table: table(set, &levels) }
}

/// Mechanisms that send many words as they are by design are not compared: what is found of the protected ones is
/// said.
fn partly(set: &Set) -> Option<String> {
    let of = |(name, points): (&str, Vec<&Point>)| {
        let last = points.last().filter(|_| is_partial(&points))?;
        let share = |measure: &Measure| last.measures.get(measure).map(|estimate| estimate.mean);
        let found = |attack: Attack| {
            let hidden = share(&Measure::PrivacyOn(attack, PROTECTED_WORDS.to_owned()))?;
            Some(format!("{attack} finds {} %", percent(1.0 - hidden)))
        };
        let found: Vec<String> =
            [Attack::Knn10, Attack::Bayes].into_iter().filter_map(found).collect();
        Some(format!(
            "{} protects {} % of the words that attacks count, and sends the others as they are by design; of the protected \
             ones, at ε = {}, {}",
            quoted(name),
            percent(share(&Measure::Protected)?),
            short(last.epsilon),
            found.join(" and ")
        ))
    };
    let all: Vec<String> = set.compared().into_iter().filter_map(of).collect();
    (!all.is_empty()).then(|| format!("{}.", all.join("; ")))
}

/// Whether a mechanism leaves so many words as they are that neither attacks on all of them nor what is left of the text
/// can be compared with those of mechanisms that draw for every word.
fn is_partial(points: &[&Point]) -> bool {
    let protected =
        |point: &&Point| point.measures.get(&Measure::Protected).map(|share| share.mean);
    points.last().and_then(protected).is_some_and(|share| share < 0.9)
}

fn levels<'a>(set: &Set<'a>) -> Vec<Level<'a>> {
    let there = set.measures(Good::Useful);
    let utilities = || UTILITIES.into_iter().filter(|measure| there.contains(&measure));
    let mut levels = Vec::new();
    if utilities().next().is_none() {
        return levels;
    }
    let reach = |level: f64, x: &dyn Fn(&Point) -> Option<f64>| {
        let of = |utility: Measure| {
            let curve = |(name, points): (&'a str, Vec<&Point>)| {
                if is_partial(&points) {
                    return (name, Reach::None);
                }
                (name, at(&knots(&points, x, &utility), level))
            };
            let curves = set.compared().into_iter().map(curve).collect();
            (utility, curves)
        };
        utilities().map(of).collect()
    };
    let attacks = set.measures(Good::Private);
    let compared = |i: usize, measure: &Measure| i == 0 || *measure == KNOWS_ALL;
    for (_, privacy) in attacks.into_iter().enumerate().filter(|(i, one)| compared(*i, one)) {
        let Measure::Privacy(attack) = privacy else { continue };
        let x = |point: &Point| point.measures.get(privacy).map(|estimate| estimate.mean);
        levels.extend(PRIVACIES.into_iter().map(|level| Level {
            start: format!(
                "At equal empirical privacy, {} % against {attack}",
                short(100.0 * level)
            ),
            head: format!("privacy {} % against {attack}", short(100.0 * level)),
            range: |low, high| format!("{} %", from_to(percent(low), &percent(high))),
            utilities: reach(level, &x),
        }));
    }
    if set.points.iter().any(|point| proven(point).is_some()) {
        levels.extend(PROVEN.into_iter().map(|level| Level {
            start: format!("At equal proven ε = {}", short(level)),
            head: format!("proven ε = {}", short(level)),
            range: |low, high| format!("proven {}", from_to(short(low), &short(high))),
            utilities: reach(level, &proven),
        }));
    }
    levels
}

fn knots(points: &[&Point], x: &dyn Fn(&Point) -> Option<f64>, utility: &Measure) -> Vec<Knot> {
    let knot = |point: &&Point| {
        let (x, y) = (x(point)?, point.measures.get(utility)?);
        let y = [y.mean, y.low, y.high];
        (x.is_finite() && y[0].is_finite()).then_some(Knot { x, epsilon: point.epsilon, y })
    };
    points.iter().filter_map(knot).collect()
}

/// The curve at a level, in straight lines from ε to ε; the highest where it is there more than once.
fn at(knots: &[Knot], level: f64) -> Reach {
    let within = |distance: f64| {
        let near = knots.iter().filter(move |knot| (knot.x - level).abs() <= distance);
        near.map(|knot| (knot.y, knot.epsilon)).collect::<Vec<([f64; 3], f64)>>()
    };
    let mut found = within(0.0);
    for pair in knots.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        if (a.x - level) * (b.x - level) < 0.0 {
            let part = (level - a.x) / (b.x - a.x);
            let mix = |a: f64, b: f64| a + part * (b - a);
            found.push((std::array::from_fn(|i| mix(a.y[i], b.y[i])), mix(a.epsilon, b.epsilon)));
        }
    }
    if found.is_empty() {
        found = within(NEAR * level.abs());
    }
    if let Some((y, epsilon)) = found.into_iter().max_by(|a, b| a.0[0].total_cmp(&b.0[0])) {
        return Reach::At(y, epsilon);
    }
    let places = knots.iter().map(|knot| knot.x);
    match (places.clone().reduce(f64::min), places.reduce(f64::max)) {
        (Some(low), Some(high)) => Reach::Not(low, high),
        _ => Reach::None,
    }
}

fn sentence(level: &Level) -> String {
    let mut parts: Vec<String> =
        level.utilities.iter().map(|(measure, curves)| best(measure, curves)).collect();
    let curves = level.utilities.iter().flat_map(|(_, curves)| curves);
    let mut elsewhere: Vec<String> = Vec::new();
    for (name, reach) in curves {
        if let Reach::Not(low, high) = *reach {
            let text = format!("{} ({})", quoted(name), (level.range)(low, high));
            if !elsewhere.contains(&text) {
                elsewhere.push(text);
            }
        }
    }
    if !elsewhere.is_empty() {
        parts.push(format!("not reached by {}", elsewhere.join(", ")));
    }
    format!("{}: {}.", level.start, parts.join("; "))
}

fn best(utility: &Measure, curves: &[(&str, Reach)]) -> String {
    let mut there: Vec<(&str, [f64; 3], f64)> = Vec::new();
    for (name, reach) in curves {
        if let Reach::At(y, epsilon) = *reach {
            there.push((name, y, epsilon));
        }
    }
    there.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]));
    let label = utility.label();
    let said = |(name, y, epsilon): &(&str, [f64; 3], f64)| {
        format!("{} {} % (ε ≈ {})", quoted(name), percent(y[0]), tenth(*epsilon))
    };
    let Some(first) = there.first() else {
        return format!("no curve of {label} is there");
    };
    // whoever reaches as high as the first does from below is not told apart from it
    let alike: Vec<String> =
        there.iter().filter(|(_, y, _)| y[2] >= first.1[1]).map(said).collect();
    match (&alike[..], there.get(alike.len())) {
        ([only], None) => format!("{label}: {only} alone is there, so nothing is compared"),
        ([best], Some(next)) => format!("highest {label}: {best}, then {}", said(next)),
        (alike, _) => format!("{label} not told apart by the intervals: {}", alike.join(", ")),
    }
}

/// A name that has a comma would fall apart in a sentence.
fn quoted(name: &str) -> String {
    if name.contains(',') { format!("“{name}”") } else { name.into() }
}

fn from_to(low: String, high: &str) -> String {
    if low == high { low } else { format!("{low} to {high}") }
}

fn tenth(value: f64) -> String {
    short((10.0 * value).round() / 10.0)
}

/// A row for each level and utility, a column for each mechanism.
fn table(set: &Set, levels: &[Level]) -> Option<Table> {
    levels.first()?;
    let caption = format!(
        "Utility where privacy is equal, on {} (%), read off between measured points",
        set.data
    );
    let names = set.compared().into_iter().map(|(name, _)| name);
    let mut table = Table::new(&caption, ["where", "utility"].into_iter().chain(names));
    for level in levels {
        for (utility, curves) in &level.utilities {
            let cell = |(_, reach): &(&str, Reach)| match reach {
                Reach::At(y, _) => Cell::Number(percent(y[0])),
                Reach::Not(..) => Cell::Number("not reached".into()),
                Reach::None => Cell::Number(NONE.into()),
            };
            let mut row = vec![Cell::text(&level.head), Cell::text(utility.label())];
            row.extend(curves.iter().map(cell));
            table.rows.push(row);
        }
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knot(x: f64, epsilon: f64, y: f64) -> Knot {
        Knot { x, epsilon, y: [y, y - 0.01, y + 0.01] }
    }

    #[test]
    fn curves_are_read_between_their_points() {
        let curve = [knot(0.9, 2.0, 0.4), knot(0.7, 6.0, 0.6), knot(0.3, 10.0, 1.0)];
        let Reach::At(y, epsilon) = at(&curve, 0.8) else { panic!() };
        assert!(
            (y[0] - 0.5).abs() < 1e-12
                && (y[1] - 0.49).abs() < 1e-12
                && (epsilon - 4.0).abs() < 1e-12
        );
        assert_eq!(at(&curve, 0.7), Reach::At(curve[1].y, 6.0));
        assert_eq!(at(&curve, 0.2), Reach::Not(0.3, 0.9));
        assert_eq!(at(&curve[..1], 0.9), Reach::At(curve[0].y, 2.0));
        assert_eq!(at(&[], 0.5), Reach::None);
    }

    #[test]
    fn a_curve_that_ends_a_hair_short_is_there() {
        assert_eq!(at(&[knot(13.999, 14.0, 0.5)], 14.0), Reach::At([0.5, 0.49, 0.51], 14.0));
        assert_eq!(at(&[knot(13.9, 14.0, 0.5)], 14.0), Reach::Not(13.9, 13.9));
    }

    #[test]
    fn the_highest_counts_where_a_curve_turns() {
        let curve = [knot(0.9, 1.0, 0.4), knot(0.7, 2.0, 0.6), knot(0.9, 3.0, 0.2)];
        let Reach::At(y, _) = at(&curve, 0.8) else { panic!() };
        assert!((y[0] - 0.5).abs() < 1e-12);
    }

    #[test]
    fn sentences_say_what_is_not_there() {
        let near = |y: f64| Reach::At([y, y - 0.02, y + 0.02], 5.96);
        let range: fn(f64, f64) -> String = |low, high| format!("{low} to {high}");
        let level = |curves| Level {
            start: "There".into(),
            head: String::new(),
            range,
            utilities: vec![(Measure::RougeL, curves)],
        };
        let text = sentence(&level(vec![
            ("a, x", near(0.5)),
            ("b", near(0.53)),
            ("c", Reach::Not(0.1, 0.2)),
        ]));
        assert_eq!(
            text,
            "There: ROUGE-L not told apart by the intervals: b 53.0 % (ε ≈ 6), “a, x” 50.0 % (ε ≈ 6); not reached by c \
             (0.1 to 0.2)."
        );
        let text = sentence(&level(vec![("a", near(0.5)), ("b", near(0.6))]));
        assert_eq!(text, "There: highest ROUGE-L: b 60.0 % (ε ≈ 6), then a 50.0 % (ε ≈ 6).");
        let text = sentence(&level(vec![("a", near(0.5)), ("b", Reach::None)]));
        assert!(text.ends_with("alone is there, so nothing is compared."));
        assert!(sentence(&level(vec![("b", Reach::None)])).contains("no curve"));
    }
}
