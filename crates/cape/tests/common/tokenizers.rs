//! The fixtures' tokenizers, and what two tests do with them.

use std::path::Path;
use std::sync::LazyLock;

use cape::Why;
use cape::tokens::{KeepList, Outcome, Piece, Token, Tokenizer, Tokens, assemble, recover};
use serde_json::Value;

/// A file of the fixtures.
pub(crate) fn file(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(path)).unwrap()
}

pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    pub(crate) json: Vec<u8>,
    pub(crate) golden: Vec<u8>,
    pub(crate) tokenizer: Tokenizer,
}

pub(crate) static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    let names = ["gpt2-tiny", "roberta-tiny", "llama-tiny", "qwen2-tiny"];
    let fixture = |name| {
        let json = file(&format!("{name}/tokenizer.json"));
        let tokenizer = Tokenizer::from_json(&json).unwrap();
        Fixture { name, golden: file(&format!("{name}/golden.json")), json, tokenizer }
    };
    names.map(fixture).into()
});

pub(crate) fn gpt2() -> &'static Tokenizer {
    &FIXTURES[0].tokenizer
}

pub(crate) fn tokens(tokenizer: &Tokenizer, text: &str) -> Tokens {
    tokenizer.tokenize(text, &KeepList::default()).unwrap()
}

pub(crate) fn ids(tokens: &Tokens) -> Vec<u32> {
    tokens.as_slice().iter().map(|token| token.id.0).collect()
}

/// Where a token is, of which kind, and why it is kept.
pub(crate) fn shape(token: &Token) -> (usize, usize, Piece, Option<Why>) {
    (token.start, token.end, token.piece, token.kept)
}

/// The texts of a golden file.
pub(crate) fn texts(golden: &[u8]) -> Vec<Value> {
    let mut golden: Value = serde_json::from_slice(golden).unwrap();
    golden["texts"].as_array_mut().unwrap().drain(..).collect()
}

/// The same ids, kinds and reasons from two tokenizers.
pub(crate) fn assert_alike(a: &Tokenizer, b: &Tokenizer, golden: &[u8]) {
    assert_eq!(a.vocab().len(), b.vocab().len());
    for piece in [Piece::Start, Piece::Continuation] {
        let of = |t: &Tokenizer| t.vocab().of_kind(piece).to_vec();
        assert!(of(a) == of(b) && of(a).len() > 20);
    }
    assert_eq!(a.vocab().unknown(), b.vocab().unknown());
    for text in texts(golden) {
        let text = text["text"].as_str().unwrap();
        let (x, y) = (tokens(a, text), tokens(b, text));
        assert_eq!(ids(&x), ids(&y));
        assert!(x.as_slice().iter().map(shape).eq(y.as_slice().iter().map(shape)));
    }
}

/// The draws.
#[derive(Clone, Copy)]
pub(crate) enum Drawn {
    /// Any entry.
    Any,
    /// One that begins or continues a word, as the position does.
    OfKind,
}

/// Draws by a hash for every sensitive token.
pub(crate) fn draws(
    tokenizer: &Tokenizer,
    tokens: &Tokens,
    drawn: Drawn,
    mut hash: u64,
) -> Vec<Outcome> {
    let mut draw = |token: &Token| {
        hash = hash.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let candidates = match drawn {
            Drawn::Any => tokenizer.vocab().drawable(),
            Drawn::OfKind => tokenizer.vocab().of_kind(token.piece),
        };
        Outcome::Drawn { id: candidates[(hash >> 33) as usize % candidates.len()], retention: 0.0 }
    };
    let outcome = |token: &Token| token.kept.map_or_else(|| draw(token), Outcome::Kept);
    tokens.as_slice().iter().map(outcome).collect()
}

pub(crate) fn check(tokenizer: &Tokenizer, text: &str, drawn: Drawn, hash: u64) {
    let (keep, vocab) = (KeepList::default(), tokenizer.vocab());
    let tokens = tokenizer.tokenize(text, &keep).unwrap();
    // spans are in order, on character borders, and only white space lies between them
    let mut at = 0;
    for token in tokens.as_slice() {
        assert!(at <= token.start && token.start <= token.end);
        assert!(text[at..token.start].chars().all(char::is_whitespace));
        let own = &text[token.start..token.end];
        assert!(!own.chars().any(char::is_whitespace));
        // what is kept by default is ASCII: nothing odd comes along
        assert!(token.kept.is_none() || own.is_ascii(), "{own:?} is kept");
        assert!(token.kept != Some(Why::Space) || own.is_empty());
        at = token.end;
    }
    assert!(text[at..].chars().all(char::is_whitespace));
    // kept as a whole, the text comes back byte for byte
    let all = vec![Outcome::Kept(Why::Listed); tokens.as_slice().len()];
    assert_eq!(assemble(text, &tokens, &all, vocab).0, text);
    // whatever is drawn can be read off the release, as one way to cut it up at least
    let outcomes = draws(tokenizer, &tokens, drawn, hash);
    let (released, _) = assemble(text, &tokens, &outcomes, vocab);
    let drawn = recover(text, &tokens, &released, vocab).expect("it is a release");
    let again: Vec<Outcome> = drawn
        .iter()
        .zip(&outcomes)
        .map(|(id, outcome)| id.map_or(*outcome, |id| Outcome::Drawn { id, retention: 0.0 }))
        .collect();
    assert_eq!(assemble(text, &tokens, &again, vocab).0, released);
    assert!(tokenizer.tokenize(&released, &keep).is_ok());
}
