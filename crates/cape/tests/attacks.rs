//! The attacks against plain computations of the same on models small enough to enumerate.

use std::sync::Arc;

use crate::common::{FIRST, HashModel, cape, prompt};
use cape::attack::bayes::PaperBayes;
use cape::attack::mask::{MaskedUnit, guesses, scores};
use cape::mechanism::cape_paper::CapePaper;
use cape::tokens::{Context, LanguageModel, Memory, Piece, Token, TokenId, Tokens, View};
use proptest::prelude::*;

const WORDS: u32 = 9;

/// The logits of a model at one position of some tokens.
fn row(model: &dyn LanguageModel, ids: &[TokenId], position: usize) -> Vec<f32> {
    let mut memory = Memory::default();
    let view = View { ids, positions: &[position], memory: &mut memory };
    model.logits(&mut [view]).unwrap().remove(0)
}

#[test]
fn each_position_is_masked_alone() {
    let model = HashModel::new(WORDS, 0, 32, 3);
    let id = |word: u32| TokenId(FIRST + word);
    let units = [
        MaskedUnit { ids: vec![id(1)], asked: Some(Piece::Start) },
        MaskedUnit { ids: vec![id(2), id(3)], asked: Some(Piece::Start) },
        MaskedUnit { ids: vec![id(4)], asked: None },
        MaskedUnit { ids: vec![], asked: None },
    ];
    let rows = scores(&model, &units).unwrap();
    // the second unit has two pieces: for the first they stand there, for itself one mask does
    assert_eq!(rows[0], row(&model, &[id(0), id(2), id(3), id(4)], 0));
    assert_eq!(rows[1], row(&model, &[id(1), id(0), id(4)], 1));
    assert_eq!(rows.len(), 2);
    let best = guesses(&model, &units).unwrap();
    for (row, best) in rows.iter().zip(best) {
        let value = row[(best.0 - FIRST) as usize];
        assert!(row.iter().all(|&other| other <= value));
    }
}

/// The token of the largest posterior by the definition: prior by a softmax, likelihood from the
/// distribution that `explain` shows for each token in turn.
fn plain(
    cape: &CapePaper,
    prior: &dyn LanguageModel,
    tokens: &Tokens,
    drawn: &[Option<TokenId>],
    i: usize,
) -> Vec<f64> {
    let ids: Vec<TokenId> = tokens
        .as_slice()
        .iter()
        .zip(drawn)
        .map(|(token, drawn)| drawn.unwrap_or(token.id))
        .collect();
    let logits = row(prior, &ids, i);
    let mut known = drawn.to_vec();
    known[i..].fill(None);
    (0..WORDS)
        .map(|t| {
            let mut guessed: Vec<Token> = tokens.as_slice().to_vec();
            guessed[i].id = TokenId(FIRST + t);
            let explanation = cape.explain(&guessed.into(), &known, i).unwrap();
            let y = drawn[i].unwrap().0 - FIRST;
            let weight = explanation.distribution.weights[y as usize] as f64;
            f64::from(logits[t as usize]).exp() * weight / explanation.distribution.total as f64
        })
        .collect()
}

proptest! {
    #[test]
    fn bayes_finds_the_largest_posterior(
        words in prop::collection::vec(0..WORDS, 4),
        released in prop::collection::vec(0..WORDS, 4),
        seed in 0_u64..50,
        epsilon in 0.5_f64..14.0,
        count in 2_usize..8,
    ) {
        let mechanism = cape(WORDS, seed, epsilon, count, Context::Released);
        let tokens = prompt(&words);
        let drawn: Vec<Option<TokenId>> = tokens
            .as_slice()
            .iter()
            .zip(&released)
            .map(|(token, &y)| token.kept.is_none().then_some(TokenId(FIRST + y)))
            .collect();
        let prior: Arc<dyn LanguageModel> = Arc::new(HashModel::new(WORDS, 0, 8, seed + 1000));
        let guesses = PaperBayes::new(Arc::clone(&prior), 100)
            .guesses(&mechanism, &tokens, &drawn)
            .unwrap();
        prop_assert_eq!(guesses.len(), 3);
        for (i, guess) in tokens.sensitive().zip(guesses) {
            let posterior = plain(&mechanism, &*prior, &tokens, &drawn, i);
            let best = posterior.iter().copied().fold(0.0, f64::max);
            let found = posterior[(guess.id.0 - FIRST) as usize];
            prop_assert!(guess.exact && found >= best * (1.0 - 1e-9), "{found} of {best}");
        }
    }
}

/// The more tokens it may look at the better; that it was cut short is said.
#[test]
fn a_search_that_was_cut_short_says_so() {
    let mechanism = cape(WORDS, 1, 8.0, 5, Context::Released);
    let prior: Arc<dyn LanguageModel> = Arc::new(HashModel::new(WORDS, 0, 8, 2));
    let tokens = prompt(&[1, 2, 3, 4]);
    let drawn = [Some(TokenId(FIRST)), None, Some(TokenId(FIRST + 5)), Some(TokenId(FIRST + 7))];
    let exact = |most| -> usize {
        let guesses =
            PaperBayes::new(Arc::clone(&prior), most).guesses(&mechanism, &tokens, &drawn).unwrap();
        guesses.iter().filter(|guess| guess.exact).count()
    };
    assert_eq!(exact(100), 3);
    assert!(exact(0) < 3);
}
