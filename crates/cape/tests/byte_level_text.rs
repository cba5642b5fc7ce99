//! Byte-level BPE: text fidelity whatever the Unicode, and broken files.

use cape::tokens::{KeepList, Token, Tokenizer, assemble};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tokenizers::{Drawn, FIXTURES, Fixture, assert_alike, check, draws, gpt2, tokens};

// ---- any text ----

/// Pieces that are hard on tokenizers, and ordinary words between them.
fn text() -> impl Strategy<Value = String> {
    let hard = vec![
        "é",
        "e\u{301}",
        "ß",
        "İ",
        "東京",
        "中",
        "👩\u{200d}👩\u{200d}👧",
        "🙂\u{fe0f}",
        "\u{200b}",
        "\u{feff}",
        "\u{fffd}",
        "ﬁ",
        "½",
        "ﷺ",
        "\u{1f1e9}\u{1f1ea}",
        "<|endoftext|>",
        "<mask>",
        "Ġ",
        "Ġgood",
        "\u{323}\u{301}",
    ];
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "good", "The", "book", "doctor's", "it", "IT", "slowly", "walking", "A1B2", "42", "don't",
        ]).prop_map(str::to_owned),
        2 => prop::sample::select(vec![" ", "  ", "\t", "\n", "\r\n", "\u{a0}", "\u{2003}"])
            .prop_map(str::to_owned),
        2 => prop::sample::select(hard).prop_map(str::to_owned),
        1 => prop::sample::select(vec![",", ".", "!", "--", "'", "“", "…", "://", "@"])
            .prop_map(str::to_owned),
        1 => "\\PC{1,4}",
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn text_survives(text in text(), any: bool, hash: u64) {
        let drawn = if any { Drawn::Any } else { Drawn::OfKind };
        for fixture in &*FIXTURES {
            check(&fixture.tokenizer, &text, drawn, hash);
        }
    }

    #[test]
    fn any_unicode_is_taken_or_refused(text in any::<String>(), hash: u64) {
        let control = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
        for fixture in &*FIXTURES {
            if text.chars().any(control) {
                prop_assert!(fixture.tokenizer.tokenize(&text, &KeepList::default()).is_err());
            } else {
                check(&fixture.tokenizer, &text, Drawn::OfKind, hash);
            }
        }
    }

    /// Sensitive tokens reach the output through their draws alone: two prompts of the same public
    /// structure with the same outcomes become the same bytes.
    #[test]
    fn comparable_prompts_with_equal_outcomes_are_released_alike(
        words in prop::collection::vec(0_usize..8, 3..8), any: bool, hash: u64,
    ) {
        const PAIRS: [(&str, &str); 8] = [
            ("good", "london"), ("Book", "Zzzz"), ("walking", "slowly"), ("the", "the"),
            (",", ","), ("7", "9"), ("é", "ü"), ("🙂", "🙁"),
        ];
        let drawn = if any { Drawn::Any } else { Drawn::OfKind };
        let text = |side: fn(&(&'static str, &'static str)) -> &'static str| {
            words.iter().map(|&w| side(&PAIRS[w])).collect::<Vec<_>>().join(" \t")
        };
        let (a, b) = (text(|pair| pair.0), text(|pair| pair.1));
        for Fixture { tokenizer, .. } in &*FIXTURES {
            let (ta, tb) = (tokens(tokenizer, &a), tokens(tokenizer, &b));
            let public = |t: &Token| (t.piece, t.kept, t.kept.map(|_| t.id.0));
            let same = ta.as_slice().iter().map(public).eq(tb.as_slice().iter().map(public));
            prop_assume!(same);
            let outcomes = draws(tokenizer, &ta, drawn, hash);
            let release = |text, tokens| assemble(text, tokens, &outcomes, tokenizer.vocab()).0;
            prop_assert_eq!(release(&a, &ta), release(&b, &tb));
        }
    }
}

// ---- broken files ----

/// The first fixture's `tokenizer.json` with something changed.
fn changed(edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut json = serde_json::from_slice(&FIXTURES[0].json).unwrap();
    edit(&mut json);
    serde_json::to_vec(&json).unwrap()
}

