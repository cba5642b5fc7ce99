//! The accounting: what a prompt costs in all, what repeated and long prompts cost, and that the
//! joint law of all draws keeps to it.

use std::sync::{Arc, Mutex};

use crate::common::{FIRST, HashModel, loss, outputs, settings, weights};
use cape::mechanism::Mechanism;
use cape::mechanism::cape_paper::CapePaper;
use cape::tokens::{
    Calibration, Context, Embeddings, LanguageModel, Outcome, Piece, Token, TokenId, Tokens, View,
    Vocab,
};
use cape::{Epsilon, Evidence, Guarantee, Notion, Privacy, Reach, Result, Why};
use proptest::prelude::*;

/// With two buckets the bound is attained.
const TIGHT: usize = 2;

fn context(raw: bool) -> Context {
    if raw { Context::Raw } else { Context::Released }
}

/// A prompt of these words, some of them kept.
fn tokens(words: &[(u32, bool)]) -> Tokens {
    let token = |(i, &(word, kept)): (usize, &(u32, bool))| Token {
        id: TokenId(FIRST + word),
        start: 3 * i,
        end: 3 * i + 2,
        piece: Piece::Start,
        kept: kept.then_some(Why::Listed),
    };
    words.iter().enumerate().map(token).collect::<Vec<_>>().into()
}

/// The statement of a mechanism about a release with these outcomes.
fn statement(cape: &CapePaper, outcomes: &[Outcome]) -> Privacy {
    Privacy::of_tokens(cape.guarantee(), outcomes, false)
}

/// A guarantee of the same ε for all that is drawn.
fn uniform(bound: f64, notion: Notion) -> Guarantee {
    let nominal = Epsilon::new(bound).unwrap();
    Guarantee::uniform(nominal, bound, 0.5, notion, Evidence::Proof)
}

/// A model that writes down which token it was asked for, or what stands in its place.
struct Asked {
    inner: HashModel,
    ids: Mutex<Vec<TokenId>>,
}

impl LanguageModel for Asked {
    fn vocab(&self) -> &Vocab {
        self.inner.vocab()
    }
    fn embeddings(&self) -> &Embeddings {
        self.inner.embeddings()
    }
    fn calibration(&self) -> Calibration {
        self.inner.calibration()
    }
    fn mask(&self) -> TokenId {
        self.inner.mask()
    }
    fn window(&self) -> usize {
        self.inner.window()
    }
    fn at_once(&self) -> usize {
        self.inner.at_once()
    }
    fn input(&self, ids: &[TokenId], position: usize) -> (Vec<TokenId>, usize) {
        self.inner.input(ids, position)
    }
    fn logits(&self, views: &mut [View<'_>]) -> Result<Vec<Vec<f32>>> {
        let asked = views.iter().flat_map(|v| v.positions.iter().map(|&at| v.ids[at]));
        self.ids.lock().unwrap().extend(asked);
        self.inner.logits(views)
    }
}

/// The right accounting of an outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Count {
    Public,
    Sensitive,
    Uncovered,
}

fn outcome() -> impl Strategy<Value = (Outcome, Count, bool)> {
    let drawn = |retention| Outcome::Drawn { id: TokenId(5), retention };
    let always = |outcome, count| Just((outcome, count, false));
    prop_oneof![
        always(Outcome::Kept(Why::Stopword), Count::Public),
        always(Outcome::Kept(Why::Punctuation), Count::Public),
        always(Outcome::Kept(Why::Listed), Count::Public),
        always(Outcome::Kept(Why::Space), Count::Public),
        always(Outcome::Kept(Why::Frequent), Count::Uncovered),
        always(Outcome::Kept(Why::Unknown), Count::Uncovered),
        always(drawn(0.25), Count::Sensitive),
        always(Outcome::Number(7), Count::Sensitive),
        always(Outcome::Shifted(7), Count::Uncovered),
        always(Outcome::Dropped, Count::Uncovered),
        // a uniform word: on no list, where there are lists
        Just((drawn(0.0), Count::Sensitive, true)),
    ]
}

