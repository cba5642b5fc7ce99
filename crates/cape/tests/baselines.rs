//! The baselines against an independent NumPy computation (fixtures/baselines.py), and their promises
//! against the integers that are drawn from.

use std::collections::BTreeMap;
use std::sync::Arc;

use cape::mechanism::custext::Custext;
use cape::mechanism::inferdpt::Inferdpt;
use cape::mechanism::santext::{Plus, Santext};
use cape::mechanism::{Mechanism, Odds, Unknown};
use cape::rng::seeded;
use cape::tokens::{
    Embeddings, KeepList, Outcome, Split, TokenId, Tokenizer, Vocab, WordVectors, assemble,
};
use cape::{Epsilon, Evidence, Notion, Privacy, Why};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    vectors: Vec<Vec<f32>>,
    order: Vec<u32>,
    rarest: Vec<u32>,
    lists: Vec<Vec<u32>>,
    santext: Vec<GoldenSantext>,
    custext: Vec<GoldenCustext>,
    inferdpt: Vec<GoldenInferdpt>,
}

#[derive(Deserialize)]
struct GoldenSantext {
    epsilon: f64,
    all: Vec<Vec<f64>>,
    rarest: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct GoldenCustext {
    epsilon: f64,
    rows: BTreeMap<u32, Vec<f64>>,
}

#[derive(Deserialize)]
struct GoldenInferdpt {
    epsilon: f64,
    radii: Vec<f64>,
    rows: Vec<Vec<Vec<f64>>>,
    edges: Vec<f64>,
    probabilities: Vec<f64>,
}

fn golden() -> Golden {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/baselines.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

impl Golden {
    fn embeddings(&self) -> Embeddings {
        Embeddings::new(self.vectors.concat(), self.vectors[0].len())
    }

    fn word_vectors(&self) -> Arc<WordVectors> {
        word_vectors(self.embeddings())
    }

    fn vocab(&self) -> Arc<Vocab> {
        vocab(self.vectors.len())
    }
}

fn word_vectors(vectors: Embeddings) -> Arc<WordVectors> {
    let n = vectors.data().len() / vectors.dim();
    Arc::new(WordVectors::new((0..n as u32).map(TokenId).collect(), vectors).unwrap())
}

/// Words w0, w1, …
fn vocab(n: usize) -> Arc<Vocab> {
    let words: Vec<String> = (0..n).map(|i| format!("w{i}")).collect();
    Arc::new(Vocab::words(&words))
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

/// The probabilities by id.
fn by_id(odds: &Odds) -> BTreeMap<u32, f64> {
    odds.candidates.iter().map(|odd| (odd.id.0, odd.probability)).collect()
}

/// Equal but for what distances of f32 do to an exponent of ε/2·d.
fn assert_close(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-5 * want + 1e-12, "{got} is not {want}");
}

#[test]
fn santext_follows_the_formula() {
    let golden = golden();
    for case in &golden.santext {
        let santext =
            Santext::new(golden.word_vectors(), epsilon(case.epsilon), Unknown::Replace, None)
                .unwrap();
        let plus = Plus::rarest(&golden.order, 0.5, 0.2).unwrap();
        let plus = Santext::new(
            golden.word_vectors(),
            epsilon(case.epsilon),
            Unknown::Replace,
            Some(plus),
        );
        let plus = plus.unwrap();
        for t in 0..golden.vectors.len() {
            let odds = santext.odds(TokenId(t as u32)).unwrap();
            assert_eq!(odds.kept, 0.0);
            for (&got, &want) in by_id(&odds).values().zip(&case.all[t]) {
                assert_close(got, want);
            }
            let odds = plus.odds(TokenId(t as u32)).unwrap();
            assert!(by_id(&odds).keys().eq(&golden.rarest));
            for (&got, &want) in by_id(&odds).values().zip(&case.rarest[t]) {
                assert_close(got, want);
            }
            let frequent = !golden.rarest.contains(&(t as u32));
            assert!((odds.kept - if frequent { 0.8 } else { 0.0 }).abs() < 1e-9);
        }
    }
}

#[test]
fn custext_follows_the_formula() {
    let golden = golden();
    for case in &golden.custext {
        let custext = Custext::new(
            word_vectors(golden.embeddings().unit()),
            golden.lists.clone().into(),
            golden.vocab(),
            epsilon(case.epsilon),
            Unknown::Keep,
        )
        .unwrap();
        for t in 0..golden.vectors.len() as u32 {
            let Some(want) = case.rows.get(&t) else {
                assert!(custext.odds(TokenId(t)).is_none());
                continue;
            };
            let list = golden.lists.iter().find(|list| list.contains(&t)).unwrap();
            let got = by_id(&custext.odds(TokenId(t)).unwrap());
            assert_eq!(got.len(), list.len());
            for (y, &want) in list.iter().zip(want) {
                assert_close(got[y], want);
            }
        }
    }
}

#[test]
fn inferdpt_follows_the_formula_at_every_radius() {
    let golden = golden();
    for case in &golden.inferdpt {
        let inferdpt = Inferdpt::new(
            golden.word_vectors(),
            golden.vocab(),
            epsilon(case.epsilon),
            Unknown::Replace,
        )
        .unwrap();
        for (&radius, rows) in case.radii.iter().zip(&case.rows) {
            for (i, want) in rows.iter().enumerate() {
                let got = by_id(&inferdpt.odds_at(TokenId(i as u32 * 5), radius).unwrap());
                for (y, &want) in want.iter().enumerate() {
                    assert_close(got.get(&(y as u32)).copied().unwrap_or(0.0), want);
                }
            }
        }
        let sum: f64 =
            inferdpt.odds(TokenId(0)).unwrap().candidates.iter().map(|o| o.probability).sum();
        assert_close(sum, 1.0);
    }
}

/// With 19 degrees of freedom chi-square exceeds 88 with probability 1e-9.
fn chi_square(counts: &[u32], probabilities: &[f64]) -> f64 {
    let n = f64::from(counts.iter().sum::<u32>());
    counts
        .iter()
        .zip(probabilities)
        .map(|(&count, p)| (f64::from(count) - n * p).powi(2) / (n * p))
        .sum()
}

#[test]
fn inferdpts_radius_has_its_distribution() {
    let golden = golden();
    for case in &golden.inferdpt {
        let counts = |epsilon_used: f64| {
            let words = golden.word_vectors();
            let inferdpt =
                Inferdpt::new(words, golden.vocab(), epsilon(epsilon_used), Unknown::Replace);
            let (inferdpt, mut rng) = (inferdpt.unwrap(), seeded(11, 0));
            let mut counts = vec![0_u32; case.probabilities.len()];
            for _ in 0..20_000 {
                let radius = inferdpt.radius(&mut rng);
                counts[case.edges.partition_point(|&edge| edge <= radius)] += 1;
            }
            counts
        };
        let right = chi_square(&counts(case.epsilon), &case.probabilities);
        assert!(right < 88.0, "{right} at ε = {}", case.epsilon);
        // the test can fail: a tenth more noise is noticed where ε sets it
        if case.epsilon < 2.0 {
            assert!(chi_square(&counts(case.epsilon / 1.1), &case.probabilities) > 88.0);
        }
    }
}

/// The draws of a mechanism in the place of `w{t}`, many times.
fn draws(mechanism: &dyn Mechanism, vocab: &Arc<Vocab>, word: &str, n: u32) -> Vec<Outcome> {
    let tokenizer = Tokenizer::words(Arc::clone(vocab), Split::Punctuation);
    let tokens = tokenizer.tokenize(&vec![word; 50].join(" "), &KeepList::none()).unwrap();
    let mut rng = seeded(3, 0);
    (0..n / 50).flat_map(|_| mechanism.perturb(&tokens, &mut rng).unwrap()).collect()
}

#[test]
fn draws_follow_the_odds() {
    let golden = golden();
    let (vocab, eps) = (golden.vocab(), epsilon(2.0));
    let santext = Santext::new(golden.word_vectors(), eps, Unknown::Replace, None).unwrap();
    let plus = Plus::rarest(&golden.order, 0.5, 0.2).unwrap();
    let plus = Santext::new(golden.word_vectors(), eps, Unknown::Replace, Some(plus)).unwrap();
    let custext = Custext::new(
        word_vectors(golden.embeddings().unit()),
        golden.lists.clone().into(),
        golden.vocab(),
        eps,
        Unknown::Keep,
    )
    .unwrap();
    let inferdpt =
        Inferdpt::new(golden.word_vectors(), golden.vocab(), eps, Unknown::Replace).unwrap();
    let frequent = golden.order[0];
    let cases: [(&dyn Mechanism, Odds, u32); 5] = [
        (&santext, santext.odds(TokenId(4)).unwrap(), 4),
        (&plus, plus.odds(TokenId(golden.rarest[2])).unwrap(), golden.rarest[2]),
        (&plus, plus.odds(TokenId(frequent)).unwrap(), frequent),
        (&custext, custext.odds(TokenId(4)).unwrap(), 4),
        (&inferdpt, inferdpt.odds(TokenId(4)).unwrap(), 4),
    ];
    for (mechanism, odds, t) in cases {
        let n = 40_000;
        let mut counts: BTreeMap<Option<u32>, u32> = BTreeMap::new();
        for outcome in draws(mechanism, &vocab, &format!("w{t}"), n) {
            let drawn = match outcome {
                Outcome::Drawn { id, retention } => {
                    assert!((0.0..=1.0).contains(&retention));
                    Some(id.0)
                }
                Outcome::Kept(Why::Frequent) => None,
                _ => panic!("nothing else becomes of a known word"),
            };
            *counts.entry(drawn).or_default() += 1;
        }
        let drawn =
            odds.candidates.iter().map(|odd| (Some(odd.id.0), odd.probability * (1.0 - odds.kept)));
        let kept = (odds.kept > 0.0).then_some((None, odds.kept));
        let expected: Vec<(Option<u32>, f64)> = drawn.chain(kept).collect();
        let common: Vec<_> = expected.iter().filter(|(_, p)| p * f64::from(n) > 10.0).collect();
        let chi2: f64 = common
            .iter()
            .map(|(y, p)| {
                let count = f64::from(counts.get(y).copied().unwrap_or(0));
                (count - f64::from(n) * p).powi(2) / (f64::from(n) * p)
            })
            .sum();
        // up to 40 degrees of freedom: beyond 125 with probability 1e-9
        assert!(common.len() > 4 && chi2 < 125.0, "{chi2} over {}", common.len());
    }
}

/// SANTEXT searches blocks of 64 words first: here there are four of them, the last one cut short.
#[test]
fn draws_find_their_word_in_every_block() {
    let n = 200;
    let line = Embeddings::new((0..n).map(|i| i as f32 / 100.0).collect(), 1);
    let santext = Santext::new(word_vectors(line), epsilon(2.0), Unknown::Replace, None).unwrap();
    let probabilities: Vec<f64> =
        by_id(&santext.odds(TokenId(70)).unwrap()).into_values().collect();
    let mut counts = vec![0_u32; n];
    for outcome in draws(&santext, &vocab(n), "w70", 200_000) {
        let Outcome::Drawn { id, .. } = outcome else { panic!("a known word is drawn for") };
        counts[id.index()] += 1;
    }
    // with 199 degrees of freedom chi-square exceeds 344 with probability 1e-9
    let chi2 = chi_square(&counts, &probabilities);
    assert!(chi2 < 344.0, "{chi2}");
}

/// Unknown words of SANTEXT+ become sensitive words only: a frequent one would give them away.
#[test]
fn unknown_words_become_what_sensitive_words_can_become() {
    let golden = golden();
    let plus = Plus::rarest(&golden.order, 0.5, 0.2).unwrap();
    let plus =
        Santext::new(golden.word_vectors(), epsilon(2.0), Unknown::Replace, Some(plus)).unwrap();
    let odds = plus.odds(golden.vocab().unknown()).unwrap();
    assert!(by_id(&odds).keys().eq(&golden.rarest));
    let mut counts = vec![0_u32; golden.rarest.len()];
    for outcome in draws(&plus, &golden.vocab(), "zzz", 20_000) {
        let Outcome::Drawn { id, .. } = outcome else { panic!("an unknown word is replaced") };
        counts[golden.rarest.binary_search(&id.0).expect("a sensitive word")] += 1;
    }
    // 17 degrees of freedom: beyond 80 with probability 1e-9
    assert!(chi_square(&counts, &vec![1.0 / counts.len() as f64; counts.len()]) < 80.0);
}

/// Numbers are 1 to 1000, each of them.
#[test]
fn inferdpts_numbers_are_uniform() {
    let golden = golden();
    let inferdpt =
        Inferdpt::new(golden.word_vectors(), golden.vocab(), epsilon(2.0), Unknown::Replace)
            .unwrap();
    let mut counts = vec![0_u32; 1000];
    for outcome in draws(&inferdpt, &golden.vocab(), "1987", 100_000) {
        let Outcome::Number(number) = outcome else { panic!("a number becomes a number") };
        counts[number as usize - 1] += 1;
    }
    // 999 degrees of freedom: beyond 1291 with probability 1e-9
    assert!(chi_square(&counts, &[0.001; 1000]) < 1291.0);
}

/// The largest log-ratio of any output between two inputs.
fn loss(a: &Odds, b: &Odds) -> f64 {
    let (a, b) = (by_id(a), by_id(b));
    a.iter()
        .map(|(y, p)| b.get(y).map_or(f64::INFINITY, |q| (p / q).ln().abs()))
        .fold(0.0, f64::max)
}

/// Numbers for rows, and their width.
fn rows() -> impl Strategy<Value = (Vec<f32>, usize)> {
    (2_usize..12, 1_usize..5)
        .prop_flat_map(|(n, dim)| (prop::collection::vec(-3.0_f32..3.0, n * dim), Just(dim)))
}

proptest! {
    #[test]
    fn santexts_loss_is_within_epsilon_times_the_distance((data, dim) in rows(), eps in 0.1_f64..20.0) {
        let words = || word_vectors(Embeddings::new(data.clone(), dim));
        let copy = words();
        let santext =
            Santext::new(words(), epsilon(eps), Unknown::Replace, None).unwrap();
        let guarantee = santext.guarantee();
        prop_assert!((guarantee.notion, guarantee.evidence) == (Notion::MetricLdp, Evidence::Proof));
        let unknown = santext.odds(vocab(copy.len()).unknown()).unwrap();
        for a in 0..copy.len() {
            let odds = santext.odds(TokenId(a as u32)).unwrap();
            prop_assert!(odds.candidates[0].probability <= guarantee.most_kept + 1e-9);
            prop_assert!(loss(&odds, &unknown) <= guarantee.bound);
            for b in 0..copy.len() {
                let loss = loss(&odds, &santext.odds(TokenId(b as u32)).unwrap());
                let metric = eps * f64::from(copy.distance(a, b));
                let slack = 2.0 * eps * santext.diameter() / f64::from(1 << 15) + 1e-5;
                prop_assert!(loss <= metric + slack, "{loss} above {metric}");
                prop_assert!(loss <= guarantee.bound);
            }
        }
    }

    #[test]
    fn custexts_loss_is_within_epsilon_on_a_list((data, dim) in rows(), eps in 0.1_f64..20.0) {
        let (n, vectors) = (data.len() / dim, Embeddings::new(data, dim));
        let lists = vec![(0..n as u32 / 2).collect(), (n as u32 / 2..n as u32).collect()];
        let custext =
            Custext::new(word_vectors(vectors.unit()), lists.into(), vocab(n), epsilon(eps), Unknown::Keep)
                .unwrap();
        let guarantee = custext.guarantee();
        prop_assert!(guarantee.notion == Notion::WithinList);
        for a in 0..n as u32 {
            let odds = custext.odds(TokenId(a)).unwrap();
            prop_assert!(odds.candidates[0].probability <= guarantee.most_kept + 1e-9);
            for b in 0..n as u32 {
                let loss = loss(&odds, &custext.odds(TokenId(b)).unwrap());
                let one_list = (a < n as u32 / 2) == (b < n as u32 / 2);
                let within = loss <= guarantee.bound;
                prop_assert!(one_list && within || !one_list && loss.is_infinite());
            }
        }
    }
}

/// The bounds are not idle: two words far apart on a line lose nearly all that the bound allows.
#[test]
fn santexts_worst_case_comes_close() {
    let vectors = Embeddings::new(vec![0.0, 1.0], 1);
    let santext =
        Santext::new(word_vectors(vectors), epsilon(8.0), Unknown::Replace, None).unwrap();
    let loss = loss(&santext.odds(TokenId(0)).unwrap(), &santext.odds(TokenId(1)).unwrap());
    // e^(ε/2) each way between two words: half of ε·D
    assert!((loss - 4.0).abs() < 1e-4 && santext.guarantee().bound < 8.001);
}

#[test]
fn an_epsilon_beyond_the_integers_is_refused_before_any_prompt() {
    let vectors = || Embeddings::new(vec![0.0, 1.0, 30.0], 1);
    let refused = Santext::new(word_vectors(vectors()), epsilon(20.0), Unknown::Replace, None);
    let error = refused.err().expect("it is refused").to_string();
    assert!(error.contains("SANTEXT") && error.contains("largest epsilon here is 10.8"), "{error}");
    assert!(Santext::new(word_vectors(vectors()), epsilon(10.0), Unknown::Replace, None).is_ok());
    let custext = |e| {
        let (words, lists) = (word_vectors(vectors().unit()), [vec![0, 1, 2]].into());
        Custext::new(words, lists, vocab(3), epsilon(e), Unknown::Keep)
    };
    assert!(custext(300.0).is_ok() && custext(330.0).is_err());
    let inferdpt =
        |e| Inferdpt::new(word_vectors(vectors()), vocab(3), epsilon(e), Unknown::Replace);
    assert!(inferdpt(300.0).is_ok() && inferdpt(400.0).is_err());
}

#[test]
fn unknown_words_and_numbers_go_their_ways() {
    let words = ["a", "b", "c", "7"];
    let vocab = Arc::new(Vocab::words(&words));
    let tokenizer = Tokenizer::words(Arc::clone(&vocab), Split::Punctuation);
    let vectors = || Embeddings::new(vec![0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 2.0, 1.0], 2);
    let release = |mechanism: &dyn Mechanism| {
        let text = "zzz 12.5 -3, 7";
        let tokens = tokenizer.tokenize(text, &KeepList::none()).unwrap();
        let outcomes = mechanism.perturb(&tokens, &mut seeded(1, 0)).unwrap();
        let (released, tokens) = assemble(text, &tokens, &outcomes, &vocab);
        (released, tokens, Privacy::of_tokens(mechanism.guarantee(), &outcomes, false))
    };
    let eps = epsilon(1.0);
    let custext = |unknown| {
        let lists = [vec![0, 1, 2, 3]].into();
        Custext::new(word_vectors(vectors().unit()), lists, Arc::clone(&vocab), eps, unknown)
            .unwrap()
    };
    let (text, kept, privacy) = release(&custext(Unknown::Keep));
    let shifted = |text: &str| text.parse::<i64>().unwrap();
    let outcomes: Vec<Outcome> = kept.iter().map(|token| token.outcome).collect();
    assert!(outcomes[0] == Outcome::Kept(Why::Unknown) && text.starts_with("zzz "));
    let Outcome::Shifted(by) = outcomes[1] else { panic!("a number is shifted") };
    assert_eq!(shifted(&kept[1].released), 12 + i64::from(by));
    let Outcome::Shifted(by) = outcomes[2] else { panic!("a number is shifted") };
    assert_eq!(shifted(&kept[2].released), -3 + i64::from(by));
    assert!(by < 1000 && matches!(outcomes[4], Outcome::Drawn { .. }));
    // the unknown word and the two numbers, and a mark, which is no word either
    assert_eq!((privacy.words, privacy.draws, privacy.uncovered), (5, 1, 4));

    let (_, replaced, _) = release(&custext(Unknown::Replace));
    assert!(matches!(replaced[0].outcome, Outcome::Drawn { .. }));

    let inferdpt =
        |unknown| Inferdpt::new(word_vectors(vectors()), Arc::clone(&vocab), eps, unknown).unwrap();
    let (text, dropped, _) = release(&inferdpt(Unknown::Drop));
    assert!(dropped[0].outcome == Outcome::Dropped);
    for i in [1, 2, 4] {
        let Outcome::Number(number) = dropped[i].outcome else { panic!("a number") };
        assert!((1..=1000).contains(&number));
        assert_eq!(dropped[i].released, number.to_string());
    }
    // the word and its space are gone, and so is the mark
    assert!(text.split(' ').count() == 3 && !text.contains("zzz"));
    assert!(inferdpt(Unknown::Drop).odds(vocab.unknown()).is_none());
    assert_eq!(inferdpt(Unknown::Replace).odds(vocab.unknown()).unwrap().candidates.len(), 4);
    assert!(inferdpt(Unknown::Replace).guarantee().bound.is_infinite());

    let santext = Santext::new(word_vectors(vectors()), eps, Unknown::Replace, None).unwrap();
    let (_, all, _) = release(&santext);
    assert!(all.iter().all(|token| matches!(token.outcome, Outcome::Drawn { .. })));
    let keeps = Santext::new(word_vectors(vectors()), eps, Unknown::Keep, None).unwrap();
    assert!(keeps.guarantee().evidence == Evidence::None);
}
