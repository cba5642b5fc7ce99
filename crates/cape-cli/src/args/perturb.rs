//! The flags of `cape perturb` and `cape explain`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::settings::{LEDGER, LedgerPlace, LimitSettings, PAPER, Settings};

const IO: &str = "Input and output";
const FILES: &str = "Files of prompts";

#[derive(Args)]
#[command(
    after_help = "Settings may also be variables (CAPE_EPSILON=6) or lines of cape.toml (epsilon = 6)."
)]
pub(crate) struct PerturbArgs {
    /// The prompt; without it, stdin is read, which keeps it out of the shell's history
    pub(crate) text: Option<String>,

    /// Text to send unchanged before the release; no ε covers it
    #[arg(short, long, help_heading = IO, value_name = "TEXT", conflicts_with = "json")]
    pub(crate) instruction: Option<String>,

    /// Repeat earlier draws with this file: a word always becomes the same
    ///
    /// The file is made if it does not exist. It holds a secret and none of your words. Keep it to
    /// yourself: with it, a release tells much more about your words.
    #[arg(long, help_heading = IO, value_name = "FILE", conflicts_with = "seed")]
    pub(crate) memory: Option<PathBuf>,

    /// Print the release as JSON, with the original words: for you alone
    #[arg(long, help_heading = IO)]
    pub(crate) json: bool,

    /// Show on stderr what was replaced; drawing until you like it voids ε
    #[arg(long, help_heading = IO)]
    pub(crate) diff: bool,

    /// Make draws reproducible, for experiments: such a release carries no guarantee
    #[arg(long, help_heading = IO, value_name = "SEED", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) files: FileArgs,

    #[command(flatten)]
    pub(crate) settings: Settings,

    #[command(flatten, next_help_heading = LEDGER)]
    pub(crate) ledger: JobLedger,
}

/// A file of prompts.
#[derive(Args)]
pub(crate) struct FileArgs {
    /// Perturb every row of a file, or of stdin (-); a word becomes the same in all of them
    ///
    /// A run that was killed goes on where it was when it is started again, if input and output are files.
    #[arg(long, help_heading = FILES, value_name = "FILE", conflicts_with_all = ["text", "diff"])]
    pub(crate) input: Option<PathBuf>,

    /// File for the released rows, which appears when all are done [default: stdout]
    ///
    /// Row n of it is row n of the input. Rows that cannot be perturbed are empty there, and are listed in
    /// FILE.rejected.jsonl with the reasons.
    #[arg(long, help_heading = FILES, value_name = "FILE", requires = "input")]
    pub(crate) output: Option<PathBuf>,

    /// Name of the field or column that holds the prompt; all others are left out
    #[arg(long, help_heading = FILES, value_name = "NAME", requires = "input")]
    pub(crate) field: Option<String>,

    /// Fields to copy unchanged, with commas between them: no ε covers them
    #[arg(long, help_heading = FILES, value_name = "NAMES", requires = "field", value_delimiter = ',')]
    pub(crate) pass: Vec<String>,

    /// Format of the files [default: by the end of their names]
    #[arg(long, help_heading = FILES, value_name = "FORMAT", requires = "input")]
    pub(crate) file_format: Option<FileFormat>,

    /// Draw anew for each row, which adds up
    #[arg(long, help_heading = FILES, requires = "input", conflicts_with = "memory", hide_short_help = true)]
    pub(crate) separate: bool,
}

/// The formats of files of prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    /// One prompt a line
    Txt,
    /// One JSON object a line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
    /// Columns of Apache Parquet
    Parquet,
}

/// What pays for a file of prompts. Settings of the ledger are those of `cape serve`.
#[derive(Args)]
pub(crate) struct JobLedger {
    /// Reserve the budget of the whole file in the ledger before anything is drawn, as this account
    ///
    /// The ledger, its key and its limits are those of `cape serve`. What was reserved and not drawn is given back at the
    /// end. Do not give an API key here: the list of processes shows it.
    #[arg(long, value_name = "NAME", requires = "input", conflicts_with_all = ["memory", "seed", "separate"],
        hide_short_help = true)]
    pub(crate) account: Option<String>,

    /// Most different words to reserve for, where the input is stdin; a file is read twice to count them
    #[arg(long, value_name = "N", requires = "account", hide_short_help = true)]
    pub(crate) draws: Option<u64>,

    #[command(flatten)]
    pub(crate) place: LedgerPlace,

    /// Key file of the ledger, made if there is none [default: cape/ledger.key in the user's data folder]
    #[arg(long, env = "CAPE_LEDGER_KEY", value_name = "FILE")]
    pub(crate) ledger_key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) limits: LimitSettings,
}

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// The prompt; without it, stdin is read
    pub(crate) text: Option<String>,

    /// Number of the word, from 1 (on tokens: of the sensitive token)
    #[arg(short, long, value_name = "NUMBER", alias = "token")]
    pub(crate) word: usize,

    /// Show every candidate instead of the best 20
    #[arg(long)]
    pub(crate) all: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// The release of the prompt, for the released context; without it, the other sensitive tokens are
    /// masked
    #[arg(long, value_name = "TEXT", help_heading = PAPER, hide_short_help = true)]
    pub(crate) released: Option<String>,
}
