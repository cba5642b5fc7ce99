//! How a text becomes the input of a sentence encoder.

use cape::tokens::TokenId;
use tokenizers::Tokenizer as Library;
use tokenizers::normalizers::{Lowercase, Sequence};

use crate::error::{Error, Result};
use crate::files::TokenizerFiles;
use crate::network::Family;

/// The special tokens, and one of the text at least.
const LEAST: usize = 3;

pub(super) struct Texts {
    library: Library,
    begin: TokenId,
    end: TokenId,
    /// The most tokens, special ones included.
    longest: usize,
}

impl Texts {
    pub(super) fn new(
        files: &TokenizerFiles,
        family: &Family,
        longest: usize,
        lower: bool,
    ) -> Result<Self> {
        if longest < LEAST {
            let why = format!("{longest} tokens are too few: a text needs {LEAST} at least");
            return Err(Error::Sentence(why));
        }
        let mut library = files.library()?;
        if lower {
            let own = library.get_normalizer().cloned();
            let both = [Lowercase.into()].into_iter().chain(own).collect();
            library.with_normalizer(Some(Sequence::new(both))).map_err(failed)?;
        }
        let id = |token| library.token_to_id(token).ok_or(Error::SpecialToken(token));
        let special = family.special(|token| library.token_to_id(token).is_some());
        let (begin, end) = (TokenId(id(special.begin)?), TokenId(id(special.end)?));
        let entries = library.get_vocab(true).values().max().map_or(0, |&last| last as usize + 1);
        if entries > family.shape.vocab {
            return Err(Error::Vocabulary { tokenizer: entries, model: family.shape.vocab });
        }
        Ok(Self { library, begin, end, longest })
    }

    /// The ids of a text between those of the special tokens, its end cut off where it is too long.
    pub(super) fn ids(&self, text: &str) -> Result<Vec<TokenId>> {
        let encoding = self.library.encode(text, false).map_err(failed)?;
        let inner = encoding.get_ids().iter().take(self.longest - 2).map(|&id| TokenId(id));
        Ok([self.begin].into_iter().chain(inner).chain([self.end]).collect())
    }
}

/// The error of a library that failed: its own message could quote the text.
fn failed<T>(_: T) -> Error {
    Error::Sentence("its tokenizer failed".into())
}
