//! The vocabulary: what each entry looks like, and which entries may be drawn.

use crate::text::{Piece, TokenId};

mod bytes;

/// How a vocabulary writes its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// As text, with `##` before a continuation.
    WordPiece,
    /// A printable character for each byte, with that of the space before a beginning.
    ByteLevel,
    /// Whole words, as text.
    Words,
}

/// The entry for a number that a vocabulary of words does not have: no word of a text is written
/// like this.
const NUMBER: &str = "\0";

/// The longest number, in bytes.
const LONGEST_NUMBER: usize = 40;

/// A vocabulary of word pieces, of byte-level pieces, or of words.
#[derive(Clone, Debug)]
pub struct Vocab {
    spelling: Spelling,
    /// The entries as the file has them.
    written: Strings,
    /// Their text, without the mark of a continuation or of a beginning; words have none.
    surfaces: Strings,
    /// Begins or continues a word; none for what is never drawn.
    pieces: Vec<Option<Piece>>,
    /// The ids in order of `written`, to look entries up without a second copy of them.
    order: Vec<TokenId>,
    /// Sorted.
    special: Vec<TokenId>,
    unknown: TokenId,
    /// The entries that may be drawn: beginnings of words, continuations, and both, each in order of ids.
    starts: Vec<TokenId>,
    continuations: Vec<TokenId>,
    drawable: Vec<TokenId>,
    longest: usize,
}

/// The mark of a continuation in BERT's vocabularies.
const CONTINUATION: &str = "##";

impl Vocab {
    /// Word pieces, in order of their ids; `special` are the ids that are never drawn, which
    /// `[unused…]` entries and empty ones join. Fails where the unknown token is missing.
    #[must_use]
    pub fn new(tokens: &[impl AsRef<str>], special: &[TokenId], unknown: &str) -> Option<Self> {
        Self::with(Spelling::WordPiece, tokens, special, unknown)
    }

    /// Byte-level pieces, in order of their ids; `special` are the ids that are never drawn, which
    /// parts of characters, white space and empty entries join. Fails where the unknown token is
    /// missing.
    pub(crate) fn byte_level(
        tokens: &[impl AsRef<str>],
        special: &[TokenId],
        unknown: &str,
    ) -> Option<Self> {
        Self::with(Spelling::ByteLevel, tokens, special, unknown)
    }

