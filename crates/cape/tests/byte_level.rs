//! Byte-level BPE: the ids of transformers, kinds and spans, and what is kept.

use cape::Why;
use cape::tokens::{BpeParts, KeepList, Pattern, Piece, TokenId, Tokenizer};
use serde_json::Value;

use crate::tokenizers::{FIXTURES, assert_alike, file, gpt2, ids, shape, texts, tokens};

// ---- ids ----

fn numbers(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

#[test]
fn ids_agree_with_transformers() {
    for fixture in &*FIXTURES {
        let texts = texts(&fixture.golden);
        assert_eq!(texts.len(), 10);
        for text in texts {
            let found = tokens(&fixture.tokenizer, text["text"].as_str().unwrap());
            let chunks = text["chunks"].as_array().unwrap();
            let wanted: Vec<u32> = chunks.iter().flat_map(|chunk| numbers(&chunk[1])).collect();
            assert_eq!(ids(&found), wanted, "{}", fixture.name);
            // and the models are given these ids after a token of their own
            assert!(numbers(&text["input_ids"])[1..].starts_with(&wanted));
        }
    }
}

#[test]
fn vocab_json_and_merges_txt_give_what_tokenizer_json_gives() {
    let vocab = file("gpt2-tiny-slow/vocab.json");
    let merges = file("gpt2-tiny-slow/merges.txt");
    let slow = Tokenizer::from_bpe_files(&vocab, &merges, &["<|endoftext|>"]).unwrap();
    assert_alike(&slow, gpt2(), &FIXTURES[0].golden);
    // the name is special whether it is given or not, and a name that is not there does no harm
    let slow = Tokenizer::from_bpe_files(&vocab, &merges, &["<none>"]).unwrap();
    assert_alike(&slow, gpt2(), &FIXTURES[0].golden);
}

#[test]
fn vocab_txt_gives_what_tokenizer_json_gives() {
    let slow = file("bert-tiny-sharded/vocab.txt");
    let fast = Tokenizer::from_json(&file("bert-tiny/tokenizer.json")).unwrap();
    let golden = file("bert-tiny/golden.json");
    assert_alike(&Tokenizer::from_wordpiece_vocab(&slow, true).unwrap(), &fast, &golden);
    let crlf = String::from_utf8(slow.clone()).unwrap().replace('\n', "\r\n");
    assert_alike(&Tokenizer::from_wordpiece_vocab(crlf.as_bytes(), true).unwrap(), &fast, &golden);
    // with case kept, "SLOW" is not in the vocabulary
    let cased = Tokenizer::from_wordpiece_vocab(&slow, false).unwrap();
    assert!(ids(&tokens(&cased, "SLOW")) != ids(&tokens(&fast, "SLOW")));
    for broken in [&b""[..], b"a\nb\n", b"\xff"] {
        assert!(Tokenizer::from_wordpiece_vocab(broken, true).is_err());
    }
}

#[test]
fn parts_give_what_tokenizer_json_gives() {
    let names = ["gpt-2", "roberta-bpe", "smollm", "qwen2"];
    for (fixture, name) in FIXTURES.iter().zip(names) {
        let json: Value = serde_json::from_slice(&fixture.json).unwrap();
        let vocab = fixture.tokenizer.vocab();
        let entries: Vec<String> =
            (0..vocab.len() as u32).map(|id| vocab.token(TokenId(id))).collect();
        let merges = json["model"]["merges"].as_array().unwrap().iter();
        let merges: Vec<String> = merges
            .map(|pair| format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()))
            .collect();
        let added = json["added_tokens"].as_array().unwrap().iter();
        let special: Vec<TokenId> =
            added.map(|token| TokenId(token["id"].as_u64().unwrap() as u32)).collect();
        let pattern = Pattern::named(name).unwrap();
        let parts = BpeParts { tokens: &entries, merges: &merges, special: &special, pattern };
        let built = Tokenizer::from_bpe_parts(&parts).unwrap();
        assert_alike(&built, &fixture.tokenizer, &fixture.golden);

        let refused = |parts: BpeParts<'_>| Tokenizer::from_bpe_parts(&parts).is_err();
        let last = [TokenId(entries.len() as u32)];
        assert!(refused(BpeParts { special: &last, ..parts }), "no such entry");
        assert!(refused(BpeParts { merges: &["a".into()], ..parts }), "half a merge");
        assert!(refused(BpeParts { merges: &["a b c".into()], ..parts }), "three");
        let twice = [&entries[..], &entries[..1]].concat();
        assert!(refused(BpeParts { tokens: &twice, ..parts }), "an entry occurs twice");
    }
    assert_eq!(Pattern::named("llama-bpe"), Some(Pattern::Llama3));
    assert_eq!(Pattern::named("deepseek-v9"), None);
}

