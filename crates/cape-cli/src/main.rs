//! The `cape` command.

mod args;
mod commands;
mod failure;
mod input;
mod output;
mod settings;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Perturb(args) => commands::perturb::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Calibrate(args) => commands::calibrate::run(&args),
        Command::Models(args) => commands::models::run(&args),
        Command::Completions { shell } => commands::completions::run(shell),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprint!("{failure}");
            failure.code()
        }
    }
}