    /// Whole words, in order of their ids. Two entries join them that are never drawn: what stands for
    /// an unknown word, and for an unknown number.
    #[must_use]
    pub fn words(words: &[impl AsRef<str>]) -> Self {
        let unknown = "";
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).chain([unknown, NUMBER]).collect();
        match Self::with(Spelling::Words, &words, &[], unknown) {
            Some(vocab) => vocab,
            None => unreachable!("the unknown word is there"),
        }
    }

    fn with(
        spelling: Spelling,
        tokens: &[impl AsRef<str>],
        special: &[TokenId],
        unknown: &str,
    ) -> Option<Self> {
        let (mut written, mut surfaces) = (Strings::default(), Strings::default());
        let mut pieces = Vec::with_capacity(tokens.len());
        for token in tokens {
            let token = token.as_ref();
            written.push(token);
            pieces.push(match spelling {
                Spelling::WordPiece => word_piece(token, &mut surfaces),
                Spelling::ByteLevel => byte_level(token, &mut surfaces),
                Spelling::Words => is_drawable(token).then_some(Piece::Start),
            });
        }
        let mut special = special.to_vec();
        special.sort_unstable();
        special.dedup();
        for id in &special {
            *pieces.get_mut(id.index())? = None;
        }
        let mut order: Vec<TokenId> = (0..tokens.len() as u32).map(TokenId).collect();
        order.sort_unstable_by_key(|&id| (written.get(id), id));
        let of = |wanted: &dyn Fn(Piece) -> bool| -> Vec<TokenId> {
            (0..)
                .zip(&pieces)
                .filter(|(_, piece)| piece.is_some_and(wanted))
                .map(|(id, _)| TokenId(id))
                .collect()
        };
        let starts = of(&|piece| piece == Piece::Start);
        let continuations = of(&|piece| piece == Piece::Continuation);
        let drawable = of(&|_| true);
        let longest = match spelling {
            Spelling::Words => written.longest(),
            Spelling::WordPiece | Spelling::ByteLevel => surfaces.longest(),
        };
        let mut vocab = Self {
            spelling,
            written,
            surfaces,
            pieces,
            order,
            special,
            unknown: TokenId(0),
            starts,
            continuations,
            drawable,
            longest,
        };
        vocab.unknown = vocab.id(unknown)?;
        Some(vocab)
    }

    /// How many entries there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it holds the unknown token at least")]
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The length of the longest entry's text, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// The entry for what the vocabulary cannot represent.
    #[must_use]
    pub fn unknown(&self) -> TokenId {
        self.unknown
    }

    /// The entry for a number that the vocabulary does not have; a vocabulary of words has one.
    pub(crate) fn number(&self) -> Option<TokenId> {
        // the last entry
        (self.spelling == Spelling::Words).then(|| TokenId(self.len() as u32 - 1))
    }

    /// Whether an entry is a number, or stands for one.
    pub(crate) fn is_number(&self, id: TokenId) -> bool {
        Some(id) == self.number() || number(self.surface(id)).is_some()
    }

    /// The id of an entry as it stands in the vocabulary, its mark included.
    #[must_use]
    pub fn id(&self, token: &str) -> Option<TokenId> {
        // of entries that are written alike, the last
        let after = self.order.partition_point(|&id| self.written.get(id) <= token);
        let id = *self.order.get(after.checked_sub(1)?)?;
        (self.written.get(id) == token).then_some(id)
    }

    /// An entry's text as it appears in a sentence.
    #[must_use]
    pub fn surface(&self, id: TokenId) -> &str {
        match self.spelling {
            Spelling::Words => self.written.get(id),
            Spelling::WordPiece | Spelling::ByteLevel => self.surfaces.get(id),
        }
    }

    /// Whether an entry begins or continues a word; none for special, unused and control entries,
    /// and for parts of a character.
    #[must_use]
    pub fn piece(&self, id: TokenId) -> Option<Piece> {
        self.pieces[id.index()]
    }

    /// Whether an entry stands for no text at all.
    pub(crate) fn is_special(&self, id: TokenId) -> bool {
        self.special.binary_search(&id).is_ok()
    }

    /// The bytes of a byte-level entry; none for others, and for what stands for no text.
    #[must_use]
    pub fn bytes(&self, id: TokenId) -> Option<Vec<u8>> {
        let text = self.spelling == Spelling::ByteLevel && !self.is_special(id);
        text.then(|| bytes::read(self.written.get(id))).flatten()
    }

    /// An entry as the vocabulary writes it.
    #[must_use]
    pub fn token(&self, id: TokenId) -> String {
        self.written.get(id).to_owned()
    }

    /// The id of a piece of this text and kind.
    #[must_use]
    pub fn piece_id(&self, surface: &str, piece: Piece) -> Option<TokenId> {
        let id = match (self.spelling, piece) {
            (Spelling::WordPiece, Piece::Start) | (Spelling::Words, _) => self.id(surface),
            (Spelling::WordPiece, Piece::Continuation) => {
                self.id(&format!("{CONTINUATION}{surface}"))
            }
            (Spelling::ByteLevel, Piece::Start) => self.id(&bytes::written(&format!(" {surface}"))),
            (Spelling::ByteLevel, Piece::Continuation) => self.id(&bytes::written(surface)),
        };
        id.filter(|&id| self.piece(id) == Some(piece))
    }

    /// The entries that can be drawn, in order of ids.
    #[must_use]
    pub fn drawable(&self) -> &[TokenId] {
        &self.drawable
    }

    /// The entries that can be drawn and begin a word, or continue one, in order of ids.
    #[must_use]
    pub fn of_kind(&self, piece: Piece) -> &[TokenId] {
        match piece {
            Piece::Start => &self.starts,
            Piece::Continuation => &self.continuations,
        }
    }

    /// The entries that can stand at a sensitive position, in order of ids: all that can be drawn, and what a text can
    /// have though it is never drawn: parts of characters and, where a word begins, the unknown token.
    ///
    /// A piece of a longer word can be any of them. A whole word that is kept is among them as well, though
    /// it makes its position one that is not sensitive: what is kept is not the vocabulary's to say.
    pub(crate) fn inputs(&self, piece: Piece) -> Vec<TokenId> {
        let is_part = |&id: &TokenId| {
            let parts = self.spelling == Spelling::ByteLevel
                && self.piece(id).is_none()
                && !self.is_special(id);
            let bytes = parts.then(|| bytes::read(self.written.get(id))).flatten();
            bytes.is_some_and(|bytes| std::str::from_utf8(&bytes).is_err())
        };
        let unknown = (piece == Piece::Start).then_some(self.unknown);
        let parts = (0..self.len() as u32).map(TokenId).filter(is_part);
        let drawn = self.drawable.iter().copied();
        let mut inputs: Vec<TokenId> = drawn.chain(unknown).chain(parts).collect();
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }
}

