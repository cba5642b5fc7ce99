//! Mechanisms with a planted fault, for tests that must find it. Nothing of this is in the product.

use std::convert::Infallible;

use cape::mechanism::Mechanism;
use cape::mechanism::cape::Cape;
use cape::rank::RankTable;
use cape::rng::{self, CryptoRng, Generator};
use cape::sanitize::assemble;
use cape::text::{Outcome, Tokens, Why};
use cape::vocab::Vocab;
use rand::{TryCryptoRng, TryRng};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    Healthy,
    /// ε is 1.2 times what is claimed: for whoever makes the mechanism to plant.
    LargerEpsilon,
    /// Every other random number has too few bits set.
    BiasedGenerator,
    /// All prompts of a run are drawn with the same numbers.
    SeedPerRun,
    /// Every run draws with the same numbers.
    SeedForAllRuns,
    /// Two prompts at a time are drawn with the same numbers.
    SeedPerPair,
    /// The first sensitive token is copied one time in five.
    CopiedToken,
    /// The candidate after the one at the drawn rank is released.
    RankOffByOne,
    /// A context that is said to be the released one is the raw one: also planted by the maker.
    RawContext,
}

/// The release of a prompt as line `line` of a run with this seed.
pub(crate) fn release(
    fault: Fault,
    cape: &Cape,
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
        Fault::RankOffByOne => off_by_one(cape, tokens, &mut rng),
        _ => cape.perturb(tokens, &mut rng).unwrap(),
    };
    if fault == Fault::CopiedToken && cape::sample::below(5, &mut rng) == 0 {
        outcomes[tokens.sensitive().next().unwrap()] = Outcome::Kept(Why::Listed);
    }
    assemble(text, tokens, &outcomes, vocab).0
}

/// Left to right in the released context, one rank too far.
fn off_by_one(cape: &Cape, tokens: &Tokens, rng: &mut dyn CryptoRng) -> Vec<Outcome> {
    let mut drawn = vec![None; tokens.as_slice().len()];
    for i in tokens.sensitive() {
        let explanation = cape.explain(tokens, &drawn, i).unwrap();
        let order = &explanation.distribution.order;
        let table =
            RankTable::new(order.len(), cape.settings().epsilon, explanation.alpha).unwrap();
        let rank = table.draw(rng); // counted from 1, and used as if it were from 0
        let candidate = order[rank.min(order.len() - 1)];
        drawn[i] = Some(explanation.scores.candidates[candidate as usize]);
    }
    let outcome = |(token, drawn): (&cape::text::Token, &Option<_>)| match (token.kept, drawn) {
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
        Ok(if x >> 63 == 0 { x & y } else { x })
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("draws take 64 bits")
    }
}

impl TryCryptoRng for Biased<'_> {}
