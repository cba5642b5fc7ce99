//! Tokens of a prompt and what became of them. Nothing here prints text: ids are text too.

use std::fmt;

use crate::kinds::Kind;
use crate::lexicon::Class;
use crate::privacy::Privacy;

/// An entry of the model's vocabulary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub u32);

impl TokenId {
    /// The index into rows.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a word is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// It is drawn by a law under which it nearly always stays as it is.
    Ordinary,
    /// It is drawn by a law that hides it.
    Protected,
    /// It is sent as it is, outside any ε.
    Kept,
}

impl Level {
    /// The name in output for machines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Protected => "protected",
            Self::Kept => "kept",
        }
    }
}

/// Why a word or a token has its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Ordinary: a common word in lower case.
    Common,
    /// Ordinary: a common word with a capital because it stands first.
    First,
    /// Ordinary: the name of a language, a file format or well-known software.
    Software,
    /// Protected: a common word that is written like a name.
    Capital,
    /// Protected: not a common word.
    Unlisted,
    /// Protected: sensitive in itself.
    Class(Class),
    /// Protected: a common word, but the profile protects those.
    Profile,
    /// Protected: a number, a date, an address.
    Kind,
    /// Protected: a token that a mechanism on pieces draws for.
    Sensitive,
    /// One of NLTK's 179 English stopwords.
    Stopword,
    /// One of the 32 ASCII punctuation marks.
    Punctuation,
    /// On the user's own list.
    Listed,
    /// The space before a word, where the model has a token for it: it has no text of its own, and
    /// the space itself is copied like all white space.
    Space,
    /// Among the frequent words, which SANTEXT+ leaves alone most of the time.
    Frequent,
    /// Outside the vocabulary of a mechanism that keeps such words: it leaks.
    Unknown,
}

impl Why {
    /// The name in output for machines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::First => "first",
            Self::Software => "software",
            Self::Capital => "capital",
            Self::Unlisted => "uncommon",
            Self::Class(class) => class.as_str(),
            Self::Profile => "profile",
            Self::Kind => "kind",
            Self::Sensitive => "sensitive",
            Self::Stopword => "stopword",
            Self::Punctuation => "punctuation",
            Self::Listed => "listed",
            Self::Space => "space",
            Self::Frequent => "frequent",
            Self::Unknown => "unknown",
        }
    }
}

/// Whether a piece begins a word or continues one. A public property of a position: the released
/// text shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Piece {
    /// It begins a word.
    Start,
    /// It continues the word before it.
    Continuation,
}

/// One token of a prompt.
#[derive(Clone, Copy)]
pub struct Token {
    /// Its entry in the vocabulary.
    pub id: TokenId,
    /// Where its text begins in the prompt, in bytes.
    pub start: usize,
    /// Where its text ends.
    pub end: usize,
    /// Whether it begins a word.
    pub piece: Piece,
    /// Why it is kept, if it is.
    pub kept: Option<Why>,
}

/// The tokens of one prompt, in order; between them stands white space only.
#[derive(Clone, Default)]
pub struct Tokens {
    tokens: Vec<Token>,
}

impl Tokens {
    /// All tokens.
    #[must_use]
    pub fn as_slice(&self) -> &[Token] {
        &self.tokens
    }

    /// The positions of the sensitive tokens: those that are drawn for.
    pub fn sensitive(&self) -> impl Iterator<Item = usize> + '_ {
        let drawn = |(_, token): &(usize, &Token)| token.kept.is_none();
        self.tokens.iter().enumerate().filter(drawn).map(|(i, _)| i)
    }
}

impl From<Vec<Token>> for Tokens {
    fn from(tokens: Vec<Token>) -> Self {
        Self { tokens }
    }
}

/// The outcome for one token.
#[derive(Clone, Copy, PartialEq)]
pub enum Outcome {
    /// It was kept.
    Kept(Why),
    /// It was replaced by a draw, which may have fallen on the token itself.
    Drawn {
        /// The token drawn.
        id: TokenId,
        /// The exact probability with which the draw would have fallen on the true token.
        retention: f64,
    },
    /// A number was replaced by one that was drawn from 1 to 1000.
    Number(u32),
    /// A number was rounded to an integer, and this was added to it: 0 to 999.
    Shifted(u32),
    /// It was left out.
    Dropped,
}

impl Outcome {
    /// The probability with which a sensitive token stays the same (of a number, at most); none for
    /// what was kept.
    pub(crate) fn retention(self) -> Option<f64> {
        match self {
            Self::Kept(_) => None,
            Self::Drawn { retention, .. } => Some(retention),
            Self::Number(_) | Self::Shifted(_) => Some(0.001),
            Self::Dropped => Some(0.0),
        }
    }
}

/// One token of a release.
#[derive(Clone, PartialEq)]
pub struct ReleasedToken {
    /// Where the original token begins in the prompt, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The text in its place.
    pub released: String,
    /// Its outcome.
    pub outcome: Outcome,
}

/// One word of a release, or one token where the mechanism works on pieces.
#[derive(Clone, PartialEq)]
pub struct ReleasedWord {
    /// Where the original begins in the prompt, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The text in its place.
    pub released: String,
    /// How it was treated.
    pub level: Level,
    /// Its kind.
    pub kind: Kind,
    /// Why it was treated so.
    pub why: Why,
}

/// A released prompt.
#[derive(Clone, PartialEq)]
pub struct Release {
    /// The text that may leave the machine.
    pub text: String,
    /// The words of the prompt, each with the text in its place.
    pub words: Vec<ReleasedWord>,
    /// The privacy statement.
    pub privacy: Privacy,
}

/// A Debug that counts and shows nothing.
macro_rules! opaque_debug {
    ($($type:ty: $len:expr),+ $(,)?) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let len: fn(&$type) -> usize = $len;
                write!(f, "{}({})", stringify!($type), len(self))
            }
        }
    )+};
}

opaque_debug! {
    TokenId: |_| 1,
    Token: |_| 1,
    Tokens: |tokens| tokens.tokens.len(),
    Outcome: |_| 1,
    ReleasedToken: |_| 1,
    ReleasedWord: |_| 1,
    Release: |release| release.words.len(),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_text_and_no_ids() {
        let outcome = Outcome::Drawn { id: TokenId(4242), retention: 0.125 };
        let released = ReleasedToken { start: 3, end: 9, released: "canary".into(), outcome };
        let token = Token { id: TokenId(4242), start: 3, end: 9, piece: Piece::Start, kept: None };
        let all = format!("{outcome:?} {released:?} {:?}", Tokens::from(vec![token]));
        for secret in ["canary", "4242", "0.125"] {
            assert!(!all.contains(secret), "{all}");
        }
    }
}