#[test]
fn broken_tokenizers_are_refused() {
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 20] = [
        ("no merges", |t| drop(t["model"].as_object_mut().unwrap().remove("merges"))),
        ("merges of nothing", |t| t["model"]["merges"] = Value::Null),
        ("a merge of one", |t| t["model"]["merges"][3] = "Ġ".into()),
        ("a merge of three", |t| t["model"]["merges"][3] = "Ġ a b".into()),
        ("a pair of one", |t| t["model"]["merges"][3] = vec!["Ġ"].into()),
        ("a pair of three", |t| t["model"]["merges"][3] = vec!["Ġ", "a", "b"].into()),
        ("a merge of an unknown entry", |t| t["model"]["merges"][3] = vec!["zz", "a"].into()),
        ("a merge to an unknown entry", |t| t["model"]["merges"][3] = vec!["z", "z"].into()),
        ("a merge that is too long", |t| {
            t["model"]["merges"][3] = vec!["<|endoftext|>", "<|endoftext|>"].into();
        }),
        ("ids far apart", |t| t["model"]["vocab"]["a"] = u32::MAX.into()),
        ("an id too large", |t| t["model"]["vocab"]["a"] = u64::MAX.into()),
        ("an id of two entries", |t| t["model"]["vocab"]["a"] = t["model"]["vocab"]["b"].clone()),
        ("an added token in the place of another", |t| t["added_tokens"][0]["id"] = 5.into()),
        ("no entries", |t| {
            t["model"]["vocab"] = json!({});
            t["model"]["merges"] = Value::Array(vec![]);
            t["added_tokens"] = Value::Array(vec![]);
        }),
        ("byte fallback", |t| t["model"]["byte_fallback"] = true.into()),
        ("a suffix", |t| t["model"]["end_of_word_suffix"] = "</w>".into()),
        // the library would cut a character in two and call it text
        ("a prefix", |t| t["model"]["continuing_subword_prefix"] = "é".into()),
        ("no bytes", |t| t["pre_tokenizer"] = Value::Null),
        ("words without bytes", |t| {
            t["pre_tokenizer"] = json!({"type": "Metaspace", "replacement": "▁"});
        }),
        // the library panics on this one
        ("a broken normalizer", |t| {
            t["normalizer"] = json!({"type": "Precompiled", "precompiled_charsmap": 1});
        }),
    ];
    assert!(Tokenizer::from_json(&changed(|_| {})).is_ok(), "else all would be refused");
    for (what, edit) in edits {
        let error = Tokenizer::from_json(&changed(edit)).err().expect(what);
        assert!(matches!(error, cape::Error::Tokenizer(_)), "{what}: {error}");
    }
    let whole = &FIXTURES[0].json;
    for end in [0, 1, whole.len() / 2, whole.len() - 1] {
        assert!(Tokenizer::from_json(&whole[..end]).is_err());
    }
}

#[test]
fn old_files_are_taken() {
    let old = changed(|t| {
        let model = t["model"].as_object_mut().unwrap();
        model.remove("type");
        for merge in model["merges"].as_array_mut().unwrap() {
            *merge =
                format!("{} {}", merge[0].as_str().unwrap(), merge[1].as_str().unwrap()).into();
        }
        model["merges"].as_array_mut().unwrap().insert(0, "#version: 0.2".into());
        model["unk_token"] = "".into();
    });
    assert_alike(&Tokenizer::from_json(&old).unwrap(), gpt2(), &FIXTURES[0].golden);
}

#[test]
fn a_tokenizer_without_some_bytes_loses_no_text() {
    let poor = changed(|t| {
        let model = t["model"].as_object_mut().unwrap();
        model["merges"] = Value::Array(vec![]);
        // ids stay as they are: there are holes now
        model["vocab"]
            .as_object_mut()
            .unwrap()
            .retain(|entry, _| entry.chars().count() > 1 || "abcdeĠ,".contains(entry.as_str()));
    });
    let tokenizer = Tokenizer::from_json(&poor).unwrap();
    for text in ["zzz", "azb zaz", "z,z 🙂", "the\u{301} z", ""] {
        check(&tokenizer, text, Drawn::Any, 1);
        let kept = tokens(&tokenizer, text).as_slice().iter().any(|token| {
            token.kept.is_some() && text[token.start..token.end].contains(['z', '🙂'])
        });
        assert!(!kept, "{text:?}");
    }
}

/// Other steps before the bytes than the four families have: they may drop, add and exchange
/// characters, and what they are done to is still covered by tokens.
#[test]
fn other_pipelines_lose_no_text() {
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true});
    let digits = json!({"type": "Digits", "individual_digits": true});
    let marks = json!({"type": "Punctuation", "behavior": "Removed"});
    let regex = json!({"Regex": "o+|\\p{N}"});
    let split = json!({"type": "Split", "pattern": regex, "behavior": "Removed", "invert": false});
    let normalizers = [
        Value::Null,
        json!({"type": "NFKC"}),
        json!({"type": "Sequence", "normalizers": [
            {"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
        ]}),
    ];
    let texts = [
        "The doctor's café: 42 🙂 oooo\n\tgood",
        "e\u{301}o\u{301} \u{301} ﷺ½ ¨x 4o2 'o' İİ",
        "\u{200b}\u{301}7 o7o ..",
    ];
    for first in [digits, marks, split] {
        for normalizer in &normalizers {
            let json = changed(|t| {
                t["normalizer"] = normalizer.clone();
                let steps = [first.clone(), bytes.clone()];
                t["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": steps});
            });
            let tokenizer = Tokenizer::from_json(&json).unwrap();
            for (hash, text) in (0..).zip(texts) {
                check(&tokenizer, text, Drawn::Any, hash);
                check(&tokenizer, text, Drawn::OfKind, hash);
            }
        }
    }
}

#[test]
fn a_bent_byte_never_panics() {
    for fixture in &*FIXTURES {
        for at in (0..fixture.json.len()).step_by(11) {
            let mut bytes = fixture.json.clone();
            bytes[at] ^= 1;
            if let Ok(tokenizer) = Tokenizer::from_json(&bytes) {
                check(&tokenizer, "The doctor's café: 42 🙂 ok\n\tgood", Drawn::Any, 7);
            }
        }
    }
}
