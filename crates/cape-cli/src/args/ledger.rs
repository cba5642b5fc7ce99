//! The command line of `cape ledger`, and what `cape serve` has of it.

use std::path::PathBuf;

use cape_ledger::{Limits, Micros};
use clap::{Args, Subcommand, ValueEnum};

use crate::failure::{Done, Failure, io};

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
    /// which the list of processes does not show) [default: cape/ledger.db in the user's data folder]
    #[arg(long, env = "CAPE_LEDGER", hide_env = true, value_name = "FILE|URL")]
    pub(crate) ledger: Option<String>,
}

impl LedgerAt {
    /// The ledger's file or URL: the flag's, the settings file's, or the one in the data folder.
    pub(crate) fn url(&self, file: &cape_proxy::Settings) -> Done<String> {
        match self.ledger.clone().or_else(|| file.ledger.clone()) {
            Some(url) => Ok(url),
            None => Ok(data("ledger.db")?.to_string_lossy().into_owned()),
        }
    }
}

/// A file of this name in the user's data folder.
pub(crate) fn data(name: &str) -> Done<PathBuf> {
    let folder = dirs::data_dir().ok_or_else(|| {
        Failure::usage("there is no data folder", "give --ledger and --ledger-key, or set HOME")
    })?;
    Ok(folder.join("cape").join(name))
}

/// Makes that folder, for its owner alone, where there is none.
pub(crate) fn make_data_folder() -> Done {
    let folder = data("")?;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let failed = |error| io(format!("cannot make the folder {}", folder.display()), &error);
    builder.create(&folder).map_err(failed)
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
    /// The flags' limits, and the settings file's where there is no flag.
    pub(crate) fn limits(&self, file: &Limits) -> Limits {
        Limits {
            key_day: self.key_day.or(file.key_day),
            key: self.key.or(file.key),
            day: self.day.or(file.day),
            total: self.total.or(file.total),
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A JSON object a line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
}