/// GPT-2's tiny tokenizer with more entries and merges, cut by another pattern.
fn more(entries: &[&str], merges: &[&str], special: &[&str], pattern: Pattern) -> Tokenizer {
    let json: Value = serde_json::from_slice(&FIXTURES[0].json).unwrap();
    let vocab = gpt2().vocab();
    let own = (0..vocab.len() as u32).map(|id| vocab.token(TokenId(id)));
    let entries: Vec<String> = own.chain(entries.iter().map(|&s| s.into())).collect();
    let line =
        |pair: &Value| format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
    let own = json["model"]["merges"].as_array().unwrap().iter().map(line);
    let merges: Vec<String> = own.chain(merges.iter().map(|&s| s.into())).collect();
    let special: Vec<TokenId> = special.iter().map(|name| vocab.id(name).unwrap()).collect();
    let parts = BpeParts { tokens: &entries, merges: &merges, special: &special, pattern };
    Tokenizer::from_bpe_parts(&parts).unwrap()
}

#[test]
fn three_digits_go_together_in_llama_3() {
    // no merge leads to the last two: what stands in the vocabulary is taken as it is
    let tokenizer = more(&["12", "123", "1234", "789"], &["1 2", "12 3"], &[], Pattern::Llama3);
    let found = tokens(&tokenizer, "1234 789");
    let found: Vec<String> =
        found.as_slice().iter().map(|token| tokenizer.vocab().token(token.id)).collect();
    assert_eq!(found, ["Ġ", "123", "4", "Ġ", "789"]);
}

#[test]
fn a_special_entry_in_a_text_is_unknown_to_the_model() {
    let tokenizer = more(&[], &[], &["Ġgood"], Pattern::Gpt2);
    assert_eq!(ids(&tokens(gpt2(), "good")), [gpt2().vocab().id("Ġgood").unwrap().0]);
    let found = tokens(&tokenizer, "good");
    assert_eq!(ids(&found), [tokenizer.vocab().unknown().0]);
    assert_eq!(shape(&found.as_slice()[0]), (0, 4, Piece::Start, None));
}

#[test]
fn a_part_of_a_character_at_the_start_of_a_word_begins_it() {
    // ð is the first byte of 🙂
    let tokenizer = more(&["Ġð"], &["Ġ ð"], &[], Pattern::Gpt2);
    let found = tokens(&tokenizer, "🙂");
    let found: Vec<_> = found.as_slice().iter().map(shape).collect();
    let rest = (4, 4, Piece::Continuation, None);
    assert_eq!(found, [(0, 4, Piece::Start, None), rest, rest, rest]);
}

// ---- kinds, spans and words ----

#[test]
fn a_word_is_the_same_after_any_white_space() {
    let tokenizer = gpt2();
    let alone = ids(&tokens(tokenizer, "good"));
    assert_eq!(alone.len(), 1, "a word of the vocabulary");
    for text in [" good", "good\n", "\t\tgood ", "\u{2003}good", "\r\ngood"] {
        let found = tokens(tokenizer, text);
        assert_eq!(ids(&found), alone, "{text:?}");
        let token = found.as_slice()[0];
        assert_eq!(&text[token.start..token.end], "good");
        assert_eq!(token.piece, Piece::Start);
    }
}

#[test]
fn kinds_and_spans_of_pieces() {
    use Piece::{Continuation, Start};
    let text = "walking 7 中x🙂";
    for fixture in &*FIXTURES {
        let found = tokens(&fixture.tokenizer, text);
        let found: Vec<_> = found.as_slice().iter().map(shape).collect();
        let wanted = [
            (0, 4, Start, None),
            (4, 7, Continuation, None),
            // the space by itself, and the digit
            (8, 8, Start, Some(Why::Space)),
            (8, 9, Continuation, None),
            (10, 13, Start, None),
            (13, 14, Continuation, None),
            // four parts of one character
            (14, 18, Continuation, None),
            (18, 18, Continuation, None),
            (18, 18, Continuation, None),
            (18, 18, Continuation, None),
        ];
        assert_eq!(found, wanted, "{}", fixture.name);
    }
}

