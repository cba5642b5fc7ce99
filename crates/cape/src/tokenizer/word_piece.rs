//! WordPiece, as BERT has it.

use std::sync::Arc;

use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{ModelWrapper, Tokenizer as Library};

use super::{Algorithm, Tokenizer, bad, by_id, check_characters, failed};
use crate::Result;
use crate::keep::KeepList;
use crate::text::{Piece, Token, TokenId};
use crate::vocab::Vocab;

const UNKNOWN: &str = "[UNK]";

impl Tokenizer {
    /// Reads the bytes of a `vocab.txt`, one entry a line, as BERT's first models have it;
    /// `lowercase` where the model knows lower case only.
    pub fn from_wordpiece_vocab(vocab: &[u8], lowercase: bool) -> Result<Self> {
        let vocab = std::str::from_utf8(vocab).map_err(bad)?;
        // not `lines`: an entry may be a character that ends a line elsewhere
        let entries = vocab.strip_suffix('\n').unwrap_or(vocab).split('\n');
        let entries = (0..).zip(entries).map(|(id, entry)| (entry.trim_end_matches('\r'), id));
        let entries = entries.map(|(entry, id)| (entry.to_owned(), id));
        let model = WordPiece::builder()
            .vocab(entries.collect::<tokenizers::models::bpe::Vocab>())
            .unk_token(UNKNOWN.into())
            .build()
            .map_err(bad)?;
        let mut inner = Library::new(model);
        let normalizer = BertNormalizer::new(true, true, None, lowercase);
        inner.with_normalizer(Some(normalizer)).map_err(bad)?;
        inner.with_pre_tokenizer(Some(BertPreTokenizer));
        Self::word_piece(inner)
    }

    pub(super) fn word_piece_from_json(json: &[u8]) -> Result<Self> {
        let json = std::str::from_utf8(json).map_err(bad)?;
        // not `from_bytes`, which is generic: all that reads a tokenizer would be compiled here once more
        Self::word_piece(json.parse().map_err(bad)?)
    }

    fn word_piece(mut inner: Library) -> Result<Self> {
        inner.with_padding(None);
        inner.with_truncation(None).map_err(bad)?;
        // "[MASK]" typed by a user is text like any other
        inner.set_encode_special_tokens(true);
        let ModelWrapper::WordPiece(model) = inner.get_model() else {
            return Err(bad("it is neither a WordPiece nor a byte-level BPE tokenizer"));
        };
        if model.continuing_subword_prefix != "##" {
            return Err(bad("continuations are not marked by ##"));
        }
        let by_token = inner.get_vocab(true);
        let tokens = by_id(by_token.iter().map(|(token, &id)| (token.as_str(), id)))?;
        let added = inner.get_added_tokens_decoder();
        // flagged as special, or special to BERT or MPNet whether flagged or not
        let flagged = added.iter().filter(|(_, token)| token.special).map(|(&id, _)| id);
        let known =
            ["[CLS]", "[SEP]", "[MASK]", "[PAD]", "<s>", "</s>", "<mask>", "<pad>", "<unk>"];
        let known = [&*model.unk_token].into_iter().chain(known);
        let known = known.filter_map(|token| inner.token_to_id(token));
        let special: Vec<TokenId> = flagged.chain(known).map(TokenId).collect();
        let vocab = Vocab::new(&tokens, &special, &model.unk_token)
            .ok_or_else(|| bad("it has no unknown token"))?;
        Ok(Self { algorithm: Algorithm::WordPiece(Box::new(inner)), vocab: Arc::new(vocab) })
    }

    /// The words of a text: a beginning and its continuations.
    pub(super) fn word_piece_words<'a>(
        &self,
        library: &Library,
        text: &'a str,
    ) -> Result<Vec<&'a str>> {
        let tokens = self.word_piece_spans(library, text)?;
        Ok(words(&tokens).map(|word| surface(text, &tokens[word])).collect())
    }

    pub(super) fn word_piece_tokens(
        &self,
        library: &Library,
        text: &str,
        keep: &KeepList,
    ) -> Result<Vec<Token>> {
        let mut tokens = self.word_piece_spans(library, text)?;
        let ranges: Vec<_> = words(&tokens).collect();
        let surfaces: Vec<&str> =
            ranges.iter().map(|range| surface(text, &tokens[range.clone()])).collect();
        for (range, why) in ranges.iter().zip(keep.judge(&surfaces)) {
            for token in &mut tokens[range.clone()] {
                token.kept = why;
            }
        }
        Ok(tokens)
    }

    /// Tokens whose spans are in order, do not overlap, and cover all but white space.
    fn word_piece_spans(&self, library: &Library, text: &str) -> Result<Vec<Token>> {
        check_characters(text)?;
        let encoding = library.encode(text, false).map_err(failed)?;
        let mut tokens: Vec<Token> = Vec::with_capacity(encoding.len());
        let mut at = 0;
        for (&id, &(start, end)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
            let mut id = TokenId(id);
            if id.index() >= self.vocab.len() {
                return Err(bad("it gave an id outside its vocabulary"));
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
