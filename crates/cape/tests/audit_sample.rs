//! The statistical audit finds planted faults, and finds nothing where there is none.
//!
//! The table of detection rates: `cargo test -p cape-dp --test it -- --nocapture audit_sample::rates`

use std::sync::Arc;

use crate::common::{HashModel, prompt, settings};
use crate::faults::{Fault, release};
use cape::audit::prompts::Loss;
use cape::audit::sample::{Claim, Draws, Outcomes, Pairing, Place, Run, WordDistribution, audit};
use cape::mechanism::Mechanism;
use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::tokens::{Context, LanguageModel, Tokens, Utility};

/// Two prompts that differ in their first word, and a model of few words.
struct Bench {
    model: Arc<HashModel>,
    epsilon: f64,
    utility: Utility,
    texts: [&'static str; 2],
    tokens: [Tokens; 2],
}

impl Bench {
    fn new(words: u32) -> Self {
        Self::of(words, 1)
    }

    /// A model on which the two prompts attain the bound: the best word is alone in its bucket.
    fn attaining(words: u32) -> Self {
        let attains = |bench: &Self| {
            let bound = bench.cape(bench.epsilon, Context::Released).guarantee().bound;
            bench.claim().epsilon > bound - 1e-5
        };
        (0..1000).map(|seed| Self::of(words, seed)).find(attains).unwrap()
    }

    fn of(words: u32, seed: u64) -> Self {
        Self {
            model: Arc::new(HashModel::new(words, 0, 8, seed)),
            epsilon: 4.0,
            utility: Utility::PAPER,
            texts: ["w0 w1 w2 w3", "w4 w1 w2 w3"],
            tokens: [prompt(&[0, 1, 2, 3]), prompt(&[4, 1, 2, 3])],
        }
    }

    fn cape(&self, epsilon: f64, context: Context) -> CapePaper {
        let settings = Settings { utility: self.utility, ..settings(epsilon, 2, context) };
        CapePaper::new(Arc::clone(&self.model) as _, settings).unwrap()
    }

    /// The loss of a healthy mechanism of this ε between the two prompts: in general its bound is larger,
    /// and hides small faults.
    fn claim(&self) -> Claim {
        let cape = self.cape(self.epsilon, Context::Released);
        let law = |i: usize| {
            let law =
                WordDistribution::new(&cape, self.texts[i], &self.tokens[i], self.model.vocab());
            law.unwrap().unwrap()
        };
        // the first draw alone has another token, and no other position has another law
        let row = |i: usize| {
            let tokens = &self.tokens[i];
            cape.position(tokens, &[None; 4], 0).unwrap().row(tokens.as_slice()[0].id).unwrap()
        };
        let epsilon = Loss::between(&row(0).shares(), &row(1).shares()).worst();
        Claim { epsilon, distributions: Some([law(0), law(1)]) }
    }

    /// `n` releases of each prompt, in two runs.
    fn draws(&self, fault: Fault, n: u64, seed: u64) -> Draws {
        let cape = match fault {
            Fault::LargerEpsilon => self.cape(1.2 * self.epsilon, Context::Released),
            Fault::RawContext => self.cape(self.epsilon, Context::Raw),
            _ => self.cape(self.epsilon, Context::Released),
        };
        let run = |run: u64| {
            let release = |i: usize, line: u64| {
                let prompt = (self.texts[i], &self.tokens[i]);
                release(fault, &cape, self.model.vocab(), prompt, (2 * seed + run, line))
            };
            let of =
                [0, 1].map(|i| (0..n / 2).map(|line| release(i, 2 * line + i as u64)).collect());
            Run { of }
        };
        Draws { runs: [run(0), run(1)] }
    }

    /// In how many of so many audits each test found something: ε, independence, law; and in how
    /// many one of the first two did, which need no law.
    fn found(&self, fault: Fault, n: u64, repetitions: u64, confidence: f64) -> [u64; 4] {
        let claim = self.claim();
        let mut found = [0; 4];
        for repetition in 0..repetitions {
            let report = audit(&self.draws(fault, n, 1000 + repetition), &claim, confidence);
            let (epsilon, dependence) =
                (report.epsilon > claim.epsilon, report.dependence.is_some());
            let finds = [epsilon, dependence, report.departure.is_some(), epsilon || dependence];
            assert_eq!(report.refutes(&claim), finds.contains(&true));
            for (found, finds) in found.iter_mut().zip(finds) {
                *found += u64::from(finds);
            }
        }
        found
    }
}

/// Detection rates: twenty audits of each fault, of 16,000 releases of each prompt, at a confidence
/// of 99.9 %. `at_least` are those by ε, independence, law, and without the law.
mod rates {
    use super::*;

    const REPETITIONS: u64 = 20;

    fn check(bench: &Bench, fault: Fault, at_least: [u64; 4]) -> [u64; 4] {
        let found = bench.found(fault, 16_000, REPETITIONS, 0.999);
        let [epsilon, dependence, law, black] = found.map(|n| format!("{n}/{REPETITIONS}"));
        println!("| {fault:?} | {epsilon} | {dependence} | {law} | {black} |");
        for (found, at_least) in found.iter().zip(at_least) {
            assert!(*found >= at_least, "{fault:?}: {found:?} of {REPETITIONS}");
        }
        found
    }

