//! The command line of `cape audit`.

use clap::{Args, Subcommand};

use super::MechanismArgs;

#[derive(Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// The exact worst case of one draw: every pair of words that could stand there, every output
    ///
    /// The rows of the mechanism's own integers are streamed through: one for each listed word and for
    /// 2,000 others, and of mechanisms on tokens one for each token. The loss is the largest logarithm of the quotient of two probabilities of the same output. It is compared
    /// with the stated bound: exit code 1 where it is larger.
    Exact(ExactAuditArgs),
    /// The loss between two prompts that differ in one word
    ///
    /// Only the changed word's own draw may count; of cape-paper in the raw context the losses of all
    /// positions add up. Exit code 1 where a loss is larger than what is stated.
    Context(ContextAuditArgs),
    /// Draw many releases of two prompts and look for more than the stated ε
    ///
    /// It looks at released texts alone: whether any event is more probable for the one prompt than
    /// ε allows, whether releases depend on each other, and whether the first protected word follows
    /// its law. What it finds is a refutation, what it does not find no proof. The test of ε is sharp
    /// where ε is small; the code is the same for every ε.
    ///
    /// Exit code 1 if something was found.
    Sample(SampleArgs),
}

#[derive(Args)]
pub(crate) struct ExactAuditArgs {
    /// The prompt; without it, stdin is read
    pub(crate) text: Option<String>,

    /// Which word, counted from 1; of mechanisms on tokens, which sensitive token
    #[arg(short, long, value_name = "NUMBER", alias = "token")]
    pub(crate) word: usize,

    /// Of mechanisms on tokens: how the prompt was released, for the released context; without it, the
    /// other sensitive tokens are masked
    #[arg(long, value_name = "TEXT")]
    pub(crate) released: Option<String>,

    /// Try so many of the words only: a lower bound, quickly
    #[arg(long, value_name = "N")]
    pub(crate) sample: Option<usize>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) mechanism: MechanismArgs,
}

#[derive(Args)]
pub(crate) struct ContextAuditArgs {
    /// The prompt; without it, stdin is read
    pub(crate) text: Option<String>,

    /// Another prompt, which differs in one sensitive token
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["word", "replace"])]
    pub(crate) other: Option<String>,

    /// Which word, or sensitive token, is changed, counted from 1 [default: each of them in turn]
    #[arg(short, long, value_name = "NUMBER", alias = "token")]
    pub(crate) word: Option<usize>,

    /// What takes its place [default: the worst of --tries words of the vocabulary]
    #[arg(long, value_name = "WORD", requires = "word")]
    pub(crate) replace: Option<String>,

    /// How many words to try in the place of each token
    #[arg(long, value_name = "N", default_value_t = 8, conflicts_with_all = ["other", "replace"])]
    pub(crate) tries: usize,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) mechanism: MechanismArgs,
}

#[derive(Args)]
pub(crate) struct SampleArgs {
    /// The prompt; without it, stdin is read
    pub(crate) text: Option<String>,

    /// The other prompt, which differs from it in some words only
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["word", "replace"])]
    pub(crate) other: Option<String>,

    /// Without --other: the word, or sensitive token, in which the two prompts differ, counted from 1
    #[arg(short, long, value_name = "NUMBER", alias = "token", default_value_t = 1)]
    pub(crate) word: usize,

    /// Without --other: what stands in its place [default: the word that is least like it]
    #[arg(long, value_name = "WORD")]
    pub(crate) replace: Option<String>,

    /// How many releases of each prompt
    #[arg(
        short = 'n', long, value_name = "N", default_value_t = 20_000,
        value_parser = clap::value_parser!(u32).range(100..=10_000_000)
    )]
    pub(crate) draws: u32,

    /// A correct mechanism passes with this probability at least
    #[arg(long, value_name = "P", default_value_t = 0.999, allow_negative_numbers = true)]
    pub(crate) confidence: f64,

    /// A command that reads a prompt a line and writes a release a line, such as
    /// 'cape perturb --lines'; without it, this program draws
    ///
    /// It is run twice, without a shell (write sh -c '…' for one), and must release each line on its
    /// own. It is held against the settings below, which are those that it should have, or against
    /// --claimed. What it writes to stderr is not shown.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,

    /// The ε to test for these two prompts, whatever the mechanism states; its law is not tested then
    #[arg(long, value_name = "EPSILON", allow_negative_numbers = true)]
    pub(crate) claimed: Option<f64>,

    /// How long to wait for the next release of the command, in seconds
    #[arg(
        long, value_name = "S", default_value_t = 120,
        value_parser = clap::value_parser!(u64).range(1..), requires = "command"
    )]
    pub(crate) timeout: u64,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) mechanism: MechanismArgs,
}
