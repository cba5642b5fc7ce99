//! Mechanisms with a planted fault, for tests that must find it. Nothing of this is in the product.

use std::convert::Infallible;

use cape::Why;
use cape::mechanism::Mechanism;
use cape::mechanism::cape_paper::{CapePaper, Distribution};
use cape::rng::{self, CryptoRng, Generator};
use cape::tokens::{Outcome, Tokens, Vocab, assemble};
use rand::{TryCryptoRng, TryRng};

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    Healthy,
    /// ε is 1.2 times what is claimed: for whoever makes the mechanism to plant.
    LargerEpsilon,
    /// Every other random number has too many bits set, which favours the best bucket.
    BiasedGenerator,
    /// All prompts of a run are drawn with the same numbers.
    SeedPerRun,
    /// Every run draws with the same numbers.
    SeedForAllRuns,
    /// Two prompts at a time are drawn with the same numbers.
    SeedPerPair,
    /// The first sensitive token is copied one time in five.
    CopiedToken,
    /// The candidate that is one worse than the drawn one is released.
    OffByOne,
    /// A context that is said to be the released one is the raw one: also planted by the maker.
    RawContext,
}

/// The release of a prompt as line `line` of a run with this seed.
pub(crate) fn release(
    fault: Fault,
    cape: &CapePaper,
    vocab: &Vocab,
    (text, tokens): (&str, &Tokens),
    (seed, line): (u64, u64),
) -> String {
    let mut rng = match fault {
        Fault::SeedPerRun => rng::seeded(seed, 0),
        Fault::SeedForAllRuns => rng::seeded(0, line),
        Fault::SeedPerPair => rng::seeded(seed, line / 2),
        _ => rng::seeded(seed, line),
    };
    let mut outcomes = match fault {
        Fault::BiasedGenerator => cape.perturb(tokens, &mut Biased(&mut rng)).unwrap(),
        Fault::OffByOne => off_by_one(cape, tokens, &mut rng),
        _ => cape.perturb(tokens, &mut rng).unwrap(),
    };
    if fault == Fault::CopiedToken && cape::sample::below(5, &mut rng) == 0 {
        outcomes[tokens.sensitive().next().unwrap()] = Outcome::Kept(Why::Listed);
    }
    assemble(text, tokens, &outcomes, vocab).0
}

/// Left to right in the released context, one candidate too far.
fn off_by_one(cape: &CapePaper, tokens: &Tokens, rng: &mut dyn CryptoRng) -> Vec<Outcome> {
    let mut drawn = vec![None; tokens.as_slice().len()];
    for i in tokens.sensitive() {
        let explanation = cape.explain(tokens, &drawn, i).unwrap();
        let Distribution { order, weights, total, .. } = &explanation.distribution;
        let mut rest = cape::sample::below(*total, rng);
        let fits = |&candidate: &u32| {
            let weight = weights[candidate as usize];
            let fits = rest < weight;
            rest = rest.saturating_sub(weight);
            fits
        };
        let at = order.iter().position(fits).unwrap();
        let candidate = order[(at + 1).min(order.len() - 1)];
        drawn[i] = Some(explanation.scores.candidates[candidate as usize]);
    }
    let outcome = |(token, drawn): (&cape::tokens::Token, &Option<_>)| match (token.kept, drawn) {
        (None, Some(id)) => Outcome::Drawn { id: *id, retention: 0.0 },
        (kept, _) => Outcome::Kept(kept.unwrap()),
    };
    tokens.as_slice().iter().zip(&drawn).map(outcome).collect()
}

struct Biased<'a>(&'a mut Generator);

impl TryRng for Biased<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("draws take 64 bits")
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let (x, y) = (self.0.try_next_u64()?, self.0.try_next_u64()?);
        Ok(if x & 1 == 0 { x } else { x | y })
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("draws take 64 bits")
    }
}

impl TryCryptoRng for Biased<'_> {}
