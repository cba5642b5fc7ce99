//! Text to tokens, with nothing lost in between.
//!
//! A tokenizer may drop characters (zero-width joiners, accents written apart, …). Here every
//! character that is not white space belongs to some token, so that the only text copied verbatim
//! beside the kept words is white space.
//!
//! There are three kinds. WordPiece marks the pieces that continue a word. Byte-level BPE writes the
//! space before a word into the word's first piece: see `tokenizer/byte_level.rs`. And there are
//! whole words, for mechanisms that know vectors of words and no model.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tokenizers::Tokenizer as Library;

use crate::keep::KeepList;
use crate::text::{Piece, Token, TokenId, Tokens};
use crate::vocab::Vocab;
use crate::{Error, Result};

mod bpe;
mod byte_level;
mod word_piece;
mod words;

pub use bpe::{BpeParts, Pattern};
pub use words::Split;

/// A tokenizer with its vocabulary.
#[derive(Clone)]
pub struct Tokenizer {
    algorithm: Algorithm,
    vocab: Arc<Vocab>,
}

#[derive(Clone)]
enum Algorithm {
    WordPiece(Box<Library>),
    ByteLevel(Box<Library>),
    Words(Split),
}

/// The part of a `tokenizer.json` that tells its kind.
#[derive(Deserialize)]
struct Outline {
    model: Option<ModelOutline>,
}

#[derive(Deserialize)]
struct ModelOutline {
    r#type: Option<String>,
    merges: Option<IgnoredAny>,
}

impl Tokenizer {
    /// Reads the bytes of a `tokenizer.json`: WordPiece, or byte-level BPE.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        // the library panics on JSON that is broken in some places: look at all of it first
        let outline: Outline = serde_json::from_slice(json).map_err(bad)?;
        // files from before 2021 do not name the kind
        let is_bpe = outline.model.is_some_and(|model| match model.r#type {
            Some(name) => name == "BPE",
            None => model.merges.is_some(),
        });
        if is_bpe { Self::bpe_from_json(json) } else { Self::word_piece_from_json(json) }
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocab(&self) -> &Arc<Vocab> {
        &self.vocab
    }

    /// Adds the phrases of a user's list, one a line, to what is kept. Blank lines are skipped.
    pub fn keep(&self, list: &str, keep: &mut KeepList) -> Result<()> {
        for phrase in list.lines() {
            match &self.algorithm {
                Algorithm::WordPiece(library) => keep.add(&self.word_piece_words(library, phrase)?),
                Algorithm::ByteLevel(_) => keep.add(&byte_level::words_of(phrase)?),
                Algorithm::Words(split) => keep.add(&self.words_of(*split, phrase)?),
            }
        }
        Ok(())
    }

    /// The tokens of a prompt, and which of them are kept.
    pub fn tokenize(&self, text: &str, keep: &KeepList) -> Result<Tokens> {
        let tokens = match &self.algorithm {
            Algorithm::WordPiece(library) => self.word_piece_tokens(library, text, keep)?,
            Algorithm::ByteLevel(library) => self.byte_level_tokens(library, text, keep)?,
            Algorithm::Words(split) => self.word_tokens(*split, text, keep)?,
        };
        Ok(tokens.into())
    }

    /// A text as a model was trained on it: white space belongs to the tokens, and nothing of it is looked at beyond that.
    /// What looks like a special token is text like any other.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>> {
        let (Algorithm::WordPiece(library) | Algorithm::ByteLevel(library)) = &self.algorithm
        else {
            return Err(bad("it knows words, and no pieces"));
        };
        let encoding = library.encode(text, false).map_err(failed)?;
        Ok(encoding.get_ids().iter().map(|&id| TokenId(id)).collect())
    }

    /// Pushes the next token, giving what the tokenizer dropped between `at` and it to the token
    /// that it touches, or to an unknown token of its own.
    fn cover(&self, text: &str, at: usize, tokens: &mut Vec<Token>, next: Option<Token>) {
        let gap_end = next.map_or(text.len(), |token| token.start);
        let mut next = next;
        for (start, end) in dropped(text, at, gap_end) {
            match (tokens.last_mut(), next.as_mut()) {
                // a token that is kept already (the space before a word) takes nothing with it
                (Some(last), _) if last.end == start && last.kept.is_none() => last.end = end,
                (_, Some(next)) if next.start == end && next.kept.is_none() => next.start = start,
                _ => tokens.push(Token {
                    id: self.vocab.unknown(),
                    start,
                    end,
                    piece: Piece::Start,
                    kept: None,
                }),
            }
        }
        tokens.extend(next);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for use in map_err")]
fn bad(why: impl ToString) -> Error {
    Error::Tokenizer(why.to_string())
}

/// An error in the place of the library's own message, which could quote the text.
fn failed<T>(_: T) -> Error {
    bad("it failed on the text")
}

/// Control characters are refused: no tokenizer would carry them through.
fn check_characters(text: &str) -> Result<()> {
    match text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\t' | '\n' | '\r')) {
        Some((offset, c)) => Err(Error::ControlCharacter { code: c.into(), offset }),
        None => Ok(()),
    }
}

/// The runs between `start` and `end` that are not white space.
fn dropped(text: &str, start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    text[start..end].split(char::is_whitespace).filter(|run| !run.is_empty()).map(move |run| {
        let from = run.as_ptr() as usize - text.as_ptr() as usize;
        (from, from + run.len())
    })
}

/// The entries in order of their ids. Empty where an id is not taken.
fn by_id<'a>(entries: impl Iterator<Item = (&'a str, u32)> + Clone) -> Result<Vec<&'a str>> {
    let (count, last) = entries.clone().fold((0, 0), |(n, last), (_, id)| (n + 1, last.max(id)));
    let len = if count == 0 { 0 } else { last as usize + 1 };
    if len > 4 * count {
        return Err(bad("its ids are far apart"));
    }
    let mut tokens = vec![""; len];
    for (token, id) in entries {
        tokens[id as usize] = token;
    }
    Ok(tokens)
}
