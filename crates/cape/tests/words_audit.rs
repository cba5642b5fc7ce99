//! The exact audits of words against enumeration.

use crate::words::joint::{Input, joint, ln_ratio};
use crate::words::small::{TEMPLATES, fill, smalls, some_strings, strings};
use crate::words::{opposite_cape, opposites, settings};
use cape::audit::keys::{KeyAudit, KeyExtremes};
use cape::audit::prompts::Loss;
use cape::audit::texts::{Different, compare};
use cape::mechanism::cape::Settings;
use cape::sample::Share;
use cape::{Cape, Kind, Level, Lexicon};
use proptest::prelude::*;

/// All inputs, in as many parts as told.
fn audited(keys: &KeyAudit<'_>, parts: usize) -> KeyExtremes {
    let n = keys.inputs().len();
    let part = |i: usize| {
        (i * n / parts..(i + 1) * n / parts)
            .fold(keys.start(), |exact, input| keys.add(exact, input as u32))
    };
    (0..parts).map(part).reduce(KeyExtremes::merge).unwrap()
}

/// The largest loss between rows.
fn largest(rows: &[Vec<Share>]) -> f64 {
    let pairs = rows.iter().flat_map(|a| rows.iter().map(move |b| (a, b)));
    pairs.map(|(a, b)| Loss::between(a, b).forth).fold(0.0, f64::max)
}

proptest! {
    /// The audit is the largest loss over all pairs, and is within what is stated.
    #[test]
    fn an_audit_of_words_is_the_maximum_over_all_pairs(
        small in smalls(4..9), words in some_strings(3..20), first: bool, parts in 1_usize..4,
    ) {
        let cape = small.cape();
        let keys = KeyAudit::new(&cape, words.iter().map(String::as_str), first);
        let row = |word: &String| {
            let (key, _) = cape.key(Kind::Word, word, first);
            (key.level, cape.row(&key).unwrap())
        };
        let rows: Vec<(Level, Vec<Share>)> = words.iter().map(row).collect();
        let all: Vec<Vec<Share>> = rows.iter().map(|(_, row)| row.clone()).collect();
        let protected = rows.iter().filter(|(level, _)| *level == Level::Protected);
        let protected: Vec<Vec<Share>> = protected.map(|(_, row)| row.clone()).collect();
        let exact = audited(&keys, parts.min(keys.inputs().len()));
        let any = exact.any().unwrap();
        prop_assert_eq!(any.loss(), largest(&all));
        prop_assert!(any.loss() <= cape.guarantee().bound);
        // the pair that is named has it
        let of = |input: u32| cape.row(&keys.inputs()[input as usize].key).unwrap()[any.output];
        let (most, least) = (of(any.span.most.input), of(any.span.least.input));
        prop_assert_eq!(most.log_ratio_up(least), any.loss());
        match exact.protected() {
            Some(found) => {
                prop_assert_eq!(found.loss(), largest(&protected));
                prop_assert!(found.loss() <= cape.guarantee().protected);
            }
            None => prop_assert!(protected.is_empty()),
        }
    }

    /// Between two texts the draws' losses add up to the loss of whole releases.
    #[test]
    fn the_losses_of_draws_add_up(
        small in smalls(4..6), words in some_strings(2..4),
        (template, slots) in prop::sample::select(TEMPLATES.to_vec()),
    ) {
        let cape = small.cape();
        let texts = fill(template, slots, &words);
        let texts: Vec<&str> = texts.iter().map(String::as_str).take(9).collect();
        let inputs: Vec<Input> = texts.iter().map(|text| Input::new(&cape, &[text])).collect();
        let laws: Vec<_> = texts.iter().map(|text| joint(&cape, None, &[text])).collect();
        for i in 0..texts.len() {
            for j in 0..texts.len() {
                let found = compare(&cape, texts[i], texts[j]);
                prop_assert_eq!(found.is_ok(), inputs[i].structure == inputs[j].structure);
                let Ok(draws) = found else { continue };
                for draw in &draws {
                    prop_assert!(draw.loss.worst() <= draw.most + 1e-12);
                    prop_assert!(draw.differs() || draw.loss.worst() == 0.0);
                    let guarantee = cape.guarantee();
                    let stated =
                        if draw.is_protected() { guarantee.protected } else { guarantee.bound };
                    prop_assert!(draw.most <= stated);
                }
                let losses: Vec<Loss> = draws.iter().map(|draw| draw.loss).collect();
                let sum = Loss::sum(&losses).forth;
                let ratio = |release: &String| {
                    let (p, q) = (&laws[i].weights[release], &laws[j].weights[release]);
                    ln_ratio(&(p * &laws[j].total), &(q * &laws[i].total))
                };
                let whole = laws[i].weights.keys().map(ratio).fold(0.0, f64::max);
                // draws that are written alike leave less
                prop_assert!(whole <= sum + 1e-9);
                let draws: usize = (0..inputs[i].keys.len()).map(|_| cape.lexicon().len()).product();
                if laws[i].weights.len() == draws {
                    prop_assert!((whole - sum).abs() < 1e-9);
                }
            }
        }
    }
}