    #[test]
    fn nothing_is_found_where_nothing_is_wrong() {
        assert_eq!(check(&Bench::new(6), Fault::Healthy, [0; 4]), [0; 4]);
        assert_eq!(check(&Bench::new(60), Fault::Healthy, [0; 4]), [0; 4]);
    }

    #[test]
    fn a_larger_epsilon() {
        check(&Bench::new(6), Fault::LargerEpsilon, [19, 0, 19, 19]);
    }

    #[test]
    fn a_biased_generator() {
        check(
            &Bench { epsilon: 2.0, ..Bench::attaining(6) },
            Fault::BiasedGenerator,
            [19, 0, 19, 19],
        );
    }

    /// Where both runs happen on the same numbers, only the law tells.
    #[test]
    fn a_seed_reused_for_every_prompt_of_a_run() {
        check(&Bench::new(6), Fault::SeedPerRun, [0, 19, 20, 19]);
    }

    #[test]
    fn a_seed_reused_for_every_run() {
        check(&Bench::new(6), Fault::SeedForAllRuns, [0, 19, 0, 19]);
    }

    #[test]
    fn a_seed_reused_for_two_prompts() {
        check(&Bench::new(6), Fault::SeedPerPair, [0, 19, 0, 19]);
    }

    #[test]
    fn a_copied_token() {
        check(&Bench { epsilon: 2.0, ..Bench::new(60) }, Fault::CopiedToken, [19, 0, 19, 19]);
    }

    #[test]
    fn a_candidate_off_by_one() {
        check(&Bench::new(6), Fault::OffByOne, [19, 0, 19, 19]);
    }

    /// With a utility that looks at the context alone, so that it is all that can leak.
    #[test]
    fn a_raw_context() {
        let utility = Utility::new(0.5, 0.0).unwrap();
        check(&Bench { utility, ..Bench::new(6) }, Fault::RawContext, [19, 0, 19, 19]);
    }
}

/// Errors are as rare as stated: each test errs with a probability of a third of 1 − confidence.
#[test]
fn false_alarms_are_as_rare_as_stated() {
    let (repetitions, confidence) = (300_u64, 0.4);
    let found = Bench::new(6).found(Fault::Healthy, 400, repetitions, confidence);
    // 60 are expected at the most; 105 or more come with probability 1e-9
    assert!(found[..3].iter().all(|&found| found < 105), "{found:?}");
    // and not for want of trying
    assert!(found[1] > 0 && found[2] > 0, "{found:?}");
}

fn repeated(n: usize, words: &[&str]) -> Vec<String> {
    words.iter().cycle().take(n).map(|&word| word.to_owned()).collect()
}

fn runs(one: &[&str], other: &[&str]) -> Draws {
    let run = || Run { of: [repeated(1000, one), repeated(1000, other)] };
    Draws { runs: [run(), run()] }
}

#[test]
fn the_event_is_told_as_it_was_seen() {
    let claim = Claim { epsilon: 1.0, distributions: None };
    // a kept word before the one that varies, which is missing now and then
    let draws = runs(&["a x", "a x", "a x", "a"], &["a", "a", "a", "a x", "a", "a", "a", "a"]);
    let report = audit(&draws, &claim, 0.99);
    let event = report.event.as_ref().unwrap();
    assert_eq!((event.place, event.draws, report.draws), (Place::Word(2), 1000, 2000));
    assert_eq!((event.hits, event.reversed), ([750, 125], false));
    assert_eq!((&event.words[..], event.count), (&["x".to_owned()][..], 1));
    assert!(report.epsilon > 1.0 && report.epsilon < (750.0 / 125.0_f64).ln());
    assert!(report.fit_tests.is_none() && report.refutes(&claim));
    // the same the other way round
    let [one, other] = [&draws.runs[0].of[1], &draws.runs[0].of[0]];
    let run = || Run { of: [one.clone(), other.clone()] };
    let report = audit(&Draws { runs: [run(), run()] }, &claim, 0.99);
    let event = report.event.unwrap();
    assert_eq!((event.hits, event.reversed), ([125, 750], true));
}

#[test]
fn constant_releases_tell_nothing() {
    let claim = Claim { epsilon: 0.1, distributions: None };
    let report = audit(&runs(&["a b"], &["a b"]), &claim, 0.99);
    assert!(report.event.is_none() && report.epsilon == 0.0 && !report.refutes(&claim));
    // and tell all where they differ
    let report = audit(&runs(&["a b"], &["a c"]), &claim, 0.99);
    assert!((report.epsilon - report.power.largest).abs() < 1e-9);
}

#[test]
fn the_clearest_dependence_is_named() {
    let claim = Claim { epsilon: 9.0, distributions: None };
    let bench = Bench::new(6);
    for (fault, pairing) in
        [(Fault::SeedPerPair, Pairing::Prompts), (Fault::SeedForAllRuns, Pairing::Runs)]
    {
        let found = audit(&bench.draws(fault, 4000, 5), &claim, 0.999).dependence.unwrap();
        assert_eq!(found.pairing, pairing);
        assert!(found.straight > found.crossed && found.p < 1e-9);
    }
}

#[test]
fn a_word_that_cannot_be_drawn_is_told() {
    let bench = Bench::new(6);
    let mut draws = bench.draws(Fault::Healthy, 4000, 1);
    draws.runs[1].of[1][7] = "elsewhere w1 w2 w3".into();
    let found = audit(&draws, &bench.claim(), 0.999).departure.unwrap();
    assert_eq!((found.outcomes, found.hits, found.other), (Outcomes::Foreign, 1, true));
}
