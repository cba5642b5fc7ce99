//! The flags of `cape ledger`.

use clap::{Args, Subcommand, ValueEnum};

use crate::settings::{LedgerPlace, LimitSettings};

#[derive(Args)]
pub(crate) struct LedgerArgs {
    #[command(subcommand)]
    pub(crate) command: LedgerCommand,
}

#[derive(Subcommand)]
pub(crate) enum LedgerCommand {
    /// Show how much ε each key has spent, by day and in total, and how much is left
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
    /// Write out every account: key, day, releases, draws and ε
    Export {
        #[command(flatten)]
        place: LedgerPlace,

        /// The format
        #[arg(long, value_enum, default_value = "jsonl")]
        format: ExportFormat,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A JSON object a line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
}
