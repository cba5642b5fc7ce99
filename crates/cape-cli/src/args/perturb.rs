//! The flags of `cape perturb` and `cape explain`.

use std::path::PathBuf;

use clap::Args;

use crate::settings::{PAPER, Settings};

const IO: &str = "Input and output";

#[derive(Args)]
#[command(
    after_help = "Settings may also be variables (CAPE_EPSILON=6) or lines of cape.toml (epsilon = 6)."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct PerturbArgs {
    /// The prompt; without it, stdin is read, which keeps it out of the shell's history
    pub(crate) text: Option<String>,

    /// Treat every line as a prompt; a word becomes the same in all of them
    #[arg(long, help_heading = IO)]
    pub(crate) lines: bool,

    /// With --lines, draw anew for each line
    #[arg(long, help_heading = IO, requires = "lines", conflicts_with = "memory", hide_short_help = true)]
    pub(crate) separate: bool,

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
    #[arg(long, help_heading = IO, conflicts_with = "lines")]
    pub(crate) diff: bool,

    /// Make draws reproducible, for experiments: such a release carries no guarantee
    #[arg(long, help_heading = IO, value_name = "SEED", allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) settings: Settings,
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
