//! A device model small enough to enumerate, whose scores depend on everything it sees.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::tokens::{
    Calibration, Context, Embeddings, LanguageModel, Piece, Token, TokenId, Tokens, View, Vocab,
};
use cape::{Epsilon, Result, Why};
use num_bigint::BigUint;

/// Logits and embeddings by a hash of the seed and of all that is seen.
pub(crate) struct HashModel {
    window: usize,
    vocab: Vocab,
    embeddings: Embeddings,
    seed: u64,
}

/// The ids below this one are special: unknown and mask.
pub(crate) const FIRST: u32 = 2;

impl HashModel {
    /// `starts` word beginnings and `continuations` that can be drawn, `window` tokens seen.
    pub(crate) fn new(starts: u32, continuations: u32, window: usize, seed: u64) -> Self {
        let mut tokens: Vec<String> = vec!["[UNK]".into(), "[MASK]".into()];
        tokens.extend((0..starts).map(|i| format!("w{i}")));
        tokens.extend((0..continuations).map(|i| format!("##c{i}")));
        let special: Vec<TokenId> = (0..FIRST).map(TokenId).collect();
        let vocab = Vocab::new(&tokens, &special, "[UNK]").unwrap();
        let rows = (0..tokens.len() as u64 * 3).map(|i| unit(mix(seed, i)) * 2.0 - 1.0);
        let embeddings = Embeddings::new(rows.collect(), 3);
        Self { window, vocab, embeddings, seed }
    }
}

impl LanguageModel for HashModel {
    fn vocab(&self) -> &Vocab {
        &self.vocab
    }
    fn embeddings(&self) -> &Embeddings {
        &self.embeddings
    }
    fn calibration(&self) -> Calibration {
        Calibration::new(-8.0, 8.0).unwrap()
    }
    fn mask(&self) -> TokenId {
        TokenId(1)
    }
    fn window(&self) -> usize {
        self.window
    }
    fn at_once(&self) -> usize {
        1 + (self.seed % 3) as usize
    }
    fn input(&self, ids: &[TokenId], position: usize) -> (Vec<TokenId>, usize) {
        let mut input = ids.to_vec();
        input[position] = self.mask();
        (input, position)
    }
    fn logits(&self, views: &mut [View<'_>]) -> Result<Vec<Vec<f32>>> {
        let row = |ids: &[TokenId], position: usize| {
            let (input, position) = self.input(ids, position);
            let context = input
                .iter()
                .fold(mix(self.seed, position as u64), |hash, id| mix(hash, u64::from(id.0)));
            let logit = |id: &TokenId| unit(mix(context, u64::from(id.0))) * 20.0 - 10.0;
            self.vocab.drawable().iter().map(logit).collect()
        };
        let rows = views
            .iter()
            .flat_map(|view| view.positions.iter().map(|&position| row(view.ids, position)));
        Ok(rows.collect())
    }
}

fn mix(a: u64, b: u64) -> u64 {
    let x = (a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ (x >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb).rotate_left(23)
}

fn unit(x: u64) -> f32 {
    (x >> 40) as f32 / (1_u64 << 24) as f32
}

/// A mechanism on a hash model of `n` words, with `count` buckets.
pub(crate) fn cape(n: u32, seed: u64, epsilon: f64, count: usize, context: Context) -> CapePaper {
    let settings = settings(epsilon, count, context);
    CapePaper::new(Arc::new(HashModel::new(n, 0, 8, seed)), settings).unwrap()
}

pub(crate) fn settings(epsilon: f64, count: usize, context: Context) -> Settings {
    let paper = Settings::new(Epsilon::new(epsilon).unwrap());
    Settings { bucket_count: count, context, ..paper }
}

/// A prompt of these words; the second one is kept.
pub(crate) fn prompt(words: &[u32]) -> Tokens {
    let token = |(i, &word): (usize, &u32)| Token {
        id: TokenId(FIRST + word),
        start: 3 * i,
        end: 3 * i + 2,
        piece: Piece::Start,
        kept: (i == 1).then_some(Why::Listed),
    };
    words.iter().enumerate().map(token).collect::<Vec<_>>().into()
}

/// The exact weight of releasing `output` for `prompt`: the factors of the product, and those of
/// the total it is a share of.
pub(crate) fn weights(
    cape: &CapePaper,
    prompt: &Tokens,
    output: &[TokenId],
) -> (Vec<u64>, Vec<u64>) {
    let mut drawn = vec![None; output.len()];
    prompt
        .sensitive()
        .map(|i| {
            let explanation = cape.explain(prompt, &drawn, i).unwrap();
            let y = explanation.scores.candidates.binary_search(&output[i]).unwrap();
            drawn[i] = Some(output[i]);
            (explanation.distribution.weights[y], explanation.distribution.total)
        })
        .unzip()
}

/// Every output of `len` words of `n`.
pub(crate) fn outputs(n: u32, len: usize) -> impl Iterator<Item = Vec<TokenId>> {
    (0..n.pow(len as u32))
        .map(move |code| (0..len as u32).map(|i| TokenId(FIRST + code / n.pow(i) % n)).collect())
}

/// Products of integers, exact.
pub(crate) fn product(factors: &[u64]) -> BigUint {
    factors.iter().map(|&f| BigUint::from(f)).product()
}

/// ln(a/b) for numbers of any size, to float precision.
pub(crate) fn ln_ratio(a: &BigUint, b: &BigUint) -> f64 {
    let ln = |x: &BigUint| {
        let shift = x.bits().saturating_sub(64);
        let top: u64 = (x >> shift).try_into().unwrap();
        (top as f64).ln() + shift as f64 * std::f64::consts::LN_2
    };
    ln(a) - ln(b)
}

/// The largest log-ratio, over all released prompts, between two prompts.
pub(crate) fn loss(mechanism: &CapePaper, n: u32, a: &Tokens, b: &Tokens) -> f64 {
    outputs(n, a.as_slice().len())
        .map(|output| {
            let (wa, ta) = weights(mechanism, a, &output);
            let (wb, tb) = weights(mechanism, b, &output);
            ln_ratio(&(product(&wa) * product(&tb)), &(product(&wb) * product(&ta))).abs()
        })
        .fold(0.0, f64::max)
}
