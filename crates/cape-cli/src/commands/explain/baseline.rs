//! `cape explain` for the mechanisms that look at the word alone.

use std::fmt;

use cape::mechanism::{Baseline, Odds};
use cape::tokens::{TokenId, Vocab};
use cape_models::{BaselineKind, OnTokens};
use serde::Serialize;

use super::{SHOWN, shares};
use crate::args::ExplainArgs;
use crate::failure::{Done, Failure};

#[derive(Serialize)]
pub(super) struct BaselineExplanation<'a> {
    token: usize,
    original: &'a str,
    original_id: u32,
    mechanism: &'static str,
    words: &'a str,
    epsilon: f64,
    bound: f64,
    notion: String,
    evidence: String,
    /// The probability with which there is no draw.
    kept: f64,
    total_weight: Option<String>,
    candidates: Vec<Candidate>,
    #[serde(skip)]
    odds: Odds,
    #[serde(skip)]
    own: Option<Candidate>,
    #[serde(skip)]
    score: &'static str,
}

#[derive(Clone, Serialize)]
struct Candidate {
    id: u32,
    token: String,
    rank: usize,
    /// Distance to the word; for custext, similarity.
    score: Option<f32>,
    weight: Option<String>,
    probability: f64,
}

impl<'a> BaselineExplanation<'a> {
    pub(super) fn new(
        args: &ExplainArgs,
        ready: &OnTokens,
        baseline: &Baseline,
        kind: BaselineKind,
        original: &'a str,
        t: TokenId,
        words: &'a str,
    ) -> Done<Self> {
        let vocab = ready.tokenizer.vocab();
        let odds = baseline.odds(t).ok_or_else(|| {
            Failure::new(
                "this token is not drawn for: it is a number, or a word without a vector",
                "numbers are replaced by numbers; --unknown replace draws for unknown words",
            )
        })?;
        let guarantee = ready.guarantee();
        let shown = if args.all { usize::MAX } else { SHOWN };
        let own = odds.candidates.iter().position(|odd| odd.id == t);
        Ok(Self {
            token: args.word,
            original,
            original_id: t.0,
            mechanism: kind.name(),
            words,
            epsilon: guarantee.nominal.get(),
            bound: guarantee.bound,
            notion: guarantee.notion.to_string(),
            evidence: guarantee.evidence.to_string(),
            kept: odds.kept,
            total_weight: odds.total.map(|total| total.to_string()),
            candidates: (0..odds.candidates.len().min(shown))
                .map(|i| candidate(&odds, i, vocab))
                .collect(),
            own: own.filter(|&own| own >= shown).map(|own| candidate(&odds, own, vocab)),
            odds,
            score: match kind {
                BaselineKind::Custext | BaselineKind::CustextPlus => "similarity",
                _ => "distance",
            },
        })
    }
}

fn candidate(odds: &Odds, i: usize, vocab: &Vocab) -> Candidate {
    let odd = &odds.candidates[i];
    Candidate {
        id: odd.id.0,
        token: vocab.token(odd.id),
        rank: i + 1,
        score: odd.score,
        weight: odd.weight.map(|weight| weight.to_string()),
        probability: odd.probability,
    }
}

/// The report as a person reads it.
impl fmt::Display for BaselineExplanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "token {}: {}", self.token, self.original)?;
        let n = self.odds.candidates.len();
        writeln!(f, "{}, ε = {}, {n} candidates, {}", self.mechanism, self.epsilon, self.words)?;
        if self.kept > 0.0 {
            writeln!(f, "it is kept with probability {:.3}; else:", self.kept)?;
        }
        if self.odds.total.is_none() {
            writeln!(f, "probabilities are averaged over 4,096 radii")?;
        }
        writeln!(
            f,
            "\n{:>6}  {:18} {:>10} {:>12}",
            "rank", "candidate", self.score, "probability"
        )?;
        let row = |f: &mut fmt::Formatter<'_>, candidate: &Candidate| {
            let score = candidate.score.map_or("-".into(), |score| format!("{score:.3}"));
            let own = candidate.id == self.original_id;
            writeln!(
                f,
                "{:>6}  {:18} {score:>10} {:>12.3e}{}",
                candidate.rank,
                candidate.token,
                candidate.probability,
                if own { "  the word itself" } else { "" }
            )
        };
        self.candidates.iter().try_for_each(|candidate| row(f, candidate))?;
        if let Some(own) = &self.own {
            writeln!(f, "   ...")?;
            row(f, own)?;
        }
        let mut out = String::new();
        shares(&mut out, self.odds.candidates.iter().map(|odd| odd.probability));
        f.write_str(&out)
    }
}
