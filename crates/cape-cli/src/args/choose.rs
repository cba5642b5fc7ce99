//! The flags of `cape choose`.

use std::path::PathBuf;

use cape::Profile;
use clap::Args;

use crate::settings::profiles;

#[derive(Args)]
pub(crate) struct ChooseArgs {
    /// A handful of prompts like yours: text with one a line, or .jsonl, .csv or .tsv
    pub(crate) file: PathBuf,

    /// Percentage of protected words that may be guessed by an attacker who knows all but the draws
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, allow_negative_numbers = true)]
    pub(crate) at_most: f64,

    /// Which words are protected
    #[arg(short, long, value_parser = profiles(), default_value = "personal")]
    pub(crate) profile: Profile,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
