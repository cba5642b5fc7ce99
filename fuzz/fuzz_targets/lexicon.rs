//! Any string has a level, a key and an order of the whole list, and files that are no lexicon are refused:
//! `scripts/fuzz lexicon SECONDS`.

#![no_main]

use std::sync::LazyLock;

use cape::kinds::Kind;
use cape::lexicon::Lexicon;
use cape::mechanism::cape::{Cape, Settings};
use libfuzzer_sys::fuzz_target;

static CAPE: LazyLock<Cape> =
    LazyLock::new(|| Cape::new(Lexicon::embedded(), Settings::default()).unwrap());

fuzz_target!(|data: (bool, u8, &str, &[u8], &[u8])| {
    let (first, order, word, vectors, ngrams) = data;
    let (key, _) = CAPE.key(Kind::Word, word, first);
    // seldom, since the whole list takes a hundred times as long as all else
    if order == 0 {
        let similar = CAPE.lexicon().similarities(&key.form);
        assert!(similar.len() == CAPE.lexicon().len() && similar.iter().all(|x| x.is_finite()));
    }
    assert_eq!(CAPE.key(Kind::Word, word, first).0.form, key.form);
    if let Some(own) = CAPE.own(&key) {
        assert!(own.index() < CAPE.lexicon().len());
    }
    let _ = Lexicon::new(word, vectors.to_vec(), ngrams.to_vec());
});
