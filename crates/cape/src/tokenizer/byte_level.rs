//! Byte-level BPE, as GPT-2, RoBERTa, Llama 3, SmolLM and Qwen have it.
//!
//! Such a tokenizer writes the space before a word into the word's first piece. For us white space
//! is never part of a token: the text is cut at white space, and each chunk is encoded by itself
//! with one space in front, also at the start of a text and after a line break. A piece that
//! begins with a space begins a word, every other continues one, and the white space between is
//! copied from the text as it is.
//!
//! Some tokenizers cut the space off where a digit follows. That token has no text of its own, and
//! nothing is to be drawn for it: it is kept, for the model to see what it was trained on.
//!
//! Words are kept or not as a person and BERT's tokenizer see them (`don't` is `don`,
//! `'` and `t`; `A1` is one word), not for the pieces that a model's pattern makes: these differ
//! from model to model, and some take a letter out of `A1` that happens to be a stopword. A token
//! is kept where all words that it has a part of are.

use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{
    OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, Tokenizer as Library,
};

use super::{Tokenizer, bad, check_characters, dropped, failed};
use crate::Result;
use crate::keep::KeepList;
use crate::text::{Piece, Token, TokenId, Why};

/// The tokens of a text, and for those that begin within a character that an earlier token took,
/// where that character begins.
#[derive(Default)]
struct Spans {
    tokens: Vec<Token>,
    /// Number of the token and the true start of what it encodes, in order.
    shared: Vec<(usize, usize)>,
}

impl Tokenizer {
    pub(super) fn byte_level_tokens(
        &self,
        library: &Library,
        text: &str,
        keep: &KeepList,
    ) -> Result<Vec<Token>> {
        let words = words(text)?;
        let surfaces: Vec<&str> = words.iter().map(|&(start, end)| &text[start..end]).collect();
        let judged = keep.judge(&surfaces);
        let Spans { mut tokens, shared } = self.byte_level_spans(library, text)?;
        // tokens that share a character are judged together: where a mark and an accent become one
        // character, the entry of the first token tells of the accent
        let mut ends: Vec<usize> = tokens.iter().map(|token| token.end).collect();
        for &(i, _) in shared.iter().rev() {
            ends[i - 1] = ends[i - 1].max(ends[i]);
        }
        let mut shared = shared.into_iter().peekable();
        for (i, token) in tokens.iter_mut().enumerate() {
            let start = shared.next_if(|&(j, _)| j == i).map_or(token.start, |(_, start)| start);
            if token.kept.is_none() {
                let first = words.partition_point(|&(_, end)| end <= start);
                let last = words.partition_point(|&(start, _)| start < ends[i]);
                let whys = judged.get(first..last).unwrap_or_default();
                let all = whys.iter().all(Option::is_some);
                token.kept = whys.first().copied().flatten().filter(|_| all);
            }
        }
        Ok(tokens)
    }

    /// Tokens whose spans are in order, do not overlap, and cover all but white space.
    fn byte_level_spans(&self, library: &Library, text: &str) -> Result<Spans> {
        check_characters(text)?;
        let mut spans = Spans::default();
        let mut at = 0;
        let mut chunk_in_front = String::new();
        for (begin, end) in dropped(text, 0, text.len()) {
            chunk_in_front.clear();
            chunk_in_front.push(' ');
            chunk_in_front.push_str(&text[begin..end]);
            let encoding = library.encode(chunk_in_front.as_str(), false).map_err(failed)?;
            let before = spans.tokens.len();
            for (&id, &(from, to)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
                let id = TokenId(id);
                if id.index() >= self.vocab.len() {
                    return Err(bad("it gave an id outside its vocabulary"));
                }
                let first = spans.tokens.len() == before;
                let of = |offset: usize| (begin + offset.saturating_sub(1)).min(end);
                let from = text.floor_char_boundary(of(from));
                // one character can make several tokens: the later ones get an empty span
                let token_start = from.max(at).max(begin);
                let token_end = text.ceil_char_boundary(of(to)).max(token_start);
                let mut token = self.token(id, first, token_start, token_end);
                if first && to <= 1 {
                    // the space that was put in front, by itself
                    token.kept = Some(Why::Space);
                }
                self.cover(text, at, &mut spans.tokens, Some(token));
                if from < token_start {
                    spans.shared.push((spans.tokens.len() - 1, from));
                }
                at = spans.tokens.last().map_or(at, |token| token.end);
            }
            // what was dropped at the end of the chunk, before the next one is reached
            let rest = &text[..end];
            self.cover(rest, at, &mut spans.tokens, None);
            at = end;
        }
        Ok(spans)
    }

    fn token(&self, id: TokenId, first: bool, start: usize, end: usize) -> Token {
        // a part of a character, or something else that is never drawn, is of the kind that its
        // place has
        let place = if first { Piece::Start } else { Piece::Continuation };
        let piece = self.vocab.piece(id).unwrap_or(place);
        // special tokens are nothing that the model may see; parts of characters are
        let id = if self.vocab.is_special(id) { self.vocab.unknown() } else { id };
        Token { id, start, end, piece, kept: None }
    }
}

/// The words of a text.
pub(super) fn words_of(text: &str) -> Result<Vec<&str>> {
    check_characters(text)?;
    Ok(words(text)?.into_iter().map(|(start, end)| &text[start..end]).collect())
}

/// Where the words of a text are: between white space, with every punctuation mark by itself.
fn words(text: &str) -> Result<Vec<(usize, usize)>> {
    let mut split = PreTokenizedString::from(text);
    BertPreTokenizer.pre_tokenize(&mut split).map_err(failed)?;
    let splits = split.get_splits(OffsetReferential::Original, OffsetType::Byte);
    Ok(splits.into_iter().map(|(_, offsets, _)| offsets).collect())
}
