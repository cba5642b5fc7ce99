//! The Bayes attack on Cape's words against the posterior by its definition, over all releases.

use std::collections::HashMap;

use crate::words::joint::{joint, ln_ratio};
use crate::words::opposite_cape;
use crate::words::small::{smalls, some_strings};
use cape::attack::bayes::{CapeBayes, Suspects};
use cape::levels::Key;
use cape::lexicon::Listed;
use cape::mechanism::cape::Settings;
use cape::{Cape, Kind, Level, Lexicon};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// No word is more probable than the guess, for any text that can be released.
    #[test]
    fn the_guess_has_the_largest_posterior(
        small in smalls(4..12), words in some_strings(2..20), first: bool,
        priors in prop::collection::vec(
            prop_oneof![9 => -6_f32..0.0, 1 => Just(f32::NEG_INFINITY)], 40),
    ) {
        let cape = small.cape();
        let capital = |word: &String| {
            let mut chars = word.chars();
            chars.next().unwrap().to_uppercase().chain(chars).collect::<String>()
        };
        let strings: Vec<String> =
            words.iter().map(|word| if first { capital(word) } else { word.clone() }).collect();
        // the place is followed by a kept word, so that articles can be read off, too
        let text = |word: &String| if first { format!("{word} Acme") } else { format!("Acme {word} Acme") };
        let suspects = Suspects::new(&cape, words.iter().map(String::as_str), first, first);
        let prior = &priors[..words.len()];
        let (mut weights, mut laws) = (HashMap::<Key, f64>::new(), HashMap::new());
        for (word, prior) in strings.iter().zip(prior) {
            let (key, _) = cape.key(Kind::Word, word, first);
            if key.level == Level::Protected {
                let law = joint(&cape, None, &[&text(word)]);
                *weights.entry(key.clone()).or_default() += f64::from(*prior).exp();
                laws.insert(key, law);
            }
        }
        prop_assert_eq!(suspects.keys().len(), weights.len());
        let releases: std::collections::BTreeSet<String> =
            laws.values().flat_map(|law| law.weights.keys().cloned()).collect();
        let bayes = CapeBayes::new(&cape, 1000);
        for release in releases {
            let words: Vec<&str> = release.trim_end_matches('\u{1}').split(' ').collect();
            let released = words[usize::from(!first)];
            let posterior = |key: &Key| {
                let law = &laws[key];
                weights[key] * ln_ratio(&law.weights[&release], &law.total).exp()
            };
            let best = weights.keys().map(posterior).fold(0.0, f64::max);
            let guess = bayes.guess(&cape, &suspects, released, prior);
            prop_assert_eq!(guess.is_some(), best > 0.0);
            if let Some(guess) = guess {
                let own = posterior(&suspects.keys()[guess.key]);
                prop_assert!(guess.exact && own >= best * (1.0 - 1e-6), "{own} < {best}");
            }
        }
        prop_assert!(bayes.guess(&cape, &suspects, "elsewhere", prior).is_none());
    }
}

#[test]
fn a_search_that_was_cut_short_says_so() {
    let cape = opposite_cape();
    let words: Vec<String> = (0..20).map(|i| format!("word{}", "x".repeat(i))).collect();
    let suspects = Suspects::new(&cape, words.iter().map(String::as_str), false, false);
    let listed = || (0..cape.lexicon().len() as u32).map(|i| cape.lexicon().word(Listed(i)));
    let exact = |most, released: &str| {
        let guess = CapeBayes::new(&cape, most).guess(&cape, &suspects, released, &[0.0; 20]);
        guess.unwrap().exact
    };
    assert!(listed().all(|released| exact(100, released)));
    assert!(listed().any(|released| !exact(1, released)));
}

/// A plateau and a falling law on the embedded lexicon: rows of both forms give the draw's probabilities.
#[test]
fn the_embedded_words_are_guessed_alike_by_both_forms_of_rows() {
    for alpha in [None, Some(0.7)] {
        let mut settings = Settings::default();
        settings.shape.alpha = alpha;
        let cape = Cape::new(Lexicon::embedded(), settings).unwrap();
        let words = ["Alice", "London", "asthma", "Krzysztof", "gonorrhea", "Emma", "Paris"];
        let suspects = Suspects::new(&cape, words, false, false);
        let prior = [-1.0, -2.0, -1.5, -0.2, -3.0, -2.5, -0.7];
        let bayes = CapeBayes::new(&cape, 100);
        for released in ["Emma", "Manchester", "asthma", "table"] {
            let guess = bayes.guess(&cape, &suspects, released, &prior).unwrap();
            let y = cape.lexicon().listed(released).unwrap();
            let posterior = |i: usize| {
                let (key, _) = cape.key(Kind::Word, words[i], false);
                assert_eq!(key, suspects.keys()[i]);
                f64::from(prior[i]).exp() * cape.row(&key).unwrap()[y.index()].probability()
            };
            let best = (0..words.len()).map(posterior).fold(0.0, f64::max);
            assert!(guess.exact && posterior(guess.key) >= best * (1.0 - 1e-9), "{released}");
        }
        assert!(cape.lexicon().word(Listed(0)) < "b");
    }
}