/// With opposite words the audit finds what is stated, to the last integer.
#[test]
fn the_stated_losses_are_found() {
    let cape = opposite_cape();
    let words = strings();
    let all = KeyAudit::of_lexicon(cape.lexicon(), 9).chain(words.iter().map(String::as_str));
    let keys = KeyAudit::new(&cape, all, false);
    let exact = audited(&keys, 3);
    let law = cape.law(Level::Protected);
    assert_eq!(exact.protected().unwrap().loss(), law.epsilon());
    assert_eq!(exact.any().unwrap().loss(), cape.law(Level::Ordinary).epsilon());
    let span = exact.protected().unwrap().span;
    assert_eq!((span.most.share.weight, span.least.share.weight), (law.weight(1), law.weight(8)));
    // an ε that is larger by a tenth shows
    let larger = Cape::new(opposites(), settings(1.65, 2, None, 5.5)).unwrap();
    let exact = audited(&KeyAudit::new(&larger, words.iter().map(String::as_str), false), 1);
    assert!(exact.protected().unwrap().loss() > cape.guarantee().protected);
}

/// Rows of the embedded lexicon are within what is stated.
#[test]
fn the_embedded_words_are_within_what_is_stated() {
    let cape = Cape::new(Lexicon::embedded(), Settings::default()).unwrap();
    let some = KeyAudit::of_lexicon(cape.lexicon(), 300).step_by(301);
    let keys = KeyAudit::new(&cape, some.chain(["the", "xyzzy", "Krzysztof", "q"]), false);
    let exact = audited(&keys, 2);
    let guarantee = cape.guarantee();
    assert!(exact.any().unwrap().loss() <= guarantee.bound);
    assert!(exact.protected().unwrap().loss() <= guarantee.protected);
}

/// Texts of different structure are refused, by the number of a unit and without a word of them.
#[test]
fn other_structures_are_refused() {
    let cape = opposite_cape();
    let why = |one: &str, other: &str| {
        let error = compare(&cape, one, other).unwrap_err();
        for word in one.split_whitespace().chain(other.split_whitespace()) {
            assert!(word.len() < 3 || !error.to_string().contains(word), "{error}");
        }
        error
    };
    let text = "Alice saw Bob, 7 Acme.";
    assert!(matches!(why(text, "Alice saw  Bob, 7 Acme."), Different::Separator(3)));
    assert!(matches!(why(text, "Alice saw Bob, seven Acme."), Different::Kind(4)));
    assert!(matches!(why(text, "Alice saw Acme, 7 Acme."), Different::Kept(3)));
    assert!(matches!(why(text, "Alice saw Bob, 7 acme."), Different::Kept(5)));
    assert!(matches!(why(text, "Alice saw Alice, 7 Acme."), Different::Repetition(3)));
    assert!(matches!(why(text, "Alice saw Bob, 7 Acme!"), Different::End));
    assert!(matches!(why("Alice saw", "Alice saw Bob"), Different::Count(2, 3)));
    assert!(matches!(why("Alice", "\u{7}"), Different::Text(_)));
    let draws = compare(&cape, text, "Bob saw London, 12 Acme.").unwrap();
    let differing: Vec<usize> =
        draws.iter().filter(|draw| draw.differs()).flat_map(|draw| draw.units.clone()).collect();
    assert_eq!(differing, [1, 3, 4]);
}
