//! The same word becomes the same again, and is paid for once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;

use cape::context::Context;
use cape::mechanism::Mechanism;
use cape::mechanism::cape::{Buckets, Cape};
use cape::model::LanguageModel;
use cape::rng::seeded;
use cape::sanitize::sanitize_tokens;
use cape::terms::Terms;
use cape::text::{Outcome, Release, TokenId, Tokens};
use common::{FIRST, HashModel, cape, ln_ratio, loss, product, prompt};
use proptest::prelude::*;

const RANKED: Buckets = Buckets::Ranked { alpha: None };
const N: u32 = 5;

fn text(words: &[u32]) -> String {
    words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ")
}

fn marked(words: &[u32], terms: &Terms) -> Tokens {
    let mut tokens = prompt(words);
    terms.mark(&text(words), &mut tokens);
    tokens
}

/// What is known at each position once the words of these have been drawn.
fn known(words: &[u32], drawn: &BTreeMap<u32, TokenId>) -> Vec<Option<TokenId>> {
    let at = |(i, word): (usize, &u32)| drawn.get(word).copied().filter(|_| i != 1);
    words.iter().enumerate().map(at).collect()
}

/// The exact weight of every release: of what each distinct word became, in the order of the words.
fn weights(cape: &Cape, words: &[u32]) -> Vec<Vec<u64>> {
    let tokens = marked(words, &Terms::default());
    let positions: Vec<usize> = tokens.sensitive().collect();
    let outputs = (0..N.pow(positions.len() as u32)).map(|code| {
        let mut drawn = BTreeMap::new();
        let draw = |(k, &i): (usize, &usize)| {
            let y = TokenId(FIRST + code / N.pow(k as u32) % N);
            let explanation = cape.explain(&tokens, &known(words, &drawn), i).unwrap();
            let at = explanation.scores.candidates.binary_search(&y).unwrap();
            drawn.insert(words[i], y);
            explanation.distribution.weights[at]
        };
        positions.iter().enumerate().map(draw).collect()
    });
    outputs.collect()
}

fn release(cape: &Cape, model_seed: u64, words: &[u32], tokens: &Tokens, seed: u64) -> Release {
    let model = HashModel::new(N, 0, 8, model_seed);
    let (text, mut rngs) = (text(words), [seeded(seed, 0)]);
    let tokens = std::slice::from_ref(tokens);
    sanitize_tokens(&[&text], tokens, model.vocab(), cape, &mut rngs).unwrap().swap_remove(0)
}

fn id(release: &Release, i: usize) -> TokenId {
    let Outcome::Drawn { id, .. } = release.tokens[i].outcome else { panic!("{i} was kept") };
    id
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Prompts that differ in one word, wherever it stands, are within ε, on integers alone.
    #[test]
    fn a_word_costs_epsilon_however_often_it_stands(
        seed: u64, epsilon in 0.1_f64..8.0, raw: bool,
        a in prop::collection::vec(0_u32..N - 1, 4), which in 0_usize..3,
    ) {
        let context = if raw { Context::Raw } else { Context::Released };
        let mechanism = cape(N, seed, epsilon, RANKED, context);
        let other = a[[0, 2, 3][which]];
        // the last word is in no prompt yet: what is the same stays the same; kept words are public
        let swap = |(i, &word): (usize, &u32)| if i != 1 && word == other { N - 1 } else { word };
        let b: Vec<u32> = a.iter().enumerate().map(swap).collect();
        let distinct = marked(&a, &Terms::default()).sensitive().count();
        let stated = mechanism.guarantee().one_token(distinct);
        for (wa, wb) in weights(&mechanism, &a).iter().zip(weights(&mechanism, &b)) {
            let loss = ln_ratio(&product(wa), &product(&wb)).abs();
            prop_assert!(loss <= stated + 1e-12, "{loss} of {stated}");
        }
    }

    /// What is drawn is what the enumeration above says, in this text and in those that follow.
    #[test]
    fn the_same_word_becomes_the_same(
        seed: u64, draws: u64, words in prop::collection::vec(0_u32..N, 4..10),
        more in prop::collection::vec(0_u32..N, 2..10),
    ) {
        let mechanism = cape(N, seed, 4.0, RANKED, Context::Released);
        let (mut terms, mut drawn) = (Terms::default(), BTreeMap::new());
        for words in [words, more] {
            let tokens = marked(&words, &terms);
            let release = release(&mechanism, seed, &words, &tokens, draws);
            let new: Vec<usize> = tokens.sensitive().collect();
            prop_assert_eq!(release.privacy.sensitive, new.len());
            for (i, &word) in words.iter().enumerate() {
                if i == 1 {
                    continue;
                }
                if new.contains(&i) {
                    let explanation = mechanism.explain(&tokens, &known(&words, &drawn), i).unwrap();
                    let own = tokens.as_slice()[i].id;
                    let at = explanation.scores.candidates.binary_search(&own).unwrap();
                    let exact = explanation.distribution.weights[at] as f64
                        / explanation.distribution.total as f64;
                    let retention = release.tokens[i].outcome.retention().unwrap();
                    prop_assert!((retention - exact).abs() < 1e-12);
                    prop_assert!(drawn.insert(word, id(&release, i)).is_none(), "drawn for twice");
                }
                prop_assert_eq!(Some(&id(&release, i)), drawn.get(&word));
                let surface = format!("w{}", id(&release, i).0 - FIRST);
                prop_assert_eq!(&release.tokens[i].released, &surface);
            }
            let ids: Vec<TokenId> = new.iter().map(|&i| id(&release, i)).collect();
            terms.learn(&text(&words), &tokens, &ids);
        }
    }
}

/// Without marks a word that stands three times is drawn for three times.
#[test]
fn without_marks_it_costs_more() {
    let exceeds = |seed| {
        let mechanism = cape(N, seed, 2.0, RANKED, Context::Released);
        let found = loss(&mechanism, N, &prompt(&[0, 3, 0, 0]), &prompt(&[1, 3, 1, 1]));
        found > mechanism.guarantee().bound + 0.5
    };
    assert!((0..20).any(exceeds));
}

/// Words are the same whatever their case, if they are cut alike; and nothing is learned of draws that
/// do not fit.
#[test]
fn words_are_told_by_their_letters() {
    let mut tokens = prompt(&[0, 1, 2, 3]);
    let same = |text: &str, terms: &Terms| {
        let mut tokens = prompt(&[0, 1, 2, 3]);
        terms.mark(text, &mut tokens);
        tokens.sensitive().collect::<Vec<_>>()
    };
    assert_eq!(same("ab is AB Ab", &Terms::default()), [0]);
    assert_eq!(same("ab is cd AB", &Terms::default()), [0, 2]);
    let mut terms = Terms::default();
    terms.mark("ab is cd ef", &mut tokens);
    terms.learn("ab is cd ef", &tokens, &[TokenId(2)]);
    assert_eq!(same("ab is cd ef", &terms), [0, 2, 3]);
    terms.learn("ab is cd ef", &tokens, &[TokenId(2), TokenId(3), TokenId(4)]);
    assert_eq!(same("EF is gh AB", &terms), [2]);
    assert_eq!(format!("{terms:?}"), "Terms(3)");
}
