//! Mechanisms: what perturbs the tokens of a prompt, and what that guarantees.

use rand::CryptoRng;

use crate::Result;
use crate::privacy::Guarantee;
use crate::text::{Outcome, Tokens};

pub mod cape;

/// A way to perturb a prompt.
pub trait Mechanism: Send + Sync {
    /// The privacy statement, known before any prompt is.
    fn guarantee(&self) -> Guarantee;

    /// One outcome per token.
    fn perturb(&self, tokens: &Tokens, rng: &mut dyn CryptoRng) -> Result<Vec<Outcome>>;

    /// The same for several prompts, each with a generator of its own: what a prompt becomes does not
    /// depend on the others.
    fn perturb_all(
        &self,
        prompts: &mut [(&Tokens, &mut dyn CryptoRng)],
    ) -> Result<Vec<Vec<Outcome>>> {
        prompts.iter_mut().map(|(tokens, rng)| self.perturb(tokens, *rng)).collect()
    }
}
