//! The statistical audit on releases of words: it finds planted faults, and nothing where there is none.
//!
//! The table: `cargo test -p cape-dp --test it -- --nocapture words_audit_sample::rates`

use crate::words::faults::Fault as Planted;
use crate::words::joint::{joint, ln_ratio};
use crate::words::{opposites, settings};
use cape::audit::sample::{Claim, Draws, Outcomes, Run, WordDistribution, audit};
use cape::audit::texts::compare;
use cape::lexicon::Listed;
use cape::mechanism::cape::{Drawn, Plan};
use cape::rng::{self, CryptoRng};
use cape::sanitizer::written;
use cape::{Cape, Level, Sanitizer, Secret};

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Nothing.
    Healthy,
    /// A rule that was tried and broken.
    Rule(Planted),
    /// Both ε are 1.3 times what is claimed.
    LargerEpsilon,
    /// All texts of a run are drawn with one secret.
    SecretPerRun,
    /// Every run draws with the same secrets.
    SecretsForAllRuns,
    /// Two texts at a time are drawn with one secret.
    SecretPerPair,
    /// The protected words are copied one time in five.
    CopiedWord,
    /// The word after the one at the drawn rank is released.
    RankOffByOne,
}

fn cape(factor: f64) -> Cape {
    Cape::new(opposites(), settings(factor, 2, None, 2.0 * factor)).unwrap()
}

/// The claim about two texts: the stated bound of what differs, and the distributions of their first protected
/// words.
fn claim(texts: [&str; 2]) -> Claim {
    let cape = cape(1.0);
    let guarantee = cape.guarantee();
    let draws = compare(&cape, texts[0], texts[1]).unwrap();
    let stated = |protected| if protected { guarantee.protected } else { guarantee.bound };
    let differing = draws.iter().filter(|draw| draw.differs());
    let epsilon = differing.map(|draw| stated(draw.is_protected())).sum();
    let law = |text| WordDistribution::of_text(&cape, text).unwrap();
    let distributions = law(texts[0]).zip(law(texts[1])).map(|(one, other)| [one, other]);
    Claim { epsilon, distributions }
}

/// The source of the releases of one text.
struct Source<'a> {
    fault: Fault,
    text: &'a str,
    sanitizer: Sanitizer,
    plan: Plan,
    /// Releases with the sum of the probabilities up to each, where a rule is broken.
    law: Vec<(f64, String)>,
}

impl<'a> Source<'a> {
    fn new(fault: Fault, text: &'a str) -> Self {
        let cape = cape(if fault == Fault::LargerEpsilon { 1.3 } else { 1.0 });
        let mut law = Vec::new();
        if let Fault::Rule(planted) = fault {
            let all = joint(&cape, Some(planted), &[text]);
            let mut sum = 0.0;
            for (release, weight) in &all.weights {
                sum += ln_ratio(weight, &all.total).exp();
                law.push((sum, release.trim_end_matches('\u{1}').to_owned()));
            }
        }
        let plan = cape.plan(text).unwrap();
        Self { fault, text, sanitizer: Sanitizer::words(cape), plan, law }
    }

