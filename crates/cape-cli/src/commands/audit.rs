//! `cape audit`

mod context;
mod exact;
mod sample;

use crate::args::{AuditArgs, AuditCommand};
use crate::failure::{Done, Failure};

pub(crate) fn run(args: &AuditArgs) -> Done {
    match &args.command {
        AuditCommand::Exact(args) => exact::run(args),
        AuditCommand::Context(args) => context::run(args),
        AuditCommand::Sample(args) => sample::run(args),
    }
}

/// What was found wanting: exit code 1, after the report.
fn wanting(what: &str) -> Failure {
    Failure::new(
        format!("found wanting: {what}"),
        "what is stated does not hold: SECURITY.md says how to report that; send a made-up prompt, not this \
         report of yours",
    )
}

/// A loss as it is shown: six decimals, never below the true value.
fn up(loss: f64) -> String {
    if loss.is_infinite() { "∞".into() } else { format!("{:.6}", (loss * 1e6).ceil() / 1e6) }
}
