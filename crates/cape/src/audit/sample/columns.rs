//! Releases as words in places. Whatever is made of a release keeps ε, so this may be as coarse as
//! it likes.

use std::collections::HashMap;

use super::Draws;

/// Where in a release something was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The word of this number, counted from 1: what stands between white space.
    Word(usize),
    /// The whole release, as one.
    Whole,
    /// All words, each with its own weight.
    Words,
}

/// Words beyond this one are seen in the whole release only.
const MOST_WORDS: usize = 256;

/// The words at one place, as numbers.
pub(super) struct Column<'a> {
    pub(super) place: Place,
    /// The words that were seen there.
    pub(super) words: Vec<&'a str>,
    /// Which of them each release has: by run, prompt and release.
    pub(super) codes: [[Vec<u32>; 2]; 2],
}

/// The places at which not all releases are the same.
pub(super) struct Columns<'a> {
    pub(super) columns: Vec<Column<'a>>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(draws: &'a Draws) -> Self {
        let texts = draws.runs.iter().flat_map(|run| run.of.iter().flatten());
        let longest = texts.map(|text| text.split_whitespace().count()).max().unwrap_or(0);
        let mut columns: Vec<Column<'a>> = (1..=longest.min(MOST_WORDS))
            .map(|n| Column::new(draws, Place::Word(n), |text| word(text, n)))
            .filter(Column::varies)
            .collect();
        // with one place that varies the whole tells nothing more
        if columns.len() != 1 {
            columns.push(Column::new(draws, Place::Whole, |text| text));
        }
        columns.retain(Column::varies);
        Self { columns }
    }
}

/// The n-th word, counted from 1; a word that is not there is empty.
pub(super) fn word(text: &str, n: usize) -> &str {
    text.split_whitespace().nth(n - 1).unwrap_or_default()
}

impl<'a> Column<'a> {
    fn new(draws: &'a Draws, place: Place, part: impl Fn(&'a str) -> &'a str) -> Self {
        let mut numbers = HashMap::new();
        let mut words = Vec::new();
        let mut number = |text: &'a String| {
            let word = part(text);
            *numbers.entry(word).or_insert_with(|| {
                words.push(word);
                words.len() as u32 - 1
            })
        };
        let codes = draws
            .runs
            .each_ref()
            .map(|run| run.of.each_ref().map(|texts| texts.iter().map(&mut number).collect()));
        Self { place, words, codes }
    }

    fn varies(&self) -> bool {
        self.words.len() > 1
    }

    /// Whether the releases of the first run are not all the same there.
    pub(super) fn varies_at_first(&self) -> bool {
        let mut codes = self.codes[0].iter().flatten();
        let first = codes.next();
        codes.any(|code| Some(code) != first)
    }

    /// How often each word is among these.
    pub(super) fn counts(&self, codes: &[u32]) -> Vec<u32> {
        let mut counts = vec![0; self.words.len()];
        for &code in codes {
            counts[code as usize] += 1;
        }
        counts
    }
}
