//! Which words are kept as they are: stopwords, punctuation, and the user's own list.

use std::collections::{HashMap, HashSet};

use crate::text::Why;

/// NLTK's English stopwords, one a line.
pub(crate) const STOPWORDS: &str = include_str!("stopwords_en.txt");

/// Whether a word, in lower case, is one of them.
#[must_use]
pub fn is_stopword(word: &str) -> bool {
    STOPWORDS.lines().any(|stopword| stopword == word)
}

/// The words that are not sensitive. Matching ignores case and looks at whole words only.
#[derive(Clone)]
pub struct KeepList {
    stopwords: HashSet<&'static str>,
    /// Whether punctuation marks are kept.
    marks: bool,
    /// Listed phrases as sequences of words, by their first word, longest first.
    listed: HashMap<String, Vec<Vec<String>>>,
}

impl Default for KeepList {
    fn default() -> Self {
        Self { marks: true, ..Self::stopwords() }
    }
}

impl KeepList {
    /// Nothing is kept.
    #[must_use]
    pub fn none() -> Self {
        Self { stopwords: HashSet::new(), marks: false, listed: HashMap::new() }
    }

    /// Stopwords alone are kept.
    #[must_use]
    pub fn stopwords() -> Self {
        Self { stopwords: STOPWORDS.lines().collect(), ..Self::none() }
    }

    /// Adds a phrase, already split into the words that the tokenizer sees in it.
    pub(crate) fn add(&mut self, words: &[&str]) {
        let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        if let Some(first) = words.first() {
            let phrases = self.listed.entry(first.clone()).or_default();
            phrases.push(words);
            phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
        }
    }

    /// For each word of a prompt, why it is kept.
    pub(crate) fn judge(&self, words: &[&str]) -> Vec<Option<Why>> {
        let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let mut kept: Vec<Option<Why>> = lower.iter().map(|word| self.alone(word)).collect();
        let mut i = 0;
        while i < lower.len() {
            let phrase = self
                .listed
                .get(&lower[i])
                .and_then(|phrases| phrases.iter().find(|phrase| lower[i..].starts_with(phrase)));
            let len = phrase.map_or(0, Vec::len);
            for why in &mut kept[i..i + len] {
                why.get_or_insert(Why::Listed);
            }
            i += len.max(1);
        }
        kept
    }

    fn alone(&self, word: &str) -> Option<Why> {
        if self.stopwords.contains(word) {
            Some(Why::Stopword)
        } else if self.marks && word.len() == 1 && word.bytes().all(|b| b.is_ascii_punctuation()) {
            Some(Why::Punctuation)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_179_stopwords_and_32_marks() {
        let keep = KeepList::default();
        assert_eq!(keep.stopwords.len(), 179);
        let marks = (0..=127_u8)
            .filter(|&b| keep.alone(&char::from(b).to_string()) == Some(Why::Punctuation))
            .count();
        assert_eq!(marks, 32);
    }

    #[test]
    fn judges_whole_words_and_phrases() {
        let mut keep = KeepList::default();
        keep.add(&["New", "York"]);
        keep.add(&["new"]);
        keep.add(&[]);
        let words = ["The", "new", "york", ",", "New", "York", "times", "…", "york"];
        let listed = Some(Why::Listed);
        let want = [
            Some(Why::Stopword),
            listed,
            listed,
            Some(Why::Punctuation),
            listed,
            listed,
            None,
            None,
            None,
        ];
        assert_eq!(keep.judge(&words), want);
    }
}
