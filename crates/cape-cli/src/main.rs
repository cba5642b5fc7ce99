//! The `cape` command.

mod args;
mod commands;
mod failure;
mod input;
mod load;
mod mechanism;
mod memory;
mod output;
mod position;
mod settings;
mod warnings;

use std::process::ExitCode;

use crate::args::Command;
use crate::failure::Done;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::note(&failure);
            failure.code()
        }
    }
}

fn run() -> Done {
    match args::parse()? {
        Command::Perturb(args) => commands::perturb::run(&args),
        Command::Playground(args) => commands::playground::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Audit(args) => commands::audit::run(&args),
        Command::Calibrate(args) => commands::calibrate::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        #[cfg(feature = "eval")]
        Command::Eval(args) => commands::eval::run(&args),
        #[cfg(feature = "eval")]
        Command::Choose(args) => commands::choose::run(&args),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Models(args) => commands::models::run(&args),
        Command::Ledger(args) => commands::ledger::run(&args),
        Command::Completions { shell } => commands::completions::run(shell),
    }
}
