//! `cape audit context` for words: what each draw of two prompts gives away.

use std::fmt;

use cape::audit::prompts::Loss;
use cape::audit::texts::{Different, Draw, compare};
use cape::lexicon::Listed;
use cape::{Cape, Level};
use serde::Serialize;

use super::super::{up, wanting};
use crate::args::ContextAuditArgs;
use crate::commands::explain::words::number;
use crate::failure::{Done, Failure};
use crate::output;

pub(super) fn run(args: &ContextAuditArgs, cape: &Cape, text: &str) -> Done {
    let other = match &args.other {
        Some(other) => other.clone(),
        None => other(cape, text, args.word, args.replace.as_deref())?,
    };
    let draws = compare(cape, text, &other).map_err(incomparable)?;
    let report = WordLosses::new(cape, text, &other, &draws)?;
    output::print_report(&report, args.json)?;
    if report.loss > report.stated {
        let (loss, stated) = (up(report.loss), up(report.stated));
        return Err(wanting(&format!("the loss is {loss}, and {stated} is stated")));
    }
    Ok(())
}

/// The text with another word in the place of one: the first protected one, and the one least like it,
/// unless they are given.
pub(crate) fn other(
    cape: &Cape,
    text: &str,
    word: Option<usize>,
    replace: Option<&str>,
) -> Done<String> {
    let plan = cape.plan(text)?;
    let i = if let Some(word) = word {
        number(&plan, word)?
    } else {
        let protected = plan.places.iter().position(|place| place.level == Level::Protected);
        protected.ok_or_else(|| {
            Failure::usage("no word of the prompt is protected", "say which with --word")
        })?
    };
    let place = plan.places[i];
    let with = |word: &str| [&text[..place.unit.start], word, &text[place.unit.end..]].concat();
    if let Some(word) = replace {
        return Ok(with(word));
    }
    let key = place
        .key
        .map(|key| &plan.keys[key])
        .filter(|key| cape.own(key).is_some() || key.form.parse::<usize>().is_err());
    let order: Vec<Listed> = key.map(|key| cape.order(key)).unwrap_or_default();
    let fits = |word: &&Listed| {
        let other = with(cape.lexicon().word(**word));
        let same_level = cape
            .plan(&other)
            .is_ok_and(|plan| plan.places.get(i).is_some_and(|other| other.level == place.level));
        same_level && compare(cape, text, &other).is_ok()
    };
    order.iter().rev().find(fits).map(|word| with(cape.lexicon().word(*word))).ok_or_else(|| {
        Failure::usage(
            "which prompt to compare with?",
            "give --other TEXT, or --word and --replace",
        )
    })
}

/// Why two prompts cannot be compared.
pub(crate) fn incomparable(why: Different) -> Failure {
    match why {
        Different::Text(error) => error.into(),
        why => Failure::usage(
            why.to_string(),
            "take two prompts that differ in words and in nothing else: the same punctuation, spaces, kept \
             words and kinds of words, and the same words repeated",
        ),
    }
}

#[derive(Serialize)]
struct WordLosses {
    mechanism: &'static str,
    draws: Vec<DrawLoss>,
    loss: f64,
    stated: f64,
    holds: bool,
}

#[derive(Serialize)]
struct DrawLoss {
    /// The words that are written from it, counted from 1.
    words: Vec<usize>,
    originals: [String; 2],
    changed: bool,
    loss: f64,
    stated: f64,
}

impl WordLosses {
    fn new(cape: &Cape, text: &str, other: &str, draws: &[Draw]) -> Done<Self> {
        let plans = [cape.plan(text)?, cape.plan(other)?];
        let original =
            |i: usize, unit: usize| plans[i].places[unit - 1].unit.of([text, other][i]).to_owned();
        let draw = |draw: &Draw| DrawLoss {
            words: draw.units.clone(),
            originals: [original(0, draw.units[0]), original(1, draw.units[0])],
            changed: draw.differs(),
            loss: draw.loss.worst(),
            stated: draw.most,
        };
        let losses: Vec<Loss> = draws.iter().map(|draw| draw.loss).collect();
        let loss = Loss::sum(&losses).worst();
        let stated: f64 = draws.iter().map(|draw| draw.most).sum();
        let draws = draws.iter().map(draw).collect();
        Ok(Self { mechanism: "cape", draws, loss, stated, holds: loss <= stated })
    }
}

/// The report as a person reads it.
impl fmt::Display for WordLosses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |loss: f64| if loss == 0.0 { "0".to_owned() } else { up(loss) };
        writeln!(f, "{:>6}  {:36} {:>12} {:>12}", "word", "", "exact loss", "stated")?;
        for draw in &self.draws {
            let [one, other] = &draw.originals;
            let name = if draw.changed { format!("{one} / {other}") } else { one.clone() };
            let (loss, stated) = (shown(draw.loss), shown(draw.stated));
            writeln!(f, "{:>6}  {name:36} {loss:>12} {stated:>12}", draw.words[0])?;
        }
        let (loss, stated) = (shown(self.loss), shown(self.stated));
        writeln!(f, "{:6}  {:36} {loss:>12} {stated:>12}", "", "together")?;
        writeln!(
            f,
            "\nA word is drawn for by itself: all words that are the same in both prompts draw from the same\n\
             integers, and only the changed ones give anything away."
        )
    }
}
