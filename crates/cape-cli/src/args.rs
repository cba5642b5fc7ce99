//! The command line.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use serde::Deserialize;

use crate::failure::{Done, Failure};

mod audit;
mod choose;
mod eval;
mod ledger;
mod serve;

pub(crate) use audit::{AuditArgs, AuditCommand, ContextAuditArgs, ExactAuditArgs, SampleArgs};
pub(crate) use choose::ChooseArgs;
pub(crate) use eval::{ChatArgs, EvalArgs, EvalCommand, EvalMechanismArg, PaperArgs};
pub(crate) use ledger::{
    ExportFormat, LedgerArgs, LedgerAt, LedgerCommand, LimitArgs, data, make_data_folder,
};
pub(crate) use serve::ServeArgs;

pub(crate) use crate::settings::{BaselineArgs, UnknownArg, WordsArg};

/// Perturbs prompts under local differential privacy before they leave this machine.
#[derive(Parser)]
#[command(name = "cape", version, max_term_width = 100)]
#[command(after_help = "Example: cape perturb \"My daughter Alice has asthma\"\n\n\
    Settings come from flags, then CAPE_* variables, then cape.toml in this folder, then defaults.\n\
    Exit codes: 0 done, 1 refused or found wanting, 2 wrong usage.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The command line of this process. Asked for help or the version, it prints them and exits.
pub(crate) fn parse() -> Done<Command> {
    known_variables()?;
    Cli::try_parse().map(|cli| cli.command).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => misused(&error),
    })
}

/// A mistyped variable must not leave a default in force unnoticed.
fn known_variables() -> Done {
    let command = Cli::command();
    let known = variables(&command);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CAPE_") && !known.contains(&name.as_os_str()) {
            return Err(Failure::usage(
                format!("the environment has {}, which is no setting", name.display()),
                "the variables are CAPE_ and the name of a setting: CAPE_EPSILON, CAPE_LAMBDA_L, …",
            ));
        }
    }
    Ok(())
}

/// The variables of a command and of those under it.
fn variables(command: &clap::Command) -> Vec<&OsStr> {
    let own = command.get_arguments().filter_map(clap::Arg::get_env);
    own.chain(command.get_subcommands().flat_map(variables)).collect()
}

/// What clap says, less every word the user typed: it may be the prompt in the wrong place.
fn misused(error: &clap::Error) -> Failure {
    let known = |kind| match error.get(kind) {
        Some(ContextValue::String(one)) => Some(one.clone()),
        Some(ContextValue::Strings(several)) => Some(several.join(", ")),
        _ => None,
    };
    let flag = known(ContextKind::InvalidArg).unwrap_or_default();
    let command = known(ContextKind::InvalidSubcommand);
    let help = "`cape help` lists the commands, and `cape perturb --help` every setting";
    match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let values = known(ContextKind::ValidValue).filter(|values| !values.is_empty());
            let names = ["FILE", "DIR", "WORD", "TEXT", "NAME", "URL", "COMMAND"];
            let kind = if flag.contains("<ADDRESS>") {
                "an address with a port, such as 127.0.0.1:8787"
            } else if names.iter().any(|name| flag.contains(name)) {
                "a value"
            } else {
                "a number"
            };
            let hint = values.map_or_else(
                || format!("it takes {kind}; look at the flag and at the CAPE_ variable"),
                |values| format!("it takes one of: {values}"),
            );
            Failure::usage(format!("the value of {flag} is missing or was not understood"), hint)
        }
        ErrorKind::InvalidUtf8 => {
            Failure::usage("an argument is not UTF-8", "pipe the text in and convert it with iconv")
        }
        ErrorKind::ArgumentConflict => {
            let other = known(ContextKind::PriorArg).unwrap_or_default();
            if let Some(command) = command {
                return Failure::usage(
                    format!("{command} and {other} do not go together"),
                    format!("its flags come after {command}; a file of that name is ./{command}"),
                );
            }
            Failure::usage(format!("{flag} and {other} do not go together"), help)
        }
        ErrorKind::MissingRequiredArgument => Failure::usage(format!("{flag} is missing"), help),
        ErrorKind::NoEquals | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            Failure::usage(format!("{flag} needs a value"), help)
        }
        ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand => Failure::usage(
            "there is no such command",
            "to perturb a prompt: cape perturb \"…\"; `cape help` lists the commands",
        ),
        _ => Failure::usage(
            "an argument was not understood",
            match known(ContextKind::SuggestedArg) {
                Some(suggested) => format!("did you mean {suggested}?"),
                None => "put the prompt in quotes: cape perturb \"…\"; and -- before one that \
                         begins with a dash"
                    .into(),
            },
        ),
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Perturb a prompt: the released text goes to stdout, the privacy statement to stderr
    Perturb(PerturbArgs),
    /// Show the distribution at one word before any draw
    Explain(ExplainArgs),
    /// Test the stated privacy guarantee
    Audit(AuditArgs),
    /// Find a model's logit range on public text and store it beside the model
    Calibrate(CalibrateArgs),
    /// Measure how fast prompts are perturbed on this machine, and where the time goes
    Bench(BenchArgs),
    /// Measure what a mechanism gives and what it costs: attacks, utility, and a report
    Eval(Box<EvalArgs>),
    /// Find the ε₁ and k for prompts like yours: how much may be guessed, and how near words stay
    Choose(ChooseArgs),
    /// Serve as a proxy that perturbs prompts on their way to an LLM service
    Serve(Box<ServeArgs>),
    /// List the models that are there, fetch one from the hub, or store one compactly
    Models(ModelsArgs),
    /// Show or export what was spent: the budget ledger of a proxy
    Ledger(LedgerArgs),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The settings of the mechanism, shared by the commands that run it.
