//! One replacement for each word, wherever it stands: in a text, and in those that follow it.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use crate::text::{Again, Piece, TokenId, Tokens};

/// What the words of a conversation became.
#[derive(Clone, Default)]
pub struct Terms(HashMap<Word, Vec<TokenId>>);

/// A word without its case, and how it is cut: each of its pieces has a replacement.
type Word = (String, Vec<Piece>);

impl Terms {
    /// Marks the sensitive tokens of words that came before, here or in an earlier text: they are
    /// not drawn for. Which words are the same can then be seen in the release.
    pub fn mark(&self, text: &str, tokens: &mut Tokens) {
        let mut first: HashMap<Word, usize> = HashMap::new();
        for range in words(tokens) {
            let word = word(text, tokens, &range);
            let start = range.start;
            if let Some(ids) = self.0.get(&word) {
                tokens.1.extend(range.zip(ids.iter().map(|&id| Again::Drawn(id))));
            } else if let Some(&before) = first.get(&word) {
                tokens.1.extend(range.map(|i| (i, Again::Position(before + i - start))));
            } else {
                first.insert(word, start);
            }
        }
    }

    /// Takes in the words of a text that was marked, and what was drawn for its
    /// [sensitive](Tokens::sensitive) tokens. Where these are not as many, nothing is learned: the
    /// words will be drawn for anew.
    pub fn learn(&mut self, text: &str, tokens: &Tokens, drawn: &[TokenId]) {
        if tokens.sensitive().count() != drawn.len() {
            return;
        }
        let drawn: HashMap<usize, TokenId> =
            tokens.sensitive().zip(drawn.iter().copied()).collect();
        for range in words(tokens) {
            let ids: Option<Vec<TokenId>> = range.clone().map(|i| drawn.get(&i).copied()).collect();
            if let Some(ids) = ids {
                self.0.insert(word(text, tokens, &range), ids);
            }
        }
    }
}

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Terms({})", self.0.len())
    }
}

/// The words that are not kept, as ranges of their tokens.
fn words(tokens: &Tokens) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (i, token) in tokens.0.iter().enumerate() {
        match words.last_mut() {
            _ if token.kept.is_some() => {}
            Some(word) if token.piece == Piece::Continuation && word.end == i => word.end += 1,
            _ => words.push(i..i + 1),
        }
    }
    words
}

fn word(text: &str, tokens: &Tokens, range: &Range<usize>) -> Word {
    let own = &tokens.0[range.clone()];
    let (start, end) = (own[0].start, own[own.len() - 1].end);
    (text[start..end].trim().to_lowercase(), own.iter().map(|token| token.piece).collect())
}
