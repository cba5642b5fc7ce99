//! The flags of `cape ledger`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::settings::{LedgerPlace, LimitSettings};

#[derive(Args)]
pub(crate) struct LedgerArgs {
    #[command(subcommand)]
    pub(crate) command: LedgerCommand,
}

#[derive(Subcommand)]
pub(crate) enum LedgerCommand {
    /// Show how much each key has spent, by day and in total, and how much is left: draws, maps and ε
    Show {
        #[command(flatten)]
        place: LedgerPlace,

        /// Show the last N days only
        #[arg(long, value_name = "N")]
        days: Option<u32>,

        /// Print JSON
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        limits: LimitSettings,
    },
    /// Write out what each key spent on each day: releases, draws, maps and ε
    Export {
        #[command(flatten)]
        place: LedgerPlace,

        /// The format
        #[arg(long, value_enum, default_value = "jsonl")]
        format: ExportFormat,
    },
    /// Have words drawn anew from their next use on
    ///
    /// The next use opens another map, which is counted, and its draws are paid for again. What was spent
    /// stays spent. Each map is another look at the same words: the service can compare what they became
    /// before and after. A forget that you choose because of what a word became is not covered by the promise.
    Forget(ForgetArgs),
    /// List the jobs that are not settled: all that they reserved counts as spent
    Jobs {
        #[command(flatten)]
        place: LedgerPlace,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Close a job that will never go on
    ///
    /// Its secret is deleted, and what it reserved stays spent. With --draws, only that many draws stay spent: say
    /// so only if you know that it made no more.
    Settle(SettleArgs),
}

#[derive(Args)]
pub(crate) struct SettleArgs {
    /// The job, as `cape ledger jobs` names it
    #[arg(value_name = "JOB")]
    pub(crate) name: String,

    /// The number of different draws that it made; the others are given back [default: all that it reserved]
    #[arg(long, value_name = "N")]
    pub(crate) draws: Option<u64>,

    #[command(flatten)]
    pub(crate) place: LedgerPlace,

    /// Key file of the ledger [default: cape/ledger.key in the user's data folder]
    #[arg(long, env = "CAPE_LEDGER_KEY", value_name = "FILE")]
    pub(crate) ledger_key: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ForgetArgs {
    /// The account, as the header X-Cape-Account names it; or a key, as `cape ledger show` names it, for all of
    /// its accounts
    #[arg(value_name = "ACCOUNT|KEY")]
    pub(crate) name: String,

    /// One conversation alone, as the header X-Cape-Conversation names it (with memory = "conversation")
    #[arg(long, value_name = "NAME")]
    pub(crate) conversation: Option<String>,

    /// One word alone, which is read from standard input; several words are each forgotten
    #[arg(long, conflicts_with = "conversation")]
    pub(crate) word: bool,

    #[command(flatten)]
    pub(crate) place: LedgerPlace,

    /// Key file of the ledger [default: cape/ledger.key in the user's data folder]
    #[arg(long, env = "CAPE_LEDGER_KEY", value_name = "FILE")]
    pub(crate) ledger_key: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A JSON object a line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
}
