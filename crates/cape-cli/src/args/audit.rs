//! The flags of `cape audit`.

use clap::{Args, Subcommand};

use crate::settings::{CapeSettings, OtherSettings, PAPER, PaperSettings, Settings, SettingsFile};

#[derive(Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// Find the exact worst case of one draw, over all pairs of words that could stand there
    ///
    /// It goes through the mechanism's own integers: a row for each listed word and for 2,000 others;
    /// with a mechanism on tokens, a row for each token. The loss is the largest logarithm of the
    /// quotient of two probabilities of the same output. Exit code 1 if it is larger than the stated
    /// bound.
    Exact(Box<ExactAuditArgs>),
    /// Find the loss between two prompts that differ in one word
    ///
    /// Only the draw of the changed word itself may count; with cape-paper in the raw context the losses
    /// of all positions add up. Exit code 1 if a loss is larger than stated.
    Context(Box<ContextAuditArgs>),
    /// Draw many releases of two prompts and look for more than the stated ε
    ///
    /// It looks at released texts alone: whether any event is more probable for one prompt than ε
    /// allows, whether releases depend on each other, and whether the first protected word follows its
    /// law. A finding refutes the statement; no finding proves nothing. The test of ε is sharp where ε
    /// is small, and the code is the same for every ε.
    ///
    /// Exit code 1 if something was found.
    Sample(Box<SampleArgs>),
}

#[derive(Args)]
pub(crate) struct ExactAuditArgs {
    /// The prompt; without it, stdin is read
    pub(crate) text: Option<String>,

    /// Number of the word, from 1 (on tokens: of the sensitive token)
    #[arg(short, long, value_name = "NUMBER", alias = "token")]
    pub(crate) word: usize,

    /// Try only so many words: a lower bound, quickly
    #[arg(long, value_name = "N")]
    pub(crate) sample: Option<usize>,

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

/// The other mechanisms have no context.
#[derive(Args)]
pub(crate) struct ContextAuditArgs {
    /// The prompt; without it, stdin is read
    pub(crate) text: Option<String>,

    /// Another prompt, which differs in one word
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["word", "replace"])]
    pub(crate) other: Option<String>,

    /// Number of the word or token that is changed, from 1 [default: each in turn]
    #[arg(short, long, value_name = "NUMBER", alias = "token")]
    pub(crate) word: Option<usize>,

    /// The word that takes its place [default: the worst of --tries words of the vocabulary]
    #[arg(long, value_name = "WORD", requires = "word")]
    pub(crate) replace: Option<String>,

    /// Number of words to try in the place of each word
    #[arg(long, value_name = "N", default_value_t = 8, conflicts_with_all = ["other", "replace"])]
    pub(crate) tries: usize,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    cape: CapeSettings,

    #[command(flatten)]
    file: SettingsFile,

    #[command(flatten)]
    mechanism: OtherSettings,

    #[command(flatten)]
    paper: PaperSettings,
}

impl ContextAuditArgs {
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            cape: self.cape.clone(),
            file: self.file.clone(),
            other: self.mechanism.clone(),
            paper: self.paper.clone(),
            ..Settings::default()
        }
    }
}

#[derive(Args)]
pub(crate) struct SampleArgs {
    /// The prompt; without it, stdin is read
    pub(crate) text: Option<String>,

    /// The other prompt, which differs in some words only
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["word", "replace"])]
    pub(crate) other: Option<String>,

    /// Without --other: number of the word or token in which the prompts differ, from 1
    #[arg(short, long, value_name = "NUMBER", alias = "token", default_value_t = 1)]
    pub(crate) word: usize,

    /// Without --other: the word in its place [default: the word that is least like it]
    #[arg(long, value_name = "WORD")]
    pub(crate) replace: Option<String>,

    /// Number of releases of each prompt
    #[arg(
        short = 'n', long, value_name = "N", default_value_t = 20_000,
        value_parser = clap::value_parser!(u32).range(100..=10_000_000)
    )]
    pub(crate) draws: u32,

    /// Least probability with which a correct mechanism passes
    #[arg(long, value_name = "P", default_value_t = 0.999, allow_negative_numbers = true)]
    pub(crate) confidence: f64,

    /// A command to test, which reads a prompt a line and writes a release a line, such as
    /// 'cape perturb --input - --file-format txt --separate'; without it, this program draws
    ///
    /// It is run twice, without a shell (write sh -c '…' for one), and must release each line on its
    /// own. It is held to the settings below, which should be its own, or to --claimed. Its stderr is
    /// not shown.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,

    /// The ε to test for these two prompts, whatever the mechanism states; its law is not tested then
    #[arg(long, value_name = "EPSILON", allow_negative_numbers = true)]
    pub(crate) claimed: Option<f64>,

    /// Seconds to wait for the next release of the command
    #[arg(
        long, value_name = "S", default_value_t = 120,
        value_parser = clap::value_parser!(u64).range(1..), requires = "command"
    )]
    pub(crate) timeout: u64,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) settings: Settings,
}