#[derive(Args, Clone)]
#[command(next_help_heading = "Settings (also as CAPE_EPSILON and so on, or in cape.toml)")]
pub(crate) struct MechanismArgs {
    /// Privacy budget ε₁ between any two protected words [default: 8]
    ///
    /// Smaller is more private and less useful. For other mechanisms (--mechanism) it is their ε, which
    /// means something else [default: 6].
    #[arg(
        short,
        long,
        env = "CAPE_EPSILON",
        hide_env = true,
        value_name = "EPSILON",
        allow_negative_numbers = true
    )]
    pub(crate) epsilon: Option<f64>,

    /// Which words are protected [default: personal]
    #[arg(short, long, env = "CAPE_PROFILE", hide_env = true, value_enum)]
    pub(crate) profile: Option<ProfileArg>,

    /// A word to protect, in upper or lower case, or a file with one word a line; may be repeated
    #[arg(long, env = "CAPE_PROTECT", hide_env = true, value_name = "WORD|FILE")]
    pub(crate) protect: Vec<String>,

    /// A word to treat as ordinary, in upper or lower case, or a file of them; may be repeated
    #[arg(long, env = "CAPE_ORDINARY", hide_env = true, value_name = "WORD|FILE")]
    pub(crate) ordinary: Vec<String>,

    /// A word or phrase to send unchanged, or a file of them; no ε covers it; may be repeated
    #[arg(long, env = "CAPE_KEEP", hide_env = true, value_name = "PHRASE|FILE")]
    pub(crate) keep: Vec<String>,

    /// A protected word mostly becomes one of its K nearest words [default: 100]
    #[arg(short, long, env = "CAPE_K", hide_env = true, value_name = "K", hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) k: Option<usize>,

    /// How fast the probability falls after the K nearest words; without it, all others are alike
    ///
    /// The probability at rank r is that of the first times (r/K)^−ALPHA, or e^−ε where that is more.
    /// With --k 1 this is the power law.
    #[arg(
        long,
        env = "CAPE_ALPHA",
        hide_env = true,
        value_name = "ALPHA",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) alpha: Option<f64>,

    /// ε₂ of ordinary words [default: ln n + 13.8, so that one in a million is replaced]
    #[arg(
        long,
        env = "CAPE_EPSILON_ORDINARY",
        hide_env = true,
        value_name = "EPSILON",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) epsilon_ordinary: Option<f64>,

    /// How the text is cut into words [default: prose]
    #[arg(long, env = "CAPE_FORMAT", hide_env = true, value_enum, hide_short_help = true)]
    pub(crate) format: Option<FormatArg>,

    /// Perturb text in another script than Latin, too: all of it becomes English words
    #[arg(long, env = "CAPE_ANY_SCRIPT", hide_env = true, hide_short_help = true)]
    pub(crate) any_script: bool,

    /// Settings file [default: cape.toml, if it is there]
    #[arg(long, env = "CAPE_CONFIG", hide_env = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Cape, or one of the mechanisms that it is compared with [default: cape]
    #[arg(long, env = "CAPE_MECHANISM", hide_env = true, value_enum, hide_short_help = true)]
    pub(crate) mechanism: Option<MechanismArg>,

    #[command(flatten)]
    pub(crate) paper: CapePaperArgs,

    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
}

