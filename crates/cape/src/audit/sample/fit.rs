//! Goodness of fit: does a word follow its stated distribution?

use std::borrow::Cow;
use std::collections::HashMap;

use super::binomial::{lower, upper};
use super::columns::{Place, word};
use super::{Draws, Run};
use crate::Result;
use crate::assemble::assemble;
use crate::kinds::{self, Kind};
use crate::levels::Key;
use crate::lexicon::Listed;
use crate::mechanism::cape::{Cape, Drawn, Place as Placed};
use crate::mechanism::cape_paper::CapePaper;
use crate::rng::seeded;
use crate::sanitizer::written;
use crate::text::{Level, Outcome, Tokens};
use crate::vocab::Vocab;
use crate::writing::is_article;

/// The exact distribution of one word of a release.
///
/// Of a mechanism on tokens it is the word that holds the first sensitive token: the only one that depends on
/// no other draw, in either context. Of Cape it is the first protected one.
pub struct WordDistribution {
    /// Which word of the release it is, counted from 1.
    nth: usize,
    /// Whether "a" and "an" count as the same: which of them is written depends on the word that follows.
    articles: bool,
    probabilities: HashMap<String, f64>,
    /// The words from the most probable to the least.
    order: Vec<String>,
}

/// A word that does not follow its distribution.
pub struct Departure {
    /// Whether it is a word of the other prompt's releases.
    pub other: bool,
    /// Which word of the release it is, counted from 1.
    pub nth: usize,
    /// The outcomes that were counted.
    pub outcomes: Outcomes,
    /// Their stated probability.
    pub stated: f64,
    /// How often they were seen.
    pub hits: u64,
    /// The number of draws.
    pub draws: u64,
}

/// A set of outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcomes {
    /// The candidates of these ranks, counted from 1.
    Ranks(usize, usize),
    /// Those that were too frequent in the first run.
    Frequent,
    /// Words that cannot be drawn at all.
    Foreign,
}

impl WordDistribution {
    /// The distribution of the first sensitive word; none where there is none, or where the word has a second
    /// sensitive token.
    pub fn new(
        cape: &CapePaper,
        text: &str,
        tokens: &Tokens,
        vocab: &Vocab,
    ) -> Result<Option<Self>> {
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
        let mut word = Self::empty(nth, false);
        for &candidate in &distribution.order {
            let candidate = candidate as usize;
            outcomes[i] = Outcome::Drawn { id: scores.candidates[candidate], retention: 0.0 };
            let (released, _) = assemble(text, &head, &outcomes, vocab);
            word.add(&released, distribution.weights[candidate] as f64 / distribution.total as f64);
        }
        Ok(Some(word))
    }

    /// The distribution of the first protected word of a text that shares its white-space chunk with no other
    /// draw; none where there is no such word.
    pub fn of_text(cape: &Cape, text: &str) -> Result<Option<Self>> {
        let plan = cape.plan(text)?;
        let alone = |place: &&Placed| {
            let unit = place.unit;
            let start = text[..unit.start].rfind(char::is_whitespace).map_or(0, |at| at + 1);
            let end = text[unit.end..].find(char::is_whitespace);
            let end = end.map_or(text.len(), |at| unit.end + at);
            let within = plan.places.iter().filter(|p| p.unit.start < end && p.unit.end > start);
            within.filter_map(|other| other.key).all(|key| Some(key) == place.key)
        };
        let is_word =
            |place: &&Placed| place.level == Level::Protected && place.unit.kind == Kind::Word;
        let Some(place) = plan.places.iter().filter(is_word).find(alone) else { return Ok(None) };
        let Some(key) = place.key else { return Ok(None) };
        // any other draw will do: no listed word and no value has white space in it
        let other = |key: &Key| match (key.kind, cape.row(key)) {
            (Kind::Word, _) => Drawn::Word(Listed(0)),
            (kind, Some(_)) => Drawn::Value(kinds::grid_text(kind, 0)),
            (kind, None) => Drawn::Value(kinds::uniform(kind, &mut seeded(0, 0))),
        };
        let mut drawn: Vec<Drawn> = plan.keys.iter().map(other).collect();
        let release = written(cape, text, &plan, &drawn, true);
        let mut at = 0;
        let before = release.words.iter().take_while(|word| word.start <= place.unit.start);
        let before: String = before
            .map(|word| {
                let part = [&text[at..word.start], &word.released].concat();
                at = word.end;
                part
            })
            .collect();
        let mut word = Self::empty(before.split_whitespace().count(), true);
        let law = cape.law(Level::Protected);
        for (rank, listed) in (1..).zip(cape.order(&plan.keys[key])) {
            drawn[key] = Drawn::Word(listed);
            word.add(&written(cape, text, &plan, &drawn, true).text, law.probability(rank));
        }
        Ok(Some(word))
    }

    fn empty(nth: usize, articles: bool) -> Self {
        Self { nth, articles, probabilities: HashMap::new(), order: Vec::new() }
    }

    /// Adds a release with its probability; two may look the same.
    fn add(&mut self, release: &str, probability: f64) {
        let word = self.word(release).into_owned();
        if let Some(sum) = self.probabilities.get_mut(&word) {
            *sum += probability;
        } else {
            self.order.push(word.clone());
            self.probabilities.insert(word, probability);
        }
    }

    /// The word of a release that the distribution is of.
    fn word<'a>(&self, release: &'a str) -> Cow<'a, str> {
        self.form(word(release, self.nth))
    }

    fn form<'a>(&self, word: &'a str) -> Cow<'a, str> {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        if self.articles && is_article(bare) {
            Cow::Owned(word.replace(bare, &bare[..1]))
        } else {
            Cow::Borrowed(word)
        }
    }

    /// Where the word stands.
    pub(super) fn place(&self) -> Place {
        Place::Word(self.nth)
    }

    /// The probability of a word.
    #[must_use]
    pub fn probability(&self, word: &str) -> f64 {
        self.probabilities.get(&*self.form(word)).copied().unwrap_or(0.0)
    }
}

/// The clearest departure from the distributions, if there is one at the level `alpha`; and how many tests
/// there were.
pub(super) fn test(
    distributions: &[WordDistribution; 2],
    draws: &Draws,
    alpha: f64,
) -> (Option<Departure>, usize) {
    let tests: Vec<(Departure, f64)> = distributions
        .iter()
        .enumerate()
        .flat_map(|(prompt, word)| word.tests(&draws.runs, prompt))
        .collect();
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

impl WordDistribution {
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

    fn counts<'a>(&self, releases: &'a [String]) -> HashMap<Cow<'a, str>, u64> {
        let mut counts = HashMap::new();
        for release in releases {
            *counts.entry(self.word(release)).or_default() += 1;
        }
        counts
    }
}
