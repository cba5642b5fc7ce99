//! Whole words, for the mechanisms that work on word vectors.
//!
//! Text is cut at white space. A chunk that is a word of the vocabulary (as written, or in lower
//! case) or a number is one word, whatever marks it has (`n't`, `U.S.`, `well-made`). Of any other
//! chunk the marks at its ends are words of their own, one by one, until what is left is a word of the
//! vocabulary or has no marks at its ends; what is left is cut at a contraction (`do` `n't`, `it`
//! `'s`), else at every mark inside.
//!
//! A word is looked up as it is written, then in lower case, then with straight apostrophes; there is no
//! other normalisation.

use std::sync::Arc;

use serde::Deserialize;

use super::{Algorithm, Tokenizer, check_characters, dropped};
use crate::Result;
use crate::keep::KeepList;
use crate::text::{Piece, Token, TokenId};
use crate::vocab::{Vocab, number};

/// How a text is cut into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// At white space and punctuation.
    #[default]
    Punctuation,
    /// At white space only, as CUSTEXT's code does, whose data had spaces around every mark.
    Whitespace,
}

impl Split {
    /// Both ways.
    pub const ALL: [Self; 2] = [Self::Punctuation, Self::Whitespace];

    /// As it appears in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Punctuation => "punctuation",
            Self::Whitespace => "whitespace",
        }
    }
}

/// English contractions, after a letter.
const CONTRACTIONS: [&str; 7] = ["n't", "'s", "'m", "'re", "'ve", "'ll", "'d"];

impl Tokenizer {
    /// Words of this vocabulary.
    #[must_use]
    pub fn words(vocab: Arc<Vocab>, split: Split) -> Self {
        Self { algorithm: Algorithm::Words(split), vocab }
    }

    pub(super) fn words_of<'a>(&self, split: Split, text: &'a str) -> Result<Vec<&'a str>> {
        check_characters(text)?;
        let mut words = Vec::new();
        for (start, end) in dropped(text, 0, text.len()) {
            match split {
                Split::Punctuation => self.cut(&text[start..end], &mut words),
                Split::Whitespace => words.push(&text[start..end]),
            }
        }
        Ok(words)
    }

    pub(super) fn word_tokens(
        &self,
        split: Split,
        text: &str,
        keep: &KeepList,
    ) -> Result<Vec<Token>> {
        let words = self.words_of(split, text)?;
        let token = |(&word, kept): (&&str, _)| {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            let id = self.word(word).unwrap_or_else(|| {
                number(word).and(self.vocab.number()).unwrap_or(self.vocab.unknown())
            });
            Token { id, start, end: start + word.len(), piece: Piece::Start, kept }
        };
        Ok(words.iter().zip(keep.judge(&words)).map(token).collect())
    }

    /// The entry of a word.
    fn word(&self, word: &str) -> Option<TokenId> {
        // nothing in lower case is much shorter; lest a chunk of a megabyte be copied many times
        if word.len() > 4 * self.vocab.longest() {
            return None;
        }
        let entry = |word: &str| self.vocab.piece_id(word, Piece::Start);
        let plain = || entry(&word.to_lowercase().replace('’', "'"));
        entry(word).or_else(|| entry(&word.to_lowercase())).or_else(plain)
    }

    /// The words of a chunk without white space.
    fn cut<'a>(&self, chunk: &'a str, words: &mut Vec<&'a str>) {
        let (mut core, mut after) = (chunk, Vec::new());
        // where its first mark is, looked for once: what is cut off behind does not move it
        let mut first = core.find(is_mark);
        loop {
            // a number at the end of a sentence has a full stop behind it
            let is_number = number(core).is_some() && !core.ends_with('.');
            let whole = is_number || self.word(core).is_some();
            let Some(mark) =
                first.filter(|&at| at < core.len() && !whole && core.chars().nth(1).is_some())
            else {
                words.push(core);
                break;
            };
            if let Some(rest) = core.strip_suffix(is_mark) {
                after.push(&core[rest.len()..]);
                core = rest;
            } else if let Some(at) = contraction(core) {
                after.push(&core[at..]);
                core = &core[..at];
            } else {
                let mark_len = core[mark..].chars().next().map_or(0, char::len_utf8);
                let until = if mark == 0 { mark_len } else { mark };
                words.push(&core[..until]);
                core = &core[until..];
                first = core.find(is_mark);
            }
        }
        words.extend(after.into_iter().rev());
    }
}

