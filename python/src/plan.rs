//! A text before any draw: its words, and what each of them can become.

use cape::Candidates;
use pyo3::prelude::*;

use crate::errors;
use crate::record::record;

record! {
    /// One word of a text before any draw.
    PlannedWord {
        /// Where it begins.
        start: usize,
        /// Where it ends.
        end: usize,
        /// The word itself: private.
        original: String,
        /// "ordinary", "protected" or "kept".
        level: String,
        /// "word", "number", "date" and so on.
        kind: String,
        /// Why it has its level.
        why: String,
        /// The number of its draw, which it shares with words that are the same; None where it is kept.
        draw: Option<usize>,
    }
}

impl PlannedWord {
    fn shown(&self) -> String {
        format!("PlannedWord(level='{}', kind='{}', why='{}')", self.level, self.kind, self.why)
    }
}

record! {
    /// A text before any draw: nothing of it is spent.
    Plan {
        /// The words, in order.
        words: Vec<PlannedWord>,
        /// How many draws a release would make.
        draws: usize,
        /// What a release would spend at most: the loss for two texts that differ in everything that is drawn.
        epsilon_prompt: f64,
    }
}

impl Plan {
    fn shown(&self) -> String {
        let Self { words, draws, epsilon_prompt } = self;
        format!("Plan({} words, draws={draws}, epsilon_prompt={epsilon_prompt:.2})", words.len())
    }

    pub(crate) fn of(cape: &cape::Cape, text: &str) -> cape::Result<Self> {
        let plan = cape.plan(text)?;
        let mut chars = Chars::new(text);
        let words = plan.places.iter().map(|place| PlannedWord {
            start: chars.at(place.unit.start),
            end: chars.at(place.unit.end),
            original: place.unit.of(text).to_owned(),
            level: place.level.as_str().into(),
            kind: place.unit.kind.as_str().into(),
            why: place.why.as_str().into(),
            draw: place.key,
        });
        let words = words.collect();
        let mut kinds: Vec<cape::Kind> = plan.keys.iter().map(|key| key.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let epsilon_prompt = cape.guarantee_for(&kinds).prompt(plan.keys.len());
        Ok(Self { words, draws: plan.keys.len(), epsilon_prompt })
    }
}

record! {
    /// Something that a word can become.
    Candidate {
        /// Its rank, counted from 1.
        rank: usize,
        /// Its text.
        released: String,
        /// How similar it is to the word; None for a value.
        similarity: Option<f32>,
        /// Its integer weight.
        weight: u64,
        /// Its exact probability.
        probability: f64,
    }
}

impl Candidate {
    fn shown(&self) -> String {
        format!("Candidate(rank={}, probability={:.6})", self.rank, self.probability)
    }
}

record! {
    /// The exact distribution of one draw.
    Explanation {
        /// The word itself: private.
        original: String,
        /// "ordinary" or "protected".
        level: String,
        /// "word", "number", "date" and so on.
        kind: String,
        /// Why it has its level.
        why: String,
        /// ε of its law.
        epsilon: f64,
        /// How many ranks the law has.
        ranks: usize,
        /// How many of them stand before the rest, which is the same for all protected words.
        ranked: usize,
        /// The sum of all weights.
        total_weight: u64,
        /// Whether the word itself can be drawn: it is then the first, or one of the rest.
        listed: bool,
        /// The first candidates, by rank.
        candidates: Vec<Candidate>,
    }
}

impl Explanation {
    fn shown(&self) -> String {
        let Self { level, kind, epsilon, ranks, .. } = self;
        format!("Explanation(level='{level}', kind='{kind}', epsilon={epsilon}, ranks={ranks})")
    }

    /// The draw of a word, by its number in the plan.
    pub(crate) fn of(
        cape: &cape::Cape,
        text: &str,
        word: usize,
        most: Option<usize>,
    ) -> PyResult<Self> {
        let plan = cape.plan(text).map_err(|error| errors::cape(&error))?;
        let place = plan.places.get(word).ok_or_else(|| {
            errors::no_word(format!("the text has {} words, counted from 0", plan.places.len()))
        })?;
        let key = place.key.map(|key| &plan.keys[key]);
        let key = key.ok_or_else(|| errors::setting("this word is kept: it is not drawn for"))?;
        let all = Candidates::new(cape, key).ok_or_else(|| {
            errors::setting("this is replaced by a random value, whatever it was: it has no distribution to show")
        })?;
        let law = all.law();
        let candidate = |rank: usize| {
            let cape::Candidate { rank, released, similarity, weight, probability } = all.nth(rank);
            Candidate { rank, released, similarity, weight, probability }
        };
        Ok(Self {
            original: place.unit.of(text).to_owned(),
            level: place.level.as_str().into(),
            kind: key.kind.as_str().into(),
            why: place.why.as_str().into(),
            epsilon: law.epsilon(),
            ranks: law.len(),
            ranked: law.ranked(),
            total_weight: law.total(),
            listed: all.own_rank().is_some(),
            candidates: (1..=most.unwrap_or(usize::MAX).min(law.len())).map(candidate).collect(),
        })
    }
}

/// Places in bytes as places in characters, as Python counts them, in order.
pub(crate) struct Chars<'a> {
    text: &'a str,
    byte: usize,
    chars: usize,
}

impl<'a> Chars<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, byte: 0, chars: 0 }
    }

    pub(crate) fn at(&mut self, byte: usize) -> usize {
        self.chars += self.text[self.byte..byte].chars().count();
        self.byte = byte;
        self.chars
    }
}
