//! The tokens of a chat model that are not made of a text's letters: those that control it, and those added to its words.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};
use cape::tokens::{TokenId, Vocab};

use super::bad;
use crate::error::Result;
use crate::files::Gguf;

/// The types of such tokens in a file.
const CONTROL: i32 = 3;
const ADDED: i32 = 4;

/// These tokens, and how to find them in a text.
#[derive(Clone)]
pub(super) struct Marks {
    finder: AhoCorasick,
    /// In the order of the finder.
    ids: Vec<TokenId>,
    /// The text of an added token, and an empty one for those that control the model.
    texts: HashMap<TokenId, String>,
}

impl Marks {
    /// Those of a file.
    pub(super) fn new(file: &Gguf<'_>, vocab: &Vocab) -> Result<Self> {
        let kinds = file.numbers("tokenizer.ggml.token_type")?.unwrap_or_default();
        let (mut ids, mut texts, mut written) = (Vec::new(), HashMap::new(), Vec::new());
        for (id, kind) in (0..vocab.len() as u32).map(TokenId).zip(kinds) {
            let token = vocab.token(id);
            if !matches!(kind, CONTROL | ADDED) || token.is_empty() {
                continue;
            }
            ids.push(id);
            texts.insert(id, if kind == ADDED { token.clone() } else { String::new() });
            written.push(token);
        }
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(written);
        Ok(Self { finder: finder.map_err(|error| bad(error.to_string()))?, ids, texts })
    }

    /// Whether an answer ends with this token.
    pub(super) fn ends(&self, id: TokenId) -> bool {
        self.texts.get(&id).is_some_and(String::is_empty)
    }

    /// The text of such a token.
    pub(super) fn text(&self, id: TokenId) -> &str {
        self.texts.get(&id).map_or("", String::as_str)
    }

    /// The parts of a text between such tokens, each with the one after it.
    pub(super) fn split<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (&'a str, Option<TokenId>)> {
        let mut at = 0;
        let found = self
            .finder
            .find_iter(text)
            .map(|found| (found.start(), found.end(), Some(self.ids[found.pattern().as_usize()])));
        found.chain([(text.len(), text.len(), None)]).map(move |(start, end, id)| {
            let part = &text[at..start];
            at = end;
            (part, id)
        })
    }
}

/// The text of the token that begins or ends a text (`bos` or `eos`), where the file says.
pub(super) fn named<'a>(file: &Gguf<'a>, name: &str) -> Result<Option<&'a str>> {
    let id = file.whole(&format!("tokenizer.ggml.{name}_token_id"))?;
    let tokens = file.texts("tokenizer.ggml.tokens")?.unwrap_or_default();
    Ok(id.and_then(|id| tokens.get(usize::try_from(id).ok()?).copied()))
}
