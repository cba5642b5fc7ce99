//! `cape audit`

mod context;
mod exact;
mod sample;

use cape::text::{Piece, TokenId, Tokens};

use crate::args::{AuditArgs, AuditCommand};
use crate::failure::{Done, Failure};
use crate::settings::Ready;

pub(crate) fn run(args: &AuditArgs) -> Done {
    match &args.command {
        AuditCommand::Exact(args) => exact::run(args),
        AuditCommand::Context(args) => context::run(args),
        AuditCommand::Sample(args) => sample::run(args),
    }
}

/// Those of the tokens that can stand at position `i` and be sensitive: where it is a whole word, that is no
/// word that is kept. A piece of a longer word can be any of them.
fn sensitive_inputs(ready: &Ready, tokens: &Tokens, i: usize, inputs: &[TokenId]) -> Vec<TokenId> {
    let token = &tokens.as_slice()[i];
    let goes_on = tokens
        .as_slice()
        .get(i + 1)
        .is_some_and(|next| next.piece == Piece::Continuation && next.start == token.end);
    let is_kept = |id: TokenId| {
        let alone = ready.tokenizer.tokenize(ready.tokenizer.vocab().surface(id), &ready.keep);
        alone.is_ok_and(|alone| matches!(alone.as_slice(), [one] if one.kept.is_some()))
    };
    let whole = token.piece == Piece::Start && !goes_on;
    inputs.iter().copied().filter(|&id| !(whole && is_kept(id))).collect()
}

/// What was found wanting: exit code 1, after the report.
fn wanting(what: &str) -> Failure {
    Failure::new(
        format!("found wanting: {what}"),
        "what is stated does not hold: SECURITY.md says how to report that",
    )
}

/// A loss as it is shown: six decimals, never below the true value.
fn up(loss: f64) -> String {
    if loss.is_infinite() { "∞".into() } else { format!("{:.6}", (loss * 1e6).ceil() / 1e6) }
}
