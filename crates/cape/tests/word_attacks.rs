//! The Bayes attack on words against the posterior by its definition, over all words.

use std::sync::Arc;

use cape::Epsilon;
use cape::attack::bayes::{BaselineBayes, TokenGuess};
use cape::mechanism::custext::Custext;
use cape::mechanism::inferdpt::Inferdpt;
use cape::mechanism::santext::{Plus, Santext};
use cape::mechanism::{Baseline, Odds, Unknown};
use cape::rng::seeded;
use cape::tokens::{Embeddings, TokenId, Vocab, WordVectors};
use proptest::prelude::*;

const WORDS: u32 = 12;
const DIM: usize = 3;

fn word_vectors(data: &[f32], unit: bool) -> Arc<WordVectors> {
    let vectors = Embeddings::new(data.to_vec(), DIM);
    let vectors = if unit { vectors.unit() } else { vectors };
    Arc::new(WordVectors::new((0..WORDS).map(TokenId).collect(), vectors).unwrap())
}

fn vocab() -> Arc<Vocab> {
    let words: Vec<String> = (0..WORDS).map(|i| format!("w{i}")).collect();
    Arc::new(Vocab::words(&words))
}

/// P(y | t), no draw included.
fn likelihood(odds: &Odds, y: TokenId) -> f64 {
    let odd = odds.candidates.iter().find(|odd| odd.id == y);
    (1.0 - odds.kept) * odd.map_or(0.0, |odd| odd.probability)
}

/// Whether no word is more probable than the guess, given all P(y | t).
fn is_best(guess: &TokenGuess, prior: &[f32], likelihood: impl Fn(TokenId) -> f64) -> bool {
    let posterior = |t: u32| f64::from(prior[t as usize]).exp() * likelihood(TokenId(t));
    let best = (0..WORDS).map(posterior).fold(0.0, f64::max);
    guess.exact && best > 0.0 && posterior(guess.id.0) >= best * (1.0 - 1e-5)
}

fn inputs() -> impl Strategy<Value = (Vec<f32>, Vec<f32>, f64, u32)> {
    let vectors = prop::collection::vec(-2_f32..2.0, WORDS as usize * DIM);
    let prior = prop::collection::vec(-6_f32..0.0, WORDS as usize);
    (vectors, prior, 0.1_f64..20.0, 0..WORDS)
}

proptest! {
    #[test]
    fn santexts_is_the_largest_posterior((data, prior, epsilon, y) in inputs(), plus in any::<bool>()) {
        let by_frequency: Vec<u32> = (0..WORDS).rev().collect();
        let plus = plus.then(|| Plus::rarest(&by_frequency, 0.5, 0.2).unwrap());
        // SANTEXT+ draws the rarest words alone
        let y = TokenId(if plus.is_some() { y % (WORDS / 2) } else { y });
        let epsilon = Epsilon::new(epsilon).unwrap();
        let santext =
            Santext::new(word_vectors(&data, false), epsilon, Unknown::Replace, plus).unwrap();
        let odds: Vec<Odds> =
            (0..WORDS).map(|t| santext.odds(TokenId(t)).unwrap()).collect();
        let attack = BaselineBayes::new(WORDS as usize, 100);
        let guess = attack.guess(&Baseline::Santext(santext), y, &prior).unwrap();
        prop_assert!(is_best(&guess, &prior, |t| likelihood(&odds[t.0 as usize], y)));
    }

    #[test]
    fn custexts_is_the_largest_posterior((data, prior, epsilon, y) in inputs()) {
        let lists = vec![vec![0, 3, 4, 5, 8], vec![1, 2, 6, 7, 9, 10, 11]];
        let epsilon = Epsilon::new(epsilon).unwrap();
        let custext = Custext::new(
            word_vectors(&data, true), lists.into(), vocab(), epsilon, Unknown::Keep,
        ).unwrap();
        let odds: Vec<Odds> =
            (0..WORDS).map(|t| custext.odds(TokenId(t)).unwrap()).collect();
        let attack = BaselineBayes::new(WORDS as usize, 100);
        let guess = attack.guess(&Baseline::Custext(custext), TokenId(y), &prior).unwrap();
        prop_assert!(is_best(&guess, &prior, |t| likelihood(&odds[t.0 as usize], TokenId(y))));
    }

    #[test]
    fn inferdpts_is_the_largest_posterior((data, prior, epsilon, y) in inputs()) {
        let epsilon = Epsilon::new(epsilon).unwrap();
        let inferdpt =
            Inferdpt::new(word_vectors(&data, false), vocab(), epsilon, Unknown::Replace).unwrap();
        let average: Vec<f64> = (0..WORDS)
            .map(|t| {
                let at = |stream| {
                    let radius = inferdpt.radius(&mut seeded(0, stream));
                    likelihood(&inferdpt.odds_at(TokenId(t), radius).unwrap(), TokenId(y))
                };
                (0..64).map(at).sum::<f64>() / 64.0
            })
            .collect();
        let attack = BaselineBayes::new(WORDS as usize, 100);
        let guess = attack.guess(&Baseline::Inferdpt(inferdpt), TokenId(y), &prior).unwrap();
        prop_assert!(is_best(&guess, &prior, |t| average[t.0 as usize]));
    }
}

#[test]
fn a_search_that_was_cut_short_says_so() {
    let data: Vec<f32> = (0..WORDS as usize * DIM).map(|i| (i as f32 * 0.7).sin()).collect();
    let epsilon = Epsilon::new(0.5).unwrap();
    let santext =
        Santext::new(word_vectors(&data, false), epsilon, Unknown::Replace, None).unwrap();
    let baseline = Baseline::Santext(santext);
    let exact = |most| {
        let attack = BaselineBayes::new(WORDS as usize, most);
        attack.guess(&baseline, TokenId(3), &[0.0; WORDS as usize]).unwrap().exact
    };
    assert!(exact(100) && !exact(1));
}
