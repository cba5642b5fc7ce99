//! `cape audit sample`

use std::time::Duration;

use cape::audit::prompts::differing;
use cape::audit::sample::{Claim, Draws, Run, WordDistribution, audit};
use cape::audit::texts::compare;
use cape::tokens::Tokens;
use cape::{Cape, Epsilon, Notion, Sanitizer, Secret};
use cape_models::{Chosen, OnTokens};
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::context::words;
use crate::args::SampleArgs;
use crate::commands::perturb::SIDE_BY_SIDE;
use crate::failure::{Done, Failure};
use crate::mechanism::Loaded;
use crate::{input, output, position};

mod command;
mod report;

use command::ReleaseCommand;
use report::Tested;

pub(crate) fn run(args: &SampleArgs) -> Done {
    if !(args.confidence > 0.0 && args.confidence < 1.0) {
        return Err(Failure::usage(
            "a confidence lies between 0 and 1",
            "try --confidence 0.999: a correct mechanism then fails one time in a thousand at most",
        ));
    }
    let claimed = args.claimed.map(Epsilon::new).transpose()?.map(Epsilon::get);
    let command = args.command.as_deref().map(ReleaseCommand::new).transpose()?;
    let text = input::line(args.text.as_deref())?;
    let (draws, tested) = match (&command, claimed) {
        (Some(command), Some(epsilon)) => {
            let other = args.other.clone().ok_or_else(|| {
                Failure::usage(
                    "with --command and --claimed the other prompt is needed",
                    "give it as --other TEXT",
                )
            })?;
            let claim = Claim { epsilon, distributions: None };
            let draws = commanded(args, command, [&text, &other])?;
            (draws, Tested { claim, differing: Vec::new() })
        }
        (command, claimed) => {
            let ready = match Loaded::new(&args.settings)? {
                Loaded::Cape(cape) => return of_words(args, command.as_ref(), *cape, &text),
                Loaded::Tokens(ready) => ready,
            };
            let pair = Pair::new(args, &ready, text)?;
            let claim = pair.claim(&ready, claimed)?;
            let texts = pair.texts.each_ref().map(String::as_str);
            let draws = match command {
                Some(command) => commanded(args, command, texts)?,
                None => drawn_here(args, &ready.into_sanitizer(), texts)?,
            };
            (draws, Tested { claim, differing: pair.words() })
        }
    };
    let report = audit(&draws, &tested.claim, args.confidence);
    output::print(&tested.show(&report, args.confidence, args.json))?;
    tested.verdict(&report)
}

/// The same for Cape on words.
fn of_words(args: &SampleArgs, command: Option<&ReleaseCommand>, cape: Cape, text: &str) -> Done {
    let other = match &args.other {
        Some(other) => other.clone(),
        None => words::other(&cape, text, Some(args.word), args.replace.as_deref())?,
    };
    let compared = compare(&cape, text, &other).map_err(words::incomparable)?;
    let plans = [cape.plan(text)?, cape.plan(&other)?];
    let written = |prompt: usize, unit: usize| {
        plans[prompt].places[unit - 1].unit.of([text, &other][prompt]).to_owned()
    };
    let differing: Vec<[String; 2]> = compared
        .iter()
        .filter(|draw| draw.differs())
        .map(|draw| [written(0, draw.units[0]), written(1, draw.units[0])])
        .collect();
    if differing.is_empty() {
        return Err(incomparable());
    }
    let distributions = match (
        WordDistribution::of_text(&cape, text)?,
        WordDistribution::of_text(&cape, &other)?,
    ) {
        (Some(one), Some(other)) => Some([one, other]),
        _ => None,
    };
    let epsilon = args.claimed.unwrap_or_else(|| compared.iter().map(|draw| draw.most).sum());
    let distributions = distributions.filter(|_| args.claimed.is_none());
    let tested = Tested { claim: Claim { epsilon, distributions }, differing };
    let texts = [text, other.as_str()];
    let draws = match command {
        Some(command) => commanded(args, command, texts)?,
        None => drawn_here(args, &Sanitizer::words(cape), texts)?,
    };
    let report = audit(&draws, &tested.claim, args.confidence);
    output::print(&tested.show(&report, args.confidence, args.json))?;
    tested.verdict(&report)
}

/// Two prompts that ε speaks of.
struct Pair {
    texts: [String; 2],
    tokens: [Tokens; 2],
    /// The positions in which they differ.
    differing: Vec<usize>,
}

