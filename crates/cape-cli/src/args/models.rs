//! The flags of the commands that work on device models.

use std::path::PathBuf;

use cape::tokens::Context;
use cape_models::{Arithmetic, Precision};
use clap::{Args, Subcommand};

use crate::settings::{arithmetics, contexts, one_of};

#[derive(Args)]
pub(crate) struct CalibrateArgs {
    /// The model: a name that was pulled, or a folder
    #[arg(short, long, value_name = "NAME|DIR")]
    pub(crate) model: String,

    /// Public text, one passage a line
    pub(crate) file: PathBuf,
}

/// Everything comes from flags, so that the command line says what was measured.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Measure the paper's mechanism on this device model instead of Cape; may be repeated
    #[arg(short, long, value_name = "NAME|DIR")]
    pub(crate) model: Vec<String>,

    /// Lengths of the prompts, in words; with --model, in tokens
    #[arg(
        short, long, value_name = "N,…", value_delimiter = ',', default_value = "8,24,64",
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub(crate) lengths: Vec<u16>,

    /// What the device model sees around a token [default: both in turn]
    #[arg(long, value_parser = contexts())]
    pub(crate) context: Option<Context>,

    /// Numbers that the device model computes in
    #[arg(long, value_parser = arithmetics(), default_value = "auto")]
    pub(crate) arithmetic: Arithmetic,

    /// Instructions for a model of integers: amx, vnni, avx2 or portable [default: the fastest that
    /// this machine has]
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,

    /// Seconds to measure for each row of the table
    #[arg(long, value_name = "S", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) seconds: f64,

    /// Show where a pass through the device model spends its time, stage by stage and layer by layer
    #[arg(long, requires = "model")]
    pub(crate) profile: bool,

    /// English text to cut the prompts from [default: a text that is built in]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ModelsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum ModelsCommand {
    /// Fetch a model from the Hugging Face hub
    ///
    /// It fetches only the files that it needs: config.json, the tokenizer, and the weights as
    /// safetensors. A download that was cut off is continued, and a file is kept only if its checksum
    /// is right. HF_HOME, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE are heeded.
    Pull {
        /// NAME or ORG/NAME, with @REVISION unless it is main; ORG/NAME:FILE.gguf for that file alone
        name: String,
    },
    /// Store a model compactly in another folder
    Pack {
        /// A name from `cape models`, or a folder
        model: String,
        /// The folder to write
        to: PathBuf,
        /// How matrices are stored
        #[arg(long, default_value = "int8", value_parser = one_of(
            Precision::ALL,
            Precision::name,
            ["32-bit floats", "16-bit brain floats", "Bytes with one scale per row"],
        ))]
        precision: Precision,
    },
}
