//! `cape audit`

use crate::args::{AuditArgs, AuditCommand};
use crate::failure::Done;

mod sample;

pub(crate) fn run(args: &AuditArgs) -> Done {
    match &args.command {
        AuditCommand::Sample(args) => sample::run(args),
    }
}
