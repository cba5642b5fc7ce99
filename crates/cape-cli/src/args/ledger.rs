//! The command line of `cape ledger`.

use cape_ledger::{Limits, Micros};
use clap::{Args, Subcommand, ValueEnum};

#[derive(Args)]
pub(crate) struct LedgerArgs {
    #[command(subcommand)]
    pub(crate) command: LedgerCommand,
}

#[derive(Subcommand)]
pub(crate) enum LedgerCommand {
    /// Show who spent how much ε, by day and in all, and what is left
    Show {
        #[command(flatten)]
        at: LedgerAt,

        /// The last so many days only
        #[arg(long, value_name = "N")]
        days: Option<u32>,

        /// Print JSON
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        limits: LimitArgs,
    },
    /// Write every account out: who, which day, releases, tokens, ε
    Export {
        #[command(flatten)]
        at: LedgerAt,

        /// The form
        #[arg(long, value_enum, default_value = "jsonl")]
        format: ExportFormat,
    },
}

/// Where the ledger is.
#[derive(Args)]
pub(crate) struct LedgerAt {
    /// The ledger: a SQLite file, or postgres://USER:PASSWORD@HOST/DATABASE (better as CAPE_LEDGER,
    /// which the list of processes does not show)
    #[arg(
        long,
        env = "CAPE_LEDGER",
        hide_env = true,
        value_name = "FILE|URL",
        default_value = "cape-ledger.db"
    )]
    pub(crate) ledger: String,
}

/// How much may be spent: without a limit, anything.
#[derive(Args)]
#[command(next_help_heading = "Limits (also as CAPE_LIMIT_KEY_DAY and so on)")]
pub(crate) struct LimitArgs {
    /// ε that a key may spend in a day (UTC)
    #[arg(
        long = "limit-key-day",
        env = "CAPE_LIMIT_KEY_DAY",
        hide_env = true,
        value_name = "EPSILON",
        allow_negative_numbers = true
    )]
    key_day: Option<Micros>,

    /// ε that a key may spend in total
    #[arg(
        long = "limit-key",
        env = "CAPE_LIMIT_KEY",
        hide_env = true,
        value_name = "EPSILON",
        allow_negative_numbers = true
    )]
    key: Option<Micros>,

    /// ε that all keys together may spend in a day (UTC)
    #[arg(
        long = "limit-day",
        env = "CAPE_LIMIT_DAY",
        hide_env = true,
        value_name = "EPSILON",
        allow_negative_numbers = true
    )]
    day: Option<Micros>,

    /// ε that all keys together may spend in total
    #[arg(
        long = "limit-total",
        env = "CAPE_LIMIT_TOTAL",
        hide_env = true,
        value_name = "EPSILON",
        allow_negative_numbers = true
    )]
    total: Option<Micros>,
}

impl LimitArgs {
    pub(crate) fn limits(&self) -> Limits {
        Limits { key_day: self.key_day, key: self.key, day: self.day, total: self.total }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A JSON object a line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
}
