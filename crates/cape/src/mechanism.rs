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
}