/// Where a contraction at the end of a word begins.
fn contraction(word: &str) -> Option<usize> {
    CONTRACTIONS.iter().find_map(|tail| {
        let (at, _) = word.char_indices().rev().nth(tail.len() - 1)?;
        let plain = word[at..].to_lowercase().replace('’', "'");
        (plain == *tail && word[..at].ends_with(char::is_alphabetic)).then_some(at)
    })
}

/// ASCII punctuation, and that of other printed English and of Chinese and Japanese.
fn is_mark(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c, '¡' | '«' | '·' | '»' | '¿')
        || matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}')
        || matches!(c, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}')
        || matches!(c, '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Why;

    fn tokenizer(split: Split) -> Tokenizer {
        let words = ["the", "it", "'s", "do", "n't", "U.S.", "well-made", "Will", "...", "-", "2"];
        Tokenizer::words(Arc::new(Vocab::words(&words)), split)
    }

    fn cut(text: &str, split: Split) -> Vec<&str> {
        tokenizer(split).words_of(split, text).unwrap()
    }

    #[test]
    fn words_are_cut_at_marks_unless_the_vocabulary_has_them() {
        let words = |text| cut(text, Split::Punctuation);
        assert_eq!(words("The well-made, it's."), ["The", "well-made", ",", "it", "'s", "."]);
        assert_eq!(words("(Don’t go!)"), ["(", "Do", "n’t", "go", "!", ")"]);
        assert_eq!(words("the U.S., in"), ["the", "U.S.", ",", "in"]);
        assert_eq!(words("ill-made  a..b"), ["ill", "-", "made", "a", ".", ".", "b"]);
        assert_eq!(
            words("-3.5e2 1,000 ... ...x"),
            ["-3.5e2", "1", ",", "000", "...", ".", ".", ".", "x"]
        );
        assert_eq!(words("in 2. or -3.5."), ["in", "2", ".", "or", "-3.5", "."]);
        assert_eq!(words("中，文！"), ["中", "，", "文", "！"]);
        assert_eq!(words("' “the” 's"), ["'", "“", "the", "”", "'s"]);
        assert_eq!(cut("(the book.)\n it's", Split::Whitespace), ["(the", "book.)", "it's"]);
    }

    /// Time that grows with the square of a chunk would be minutes here, and is a fraction of a second.
    #[test]
    fn a_long_chunk_takes_no_longer_than_many_short_ones() {
        let many = 200_000;
        for (inside, behind) in [("a", "!"), ("1", "!"), ("a'", ""), ("-", "a"), ("é", "”")] {
            let text = inside.repeat(many) + &behind.repeat(many);
            let started = std::time::Instant::now();
            assert!(!cut(&text, Split::Punctuation).is_empty());
            assert!(started.elapsed().as_secs() < 10, "{inside} and {behind}");
        }
    }

    #[test]
    fn words_are_looked_up_as_written_then_in_lower_case() {
        let ids = |text| -> Vec<u32> {
            let keep = KeepList::stopwords();
            let tokens = tokenizer(Split::Punctuation).tokenize(text, &keep).unwrap();
            tokens.as_slice().iter().map(|token| token.id.0).collect()
        };
        assert_eq!(ids("THE Will will 2 3 nan inf 1e99"), [0, 7, 11, 10, 12, 11, 11, 11]);
        assert_eq!(ids("don’t it’s"), [3, 4, 1, 2]);
    }

    #[test]
    fn stopwords_are_kept_where_the_list_says_so() {
        let kept = |keep| {
            let tokens = tokenizer(Split::Punctuation).tokenize("the book.", &keep).unwrap();
            tokens.as_slice().iter().map(|token| token.kept).collect::<Vec<_>>()
        };
        assert_eq!(kept(KeepList::none()), [None; 3]);
        assert_eq!(kept(KeepList::stopwords()), [Some(Why::Stopword), None, None]);
        assert_eq!(kept(KeepList::default()), [Some(Why::Stopword), None, Some(Why::Punctuation)]);
    }

    proptest! {
        #[test]
        fn words_cover_all_but_white_space(text in "[a-zA-Z0-9'’.,\\- \u{301}é\n中“”]{0,40}") {
            for split in [Split::Punctuation, Split::Whitespace] {
                let (mut at, mut gaps) = (0, String::new());
                for word in cut(&text, split) {
                    let start = word.as_ptr() as usize - text.as_ptr() as usize;
                    prop_assert!(start >= at && !word.is_empty());
                    gaps.push_str(&text[at..start]);
                    at = start + word.len();
                }
                gaps.push_str(&text[at..]);
                prop_assert!(gaps.chars().all(char::is_whitespace));
            }
        }
    }
}