    /// The release of line `line` of a run.
    fn release(&self, seed: u64, line: u64) -> String {
        let secret = match self.fault {
            Fault::SecretPerRun => Secret::seeded(seed, 0),
            Fault::SecretsForAllRuns => Secret::seeded(0, line),
            Fault::SecretPerPair => Secret::seeded(seed, line / 2),
            _ => Secret::seeded(seed, line),
        };
        let cape = self.sanitizer.cape().unwrap();
        let mut rng = rng::seeded(seed ^ 0xface, line);
        let plan = &self.plan;
        let release = |drawn: &[Drawn]| written(cape, self.text, plan, drawn, true).text;
        match self.fault {
            Fault::Rule(_) => {
                let at = number(&mut rng);
                let i = self.law.partition_point(|(sum, _)| *sum <= at);
                self.law[i.min(self.law.len() - 1)].1.clone()
            }
            Fault::CopiedWord if cape::sample::below(5, &mut rng) == 0 => {
                let own = |(key, drawn): (_, Drawn)| cape.own(key).map_or(drawn, Drawn::Word);
                let drawn = cape.draw(plan, &secret);
                release(&plan.keys.iter().zip(drawn).map(own).collect::<Vec<_>>())
            }
            Fault::RankOffByOne => {
                let after = |(key, drawn): (_, &Drawn)| {
                    let Drawn::Word(word) = drawn else { return drawn.clone() };
                    let order = cape.order(key);
                    let rank = order.iter().position(|listed| listed == word).unwrap();
                    Drawn::Word(*order.get(rank + 1).unwrap_or(word))
                };
                let drawn = cape.draw(plan, &secret);
                release(&plan.keys.iter().zip(&drawn).map(after).collect::<Vec<_>>())
            }
            _ => self.sanitizer.release(self.text, &secret).unwrap().text,
        }
    }
}

