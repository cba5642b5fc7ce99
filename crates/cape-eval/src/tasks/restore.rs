//! The attack by a chat model: how much of a prompt does it restore?

use std::collections::HashMap;
use std::ops::Range;

use cape::Why;
use cape::metric::rouge_l;
use cape::tokens::{Outcome, ReleasedToken};

use super::prompts;
use crate::chat::{ChatError, Client, Options};
use crate::record::Hits;

/// How much of a prompt a guess restores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restored {
    /// How many of the sensitive words it has.
    pub words: Hits,
    /// ROUGE-L F1 of the prompt and the guess.
    pub rouge_l: f64,
}

/// The model's guess of the original of a released text.
pub fn guess(client: &Client, released: &str, options: &Options) -> Result<String, ChatError> {
    Ok(client.complete(&prompts::restoration(released), options)?.text)
}

/// Compares a guess with the prompt and the outcomes of its tokens.
pub(crate) fn restored(original: &str, tokens: &[ReleasedToken], guess: &str) -> Restored {
    let places = |wanted: fn(Outcome) -> bool| -> Vec<Range<usize>> {
        let tokens = tokens.iter().filter(|token| wanted(token.outcome));
        tokens.map(|token| token.start..token.end).collect()
    };
    let drawn = places(|outcome| !matches!(outcome, Outcome::Kept(_)));
    let mut words = recall(original, &drawn, guess);
    // whoever reads what was sent as it is has found it
    let read = places(
        |outcome| matches!(outcome, Outcome::Kept(why) if !matches!(why, Why::Stopword | Why::Punctuation)),
    );
    words += recall(original, &read, original);
    Restored { words, rouge_l: rouge_l(original, guess) }
}

/// How many of the prompt's sensitive words occur in a guess, in whatever order: each as often as it
/// stands in both. A word is sensitive if a part of it is: `sensitive` has the places of those in
/// bytes.
pub(crate) fn recall(original: &str, sensitive: &[Range<usize>], guess: &str) -> Hits {
    let mut left: HashMap<String, u32> = HashMap::new();
    for (_, word) in words(guess) {
        *left.entry(word.to_lowercase()).or_default() += 1;
    }
    let mut hits = Hits::default();
    for (start, word) in words(original) {
        let end = start + word.len();
        if !sensitive.iter().any(|part| part.start < end && start < part.end) {
            continue;
        }
        hits.of += 1;
        if let Some(count @ 1..) = left.get_mut(&word.to_lowercase()) {
            *count -= 1;
            hits.found += 1;
        }
    }
    hits
}

/// Runs of letters and digits, as for ROUGE-L, and where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let between = |c: char| !c.is_alphanumeric();
    let mut at = 0;
    text.split_inclusive(between).filter_map(move |part| {
        let (start, word) = (at, part.trim_end_matches(between));
        at += part.len();
        (!word.is_empty()).then_some((start, word))
    })
}

#[cfg(test)]
mod tests {
    use cape::tokens::TokenId;

    use super::*;

    /// The places of words, each where it first occurs.
    fn places(text: &str, words: &[&str]) -> Vec<Range<usize>> {
        let place = |word: &&str| text.find(word).map(|at| at..at + word.len());
        words.iter().filter_map(place).collect()
    }

    #[test]
    fn sensitive_words_are_found_as_often_as_they_stand_there() {
        let text = "Alice met Bob, and alice paid Bob.";
        let all = [0..5, 10..13, 19..24, 30..33];
        let found = |guess: &str| recall(text, &all, guess);
        assert_eq!(found("alice met bob and alice paid bob"), Hits { found: 4, of: 4 });
        assert_eq!(found("ALICE! met Bob?"), Hits { found: 2, of: 4 });
        assert_eq!(found("bob bob bob"), Hits { found: 2, of: 4 });
        assert_eq!(found("met and paid; alices, bobby"), Hits { found: 0, of: 4 });
        assert_eq!(found(""), Hits { found: 0, of: 4 });
        assert_eq!(recall(text, &[], "alice"), Hits::default());
    }

    #[test]
    fn a_word_in_pieces_is_one_word() {
        let text = "an unaffecting Straße";
        let pieces = places(text, &["una", "ffect", "ing", "Straße"]);
        assert_eq!(recall(text, &pieces, "unaffecting STRAßE"), Hits { found: 2, of: 2 });
        // one of its pieces is enough to make it sensitive, but not to find it
        assert_eq!(recall(text, &pieces[1..2], "affect ffect"), Hits { found: 0, of: 1 });
        // punctuation has no words
        assert_eq!(recall("a, b", &places("a, b", &[","]), "a, b"), Hits::default());
    }

    #[test]
    fn kept_tokens_are_nothing_to_find() {
        let token = |start, end, outcome| {
            let released = String::new();
            ReleasedToken { start, end, released, outcome }
        };
        let kept = Outcome::Kept(Why::Stopword);
        let drawn = Outcome::Drawn { id: TokenId(7), retention: 0.5 };
        let tokens = [token(0, 3, kept), token(4, 10, drawn), token(11, 15, Outcome::Number(7))];
        let worth = restored("The prince 1974", &tokens, "The prince was");
        assert_eq!(worth.words, Hits { found: 1, of: 2 });
        // but a word that is sent as it is needs no finding
        let sent = [token(0, 3, kept), token(4, 10, Outcome::Kept(Why::Common))];
        assert_eq!(restored("The prince", &sent, "").words, Hits { found: 1, of: 1 });
        assert!((worth.rouge_l - 2.0 / 3.0).abs() < 1e-12);
    }
}
