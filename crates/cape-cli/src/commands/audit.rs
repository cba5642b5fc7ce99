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

/// A statement that does not hold: exit code 1, after the report.
fn wanting(what: &str) -> Failure {
    Failure::new(
        format!("found wanting: {what}"),
        "the stated guarantee does not hold: SECURITY.md says how to report it; use a made-up prompt, since \
         this report shows yours",
    )
}

/// A loss as it is shown: six decimals, never below the true value.
fn up(loss: f64) -> String {
    if loss.is_infinite() { "∞".into() } else { format!("{:.6}", (loss * 1e6).ceil() / 1e6) }
}