/// Pushes the text of a word piece, and returns its kind if it may be drawn.
fn word_piece(token: &str, surfaces: &mut Strings) -> Option<Piece> {
    let (surface, piece) = match token.strip_prefix(CONTINUATION) {
        Some(rest) if !rest.is_empty() => (rest, Piece::Continuation),
        _ => (token, Piece::Start),
    };
    surfaces.push(surface);
    (is_drawable(surface) && !is_unused(token)).then_some(piece)
}

/// Pushes the text of a byte-level piece, and returns its kind if it may be drawn.
fn byte_level(token: &str, surfaces: &mut Strings) -> Option<Piece> {
    let Some(text) = bytes::read(token) else {
        // not written in bytes: a token that was added later
        surfaces.push(token);
        return None;
    };
    let text = String::from_utf8_lossy(&text);
    let (surface, piece) = match text.strip_prefix(' ') {
        Some(rest) => (rest, Piece::Start),
        None => (&*text, Piece::Continuation),
    };
    surfaces.push(surface);
    // an owned text is a repaired one: the bytes are no UTF-8 by themselves
    let whole = matches!(text, std::borrow::Cow::Borrowed(_));
    (whole && is_drawable(surface)).then_some(piece)
}

fn is_drawable(surface: &str) -> bool {
    !surface.is_empty() && !surface.chars().any(|c| c.is_control() || c.is_whitespace())
}

fn is_unused(token: &str) -> bool {
    token.strip_prefix("[unused").is_some_and(|rest| rest.ends_with(']'))
}

/// The number that a word is, if it is one.
pub(crate) fn number(word: &str) -> Option<f64> {
    // "inf" and "nan" are words; and what is too long is not read at all
    let begins = word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    if !begins || word.len() > LONGEST_NUMBER {
        return None;
    }
    word.parse().ok().filter(|n: &f64| n.abs() < 1e15)
}

