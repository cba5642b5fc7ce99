//! The findings of an audit, for people and machines.

use std::fmt::Write;

use cape::audit::sample::{
    Claim, Departure, Dependence, Event, Outcomes, Pairing, Place, SampleFindings,
};
use serde::Serialize;

use crate::failure::{Done, Failure};
use crate::output;

/// The claim that was tested.
pub(super) struct Tested {
    pub(super) claim: Claim,
    /// The words in which the prompts differ, where that is known.
    pub(super) differing: Vec<[String; 2]>,
}

#[derive(Serialize)]
struct Json {
    verdict: &'static str,
    draws: u64,
    confidence: f64,
    differing_tokens: Option<usize>,
    differing: Vec<[String; 2]>,
    epsilon_stated: f64,
    epsilon_at_least: f64,
    events: usize,
    event: Option<EventJson>,
    largest_visible: f64,
    least_visible_excess: Option<f64>,
    independence_tests: usize,
    dependence: Option<DependenceJson>,
    law_tests: Option<usize>,
    departure: Option<DepartureJson>,
}

#[derive(Serialize)]
struct EventJson {
    place: String,
    words: Vec<String>,
    word_count: usize,
    more_for: &'static str,
    hits: [u64; 2],
    draws: u64,
}

#[derive(Serialize)]
struct DependenceJson {
    releases: &'static str,
    place: String,
    straight: u64,
    crossed: u64,
    p: f64,
}

#[derive(Serialize)]
struct DepartureJson {
    prompt: &'static str,
    place: String,
    outcomes: String,
    stated: f64,
    hits: u64,
    draws: u64,
}

const PROMPTS: [&str; 2] = ["the prompt", "the other"];

impl Tested {
    pub(super) fn show(&self, report: &SampleFindings, confidence: f64, json: bool) -> String {
        if json {
            output::json_pretty(&self.json(report, confidence))
        } else {
            self.text(report, confidence)
        }
    }

    /// A refuted claim is a failure.
    pub(super) fn verdict(&self, report: &SampleFindings) -> Done {
        if !report.refutes(&self.claim) {
            return Ok(());
        }
        let more = report.epsilon > self.claim.epsilon;
        let found = [
            more.then_some("ε is larger than stated"),
            report.dependence.is_some().then_some("releases depend on each other"),
            report.departure.is_some().then_some("a word does not follow its law"),
        ];
        let found: Vec<&str> = found.into_iter().flatten().collect();
        Err(Failure::new(
            format!("found wanting: {}", found.join("; ")),
            "send nothing that was drawn so; if it is cape with its own settings, SECURITY.md says \
             how to report it",
        ))
    }

    fn json(&self, report: &SampleFindings, confidence: f64) -> Json {
        Json {
            verdict: if report.refutes(&self.claim) { "found wanting" } else { "nothing found" },
            draws: report.draws,
            confidence,
            differing_tokens: (!self.differing.is_empty()).then_some(self.differing.len()),
            differing: self.differing.clone(),
            epsilon_stated: self.claim.epsilon,
            epsilon_at_least: report.epsilon,
            events: report.events,
            event: report.event.as_ref().map(|event| EventJson {
                place: place(event.place),
                words: event.words.clone(),
                word_count: event.count,
                more_for: PROMPTS[usize::from(event.reversed)],
                hits: event.hits,
                draws: event.draws,
            }),
            largest_visible: report.power.largest,
            least_visible_excess: report.power.visible.map(|least| least - self.claim.epsilon),
            independence_tests: report.pairings,
            dependence: report.dependence.as_ref().map(|found| DependenceJson {
                releases: pairing(found.pairing),
                place: place(found.place),
                straight: found.straight,
                crossed: found.crossed,
                p: found.p,
            }),
            law_tests: report.fit_tests,
            departure: report.departure.as_ref().map(|found| DepartureJson {
                prompt: PROMPTS[usize::from(found.other)],
                place: place(Place::Word(found.nth)),
                outcomes: outcomes(found.outcomes),
                stated: found.stated,
                hits: found.hits,
                draws: found.draws,
            }),
        }
    }

