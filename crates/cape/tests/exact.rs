//! The promise, enumerated: for small models, every released prompt and its exact probability.

use std::sync::Arc;

use crate::common::{
    FIRST, HashModel, cape, ln_ratio, loss, outputs, product, prompt, settings, weights,
};
use cape::Epsilon;
use cape::mechanism::Mechanism;
use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::tokens::{
    Calibration, Context, Embeddings, LanguageModel, Outcome, Piece, Token, TokenId, Tokens,
    Utility, View, Vocab,
};
use proptest::prelude::*;

/// With two buckets the bound is attained: by a candidate that is alone in the upper one for one input,
/// and with all others but one in the lower one for another.
const TIGHT: usize = 2;

/// Two prompts of four words (one of them kept) that differ in one sensitive word.
fn neighbours(n: u32) -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
    (prop::collection::vec(0..n, 4), prop::sample::select(vec![0_usize, 2, 3]), 1..n).prop_map(
        move |(a, at, shift)| {
            let mut b = a.clone();
            b[at] = (b[at] + shift) % n;
            (a, b)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Prompts that differ in every token are within k times the bound, in either context.
    #[test]
    fn whole_prompts_are_within_the_sum(
        seed: u64, epsilon in 0.1_f64..8.0, a in prop::collection::vec(0_u32..4, 4),
        b in prop::collection::vec(0_u32..4, 4), count in 2_usize..7, raw: bool,
    ) {
        let context = if raw { Context::Raw } else { Context::Released };
        let mechanism = cape(4, seed, epsilon, count, context);
        let mut b = b;
        b[1] = a[1]; // kept words are public
        let found = loss(&mechanism, 4, &prompt(&a), &prompt(&b));
        prop_assert!(found <= mechanism.guarantee().prompt(3) + 1e-12);
    }

    /// Prompts that differ in one token: the enumerated loss never exceeds the stated bound.
    #[test]
    fn neighbours_are_within_the_bound(
        seed: u64, epsilon in 0.1_f64..15.0, count in 2_usize..7, (a, b) in neighbours(5),
        raw: bool,
    ) {
        let context = if raw { Context::Raw } else { Context::Released };
        let mechanism = cape(5, seed, epsilon, count, context);
        let found = loss(&mechanism, 5, &prompt(&a), &prompt(&b));
        prop_assert!(found <= mechanism.guarantee().one_token(3) + 1e-9);
    }

    /// `perturb` draws what `explain` says: every output it makes has the probability that
    /// the explanation gives, and its retention is the true token's.
    #[test]
    fn perturb_agrees_with_explain(
        seed: u64, words in prop::collection::vec(0_u32..6, 1..12), count in 2_usize..7, raw: bool,
    ) {
        let context = if raw { Context::Raw } else { Context::Released };
        let mechanism = cape(6, seed, 4.0, count, context);
        let tokens = prompt(&words);
        let outcomes = mechanism.perturb(&tokens, &mut cape::rng::seeded(seed, 0)).unwrap();
        prop_assert_eq!(outcomes.len(), words.len());
        let mut drawn = vec![None; words.len()];
        for (i, outcome) in outcomes.iter().enumerate() {
            let Outcome::Drawn { id, retention } = *outcome else {
                prop_assert_eq!(i, 1);
                continue;
            };
            let explanation = mechanism.explain(&tokens, &drawn, i).unwrap();
            let own = tokens.as_slice()[i].id;
            let at = explanation.scores.candidates.binary_search(&own).unwrap();
            let exact =
                explanation.distribution.weights[at] as f64 / explanation.distribution.total as f64;
            prop_assert!((retention - exact).abs() < 1e-12);
            drawn[i] = Some(id);
        }
    }
}

/// Every prompt against every neighbour, every output: beginnings and continuations, a window shorter
/// than the prompt, an unknown token among the inputs.
#[test]
fn every_pair_of_neighbours_is_within_the_bound() {
    let (starts, continuations, epsilon) = (3, 2, 1.5);
    for (count, seed) in [(TIGHT, 1), (3, 2), (50, 3)] {
        let model = Arc::new(HashModel::new(starts, continuations, 2, seed));
        let mechanism = CapePaper::new(model, settings(epsilon, count, Context::Released)).unwrap();
        let bound = mechanism.guarantee().bound;
        // a word of two pieces and one of one piece
        let pieces = [Piece::Start, Piece::Continuation, Piece::Start];
        let inputs = |piece| match piece {
            Piece::Start => vec![0, FIRST, FIRST + 1, FIRST + 2],
            Piece::Continuation => vec![FIRST + 3, FIRST + 4],
        };
        let tokens = |ids: [u32; 3]| -> Tokens {
            let token = |(i, (&id, &piece)): (usize, (&u32, &Piece))| Token {
                id: TokenId(id),
                start: i,
                end: i + 1,
                piece,
                kept: None,
            };
            ids.iter().zip(&pieces).enumerate().map(token).collect::<Vec<_>>().into()
        };
        let mut prompts = Vec::new();
        for a in inputs(pieces[0]) {
            for b in inputs(pieces[1]) {
                prompts.extend(inputs(pieces[2]).into_iter().map(|c| [a, b, c]));
            }
        }
        let all: Vec<TokenId> = (FIRST..FIRST + starts + continuations).map(TokenId).collect();
        let mut outputs = Vec::new();
        for &a in &all {
            for &b in &all {
                outputs.extend(all.iter().map(|&c| [a, b, c]));
            }
        }
        let mut worst = 0.0_f64;
        for output in &outputs {
            let probabilities: Vec<f64> = prompts
                .iter()
                .map(|&ids| {
                    let (w, t) = weights(&mechanism, &tokens(ids), output);
                    ln_ratio(&product(&w), &product(&t))
                })
                .collect();
            for (x, px) in prompts.iter().zip(&probabilities) {
                for (y, py) in prompts.iter().zip(&probabilities) {
                    if x.iter().zip(y).filter(|(x, y)| x != y).count() == 1 {
                        worst = worst.max(px - py);
                    }
                }
            }
        }
        assert!(worst <= bound + 1e-12, "{worst} of {bound} with {count} buckets");
        assert!(worst > 0.5 * epsilon, "{worst} with {count} buckets: nothing was tried");
    }
}

/// The raw context really costs more than one draw: one token changed, several draws moved.
#[test]
fn raw_context_exceeds_the_bound_of_one_draw() {
    let (n, epsilon) = (5, 2.0);
    let worst = (0..20)
        .map(|seed| {
            let mechanism = cape(n, seed, epsilon, TIGHT, Context::Raw);
            loss(&mechanism, n, &prompt(&[0, 1, 2, 3]), &prompt(&[4, 1, 2, 3]))
        })
        .fold(0.0, f64::max);
    let guarantee = cape(n, 0, epsilon, TIGHT, Context::Raw).guarantee();
    assert!(worst > 1.2 * guarantee.bound, "{worst} of {}", guarantee.bound);
    assert!(worst <= guarantee.one_token(3) + 1e-12);
}

/// A model that puts one candidate far above all others: which one, the first token of the prompt says.
struct Telling(HashModel);

impl LanguageModel for Telling {
    fn vocab(&self) -> &Vocab {
        self.0.vocab()
    }
    fn embeddings(&self) -> &Embeddings {
        self.0.embeddings()
    }
    fn calibration(&self) -> Calibration {
        self.0.calibration()
    }
    fn mask(&self) -> TokenId {
        self.0.mask()
    }
    fn window(&self) -> usize {
        self.0.window()
    }
    fn input(&self, ids: &[TokenId], position: usize) -> (Vec<TokenId>, usize) {
        self.0.input(ids, position)
    }
    fn logits(&self, views: &mut [View<'_>]) -> cape::Result<Vec<Vec<f32>>> {
        let row = |ids: &[TokenId], position: usize| {
            let told = position > 0 && ids[0] == TokenId(FIRST);
            let best = TokenId(FIRST + u32::from(told));
            let all = self.vocab().drawable().iter();
            all.map(|&id| if id == best { 8.0 } else { -8.0 }).collect()
        };
        let positions = views.iter().flat_map(|v| v.positions.iter().map(|&at| (v.ids, at)));
        Ok(positions.map(|(ids, at)| row(ids, at)).collect())
    }
}

/// The raw context can cost the whole bound at every other position, as the theorem says.
#[test]
fn raw_context_can_cost_the_bound_at_every_other_position() {
    let of = |context| {
        let utility = Utility::new(0.5, 0.0).unwrap();
        let settings = Settings { utility, ..settings(2.0, TIGHT, context) };
        CapePaper::new(Arc::new(Telling(HashModel::new(5, 0, 8, 0))), settings).unwrap()
    };
    let (a, b) = (prompt(&[0, 1, 2, 3]), prompt(&[4, 1, 2, 3]));
    let found = loss(&of(Context::Raw), 5, &a, &b);
    assert!((found - 2.0 * (4_f64.ln() + 1.0)).abs() < 1e-9, "{found}");
    assert_eq!(loss(&of(Context::Released), 5, &a, &b), 0.0);
}

/// Draws of whole prompts follow the enumerated distribution (seeded; chi-square at α ≈ 1e-9).
#[test]
fn sampled_prompts_follow_the_enumerated_distribution() {
    for (count, context) in
        [(TIGHT, Context::Released), (3, Context::Released), (3, Context::Raw), (50, Context::Raw)]
    {
        let mechanism = cape(4, 11, 2.0, count, context);
        let chi2 = chi_square(&mechanism, &mechanism);
        // 63 degrees of freedom; 160 is exceeded with probability 2.6e-10
        assert!(chi2 < 160.0, "{chi2}");
    }
}

/// Chi-square of 60,000 draws of one mechanism against the exact distribution of another.
fn chi_square(drawing: &CapePaper, claimed: &CapePaper) -> f64 {
    let tokens = prompt(&[2, 1, 0, 3]);
    let (mut rng, n) = (cape::rng::seeded(12, 0), 60_000_u32);
    let mut counts = std::collections::HashMap::new();
    for _ in 0..n {
        let outcomes = drawing.perturb(&tokens, &mut rng).unwrap();
        let ids: Vec<TokenId> = outcomes
            .iter()
            .zip(tokens.as_slice())
            .map(|(outcome, token)| match outcome {
                Outcome::Drawn { id, .. } => *id,
                _ => token.id,
            })
            .collect();
        *counts.entry(ids).or_insert(0_u32) += 1;
    }
    outputs(4, 4)
        .filter(|output| output[1] == TokenId(FIRST + 1))
        .map(|output| {
            let (w, t) = weights(claimed, &tokens, &output);
            let p: f64 = w.iter().zip(&t).map(|(&w, &t)| w as f64 / t as f64).product();
            let expected = p * f64::from(n);
            let seen = f64::from(counts.get(&output).copied().unwrap_or(0));
            (seen - expected).powi(2) / expected
        })
        .sum()
}

/// Power: the checks above must notice planted faults.
mod power {
    use super::*;

    /// The loss check rejects a mechanism that spends 1.1 times what it states.
    #[test]
    fn a_larger_epsilon_is_noticed() {
        let stated = 3.0;
        let worst = |epsilon: f64| {
            let losses = (0..100).map(|seed| {
                let mechanism = cape(5, seed, epsilon, TIGHT, Context::Released);
                let (a, b) = (prompt(&[0, 1, 2, 3]), prompt(&[4, 1, 2, 3]));
                loss(&mechanism, 5, &a, &b)
            });
            losses.fold(0.0, f64::max)
        };
        let right = cape(5, 0, stated, TIGHT, Context::Released).guarantee().one_token(3);
        assert!(worst(stated) <= right + 1e-12);
        assert!(worst(1.1 * stated) > right, "{} of {right}", worst(1.1 * stated));
    }

    /// Equal-width with ε in place of ε/2, on the worst rows, breaks the bound of ε.
    #[test]
    fn a_missing_factor_two_is_noticed() {
        use cape::tokens::EqualWidth;
        let rule = |epsilon| EqualWidth::new(5, Epsilon::new(epsilon).unwrap()).unwrap();
        let (stated, faulty) = (rule(8.0), rule(16.0));
        let n = 40;
        // alone on top of two buckets, and at the bottom of five that crowd to the top
        let best: Vec<f32> = (0..n).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect();
        let worst: Vec<f32> = (0..n)
            .map(|i| match i {
                1..=4 => [0.39, 0.59, 0.79, 1.0][i - 1],
                _ => 0.0,
            })
            .collect();
        let loss = |rule: &EqualWidth| {
            let (a, b) = (rule.apply(&best).unwrap(), rule.apply(&worst).unwrap());
            (a.probability(0) / b.probability(0)).ln()
        };
        assert!(loss(&stated) <= stated.bound(n).unwrap());
        assert!(loss(&faulty) > stated.bound(n).unwrap());
    }

    /// The chi-square check rejects draws at 1.1 ε, in another context, and with another bucket count.
    #[test]
    fn wrong_distributions_are_noticed() {
        let context = Context::Released;
        let right = cape(4, 11, 2.0, 3, context);
        for faulty in [
            cape(4, 11, 2.2, 3, context),
            cape(4, 11, 2.0, 3, Context::Raw),
            cape(4, 11, 2.0, 4, context),
        ] {
            let chi2 = chi_square(&faulty, &right);
            assert!(chi2 > 160.0, "{chi2}");
        }
    }

    /// The loss check rejects a token that is copied through every other time.
    #[test]
    fn a_copied_token_is_noticed() {
        let mechanism = cape(5, 3, 1.0, TIGHT, Context::Released);
        let (a, b) = (prompt(&[0, 1, 2, 3]), prompt(&[4, 1, 2, 3]));
        let copied = |tokens: &Tokens, output: &[TokenId]| {
            let (mut w, mut t) = weights(&mechanism, tokens, output);
            if tokens.as_slice()[0].id == output[0] {
                w[0] += t[0]; // every other time, the word itself
            }
            t[0] *= 2;
            ln_ratio(&product(&w), &product(&t))
        };
        let losses = outputs(5, 4).map(|output| copied(&a, &output) - copied(&b, &output));
        assert!(losses.fold(0.0, f64::max) > mechanism.guarantee().bound);
    }
}
