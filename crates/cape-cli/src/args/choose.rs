//! The command line of `cape choose`.

use std::path::PathBuf;

use clap::Args;

use super::ProfileArg;

#[derive(Args)]
pub(crate) struct ChooseArgs {
    /// A handful of prompts like yours: text with one a line, or .jsonl, .csv or .tsv
    pub(crate) file: PathBuf,

    /// Of a hundred protected words, so many may be guessed by whoever knows all but the draws
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, allow_negative_numbers = true)]
    pub(crate) at_most: f64,

    /// Which words are protected
    #[arg(short, long, value_enum, default_value_t = ProfileArg::Personal)]
    pub(crate) profile: ProfileArg,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