#[test]
fn parts_of_a_character_are_seen_by_the_model_and_never_drawn() {
    for fixture in &*FIXTURES {
        let vocab = fixture.tokenizer.vocab();
        let found = tokens(&fixture.tokenizer, "x🙂");
        let parts: Vec<TokenId> = found.as_slice()[2..].iter().map(|token| token.id).collect();
        assert_eq!(parts.len(), 4);
        assert!(parts.iter().all(|&id| id != vocab.unknown() && vocab.piece(id).is_none()));
        let all = vocab.drawable();
        assert!(!parts.iter().any(|id| all.contains(id)));
        for &id in all {
            let surface = vocab.surface(id);
            assert!(!surface.is_empty() && !surface.contains('\u{fffd}'));
            assert!(!surface.chars().any(|c| c.is_whitespace() || c.is_control()));
            assert!(vocab.piece_id(surface, vocab.piece(id).unwrap()) == Some(id));
        }
    }
}

#[test]
fn what_looks_like_a_special_token_is_text() {
    for fixture in &*FIXTURES {
        let vocab = fixture.tokenizer.vocab();
        let names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>", "</s>", "<mask>"];
        let special: Vec<TokenId> = names.iter().filter_map(|name| vocab.id(name)).collect();
        assert!(!special.is_empty());
        let text = names.join(" x ") + &names.concat();
        let found = tokens(&fixture.tokenizer, &text);
        assert!(found.as_slice().iter().all(|token| !special.contains(&token.id)));
        assert!(special.iter().all(|&id| vocab.piece(id).is_none()));
    }
}

/// The sensitive text, its tokens set apart by bars.
fn sensitive(tokenizer: &Tokenizer, keep: &KeepList, text: &str) -> String {
    let tokens = tokenizer.tokenize(text, keep).unwrap();
    let of = |i: usize| &text[tokens.as_slice()[i].start..tokens.as_slice()[i].end];
    tokens.sensitive().map(of).collect::<Vec<_>>().join("|")
}

#[test]
fn words_are_judged_as_word_piece_judges_them() {
    let keep = KeepList::default();
    for fixture in &*FIXTURES {
        let cases = [
            ("the The THE", ""),
            ("Don't, isn't; it's (not) \"the\"...", ""),
            ("good, book.", "good|book"),
            ("the\u{301}", "the\u{301}"),
            ("a,b!", "b"),
            // one word: its letters are no stopwords of their own
            ("A1I2", "A|1|I|2"),
            ("theabove", "the|a|b|o|v|e"),
        ];
        for (text, wanted) in cases {
            // how a word is cut up depends on the vocabulary
            let found = sensitive(&fixture.tokenizer, &keep, text).replace('|', "");
            assert_eq!(found, wanted.replace('|', ""), "{} {text:?}", fixture.name);
        }
    }
}

#[test]
fn listed_phrases_are_kept_and_only_they() {
    for fixture in &*FIXTURES {
        let mut keep = KeepList::default();
        fixture.tokenizer.keep("New London\n🙂\n\n中国", &mut keep).unwrap();
        let text = "new london, NEW LONDON 🙂 中国 london 中 🙁 🙂🙁";
        let found = sensitive(&fixture.tokenizer, &keep, text).replace('|', "");
        // 🙂🙁 is one word, which is not on the list
        assert_eq!(found, "london中🙁🙂🙁", "{}", fixture.name);
        let tokens = fixture.tokenizer.tokenize("🙂", &keep).unwrap();
        assert!(tokens.sensitive().next().is_none(), "every part of the character is kept");
        assert!(fixture.tokenizer.keep("a\u{7}", &mut keep).is_err());
    }
}

/// A mark and an accent become one character where the tokenizer composes them: the entries of all its
/// tokens tell of the accent, so none of them is kept.
#[test]
fn a_mark_that_an_accent_changes_is_not_kept() {
    let composes = FIXTURES.iter().find(|fixture| fixture.name == "qwen2-tiny").unwrap();
    let tokens = |text| composes.tokenizer.tokenize(text, &KeepList::default()).unwrap();
    let plain = tokens("= x");
    assert!(plain.as_slice().iter().any(|token| token.kept == Some(Why::Punctuation)));
    let composed = tokens("=\u{338}");
    let of_the_mark = composed.as_slice().iter().filter(|token| token.kept != Some(Why::Space));
    assert!(of_the_mark.clone().count() > 1, "it is cut into bytes");
    assert!(of_the_mark.clone().all(|token| token.kept.is_none()));
}
