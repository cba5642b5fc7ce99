//! The numbers that are stated beside ε: how often a word stays itself, and how often two words can be told
//! apart.

use std::collections::BTreeSet;

use crate::words::joint::{Joint, joint, ln_ratio};
use crate::words::small::{fill, smalls, some_strings};
use cape::lexicon::fold;
use cape::{Cape, Level};
use proptest::prelude::*;

fn levels_of(cape: &Cape, text: &str) -> Vec<Level> {
    cape.plan(text).unwrap().places.iter().map(|place| place.level).collect()
}

/// The probability of a release.
fn probability(law: &Joint, release: &str) -> f64 {
    law.weights.get(release).map_or(0.0, |weight| ln_ratio(weight, &law.total).exp())
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
        let most = cape.guarantee().most_kept;
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
