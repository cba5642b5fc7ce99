//! Arbitrary Unicode through the tokenizers and back, with the fixtures' tiny ones (WordPiece and
//! byte-level BPE) and with the default model's: `scripts/fuzz text SECONDS`.

#![no_main]

use std::sync::LazyLock;

use cape::Why;
use cape::tokens::{KeepList, Outcome, Tokenizer, assemble, recover};
use libfuzzer_sys::fuzz_target;

static TOKENIZERS: LazyLock<[Tokenizer; 6]> = LazyLock::new(|| {
    let files: [&[u8]; 6] = [
        include_bytes!("../../fixtures/bert-tiny/tokenizer.json"),
        include_bytes!("../../crates/cape-models/default/tokenizer.json"),
        include_bytes!("../../fixtures/gpt2-tiny/tokenizer.json"),
        include_bytes!("../../fixtures/roberta-tiny/tokenizer.json"),
        include_bytes!("../../fixtures/llama-tiny/tokenizer.json"),
        include_bytes!("../../fixtures/qwen2-tiny/tokenizer.json"),
    ];
    files.map(|json| Tokenizer::from_json(json).unwrap())
});

fuzz_target!(|data: (u8, u64, &str)| {
    let (which, mut hash, text) = data;
    let tokenizer = &TOKENIZERS[usize::from(which) % TOKENIZERS.len()];
    let keep = KeepList::default();
    let Ok(tokens) = tokenizer.tokenize(text, &keep) else {
        assert!(text.chars().any(char::is_control), "only control characters are refused");
        return;
    };
    // spans are in order, on character borders, and only white space lies between them
    let mut at = 0;
    for token in tokens.as_slice() {
        assert!(at <= token.start && token.start <= token.end);
        assert!(text[at..token.start].chars().all(char::is_whitespace));
        assert!(text.is_char_boundary(token.end));
        at = token.end;
    }
    assert!(text[at..].chars().all(char::is_whitespace));
    // kept as a whole, the text comes back byte for byte
    let all = vec![Outcome::Kept(Why::Listed); tokens.as_slice().len()];
    let vocab = tokenizer.vocab();
    assert_eq!(assemble(text, &tokens, &all, vocab).0, text);
    // any draws make a text that can be tokenized again
    let draws = tokens.as_slice().iter().map(|token| match token.kept {
        Some(why) => Outcome::Kept(why),
        None => {
            hash = hash.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let candidates = vocab.drawable();
            let id = candidates[(hash >> 33) as usize % candidates.len()];
            Outcome::Drawn { id, retention: 0.0 }
        }
    });
    let (released, _) = assemble(text, &tokens, &draws.collect::<Vec<_>>(), vocab);
    assert!(tokenizer.tokenize(&released, &keep).is_ok());
    assert!(recover(text, &tokens, &released, vocab).is_some());
});
