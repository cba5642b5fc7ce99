//! Whether a word follows the law that is stated for it.

use std::collections::HashMap;

use super::binomial::{lower, upper};
use super::columns::{Place, word};
use super::{Draws, Run};
use crate::Result;
use crate::mechanism::cape::Cape;
use crate::sanitize::assemble;
use crate::text::{Outcome, Tokens};
use crate::vocab::Vocab;

/// The exact distribution of the word that holds the first sensitive token of a prompt: the only one
/// that depends on no other draw, in either context.
pub struct Law {
    /// Which word of the release it is, counted from 1.
    nth: usize,
    probabilities: HashMap<String, f64>,
    /// The words from the most probable to the least.
    order: Vec<String>,
}

/// A word that does not follow its law.
pub struct Departure {
    /// Whether it is a word of the other prompt's releases.
    pub other: bool,
    /// Which word of the release it is, counted from 1.
    pub nth: usize,
    /// In words: which outcomes were counted.
    pub outcomes: Outcomes,
    /// The probability that the law gives them.
    pub stated: f64,
    /// How often they were seen.
    pub hits: u64,
    /// Of how many.
    pub draws: u64,
}

/// A set of outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcomes {
    /// The candidates of these ranks, counted from 1.
    Ranks(usize, usize),
    /// Those that were too frequent in the first run.
    Frequent,
    /// What cannot be drawn at all.
    Foreign,
}

impl Law {
    /// The law of the first sensitive word; none where there is none, or where the word has a second
    /// sensitive token.
    pub fn new(cape: &Cape, text: &str, tokens: &Tokens, vocab: &Vocab) -> Result<Option<Self>> {
        let all = tokens.as_slice();
        let mut sensitive = tokens.sensitive();
        let Some(i) = sensitive.next() else { return Ok(None) };
        let word_of = |i: usize| text[..all[i].end].split_whitespace().count();
        if sensitive.next().is_some_and(|next| word_of(next) == word_of(i)) {
            return Ok(None);
        }
        let explanation = cape.explain(tokens, &vec![None; all.len()], i)?;
        let (scores, distribution) = (&explanation.scores, &explanation.distribution);
        // the words after it play no part: they may stand as they are
        let end = text[all[i].end..].find(char::is_whitespace);
        let text = &text[..end.map_or(text.len(), |at| all[i].end + at)];
        let head: Tokens = all
            .iter()
            .take_while(|token| token.end <= text.len())
            .copied()
            .collect::<Vec<_>>()
            .into();
        let nth = word_of(i);
        let mut outcomes: Vec<Outcome> = head
            .as_slice()
            .iter()
            .map(|token| token.kept.map_or(Outcome::Dropped, Outcome::Kept))
            .collect();
        let (mut probabilities, mut order) = (HashMap::new(), Vec::new());
        for &candidate in &distribution.order {
            let candidate = candidate as usize;
            outcomes[i] = Outcome::Drawn { id: scores.candidates[candidate], retention: 0.0 };
            let (released, _) = assemble(text, &head, &outcomes, vocab);
            let p = distribution.weights[candidate] as f64 / distribution.total as f64;
            let word = word(&released, nth);
            // two entries may look the same
            *probabilities.entry(word.to_owned()).or_insert_with(|| {
                order.push(word.to_owned());
                0.0
            }) += p;
        }
        Ok(Some(Self { nth, probabilities, order }))
    }

    /// Where the word stands.
    pub(super) fn place(&self) -> Place {
        Place::Word(self.nth)
    }

    /// The probability of a word.
    #[must_use]
    pub fn probability(&self, word: &str) -> f64 {
        self.probabilities.get(word).copied().unwrap_or(0.0)
    }
}

/// The clearest departure from the laws, if there is one at the level `alpha`; and how many tests
/// there were.
pub(super) fn test(laws: &[Law; 2], draws: &Draws, alpha: f64) -> (Option<Departure>, usize) {
    let tests: Vec<(Departure, f64)> =
        laws.iter().enumerate().flat_map(|(prompt, law)| law.tests(&draws.runs, prompt)).collect();
    let count = tests.len();
    let each = alpha / (2 * count) as f64;
    // what a sum of floats may be off by
    let margin = 1e-9;
    let departs = |departure: &Departure| {
        let Departure { hits, draws, stated, .. } = *departure;
        lower(hits, draws, each) > stated * (1.0 + margin)
            || upper(hits, draws, each) < stated * (1.0 - margin)
    };
    let found = tests.into_iter().filter(|(departure, _)| departs(departure));
    (found.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(departure, _)| departure), count)
}

impl Law {
    /// Sets of outcomes with their counts in the second run, and how far off they look.
    fn tests(&self, runs: &[Run; 2], prompt: usize) -> Vec<(Departure, f64)> {
        let counts = runs.each_ref().map(|run| self.counts(&run.of[prompt]));
        let n = runs[1].of[prompt].len() as u64;
        let departure = |outcomes, stated: f64, hits: u64| {
            let (expected, seen) = (n as f64 * stated, hits as f64);
            let off = (seen - expected).abs() / (expected * (1.0 - stated)).max(1.0).sqrt();
            let departure =
                Departure { other: prompt == 1, nth: self.nth, outcomes, stated, hits, draws: n };
            (departure, off)
        };
        let hits = |words: &[String]| -> u64 {
            words.iter().filter_map(|word| counts[1].get(word.as_str())).sum()
        };
        let stated = |words: &[String]| words.iter().map(|word| self.probability(word)).sum();
        let mut tests = Vec::new();
        let mut from = 0;
        while from < self.order.len() {
            let to = (2 * from + 1).min(self.order.len());
            let words = &self.order[from..to];
            tests.push(departure(Outcomes::Ranks(from + 1, to), stated(words), hits(words)));
            from = to;
        }
        let known: u64 = hits(&self.order);
        tests.push(departure(Outcomes::Foreign, 0.0, n - known));
        let first = runs[0].of[prompt].len() as f64;
        let is_frequent = |word: &&String| {
            counts[0]
                .get(word.as_str())
                .is_some_and(|&hits| hits as f64 > first * self.probability(word))
        };
        let frequent: Vec<String> = self.order.iter().filter(is_frequent).cloned().collect();
        tests.push(departure(Outcomes::Frequent, stated(&frequent), hits(&frequent)));
        tests
    }

    fn counts<'a>(&self, releases: &'a [String]) -> HashMap<&'a str, u64> {
        let mut counts = HashMap::new();
        for release in releases {
            *counts.entry(word(release, self.nth)).or_default() += 1;
        }
        counts
    }
}
