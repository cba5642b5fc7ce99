//! Text to tokens, with nothing lost in between.
//!
//! A tokenizer may drop characters (zero-width joiners, accents written apart, …). Here every
//! character that is not white space belongs to some token, so that the only text copied verbatim
//! beside the kept words is white space.

use std::sync::Arc;

use tokenizers::ModelWrapper;

use crate::keep::KeepList;
use crate::text::{Piece, Token, TokenId, Tokens};
use crate::vocab::Vocab;
use crate::{Error, Result};

/// A word-piece tokenizer with its vocabulary.
#[derive(Clone)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    vocab: Arc<Vocab>,
}

impl Tokenizer {
    /// From the bytes of a `tokenizer.json`.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        let bad = |why: String| Error::Tokenizer(why);
        // the library panics on JSON that is broken in some places: look at all of it first
        serde_json::from_slice::<serde::de::IgnoredAny>(json)
            .map_err(|error| bad(error.to_string()))?;
        let mut inner =
            tokenizers::Tokenizer::from_bytes(json).map_err(|error| bad(error.to_string()))?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|error| bad(error.to_string()))?;
        // "[MASK]" typed by a user is text like any other
        inner.set_encode_special_tokens(true);
        let ModelWrapper::WordPiece(model) = inner.get_model() else {
            return Err(bad("it is not a WordPiece tokenizer".into()));
        };
        if model.continuing_subword_prefix != "##" {
            return Err(bad("continuations are not marked by ##".into()));
        }
        let by_token = inner.get_vocab(true);
        let len = by_token.values().max().map_or(0, |&id| id as usize + 1);
        if len > 4 * by_token.len() {
            return Err(bad("its ids are far apart".into()));
        }
        let mut tokens = vec![String::new(); len];
        for (token, id) in by_token {
            tokens[id as usize] = token;
        }
        let added = inner.get_added_tokens_decoder();
        // flagged as special, or special to BERT whether flagged or not
        let flagged = added.iter().filter(|(_, token)| token.special).map(|(&id, _)| id);
        let known = [&model.unk_token, "[CLS]", "[SEP]", "[MASK]", "[PAD]"];
        let known = known.into_iter().filter_map(|token| inner.token_to_id(token));
        let special: Vec<TokenId> = flagged.chain(known).map(TokenId).collect();
        let vocab = Vocab::new(&tokens, &special, &model.unk_token)
            .ok_or_else(|| bad("it has no unknown token".into()))?;
        Ok(Self { inner, vocab: Arc::new(vocab) })
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocab(&self) -> &Arc<Vocab> {
        &self.vocab
    }

    /// Adds the phrases of a user's list, one a line, to what is kept. Blank lines are skipped.
    pub fn keep(&self, list: &str, keep: &mut KeepList) -> Result<()> {
        for phrase in list.lines() {
            let tokens = self.spans(phrase)?;
            let words: Vec<&str> =
                words(&tokens).map(|word| surface(phrase, &tokens[word])).collect();
            keep.add(&words);
        }
        Ok(())
    }

    /// The tokens of a prompt, and which of them are kept.
    pub fn tokenize(&self, text: &str, keep: &KeepList) -> Result<Tokens> {
        let mut tokens = self.spans(text)?;
        let ranges: Vec<_> = words(&tokens).collect();
        let surfaces: Vec<&str> =
            ranges.iter().map(|range| surface(text, &tokens[range.clone()])).collect();
        for (range, why) in ranges.iter().zip(keep.judge(&surfaces)) {
            for token in &mut tokens[range.clone()] {
                token.kept = why;
            }
        }
        Ok(tokens.into())
    }

    /// Tokens whose spans are in order, do not overlap, and cover all but white space.
    fn spans(&self, text: &str) -> Result<Vec<Token>> {
        if let Some((offset, c)) =
            text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
        {
            return Err(Error::ControlCharacter { code: c.into(), offset });
        }
        let encoding = self
            .inner
            .encode(text, false)
            // the library's message could quote the text
            .map_err(|_| Error::Tokenizer("it failed on the text".into()))?;
        let mut tokens: Vec<Token> = Vec::with_capacity(encoding.len());
        let mut at = 0;
        for (&id, &(start, end)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
            let mut id = TokenId(id);
            if id.index() >= self.vocab.len() {
                return Err(Error::Tokenizer("it gave an id outside its vocabulary".into()));
            }
            // one character can make several tokens: the later ones get an empty span
            let start = text.floor_char_boundary(start).max(at);
            let end = text.ceil_char_boundary(end).max(start);
            let piece = self.vocab.piece(id).unwrap_or_else(|| {
                // "[MASK]" in a text whose tokenizer does not flag it: nothing the model may see
                id = self.vocab.unknown();
                Piece::Start
            });
            let token = Token { id, start, end, piece, kept: None };
            self.cover(text, at, &mut tokens, Some(token));
            at = tokens.last().map_or(at, |token| token.end);
        }
        self.cover(text, at, &mut tokens, None);
        Ok(tokens)
    }

    /// Pushes the next token, giving what the tokenizer dropped between `at` and it to the token
    /// that it touches, or to an unknown token of its own.
    fn cover(&self, text: &str, at: usize, tokens: &mut Vec<Token>, next: Option<Token>) {
        let gap_end = next.map_or(text.len(), |token| token.start);
        let mut next = next;
        for (start, end) in dropped(text, at, gap_end) {
            match (tokens.last_mut(), next.as_mut()) {
                (Some(last), _) if last.end == start => last.end = end,
                (_, Some(next)) if next.start == end => next.start = start,
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

/// The runs between `start` and `end` that are not white space.
fn dropped(text: &str, start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    text[start..end].split(char::is_whitespace).filter(|run| !run.is_empty()).map(move |run| {
        let from = run.as_ptr() as usize - text.as_ptr() as usize;
        (from, from + run.len())
    })
}

/// The tokens of each word: a beginning and its continuations.
fn words(tokens: &[Token]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let mut at = 0;
    tokens.chunk_by(|_, next| next.piece == Piece::Continuation).map(move |word| {
        let start = at;
        at += word.len();
        start..at
    })
}

fn surface<'a>(text: &'a str, word: &[Token]) -> &'a str {
    match word {
        [first, .., last] => &text[first.start..last.end],
        [only] => &text[only.start..only.end],
        [] => "",
    }
}
