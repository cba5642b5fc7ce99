//! The settings of the mechanisms that Cape is compared with.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Deserialize;

/// The settings of the mechanisms that Cape is compared with.
#[derive(Args, Clone)]
#[command(next_help_heading = "Settings of santext, custext and inferdpt")]
pub(crate) struct BaselineArgs {
    /// Word vectors: GloVe, word2vec, fastText, or NumPy's .npy with the words in a .txt beside it
    /// [default: the embeddings of the device model]
    ///
    /// They are read once into a compact file beside it, FILE.cape.
    #[arg(long, env = "CAPE_VECTORS", hide_env = true, value_name = "FILE")]
    pub(crate) vectors: Option<PathBuf>,

    /// Public text, one passage a line, that says how frequent words are; for santext, which words
    /// there are [default: the order of the vectors]
    #[arg(long, env = "CAPE_CORPUS", hide_env = true, value_name = "FILE")]
    pub(crate) corpus: Option<PathBuf>,

    /// What becomes of words that have no vector [default: replace; custext: keep]
    #[arg(long, env = "CAPE_UNKNOWN", hide_env = true, value_enum)]
    pub(crate) unknown: Option<UnknownArg>,

    /// Where text is cut into words [default: punctuation]
    #[arg(long, env = "CAPE_WORDS", hide_env = true, value_enum)]
    pub(crate) words: Option<WordsArg>,

    /// Length K of custext's lists [default: 20]
    #[arg(
        long,
        env = "CAPE_LIST_SIZE",
        hide_env = true,
        value_name = "K",
        allow_negative_numbers = true
    )]
    pub(crate) list_size: Option<usize>,

    /// Share w of the words that are sensitive to santext+: the rarest [default: 0.5]
    #[arg(
        long,
        env = "CAPE_SENSITIVE_SHARE",
        hide_env = true,
        value_name = "W",
        allow_negative_numbers = true
    )]
    pub(crate) sensitive_share: Option<f64>,

    /// Probability p with which santext+ draws for a word that is not sensitive [default: 0.2]
    #[arg(
        long,
        env = "CAPE_FREQUENT_DRAWN",
        hide_env = true,
        value_name = "P",
        allow_negative_numbers = true
    )]
    pub(crate) frequent_drawn: Option<f64>,
}

#[derive(Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UnknownArg {
    /// Any word takes its place
    Replace,
    /// It is sent as it is
    Keep,
    /// It is left out, as in InferDPT's code
    Drop,
}

#[derive(Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WordsArg {
    /// At white space and punctuation
    Punctuation,
    /// At white space only, as in CUSTEXT's code
    Whitespace,
}
