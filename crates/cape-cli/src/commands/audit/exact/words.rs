//! `cape audit exact` for words: every listed word and others in the place of one.

use std::fmt;

use cape::audit::keys::{KeyAudit, KeyExtremes};
use cape::audit::{Extreme, Findings};
use cape::lexicon::Listed;
use cape::sample::Share;
use cape::{Cape, Kind, Level};
use rayon::prelude::*;
use serde::Serialize;

use super::super::{up, wanting};
use crate::args::ExactAuditArgs;
use crate::commands::explain::words::number;
use crate::failure::{Done, Failure};
use crate::output;

/// How many words that cannot be drawn are tried beside all that can.
const UNLISTED: usize = 2000;

pub(super) fn run(args: &ExactAuditArgs, cape: &Cape, text: &str) -> Done {
    if args.released.is_some() {
        return Err(Failure::usage(
            "--released changes nothing here: a word is drawn for whatever the others became",
            "it goes with --mechanism cape-paper --context released",
        ));
    }
    let plan = cape.plan(text)?;
    let place = plan.places[number(&plan, args.word)?];
    if place.key.is_none() {
        return Err(Failure::new("this is sent as it is", "choose another with --word"));
    }
    if place.unit.kind != Kind::Word {
        return Err(Failure::new(
            format!("this is no word: its kind is {}", place.unit.kind.as_str()),
            "choose another with --word; `cape explain` shows the law of numbers and dates",
        ));
    }
    let own = place.unit.of(text);
    let all: Vec<&str> = match args.sample {
        None => KeyAudit::of_lexicon(cape.lexicon(), UNLISTED).chain([own]).collect(),
        Some(sample) => {
            let all: Vec<&str> = KeyAudit::of_lexicon(cape.lexicon(), UNLISTED).collect();
            let sample = sample.min(all.len());
            (0..sample).map(|i| all[i * all.len() / sample]).chain([own]).collect()
        }
    };
    let keys = KeyAudit::new(cape, all, place.unit.first);
    let bar = output::bar(keys.inputs().len() as u64, "words");
    let exact = (0..keys.inputs().len() as u32)
        .into_par_iter()
        .fold(
            || keys.start(),
            |exact, input| {
                bar.inc(1);
                keys.add(exact, input)
            },
        )
        .reduce(|| keys.start(), KeyExtremes::merge);
    bar.finish_and_clear();
    let report = WordAudit::new(args, cape, &keys, &exact, own);
    output::print_report(&report, args.json)?;
    for side in report.any.iter().chain(&report.protected) {
        if side.loss > side.stated {
            let (loss, stated) = (up(side.loss), up(side.stated));
            return Err(wanting(&format!("the loss is {loss}, and {stated} is stated")));
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct WordAudit {
    mechanism: &'static str,
    word: usize,
    original: String,
    inputs: usize,
    ordinary: usize,
    outputs: usize,
    any: Option<WorstPair>,
    protected: Option<WorstPair>,
    holds: bool,
}

/// The worst case over some pairs of words.
#[derive(Serialize)]
struct WorstPair {
    stated: f64,
    loss: f64,
    released: String,
    most: Side,
    least: Side,
}

/// One word of the worst pair.
#[derive(Serialize)]
struct Side {
    input: String,
    weight: u64,
    total_weight: u64,
}

impl WordAudit {
    fn new(
        args: &ExactAuditArgs,
        cape: &Cape,
        keys: &KeyAudit<'_>,
        exact: &KeyExtremes,
        own: &str,
    ) -> Self {
        let guarantee = cape.guarantee_for(&[Kind::Word]);
        let side = |Extreme { share, input }: Extreme<Share>| Side {
            input: keys.inputs()[input as usize].word.clone(),
            weight: share.weight,
            total_weight: share.total,
        };
        let found = |findings: Findings<Share>, stated: f64| WorstPair {
            stated,
            loss: findings.loss(),
            released: cape.lexicon().word(Listed(findings.output as u32)).to_owned(),
            most: side(findings.span.most),
            least: side(findings.span.least),
        };
        let any = exact.any().map(|findings| found(findings, guarantee.bound));
        let protected = exact.protected().map(|findings| found(findings, guarantee.protected));
        let ordinary = keys.inputs().iter().filter(|input| input.key.level == Level::Ordinary);
        Self {
            mechanism: "cape",
            word: args.word,
            original: own.to_owned(),
            inputs: keys.inputs().len(),
            ordinary: ordinary.count(),
            outputs: cape.lexicon().len(),
            holds: any.iter().chain(&protected).all(|found| found.loss <= found.stated),
            any,
            protected,
        }
    }
}

/// The report as a person reads it.
impl fmt::Display for WordAudit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, original, inputs, ordinary, outputs, .. } = self;
        writeln!(f, "word {word}: {original}")?;
        writeln!(
            f,
            "{inputs} words in its place, {ordinary} of them ordinary there, and {outputs} that can be drawn\n"
        )?;
        for (name, found) in [("any two words", &self.any), ("protected words", &self.protected)] {
            let Some(WorstPair { stated, loss, released, most, least }) = found else { continue };
            writeln!(f, "{name}: exact loss {}, stated {}", up(*loss), up(*stated))?;
            for (which, Side { input, weight, total_weight }) in [("most", most), ("least", least)]
            {
                writeln!(
                    f,
                    "  \"{released}\" is {which} probable for \"{input}\": {weight} of {total_weight}"
                )?;
            }
        }
        writeln!(
            f,
            "\n{}",
            if self.holds {
                "The stated guarantee holds."
            } else {
                "The stated guarantee does not hold."
            }
        )
    }
}