proptest! {
    /// Every token is counted once: as public, as one that spends ε, or as one that no ε covers.
    #[test]
    fn totals_count_every_token_once(
        outcomes in prop::collection::vec(outcome(), 0..40),
        bound in 0.01_f64..30.0, lists: bool, raw: bool, seeded: bool,
    ) {
        let notion = if lists { Notion::WithinList } else { Notion::Ldp };
        let guarantee = Guarantee {
            reach: if raw { Reach::EveryDraw } else { Reach::OwnDraw },
            ..uniform(bound, notion)
        };
        let of: Vec<Outcome> = outcomes.iter().map(|&(outcome, ..)| outcome).collect();
        let count = |wanted: Count| {
            let counted = |&&(_, count, unlisted): &&(Outcome, Count, bool)| {
                wanted == if lists && unlisted { Count::Uncovered } else { count }
            };
            outcomes.iter().filter(counted).count()
        };
        let privacy = Privacy::of_tokens(guarantee, &of, seeded);
        prop_assert_eq!(privacy.draws, count(Count::Sensitive));
        prop_assert_eq!(privacy.protected, privacy.draws);
        prop_assert_eq!(privacy.uncovered, count(Count::Uncovered));
        prop_assert_eq!(privacy.words, privacy.draws + privacy.uncovered);
        prop_assert_eq!(privacy.words + count(Count::Public), outcomes.len());
        let k = privacy.draws;
        prop_assert_eq!(privacy.epsilon_prompt(), bound * k as f64);
        let one = if k == 0 { 0.0 } else if raw { bound * k as f64 } else { bound };
        prop_assert_eq!(privacy.epsilon_one(), one);
        prop_assert_eq!(privacy.holds().notion == Notion::None, seeded);
    }

    /// From no token to all of them: nothing, one token, and the whole prompt.
    #[test]
    fn the_cost_of_a_difference_grows_up_to_the_prompt(
        bound in 0.01_f64..30.0, sensitive in 0_usize..30, raw: bool,
    ) {
        let reach = if raw { Reach::EveryDraw } else { Reach::OwnDraw };
        let guarantee = Guarantee { reach, ..uniform(bound, Notion::Ldp) };
        let costs: Vec<f64> =
            (0..=sensitive).map(|k| guarantee.differing(k, sensitive)).collect();
        prop_assert!(costs.windows(2).all(|pair| pair[0] <= pair[1]));
        prop_assert_eq!(costs[0], 0.0);
        prop_assert_eq!(costs[sensitive], guarantee.prompt(sensitive));
        prop_assert_eq!(guarantee.differing(1, sensitive), guarantee.one_token(sensitive));
        // several prompts cost what one of all their tokens does
        let (a, b) = (guarantee.prompt(sensitive / 2), guarantee.prompt(sensitive - sensitive / 2));
        prop_assert!((a + b - guarantee.prompt(sensitive)).abs() < 1e-9);
    }

    /// Long prompts: windows overlap, but every sensitive token is drawn once and paid for once.
    #[test]
    fn windows_neither_lose_nor_repeat_a_draw(
        kept in prop::collection::vec(prop::bool::weighted(0.3), 1..60),
        window in 1_usize..9, seed: u64, raw: bool,
    ) {
        // no word twice, so that the model's notes say which position it was asked for
        let words: Vec<(u32, bool)> = (0..).zip(kept.iter().copied()).collect();
        let inner = HashModel::new(60, 0, window, seed);
        let model = Arc::new(Asked { inner, ids: Mutex::default() });
        let cape = CapePaper::new(Arc::clone(&model) as _, settings(3.0, 5, context(raw))).unwrap();
        let tokens = tokens(&words);
        let outcomes = cape.perturb(&tokens, &mut cape::rng::seeded(seed, 0)).unwrap();
        prop_assert_eq!(outcomes.len(), words.len());
        for (outcome, &(_, kept)) in outcomes.iter().zip(&words) {
            prop_assert_eq!(matches!(outcome, Outcome::Drawn { .. }), !kept);
        }
        let sensitive = words.iter().filter(|(_, kept)| !kept);
        let expected: Vec<TokenId> = sensitive
            .map(|&(word, _)| if raw { TokenId(FIRST + word) } else { model.mask() })
            .collect();
        prop_assert_eq!(&*model.ids.lock().unwrap(), &expected);
        let privacy = statement(&cape, &outcomes);
        prop_assert_eq!((privacy.draws, privacy.uncovered), (expected.len(), 0));
        prop_assert_eq!(privacy.epsilon_prompt(), cape.guarantee().prompt(expected.len()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The joint law of all draws, enumerated: prompts of three words that differ in k of them are
    /// within what is stated for k, in either context, whatever the window and the kept words.
    #[test]
    fn prompts_that_differ_in_k_tokens_are_within_the_statement(
        a in prop::collection::vec((0_u32..4, prop::bool::weighted(0.2)), 3),
        b in prop::collection::vec(0_u32..4, 3),
        window in 1_usize..5, seed: u64, epsilon in 0.1_f64..8.0, raw: bool, count in 2_usize..7,
    ) {
        let model = Arc::new(HashModel::new(4, 0, window, seed));
        let cape = CapePaper::new(model, settings(epsilon, count, context(raw))).unwrap();
        let b: Vec<(u32, bool)> =
            a.iter().zip(&b).map(|(&(a, kept), &b)| (if kept { a } else { b }, kept)).collect();
        let k = a.iter().zip(&b).filter(|(a, b)| a != b).count();
        let sensitive = a.iter().filter(|(_, kept)| !kept).count();
        let found = loss(&cape, 4, &tokens(&a), &tokens(&b));
        prop_assert!(found <= cape.guarantee().differing(k, sensitive) + 1e-12, "{found}");
    }

    /// A release leaves nothing behind that would change the law of the next: so repeated prompts
    /// cost the sum, and no more.
    #[test]
    fn a_release_does_not_change_the_law_of_the_next(
        words in prop::collection::vec((0_u32..4, prop::bool::weighted(0.2)), 3),
        others in prop::collection::vec(prop::collection::vec((0_u32..4, any::<bool>()), 1..6), 1..4),
        seed: u64, raw: bool,
    ) {
        let model = Arc::new(HashModel::new(4, 0, 3, seed));
        let cape = CapePaper::new(model, settings(2.0, 5, context(raw))).unwrap();
        let tokens_ = tokens(&words);
        let law = || -> Vec<_> {
            let kept = |output: &Vec<TokenId>| {
                tokens_.as_slice().iter().zip(output).all(|(t, y)| t.kept.is_none() || t.id == *y)
            };
            outputs(4, 3).filter(kept).map(|output| weights(&cape, &tokens_, &output)).collect()
        };
        let before = law();
        let mut rng = cape::rng::seeded(seed, 1);
        let mut spent = 0.0;
        let mut drawn = 0;
        for words in others.iter().chain([&words, &words]) {
            let tokens = tokens(words);
            let outcomes = cape.perturb(&tokens, &mut rng).unwrap();
            spent += statement(&cape, &outcomes).epsilon_prompt();
            drawn += tokens.sensitive().count();
        }
        prop_assert_eq!(law(), before);
        prop_assert!((spent - cape.guarantee().prompt(drawn)).abs() < 1e-9);
    }
}

/// The statement for k tokens is not idle: pairs that differ in k come close to it, and exceed what
/// is stated for k − 1.
#[test]
fn k_tokens_really_cost_about_k_times_the_bound() {
    let epsilon = 2.0;
    for (k, b) in [(1, [3, 1, 2]), (2, [3, 0, 2]), (3, [3, 0, 1])] {
        let cape = |seed| {
            let model = Arc::new(HashModel::new(4, 0, 8, seed));
            CapePaper::new(model, settings(epsilon, TIGHT, Context::Released)).unwrap()
        };
        let worst = (0..400)
            .map(|seed| {
                let prompt = |words: [u32; 3]| tokens(&words.map(|word| (word, false)));
                loss(&cape(seed), 4, &prompt([0, 1, 2]), &prompt(b))
            })
            .fold(0.0, f64::max);
        let (stated, before) =
            (cape(0).guarantee().differing(k, 3), cape(0).guarantee().differing(k - 1, 3));
        assert!(worst <= stated + 1e-9 && worst > before, "{k}: {worst} of {stated}");
    }
}
