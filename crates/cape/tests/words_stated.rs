//! The numbers that are stated beside ε: how often a word stays itself, and how often two words can be told
//! apart.

use std::collections::BTreeSet;

use crate::words::joint::{Joint, joint, ln_ratio};
use crate::words::small::{fill, smalls, some_strings};
use cape::lexicon::fold;
use cape::mechanism::cape::Settings;
use cape::{Cape, Guarantee, Kind, Level, Lexicon};
use proptest::prelude::*;

fn levels_of(cape: &Cape, text: &str) -> Vec<Level> {
    cape.plan(text).unwrap().places.iter().map(|place| place.level).collect()
}

/// The probability of a release.
fn probability(law: &Joint, release: &str) -> f64 {
    law.weights.get(release).map_or(0.0, |weight| ln_ratio(weight, &law.total).exp())
}

/// Values on a small grid are told apart no more surely than words are, and their ε is what PRIVACY.md says.
#[test]
fn grids_promise_as_much_as_words() {
    let cape = Cape::new(Lexicon::embedded(), Settings::default()).unwrap();
    let words = cape.guarantee_for(&[Kind::Word]);
    assert_eq!(words.most_kept_value, None);
    for (kind, epsilon, kept) in [
        (Kind::Number, 8.0, 0.047),
        (Kind::Amount, 8.0, 0.047),
        (Kind::Date, 8.0, 0.005),
        (Kind::MonthOfYear, 7.8, 0.041),
        (Kind::Time, 5.6, 0.028),
        (Kind::Day, 5.3, 0.017),
        (Kind::Month, 0.0, 0.143),
        (Kind::Weekday, 0.0, 0.143),
    ] {
        let key = |form: &str| cape.key(kind, form, false).0;
        let law = cape.law_of(&key("5")).unwrap();
        assert!((law.epsilon() - epsilon).abs() <= 0.05, "{kind:?}: {}", law.epsilon());
        let holds = cape.guarantee_for(&[kind]);
        assert!(
            holds.protected <= words.protected && holds.most_guessed <= words.most_guessed,
            "{holds:?}"
        );
        let value = holds.most_kept_value.unwrap();
        assert!(value <= kept && value > kept - 0.001, "{kind:?}: {value}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Of two protected words nobody decides better than stated, by the text that is sent.
    #[test]
    fn nobody_decides_better_than_stated(small in smalls(4..9), words in some_strings(2..9)) {
        let cape = small.cape();
        let most = cape.guarantee().most_guessed;
        for template in ["{0}", "Acme {0}", "Acme {0} Acme"] {
            let texts = fill(template, 1, &words);
            let protected: Vec<&String> =
                texts.iter().filter(|text| levels_of(&cape, text).contains(&Level::Protected)).collect();
            let laws: Vec<_> = protected.iter().map(|text| joint(&cape, None, &[text])).collect();
            for (p, q) in laws.iter().flat_map(|p| laws.iter().map(move |q| (p, q))) {
                let all: BTreeSet<&String> = p.weights.keys().chain(q.weights.keys()).collect();
                let right: f64 =
                    all.iter().map(|y| probability(p, y).max(probability(q, y)) / 2.0).sum();
                prop_assert!(right <= most + 1e-9, "{right} > {most}");
            }
        }
    }
    /// A protected word stays itself, in whatever case, no more often than stated.
    #[test]
    fn no_word_stays_more_often_than_stated(small in smalls(4..9), words in some_strings(2..9)) {
        let cape = small.cape();
        let Guarantee { most_kept, most_kept_value, .. } = cape.guarantee();
        let most = most_kept_value.map_or(most_kept, |value| value.max(most_kept));
        for template in ["{0}", "… {0}", "{0} Acme", "Acme {0} Acme"] {
            for text in fill(template, 1, &words) {
                if levels_of(&cape, &text).contains(&Level::Protected) {
                    let law = joint(&cape, None, &[&text]);
                    let same = |release: &&String| fold(release) == fold(&text) + "\u{1}";
                    let stays: f64 =
                        law.weights.keys().filter(same).map(|release| probability(&law, release)).sum();
                    prop_assert!(stays <= most + 1e-9, "{text}: {stays} > {most}");
                }
            }
        }
    }
}
