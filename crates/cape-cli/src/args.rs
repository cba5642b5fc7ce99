//! The command line.

use std::ffi::OsStr;

use clap::error::ErrorKind;
use clap::{Args as _, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::{Done, Failure};
use crate::warnings;

mod audit;
#[cfg(feature = "eval")]
mod choose;
#[cfg(feature = "eval")]
mod eval;
mod ledger;
mod misuse;
mod models;
mod perturb;
mod playground;
mod serve;

pub(crate) use audit::{AuditArgs, AuditCommand, ContextAuditArgs, ExactAuditArgs, SampleArgs};
#[cfg(feature = "eval")]
pub(crate) use choose::ChooseArgs;
#[cfg(feature = "eval")]
pub(crate) use eval::{ChatArgs, EvalArgs, EvalCommand, EvalMechanismArg, PaperArgs};
pub(crate) use ledger::{ExportFormat, ForgetArgs, LedgerArgs, LedgerCommand, SettleArgs};
pub(crate) use models::{BenchArgs, CalibrateArgs, ModelsArgs, ModelsCommand};
pub(crate) use perturb::{ExplainArgs, FileArgs, FileFormat, JobLedger, PerturbArgs};
pub(crate) use playground::PlaygroundArgs;
pub(crate) use serve::ServeArgs;

/// Perturbs prompts under local differential privacy before they leave this machine.
#[derive(Parser)]
#[command(name = "cape", version, max_term_width = 100)]
#[command(after_help = "Example: cape perturb \"My daughter Alice has asthma\"\n\n\
    Settings come from flags, then CAPE_* variables, then cape.toml in this folder, then defaults.\n\
    Exit codes: 0 done, 1 refused or found wanting, 2 wrong usage.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The command line of this process. Asked for help or the version, it prints them and exits.
pub(crate) fn parse() -> Done<Command> {
    let cape = command();
    let parsed = cape.clone().try_get_matches().and_then(|mut matches| {
        let name = matches.subcommand_name().map(str::to_owned);
        let orphan = matches.subcommand_matches("perturb").and_then(orphan);
        Cli::from_arg_matches_mut(&mut matches).map(|cli| (name, orphan, cli.command))
    });
    let (name, orphan, parsed) = parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => misuse::failure(&error),
    })?;
    if let Some((flag, other)) = orphan {
        let hint = "`cape perturb --help` explains files of prompts and what pays for them";
        return Err(Failure::usage(format!("--{flag} has no meaning without {other}"), hint));
    }
    // a proxy is set up by what it reads alone; people may have variables for several commands
    let name = name.filter(|name| ["serve", "check"].contains(&name.as_str()));
    let serve = name.and_then(|name| cape.find_subcommand(name));
    warnings::of_variables(&variables(serve.unwrap_or(&cape)));
    Ok(parsed)
}

/// A flag that has no meaning without another one: of files without an input (clap does not ask for one where there is a
/// prompt), or of the ledger without an account, when nothing would be counted. A variable may be meant for a proxy.
fn orphan(perturb: &clap::ArgMatches) -> Option<(String, &'static str)> {
    let typed = |id: &clap::Id| {
        perturb.value_source(id.as_str()) == Some(clap::parser::ValueSource::CommandLine)
    };
    let find = |group: clap::Command| {
        let mut flags = group.get_arguments().filter(|arg| typed(arg.get_id()));
        flags.find_map(clap::Arg::get_long).map(str::to_owned)
    };
    let files = || find(FileArgs::augment_args(clap::Command::new("files")));
    let ledger = || find(JobLedger::augment_args(clap::Command::new("ledger")));
    if !perturb.contains_id("input") {
        files().or_else(ledger).map(|flag| (flag, "--input"))
    } else if !perturb.contains_id("account") {
        ledger().map(|flag| (flag, "--account"))
    } else {
        None
    }
}

/// The whole command line. Settings are the arguments with a variable: help says so once, and `-h` leaves
/// out those under a heading of their own.
pub(crate) fn command() -> clap::Command {
    fn finished(command: clap::Command) -> clap::Command {
        let settings = command.mut_args(|arg| {
            let (setting, headed) = (arg.get_env().is_some(), arg.get_help_heading().is_some());
            let takes_value = setting && arg.get_action().takes_values();
            let hidden = arg.is_hide_short_help_set() || setting && headed;
            let arg = if takes_value { arg.allow_negative_numbers(true) } else { arg };
            arg.hide_env(true).hide_short_help(hidden)
        });
        settings.mut_subcommands(finished)
    }
    finished(Cli::command())
}

/// The variables of a command and of those under it.
fn variables(command: &clap::Command) -> Vec<&OsStr> {
    let own = command.get_arguments().filter_map(clap::Arg::get_env);
    own.chain(command.get_subcommands().flat_map(variables)).collect()
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Perturb a prompt, or a file of prompts: the released text goes to stdout, the privacy statement to
    /// stderr
    Perturb(Box<PerturbArgs>),
    /// Run a proxy that perturbs prompts on their way to an LLM service
    Serve(Box<ServeArgs>),
    /// Open a page on this machine that shows what would be sent, and why
    Playground(Box<PlaygroundArgs>),
    /// Say what the settings of a proxy mean, and whether it would start
    Check(Box<ServeArgs>),
    /// Choose ε₁ and k for prompts like yours, by how many words could be guessed
    #[cfg(feature = "eval")]
    Choose(ChooseArgs),
    /// Show the distribution that one word is drawn from
    Explain(Box<ExplainArgs>),
    /// Test the stated privacy guarantee
    Audit(AuditArgs),
    /// Measure privacy and usefulness of mechanisms: attacks, utility, and a report
    #[cfg(feature = "eval")]
    Eval(Box<EvalArgs>),
    /// Show or export the budget that was spent, forget what words became, or settle jobs
    Ledger(LedgerArgs),
    /// List device models, fetch one from the Hugging Face hub, or store one compactly
    Models(ModelsArgs),
    /// Find the range of a model's logits on public text, and store it beside the model
    Calibrate(CalibrateArgs),
    /// Measure how fast prompts are perturbed on this machine, and where the time goes
    Bench(BenchArgs),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}