impl Pair {
    fn new(args: &SampleArgs, ready: &OnTokens, text: String) -> Done<Self> {
        let tokens = ready.tokenizer.tokenize(&text, &ready.keep)?;
        if let Some(other) = &args.other {
            return Self::of(ready, text, tokens, other.clone())?.ok_or_else(incomparable);
        }
        let i = position::sensitive(&tokens, args.word)?;
        let token = tokens.as_slice()[i];
        let with = |word: &str| format!("{}{word}{}", &text[..token.start], &text[token.end..]);
        if let Some(word) = &args.replace {
            let other = with(word);
            return Self::of(ready, text, tokens, other)?.ok_or_else(incomparable);
        }
        let Chosen::CapePaper(_, device) = &ready.chosen else {
            return Err(Failure::usage(
                "which prompt to compare with?",
                "give --other TEXT, or --word NUMBER and --replace WORD",
            ));
        };
        let vocab = device.model.vocab();
        let distances = device.model.distances(token.id);
        let mut far: Vec<_> = distances.iter().zip(vocab.drawable()).collect();
        far.retain(|(_, id)| vocab.piece(**id) == Some(token.piece));
        far.sort_by(|a, b| b.0.total_cmp(a.0));
        // some entries are cut up when they are read as text
        for (_, &id) in far {
            let other = with(vocab.surface(id));
            if let Some(pair) = Self::of(ready, text.clone(), tokens.clone(), other)? {
                return Ok(pair);
            }
        }
        Err(incomparable())
    }

    /// The two prompts, if ε speaks of them.
    fn of(ready: &OnTokens, text: String, tokens: Tokens, other: String) -> Done<Option<Self>> {
        let other_tokens = ready.tokenizer.tokenize(&other, &ready.keep)?;
        let differing = differing((&text, &tokens), (&other, &other_tokens)).unwrap_or_default();
        let tokens = [tokens, other_tokens];
        let pair = Self { texts: [text, other], tokens, differing };
        Ok(Some(pair).filter(|pair| !pair.differing.is_empty()))
    }

    /// The tokens in which they differ, as they are written.
    fn words(&self) -> Vec<[String; 2]> {
        let written = |prompt: usize, i: usize| {
            let token = &self.tokens[prompt].as_slice()[i];
            self.texts[prompt][token.start..token.end].to_owned()
        };
        self.differing.iter().map(|&i| [written(0, i), written(1, i)]).collect()
    }

    fn claim(&self, ready: &OnTokens, claimed: Option<f64>) -> Done<Claim> {
        if let Some(epsilon) = claimed {
            return Ok(Claim { epsilon, distributions: None });
        }
        let guarantee = ready.guarantee();
        let sensitive = self.tokens[0].sensitive().count();
        let epsilon = guarantee.differing(self.differing.len(), sensitive);
        if !matches!(guarantee.notion, Notion::Ldp | Notion::MetricLdp) || epsilon.is_infinite() {
            return Err(Failure::new(
                "this mechanism states no ε for any two words",
                "say what to test with --claimed EPSILON",
            ));
        }
        let Chosen::CapePaper(cape, device) = &ready.chosen else {
            return Ok(Claim { epsilon, distributions: None });
        };
        let law = |i: usize| {
            WordDistribution::new(cape, &self.texts[i], &self.tokens[i], device.model.vocab())
        };
        let distributions = match (law(0)?, law(1)?) {
            (Some(one), Some(other)) => Some([one, other]),
            _ => None,
        };
        Ok(Claim { epsilon, distributions })
    }
}

fn incomparable() -> Failure {
    Failure::usage(
        "the two prompts are the same, or not comparable: ε speaks of prompts that differ in \
         some words only",
        "they need the same kept words, spaces, kinds and number of words; \
         `cape perturb --json` shows the words of a prompt",
    )
}

/// How many releases of each prompt a run has.
fn run_length(args: &SampleArgs) -> usize {
    args.draws.div_ceil(2) as usize
}

/// The releases of one prompt and of the other, which came in turn.
fn in_turn(releases: Vec<String>) -> Run {
    let mut run = Run::default();
    for (i, release) in releases.into_iter().enumerate() {
        run.of[i % 2].push(release);
    }
    run
}

/// A bar for the releases of both runs.
fn progress(args: &SampleArgs) -> ProgressBar {
    output::bar(4 * run_length(args) as u64, "releases")
}

fn commanded(args: &SampleArgs, command: &ReleaseCommand, prompts: [&str; 2]) -> Done<Draws> {
    let (progress, patience) = (progress(args), Duration::from_secs(args.timeout));
    let run = || command.run(prompts, run_length(args), patience, &progress).map(in_turn);
    let runs = [run()?, run()?];
    progress.finish_and_clear();
    Ok(Draws { runs })
}

/// Draws for each prompt by itself, as `cape perturb --input - --separate` does.
fn drawn_here(args: &SampleArgs, sanitizer: &Sanitizer, prompts: [&str; 2]) -> Done<Draws> {
    let progress = progress(args);
    let texts: Vec<&str> = (0..2 * run_length(args)).map(|i| prompts[i % 2]).collect();
    let run = || -> Done<Run> {
        let releases: Vec<Vec<String>> = texts
            .par_chunks(SIDE_BY_SIDE)
            .map(|texts| {
                let secrets: Vec<Secret> =
                    texts.iter().map(|_| Ok(Secret::fresh()?)).collect::<Done<_>>()?;
                let secrets: Vec<&Secret> = secrets.iter().collect();
                let releases = sanitizer.releases(texts, &secrets).map_err(|(_, error)| error)?;
                progress.inc(texts.len() as u64);
                Ok(releases.into_iter().map(|release| release.text).collect())
            })
            .collect::<Done<_>>()?;
        Ok(in_turn(releases.concat()))
    };
    let runs = [run()?, run()?];
    progress.finish_and_clear();
    Ok(Draws { runs })
}