/// A number below 1.
fn number(rng: &mut dyn CryptoRng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

fn draws(fault: Fault, texts: [&str; 2], n: u64, seed: u64) -> Draws {
    let sources = texts.map(|text| Source::new(fault, text));
    let run = |run: u64| {
        let release = |i: usize, line: u64| sources[i].release(2 * seed + run, 2 * line + i as u64);
        Run { of: [0, 1].map(|i| (0..n / 2).map(|line| release(i, line)).collect()) }
    };
    Draws { runs: [run(0), run(1)] }
}

/// In how many of so many audits each test found something: ε, independence, law; and in how many one of
/// the first two did.
fn found(fault: Fault, texts: [&str; 2], n: u64, repetitions: u64, confidence: f64) -> [u64; 4] {
    let claim = claim(texts);
    let mut found = [0; 4];
    for repetition in 0..repetitions {
        let report = audit(&draws(fault, texts, n, 1000 + repetition), &claim, confidence);
        let (epsilon, dependence) = (report.epsilon > claim.epsilon, report.dependence.is_some());
        let finds = [epsilon, dependence, report.departure.is_some(), epsilon || dependence];
        assert_eq!(report.refutes(&claim), finds[..3].contains(&true));
        for (found, finds) in found.iter_mut().zip(finds) {
            *found += u64::from(finds);
        }
    }
    found
}

/// Three audits of each fault, of 10,000 or 40,000 releases of each text, at a confidence of 99.9 %.
mod rates {
    use super::*;

    const REPETITIONS: u64 = 3;

    fn check(fault: Fault, texts: [&str; 2]) -> [u64; 4] {
        // some broken rules cost little more than what is claimed
        let n = if matches!(fault, Fault::Rule(_)) { 40_000 } else { 10_000 };
        let found = found(fault, texts, n, REPETITIONS, 0.999);
        let [epsilon, dependence, law, black] = found.map(|n| format!("{n}/{REPETITIONS}"));
        println!("| {fault:?} | {epsilon} | {dependence} | {law} | {black} |");
        found
    }

    #[test]
    fn nothing_is_found_where_nothing_is_wrong() {
        for texts in [
            ["Acme Alice saw the table", "Acme asthma saw the table"],
            ["the table", "Alice table"],
            ["Acme Alice, Alice's", "Acme Krzysztof, Krzysztof's"],
        ] {
            assert_eq!(check(Fault::Healthy, texts), [0; 4]);
        }
    }

    /// Each rule that was tried and broken shows in what it releases.
    #[test]
    fn broken_rules() {
        for (rule, texts) in [
            (Planted::Pieces, ["Acme Alice", "Acme xyzzy"]),
            (Planted::CaseOfTheWord, ["Acme Alice", "Acme asthma"]),
            (Planted::WidthByWord, ["Acme Alice", "Acme asthma"]),
            (Planted::LevelOfNeighbour, ["the table", "Alice table"]),
            (Planted::LevelOfPhrase, ["the table", "round table"]),
            (Planted::OrderByLevels, ["Acme the Alice", "Acme asthma Alice"]),
            (Planted::RepetitionOfProtected, ["the, the", "Alice, Alice"]),
            (Planted::CaseFreeKey, ["Acme will Will", "Acme the Will"]),
            (Planted::ForcedLevel, ["Acme will Will", "Acme the Will"]),
            (Planted::ListByClass, ["Acme Alice", "Acme asthma"]),
            (Planted::OpenCharacters, ["Acme O+", "Acme Alice"]),
        ] {
            let found = check(Fault::Rule(rule), texts);
            assert!(found[0].max(found[2]) == REPETITIONS, "{rule:?}: {found:?}");
        }
    }

    #[test]
    fn broken_draws() {
        let texts = ["Acme Alice saw", "Acme Krzysztof saw"];
        // which of ε, independence and law must see it
        for (fault, by) in [
            (Fault::LargerEpsilon, [false, false, true]),
            (Fault::SecretPerRun, [false, true, true]),
            (Fault::SecretsForAllRuns, [false, true, false]),
            (Fault::SecretPerPair, [false, true, false]),
            (Fault::CopiedWord, [false, false, true]),
            (Fault::RankOffByOne, [false, false, true]),
        ] {
            let found = check(fault, texts);
            for (found, by) in found.iter().zip(by) {
                assert!(!by || *found == REPETITIONS, "{fault:?}: {found}");
            }
        }
    }

    /// By ε alone, which knows no law.
    #[test]
    fn a_larger_epsilon_shows_without_the_law() {
        for fault in [Fault::LargerEpsilon, Fault::CopiedWord] {
            let found = check(fault, ["Acme Alice", "Acme asthma"]);
            assert!(found[0] == REPETITIONS, "{fault:?}: {found:?}");
        }
    }
}

/// Errors are as rare as stated: each test errs with a probability of a third of 1 − confidence.
#[test]
fn false_alarms_are_as_rare_as_stated() {
    let found = found(Fault::Healthy, ["Acme Alice", "Acme asthma"], 400, 300, 0.4);
    // 60 are expected at the most; 105 or more come with probability 1e-9
    assert!(found[..3].iter().all(|&found| found < 105), "{found:?}");
    assert!(found[1] > 0 && found[2] > 0, "{found:?}");
}

#[test]
fn the_law_is_of_the_first_protected_word_that_stands_alone() {
    let cape = cape(1.0);
    let law = |text: &str| WordDistribution::of_text(&cape, text).unwrap();
    let probability = |text: &str, word: &str| law(text).map(|law| law.probability(word));
    let most = cape.law(Level::Protected).probability(1);
    assert_eq!(probability("the “Alice”, the", "“Alice”,"), Some(most));
    // two listed words are written alike in a first place
    let both = probability("Xyzzy!", "Will!").unwrap();
    assert!(both > cape.law(Level::Protected).probability(8) * 1.9);
    assert!(law("the table").is_none());
    assert!(law("the Alice/asthma").is_none());
    assert_eq!(probability("Alice/asthma's London", "London"), Some(most));
    assert_eq!(probability("4111 1111 1111 1111 the 12 Alice's", "Alice's"), Some(most));
    let sum: f64 =
        (0..10).map(|i| probability("Acme asthma", cape.lexicon().word(Listed(i))).unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-12);
}

#[test]
fn a_word_that_cannot_be_drawn_is_told() {
    let texts = ["Acme Alice saw", "Acme asthma saw"];
    let mut draws = draws(Fault::Healthy, texts, 4000, 1);
    draws.runs[1].of[1][7] = "Acme elsewhere saw".into();
    let found = audit(&draws, &claim(texts), 0.999).departure.unwrap();
    assert_eq!((found.outcomes, found.hits, found.other), (Outcomes::Foreign, 1, true));
}
