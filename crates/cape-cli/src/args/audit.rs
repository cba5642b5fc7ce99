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
    /// The exact worst case of one draw: every pair of tokens that could stand there, every output
    ///
    /// The rows of the mechanism's own integers are streamed through, one for each token. The loss is
    /// the largest logarithm of the quotient of two probabilities of the same output. It is compared
    /// with the stated bound: exit code 1 where it is larger.
    Exact(ExactAuditArgs),
    /// The loss between two prompts that differ in one token, in the raw and in the released context
    ///
    /// In the raw context the losses of all positions add up; in the released context only the changed
    /// token's own draw counts. Exit code 1 where a loss is larger than what is stated.
    Context(ContextAuditArgs),
}

#[derive(Args)]
pub(crate) struct ExactAuditArgs {
    /// The prompt; without it, stdin is read
    pub(crate) text: Option<String>,

    /// Which sensitive token, counted from 1
    #[arg(short, long, value_name = "K")]
    pub(crate) token: usize,

    /// How the prompt was released, for the released context; without it, the other sensitive
    /// tokens are masked
    #[arg(long, value_name = "TEXT")]
    pub(crate) released: Option<String>,

    /// Try so many of the tokens only: a lower bound, quickly
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
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["token", "replace"])]
    pub(crate) other: Option<String>,

    /// Which sensitive token is changed, counted from 1 [default: each of them in turn]
    #[arg(short, long, value_name = "K")]
    pub(crate) token: Option<usize>,

    /// What takes its place [default: the worst of --tries words of the vocabulary]
    #[arg(long, value_name = "WORD", requires = "token")]
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