    fn text(&self, report: &SampleFindings, confidence: f64) -> String {
        let (stated, mut out) = (self.claim.epsilon, String::new());
        let differ = match self.differing.as_slice() {
            [] => String::new(),
            [[from, to]] => format!(" that differ in one word ({from} / {to})"),
            many => format!(" that differ in {} words", many.len()),
        };
        let percent = 100.0 * confidence;
        let _ = writeln!(
            out,
            "{} releases of each of two prompts{differ}; confidence {percent} %\n",
            report.draws
        );
        let _ = writeln!(
            out,
            "ε             at least {:.3}; stated: at most {}{}",
            report.epsilon,
            output::up(stated),
            mark(report.epsilon > stated)
        );
        // an event that tells nothing is not worth a line
        if let Some(event) = report.event.as_ref().filter(|_| report.epsilon > 0.0) {
            let _ = writeln!(out, "{}", event_line(event));
        }
        let _ = writeln!(
            out,
            "independence  {}",
            report.dependence.as_ref().map_or_else(
                || format!("nothing found in {} tests", report.pairings),
                dependence_line
            )
        );
        let _ = match (&report.departure, report.fit_tests) {
            (Some(found), _) => writeln!(out, "law           {}", departure_line(found)),
            (None, Some(tests)) => {
                writeln!(
                    out,
                    "law           nothing found in {tests} tests of the first protected word"
                )
            }
            (None, None) => writeln!(out, "law           not known, not tested"),
        };
        if !report.refutes(&self.claim) {
            let _ = write!(out, "\n{}", self.limits(report));
        }
        out
    }

    /// How little it means that nothing was found.
    fn limits(&self, report: &SampleFindings) -> String {
        let stated = output::up(self.claim.epsilon);
        if report.power.visible.is_none() && report.epsilon > 0.9 * report.power.largest {
            return format!(
                "Nothing found. That is no proof. The draws tell the two prompts apart as surely as so many\n\
                 can: ε may be anything from {:.2} up, and a word that is always sent as it is would look the\n\
                 same. Draw more, or test the same code where ε is small.\n",
                report.epsilon
            );
        }
        let seen = match report.power.visible {
            Some(least) => format!(
                "With so many draws an ε of {least:.2} shows at best as more than {stated}, and\n\
                 that of rarer events not at all.\n"
            ),
            None => format!(
                "With so many draws no ε beyond {:.2} can show, and {stated} is stated. It is\n\
                 tested better with a small --epsilon: the code is the same.\n",
                report.power.largest
            ),
        };
        format!("Nothing found. That is no proof. {seen}")
    }
}

fn mark(wanting: bool) -> &'static str {
    if wanting { "  FOUND WANTING" } else { "" }
}

fn event_line(event: &Event) -> String {
    let share = |hits: u64| format!("{:.2} %", 100.0 * hits as f64 / event.draws as f64);
    let words = event.words.join(", ");
    let what = match (event.place, event.count) {
        (Place::Words, _) => "taken together, the words speak for it".into(),
        (place_, 1) => format!("{} is: {words}", place(place_)),
        (place_, n) if n <= event.words.len() => format!("{} is one of: {words}", place(place_)),
        (place_, n) => format!("{} is one of {n}: {words}, …", place(place_)),
    };
    format!(
        "              {what}\n              {} for the prompt, {} for the other, of {} each",
        share(event.hits[0]),
        share(event.hits[1]),
        event.draws
    )
}

fn dependence_line(found: &Dependence) -> String {
    let Dependence { straight, crossed, p, .. } = *found;
    format!(
        "{}{}\n              {}: alike more often as drawn {straight} times, crossed {crossed} \
         times (p = {p:.0e})",
        pairing(found.pairing),
        mark(true),
        place(found.place)
    )
}

fn departure_line(found: &Departure) -> String {
    let Departure { stated, hits, draws, .. } = *found;
    format!(
        "{} of {} does not follow it{}\n              {}: {:.3} % seen, {:.3} % by the law",
        place(Place::Word(found.nth)),
        PROMPTS[usize::from(found.other)],
        mark(true),
        outcomes(found.outcomes),
        100.0 * hits as f64 / draws as f64,
        100.0 * stated
    )
}

fn place(place: Place) -> String {
    match place {
        Place::Word(n) => format!("word {n}"),
        Place::Whole => "the whole release".into(),
        Place::Words => "all words".into(),
    }
}

fn pairing(pairing: Pairing) -> &'static str {
    match pairing {
        Pairing::Prompts => {
            "a release of the prompt and the next of the other depend on each other"
        }
        Pairing::Repetitions => "two releases of one prompt in a row depend on each other",
        Pairing::Runs => "releases in the same place of two runs depend on each other",
        Pairing::WithinRuns => "releases of one run are more alike than those of two",
    }
}

fn outcomes(outcomes: Outcomes) -> String {
    match outcomes {
        Outcomes::Ranks(from, to) if from == to => format!("rank {from}"),
        Outcomes::Ranks(from, to) => format!("ranks {from} to {to}"),
        Outcomes::Frequent => "words that were too frequent before".into(),
        Outcomes::Foreign => "words that cannot be drawn".into(),
    }
}