/// The settings of the paper's mechanism.
#[derive(Args, Clone)]
#[command(next_help_heading = "Settings of --mechanism cape-paper")]
pub(crate) struct CapePaperArgs {
    /// What the device model may see around a token [default: raw]
    #[arg(long, env = "CAPE_CONTEXT", hide_env = true, value_enum, hide_short_help = true)]
    pub(crate) context: Option<ContextArg>,

    /// Importance λ_L of the context in the utility [default: 0.5]
    #[arg(
        long,
        env = "CAPE_LAMBDA_L",
        hide_env = true,
        value_name = "LAMBDA",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) lambda_l: Option<f64>,

    /// Importance λ_D of similar meaning in the utility [default: 1]
    #[arg(
        long,
        env = "CAPE_LAMBDA_D",
        hide_env = true,
        value_name = "LAMBDA",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) lambda_d: Option<f64>,

    /// Number N_b of buckets [default: 50]
    #[arg(
        long,
        env = "CAPE_BUCKET_COUNT",
        hide_env = true,
        value_name = "N",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) bucket_count: Option<usize>,

    /// Device model: a name from `cape models`, a name on the Hugging Face hub that was pulled, or a
    /// folder [default: default]
    #[arg(
        short,
        long,
        env = "CAPE_MODEL",
        hide_env = true,
        value_name = "NAME|DIR",
        hide_short_help = true
    )]
    pub(crate) model: Option<String>,

    /// In which numbers the device model computes [default: auto]
    ///
    /// It changes which words come out, a little, and never the guarantee.
    #[arg(long, env = "CAPE_ARITHMETIC", hide_env = true, value_enum, hide_short_help = true)]
    pub(crate) arithmetic: Option<ArithmeticArg>,

    /// Which instructions compute the model's integers: amx, vnni, avx2 or portable [default: the
    /// fastest that this machine has]
    #[arg(long, env = "CAPE_KERNEL", hide_env = true, value_name = "NAME", hide_short_help = true)]
    pub(crate) kernel: Option<String>,
}

/// Which words are protected.
#[derive(Clone, Copy, PartialEq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProfileArg {
    /// Names, numbers, all that is no common word, and words of illness, religion, politics, sex,
    /// crime and money
    Personal,
    /// All words but stopwords: the paper's protocol
    Everything,
    /// Names, numbers, and all that is no common word
    Names,
}

impl From<ProfileArg> for cape::levels::Profile {
    fn from(arg: ProfileArg) -> Self {
        match arg {
            ProfileArg::Personal => Self::Personal,
            ProfileArg::Everything => Self::Everything,
            ProfileArg::Names => Self::Names,
        }
    }
}

/// What a text is.
#[derive(Clone, Copy, PartialEq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FormatArg {
    /// Text as people write it
    Prose,
    /// Source code
    Code,
    /// A JSON document
    Json,
}

#[derive(Clone, Copy, PartialEq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MechanismArg {
    /// Whole words by a law over ranks: ε is proven for every word
    Cape,
    /// The paper's: pieces of words by context and meaning; a bound larger than ε is proven
    CapePaper,
    /// Any word by how near it is: ε per unit of distance
    Santext,
    /// The same for rare words; frequent ones are mostly kept
    #[value(name = "santext+")]
    #[serde(rename = "santext+")]
    SantextPlus,
    /// A word of the same list of 20: which list it is can be seen
    Custext,
    /// The same, stopwords kept
    #[value(name = "custext+")]
    #[serde(rename = "custext+")]
    CustextPlus,
    /// A token within a random radius: nothing is proven
    Inferdpt,
}

#[derive(Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ContextArg {
    /// What was released so far and the kept words: one token costs the bound once
    Released,
    /// The true prompt, as in the paper: one token costs the bound at every position
    Raw,
}