/// Many short strings in one.
#[derive(Clone, Debug, Default)]
struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len());
    }

    fn get(&self, id: TokenId) -> &str {
        let start = id.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[id.index()]]
    }

    fn longest(&self) -> usize {
        (0..self.ends.len() as u32).map(|id| self.get(TokenId(id)).len()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(ids: &[TokenId]) -> Vec<u32> {
        ids.iter().map(|id| id.0).collect()
    }

    #[test]
    fn special_unused_and_control_entries_are_never_drawn() {
        let tokens = ["[PAD]", "[UNK]", "[unused7]", "a", "##b", "##", "\u{7}", "x y", "日"];
        let vocab = Vocab::new(&tokens, &[TokenId(0), TokenId(1)], "[UNK]").unwrap();
        assert_eq!(numbers(vocab.of_kind(Piece::Start)), [3, 5, 8]);
        assert_eq!(numbers(vocab.of_kind(Piece::Continuation)), [4]);
        assert_eq!(numbers(vocab.drawable()), [3, 4, 5, 8]);
        assert_eq!(vocab.token(TokenId(4)), "##b");
        assert_eq!(vocab.surface(TokenId(4)), "b");
        assert_eq!(vocab.piece_id("b", Piece::Continuation), Some(TokenId(4)));
        assert_eq!(vocab.piece_id("b", Piece::Start), None);
        assert_eq!(vocab.id("[UNK]"), Some(TokenId(1)));
        assert_eq!(vocab.id("zzz"), None);
        // the unknown token stands where a word begins
        assert_eq!(vocab.inputs(Piece::Start), [1, 3, 4, 5, 8].map(TokenId));
        assert_eq!(vocab.inputs(Piece::Continuation), [3, 4, 5, 8].map(TokenId));
        assert!(Vocab::new(&tokens, &[], "[NONE]").is_none());
        assert!(Vocab::new(&tokens, &[TokenId(9)], "[UNK]").is_none());
    }

    #[test]
    fn words_are_taken_as_they_are() {
        let vocab = Vocab::words(&["the", "##b", "[unused1]", "x y"]);
        assert_eq!(numbers(vocab.drawable()), [0, 1, 2]);
        assert_eq!(vocab.surface(TokenId(1)), "##b");
        assert_eq!((vocab.unknown(), vocab.number()), (TokenId(4), Some(TokenId(5))));
        assert_eq!(vocab.piece_id("the", Piece::Start), Some(TokenId(0)));
        assert_eq!(vocab.piece_id("the", Piece::Continuation), None);
        assert_eq!(vocab.longest(), 9);
    }

    #[test]
    fn parts_of_characters_spaces_and_added_tokens_are_never_drawn() {
        // 中 is ä¸Ń, é is Ã©; Ċ is a line break, ĩ the byte 135
        let tokens = [
            "<s>",
            "Ġa",
            "a",
            "Ġ",
            "ĠĠa",
            "aĠb",
            "ä¸",
            "Ġä¸Ń",
            "Ã©",
            "Ċ",
            "Ġĩ",
            "",
            "two words",
            "##b",
            "Ã",
        ];
        let vocab = Vocab::byte_level(&tokens, &[TokenId(0)], "<s>").unwrap();
        assert_eq!(numbers(vocab.of_kind(Piece::Start)), [1, 7]);
        assert_eq!(numbers(vocab.of_kind(Piece::Continuation)), [2, 8, 13]);
        assert_eq!(vocab.surface(TokenId(1)), "a");
        assert_eq!(vocab.surface(TokenId(7)), "中");
        assert_eq!(vocab.surface(TokenId(8)), "é");
        assert_eq!(vocab.token(TokenId(7)), "Ġä¸Ń");
        assert_eq!(vocab.piece_id("中", Piece::Start), Some(TokenId(7)));
        assert_eq!(vocab.piece_id("中", Piece::Continuation), None);
        assert_eq!(vocab.piece_id("é", Piece::Continuation), Some(TokenId(8)));
        assert!(vocab.is_special(TokenId(0)) && !vocab.is_special(TokenId(14)));
        // a text can have parts of characters, though; ĩ is one by itself
        assert_eq!(numbers(&vocab.inputs(Piece::Start)), [0, 1, 2, 6, 7, 8, 10, 13, 14]);
        assert_eq!(numbers(&vocab.inputs(Piece::Continuation)), [1, 2, 6, 7, 8, 10, 13, 14]);
    }

    #[test]
    fn numbers_are_what_python_calls_a_float_but_for_words() {
        for (word, want) in [("2", Some(2.0)), ("-.5", Some(-0.5)), ("+1e3", Some(1000.0))] {
            assert_eq!(number(word), want);
        }
        for word in ["nan", "inf", "-inf", "1e15", "two", "", "-", "1,0", "½"] {
            assert_eq!(number(word), None, "{word}");
        }
    }
}
