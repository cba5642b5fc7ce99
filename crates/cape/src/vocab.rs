//! The vocabulary: what each entry looks like, and which entries may be drawn.

use std::collections::HashMap;

use crate::text::{Piece, TokenId};

/// One entry.
#[derive(Clone, Debug)]
struct Entry {
    /// Its text, without the mark of a continuation.
    surface: String,
    /// Begins or continues a word; none for what is never drawn.
    piece: Option<Piece>,
}

/// Which vocabulary entries a position draws from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Candidates {
    /// Those of the position's own kind: word beginnings, or continuations.
    #[default]
    Typed,
    /// All of them, as in the paper.
    All,
}

/// A word-piece vocabulary.
#[derive(Clone, Debug)]
pub struct Vocab {
    entries: Vec<Entry>,
    ids: HashMap<String, TokenId>,
    unknown: TokenId,
    starts: Vec<TokenId>,
    continuations: Vec<TokenId>,
    all: Vec<TokenId>,
    longest: usize,
}

/// What BERT's vocabularies mark a continuation with.
const CONTINUATION: &str = "##";

impl Vocab {
    /// From the entries in order of their ids; `special` are the ids that are never drawn, which
    /// `[unused…]` entries and empty ones join. Fails where the unknown token is missing.
    #[must_use]
    pub fn new(tokens: &[String], special: &[TokenId], unknown: &str) -> Option<Self> {
        let mut entries: Vec<Entry> = tokens
            .iter()
            .map(|token| {
                let (surface, piece) = match token.strip_prefix(CONTINUATION) {
                    Some(rest) if !rest.is_empty() => (rest, Piece::Continuation),
                    _ => (token.as_str(), Piece::Start),
                };
                let drawable = !surface.is_empty()
                    && !is_unused(token)
                    && !surface.chars().any(|c| c.is_control() || c.is_whitespace());
                Entry { surface: surface.to_owned(), piece: drawable.then_some(piece) }
            })
            .collect();
        for id in special {
            entries.get_mut(id.index())?.piece = None;
        }
        let ids: HashMap<String, TokenId> =
            (0..).zip(tokens).map(|(id, token)| (token.clone(), TokenId(id))).collect();
        let unknown = *ids.get(unknown)?;
        let of = |wanted: &[Piece]| -> Vec<TokenId> {
            (0..)
                .zip(&entries)
                .filter(|(_, entry)| entry.piece.is_some_and(|piece| wanted.contains(&piece)))
                .map(|(id, _)| TokenId(id))
                .collect()
        };
        let (starts, continuations) = (of(&[Piece::Start]), of(&[Piece::Continuation]));
        let all = of(&[Piece::Start, Piece::Continuation]);
        let longest = entries.iter().map(|entry| entry.surface.len()).max().unwrap_or(0);
        Some(Self { entries, ids, unknown, starts, continuations, all, longest })
    }

    /// How many entries there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it holds the unknown token at least")]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The length of the longest entry's text, in bytes.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The entry for what the vocabulary cannot represent.
    #[must_use]
    pub fn unknown(&self) -> TokenId {
        self.unknown
    }

    /// The id of an entry as it stands in the vocabulary, mark of a continuation included.
    #[must_use]
    pub fn id(&self, token: &str) -> Option<TokenId> {
        self.ids.get(token).copied()
    }

    /// An entry's text as it appears in a sentence.
    #[must_use]
    pub fn surface(&self, id: TokenId) -> &str {
        &self.entries[id.index()].surface
    }

    /// Whether an entry begins or continues a word; none for special, unused and control entries.
    #[must_use]
    pub fn piece(&self, id: TokenId) -> Option<Piece> {
        self.entries[id.index()].piece
    }

    /// An entry as the vocabulary writes it.
    #[must_use]
    pub fn token(&self, id: TokenId) -> String {
        match self.piece(id) {
            Some(Piece::Continuation) => format!("{CONTINUATION}{}", self.surface(id)),
            _ => self.surface(id).to_owned(),
        }
    }

    /// The id of a piece of this text and kind.
    #[must_use]
    pub fn piece_id(&self, surface: &str, piece: Piece) -> Option<TokenId> {
        let id = match piece {
            Piece::Start => self.id(surface),
            Piece::Continuation => self.id(&format!("{CONTINUATION}{surface}")),
        };
        id.filter(|&id| self.piece(id) == Some(piece))
    }

    /// What a position of this kind draws from, in order of ids.
    #[must_use]
    pub fn candidates(&self, piece: Piece, which: Candidates) -> &[TokenId] {
        match (which, piece) {
            (Candidates::All, _) => &self.all,
            (Candidates::Typed, Piece::Start) => &self.starts,
            (Candidates::Typed, Piece::Continuation) => &self.continuations,
        }
    }
}

fn is_unused(token: &str) -> bool {
    token.strip_prefix("[unused").is_some_and(|rest| rest.ends_with(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_unused_and_control_entries_are_never_drawn() {
        let tokens: Vec<String> =
            ["[PAD]", "[UNK]", "[unused7]", "a", "##b", "##", "\u{7}", "x y", "日"]
                .map(str::to_owned)
                .to_vec();
        let vocab = Vocab::new(&tokens, &[TokenId(0), TokenId(1)], "[UNK]").unwrap();
        let ids = |piece, which| -> Vec<u32> {
            vocab.candidates(piece, which).iter().map(|id| id.0).collect()
        };
        assert_eq!(ids(Piece::Start, Candidates::Typed), [3, 5, 8]);
        assert_eq!(ids(Piece::Continuation, Candidates::Typed), [4]);
        assert_eq!(ids(Piece::Start, Candidates::All), [3, 4, 5, 8]);
        assert_eq!(vocab.token(TokenId(4)), "##b");
        assert_eq!(vocab.surface(TokenId(4)), "b");
        assert_eq!(vocab.piece_id("b", Piece::Continuation), Some(TokenId(4)));
        assert_eq!(vocab.piece_id("b", Piece::Start), None);
        assert!(Vocab::new(&tokens, &[], "[NONE]").is_none());
    }
}