#[derive(Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ArithmeticArg {
    /// int16 for a model stored as integers where that is fast, else f32
    Auto,
    /// Floats of 32 bits
    F32,
    /// Weights of 8 bits, activations of 16
    Int16,
    /// Weights and activations of 8 bits: the fastest, and the least exact
    Int8,
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct PerturbArgs {
    /// The prompt; without it, stdin is read (which keeps it out of the shell's history)
    pub(crate) text: Option<String>,

    /// Treat every line of the input as a prompt; a word becomes the same in all of them
    #[arg(long)]
    pub(crate) lines: bool,

    /// Repeat the draws of earlier releases with this file, so that a word always becomes the same
    ///
    /// The file is made if it does not exist. It holds a secret and none of your words. Keep it to
    /// yourself: with it, a release tells much more about your words.
    #[arg(long, value_name = "FILE", conflicts_with = "seed")]
    pub(crate) memory: Option<PathBuf>,

    /// With --lines: draw each line anew
    #[arg(long, requires = "lines", conflicts_with = "memory")]
    pub(crate) separate: bool,

    /// Text to send unchanged before the release; no ε covers it
    #[arg(short, long, value_name = "TEXT", conflicts_with = "json")]
    pub(crate) instruction: Option<String>,

    /// For experiments: reproducible draws, which carry no guarantee
    #[arg(long, value_name = "SEED", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// Print the release as JSON (for you alone: it holds the original words too)
    #[arg(long)]
    pub(crate) json: bool,

    /// Show what was replaced, on stderr (to draw again until you like it voids ε)
    #[arg(long, conflicts_with = "lines")]
    pub(crate) diff: bool,

    #[command(flatten)]
    pub(crate) mechanism: MechanismArgs,
}

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// The prompt; without it, stdin is read
    pub(crate) text: Option<String>,

    /// Which word, counted from 1; of mechanisms on tokens, which sensitive token
    #[arg(short, long, value_name = "NUMBER", alias = "token")]
    pub(crate) word: usize,

    /// How the prompt was released, for the released context; without it, the other sensitive
    /// tokens are masked
    #[arg(long, value_name = "TEXT")]
    pub(crate) released: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Every candidate instead of the best 20
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) mechanism: MechanismArgs,
}

#[derive(Args)]
pub(crate) struct CalibrateArgs {
    /// The model: a name that was pulled, or a folder
    #[arg(short, long, value_name = "NAME|DIR")]
    pub(crate) model: String,

    /// Public text, one passage a line
    pub(crate) file: PathBuf,
}

/// Everything comes from flags: the command line says what was measured.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// A device model to measure with the paper's mechanism, in place of Cape on words; may be given
    /// several times
    #[arg(short, long, value_name = "NAME|DIR")]
    pub(crate) model: Vec<String>,

    /// Lengths of the prompts, in words; of device models, in tokens
    #[arg(
        short, long, value_name = "N,…", value_delimiter = ',', default_value = "8,24,64",
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub(crate) lengths: Vec<u16>,

    /// What the device model may see around a token: both, without this
    #[arg(long, value_enum)]
    pub(crate) context: Option<ContextArg>,

    /// In which numbers the device model computes
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) arithmetic: ArithmeticArg,

    /// Which instructions compute the model's integers: amx, vnni, avx2 or portable [default: the
    /// fastest that this machine has]
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,

    /// How long to measure for each row of the table
    #[arg(long, value_name = "S", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) seconds: f64,

    /// English text to cut the prompts from, in place of the text that is built in
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
    /// Of its files only those are fetched that are needed: config.json, the tokenizer, and the
    /// weights as safetensors. What was cut off is continued, and what arrives is kept only if its
    /// checksum is right. HF_HOME, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE are heeded.
    Pull {
        /// NAME or ORG/NAME, with @REVISION if not main; ORG/NAME:FILE.gguf for that file alone
        name: String,
    },
    /// Store a model compactly in another folder
    Pack {
        /// A name from `cape models`, or a folder
        model: String,
        /// The folder to write
        to: PathBuf,
        /// How matrices are stored
        #[arg(long, value_enum, default_value = "int8")]
        precision: PrecisionArg,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum PrecisionArg {
    /// 32-bit floats
    F32,
    /// 16-bit brain floats
    Bf16,
    /// Bytes with one scale per row
    Int8,
}
