//! `cape explain` for words: the exact distribution of one draw.

use std::fmt;

use cape::mechanism::cape::Plan;
use cape::{Candidates, Cape, Level};
use serde::Serialize;

use super::SHOWN;
use crate::args::ExplainArgs;
use crate::failure::{Done, Failure};
use crate::output;

pub(super) fn run(args: &ExplainArgs, cape: &Cape, text: &str) -> Done {
    if args.released.is_some() {
        return Err(Failure::usage(
            "--released changes nothing here: a word is drawn for whatever the others became",
            "it goes with --mechanism cape-paper --context released",
        ));
    }
    let plan = cape.plan(text)?;
    let report = WordExplanation::new(args, cape, &plan, text)?;
    output::print_report(&report, args.json)
}

/// The number of a word in a plan, counted from 0.
pub(crate) fn number(plan: &Plan, word: usize) -> Done<usize> {
    word.checked_sub(1).filter(|&i| i < plan.places.len()).ok_or_else(|| {
        Failure::usage(
            format!("there is no word {word}"),
            match plan.places.len() {
                0 => "the prompt has none".into(),
                n => format!("the prompt has {n}: --word takes 1 to {n}"),
            },
        )
    })
}

/// One word of a prompt, before any draw.
#[derive(Serialize)]
struct WordExplanation<'a> {
    word: usize,
    original: &'a str,
    level: &'static str,
    kind: &'static str,
    why: &'static str,
    epsilon: f64,
    k: usize,
    alpha: Option<f64>,
    ranks: usize,
    /// How many of them stand before the rest, whose order and weight are the same for all protected words.
    ranked: usize,
    total_weight: u64,
    candidates: Vec<Candidate>,
    /// The rank of the word itself, where it can be drawn.
    own_rank: Option<usize>,
}

#[derive(Serialize)]
struct Candidate {
    rank: usize,
    released: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f32>,
    weight: u64,
    probability: f64,
}

impl<'a> WordExplanation<'a> {
    fn new(args: &ExplainArgs, cape: &Cape, plan: &Plan, text: &'a str) -> Done<Self> {
        let i = number(plan, args.word)?;
        let place = plan.places[i];
        let key = place.key.map(|key| &plan.keys[key]).ok_or_else(|| {
            Failure::new("this word is sent unchanged", "it is on the list of words to keep")
        })?;
        let all = Candidates::new(cape, key).ok_or_else(|| {
            Failure::new(
                format!("this {} is replaced by a random one, whatever it was", key.kind.as_str()),
                "there is no distribution to show: the release says nothing of the original",
            )
        })?;
        let law = all.law();
        let shown = if args.all { law.len() } else { SHOWN.min(law.len()) };
        let candidate = |rank: usize| {
            let cape::Candidate { rank, released, similarity, weight, probability } = all.nth(rank);
            Candidate { rank, released, similarity, weight, probability }
        };
        Ok(Self {
            word: args.word,
            original: place.unit.of(text),
            level: place.level.as_str(),
            kind: key.kind.as_str(),
            why: place.why.as_str(),
            epsilon: law.epsilon(),
            k: law.shape().k,
            alpha: law.shape().alpha,
            ranks: law.len(),
            ranked: law.ranked(),
            total_weight: law.total(),
            candidates: (1..=shown).map(candidate).collect(),
            own_rank: all.own_rank(),
        })
    }
}

/// The report as a person reads it.
impl fmt::Display for WordExplanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, original, level, kind, why, epsilon, k, ranked, .. } = self;
        writeln!(f, "word {word}: {original}")?;
        writeln!(f, "{level} ({why}), kind {kind}")?;
        let shape = match self.alpha {
            Some(alpha) => format!("the first {k} alike, then falling with α = {alpha}"),
            None if *level == Level::Ordinary.as_str() => "the first, then all others alike".into(),
            None => format!("the first {k} alike, then all others alike"),
        };
        writeln!(f, "law: ε = {epsilon:.6} over {ranked} ranks, {shape}")?;
        let rest = self.ranks - ranked;
        if rest > 0 {
            writeln!(
                f,
                "and {rest} other words, the same for every protected word and hardly ever drawn"
            )?;
        }
        match self.own_rank {
            None => writeln!(f, "the word itself is not on the list and cannot be drawn")?,
            Some(own) if own > *ranked => writeln!(f, "the word itself is one of these")?,
            Some(_) => {}
        }
        writeln!(
            f,
            "\n{:>6}  {:24} {:>10} {:>12}",
            "rank", "released", "similarity", "probability"
        )?;
        for candidate in &self.candidates {
            let similarity = candidate.similarity.map_or(String::new(), |s| format!("{s:.3}"));
            writeln!(
                f,
                "{:>6}  {:24} {similarity:>10} {:>11.4}%",
                candidate.rank,
                candidate.released,
                candidate.probability * 100.0
            )?;
        }
        let left = self.ranks - self.candidates.len();
        if left > 0 {
            writeln!(f, "        … and {left} more (--all)")?;
        }
        Ok(())
    }
}
