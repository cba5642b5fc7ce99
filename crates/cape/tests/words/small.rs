//! Mechanisms on small lexicons, strings and texts, as tests generate them.

use std::ops::Range;
use std::sync::Arc;

use cape::mechanism::cape::Settings;
use cape::{Cape, Lexicon, Profile};
use proptest::prelude::*;
use proptest::sample::subsequence;

use super::{lexicon, settings};

/// Words that may be listed, with their flags: ordinary ones, more often names, software, names, sensitive
/// ones, and several that differ in case alone.
pub(crate) const WORDS: [(&str, &str); 16] = [
    ("the", "loc"),
    ("will", "lo"),
    ("Will", "lm"),
    ("rose", "lon"),
    ("Rose", "lf"),
    ("us", "lo"),
    ("US", "lp"),
    ("a", "lo"),
    ("an", "lo"),
    ("I", "lo"),
    ("Alice", "lf"),
    ("London", "lp"),
    ("asthma", "lI"),
    ("cancer", "loI"),
    ("JSON", "lk"),
    ("O'Brien", "ls"),
];

/// Listed words that no protected word is ranked among.
pub(crate) const REST: [(&str, &str); 2] = [("plain", "lor"), ("rash", "lorI")];

/// Words that are known and cannot be drawn.
pub(crate) const KNOWN: [(&str, &str); 2] = [("Krzysztof", "m"), ("gonorrhea", "I")];

/// Strings that no lexicon knows: one letter and many, with and without capitals, marks and symbols.
pub(crate) const OTHERS: [&str; 9] = [
    "q",
    "Q",
    "xyzzy",
    "XYZZY",
    "Zoë",
    "don’t",
    "McDonald",
    "COVID-19",
    "aaaaaaaaaaaaaaaaaaaaaaaa",
];

pub(crate) const DIM: usize = 3;

pub(crate) type Vectors = Vec<[i8; DIM]>;

/// A mechanism on a small lexicon, as it is generated.
#[derive(Clone, Debug)]
pub(crate) struct Small {
    pub(crate) listed: Vec<(&'static str, &'static str)>,
    pub(crate) vectors: Vectors,
    pub(crate) groups: Vectors,
    pub(crate) settings: Settings,
}

impl Small {
    pub(crate) fn lexicon(&self) -> Arc<Lexicon> {
        let words: Vec<(&str, &str, &[i8])> = self
            .listed
            .iter()
            .chain(&KNOWN)
            .zip(&self.vectors)
            .map(|(&(word, flags), vector)| (word, flags, &vector[..]))
            .collect();
        lexicon(&words, &self.groups.iter().map(|group| &group[..]).collect::<Vec<_>>())
    }

    pub(crate) fn cape(&self) -> Cape {
        Cape::new(self.lexicon(), self.settings.clone()).unwrap()
    }
}

/// Any settings, with some words on the user's lists.
pub(crate) fn any_settings() -> impl Strategy<Value = Settings> {
    let profiles = vec![Profile::Personal, Profile::Everything, Profile::Names];
    let laws = (0.1_f64..6.0, 1_usize..5, prop::option::of(0.0_f64..4.0), 0.5_f64..12.0);
    let list = || {
        subsequence(vec!["rose", "London", "q"], 0..3)
            .prop_map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    (laws, prop::sample::select(profiles), list(), list()).prop_map(
        |((epsilon, k, alpha, epsilon_ordinary), profile, protect, ordinary)| Settings {
            profile,
            protect,
            ordinary,
            ..settings(epsilon, k, alpha, epsilon_ordinary)
        },
    )
}

/// Any mechanism on so many substitutes, up to two words of the rest, and two that are not listed.
pub(crate) fn smalls(listed: Range<usize>) -> impl Strategy<Value = Small> {
    let vectors = |n| prop::collection::vec(prop::array::uniform3(any::<i8>()), n);
    let words = (subsequence(WORDS.to_vec(), listed), subsequence(REST.to_vec(), 0..=2))
        .prop_map(|(listed, rest)| [listed, rest].concat());
    (words, vectors(WORDS.len() + REST.len() + KNOWN.len()), vectors(5), any_settings())
        .prop_map(|(listed, vectors, groups, settings)| Small { listed, vectors, groups, settings })
}

/// All strings for a slot: known words and others, each as it is, in capitals, and with one.
pub(crate) fn strings() -> Vec<String> {
    let words = WORDS.iter().chain(&REST).chain(&KNOWN).map(|(word, _)| *word).chain(OTHERS);
    let mut all: Vec<String> = words
        .flat_map(|word| {
            let mut chars = word.chars();
            let title = chars.next().unwrap().to_uppercase().chain(chars).collect();
            [word.to_owned(), word.to_uppercase(), word.to_lowercase(), title]
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

pub(crate) fn some_strings(n: Range<usize>) -> impl Strategy<Value = Vec<String>> {
    subsequence(strings(), n)
}

/// Every way to fill the slots of a template: `{0}` is the first of `slots`.
pub(crate) fn fill(template: &str, slots: usize, words: &[String]) -> Vec<String> {
    let count = words.len().pow(slots as u32);
    let text = |code: usize| {
        (0..slots).fold(template.to_owned(), |text, slot| {
            let word = &words[code / words.len().pow(slot as u32) % words.len()];
            text.replace(&format!("{{{slot}}}"), word)
        })
    };
    (0..count).map(text).collect()
}

/// Templates, with their numbers of slots: first places and others, repetition, possessives, quotes,
/// articles, kept words, several lines.
pub(crate) const TEMPLATES: [(&str, usize); 14] = [
    ("{0}", 1),
    ("…{0}!", 1),
    ("({0}) {0}", 1),
    ("{0}. {0}'s", 1),
    ("{0}, {0}\n{0}", 1),
    ("Acme {0} New York", 1),
    ("a {0}", 1),
    ("{0} {1}", 2),
    ("{0}: {1}. {0}", 2),
    ("“{0}”? {1}'s", 2),
    ("{0}\n\n{1}", 2),
    ("Acme, {0} … {1} Acme", 2),
    ("{0} {1} {2}", 3),
    ("{0}-- {1}! {2}, {1}", 3),
];

pub(crate) fn one_each(texts: &[String]) -> Vec<Vec<&str>> {
    texts.iter().map(|text| vec![text.as_str()]).collect()
}
