//! The flags of `cape eval`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Headings of help.
const COLUMNS: &str = "Columns of the file";
const MODELS: &str = "Models and vectors";
const CHAT: &str = "Chat models";

/// Everything comes from flags, so that the command line says what was measured.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    pub(crate) command: Option<EvalCommand>,

    /// Prompts: .tsv, .csv or .jsonl with named columns, or text with one a line [default: public
    /// sentences that are built in]
    pub(crate) file: Option<PathBuf>,

    /// Take a few prompts and values of ε: about two minutes
    #[arg(long)]
    pub(crate) quick: bool,

    /// Mechanisms, by name [default: all but cape-instructed, masked and none]
    #[arg(short, long, value_name = "NAME,…", value_delimiter = ',', value_enum)]
    pub(crate) mechanisms: Vec<EvalMechanismArg>,

    /// Values of ε [default: 1,2,3,6,10,14,20]
    #[arg(short, long, value_name = "ε,…", value_delimiter = ',', allow_negative_numbers = true)]
    pub(crate) epsilons: Vec<f64>,

    /// Values of k for cape and cape-everything, a curve for each
    #[arg(short, long, value_name = "K,…", value_delimiter = ',', default_value = "100")]
    pub(crate) k: Vec<usize>,

    /// Values of α for them: after the first k, the law falls by a power of the rank
    #[arg(long, value_name = "ALPHA,…", value_delimiter = ',')]
    pub(crate) alpha: Vec<f64>,

    /// Number of times that every prompt is released
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seeds: u64,

    /// Take the first N prompts only
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Try the Bayes attack, which is slow, on the first N prompts [default: 25]
    #[arg(long, value_name = "N")]
    pub(crate) bayes: Option<usize>,

    /// Try the attack by masks, which takes a pass of the device model, on the first N prompts
    /// [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) masks: Option<usize>,

    /// Also vary λ_L and N_b of the paper's mechanism, on the first 100 prompts
    #[arg(long)]
    pub(crate) ablations: bool,

    /// Folder for the records and the report; a run that was stopped continues from its records
    #[arg(short, long, value_name = "DIR", default_value = "cape-eval")]
    pub(crate) out: PathBuf,

    /// Column of the text [default: text, sentence, prompt, question or content]
    #[arg(long, value_name = "NAME", help_heading = COLUMNS)]
    pub(crate) text_column: Option<String>,

    /// Column of a second text that belongs to the first [default: sentence, after a question]
    #[arg(long, value_name = "NAME", help_heading = COLUMNS)]
    pub(crate) second_column: Option<String>,

    /// Column of the label [default: label]
    #[arg(long, value_name = "NAME", help_heading = COLUMNS)]
    pub(crate) label_column: Option<String>,

    /// Device model of cape-paper, and of the attacks on all mechanisms
    #[arg(long, value_name = "NAME|DIR", help_heading = MODELS, default_value = cape_models::DEFAULT)]
    pub(crate) model: String,

    /// Word vectors of santext, custext and inferdpt [default: the embeddings of the device model]
    #[arg(long, value_name = "FILE", help_heading = MODELS)]
    pub(crate) vectors: Option<PathBuf>,

    /// Public text that shows how frequent words are [default: the order of the vectors]
    #[arg(long, value_name = "FILE", help_heading = MODELS)]
    pub(crate) corpus: Option<PathBuf>,

    /// Sentence encoder that compares meanings, for example all-MiniLM-L6-v2 or SimCSE
    #[arg(long, value_name = "NAME|DIR", help_heading = MODELS)]
    pub(crate) encoder: Option<String>,

    #[command(flatten)]
    pub(crate) chat: ChatArgs,

    #[command(flatten)]
    pub(crate) originals: OriginalsArgs,
}

/// Flags under which a chat model sees the prompts themselves.
#[derive(Args)]
#[command(next_help_heading = CHAT)]
pub(crate) struct OriginalsArgs {
    /// Have the chat model continue the first so many words of each prompt, for coherence and alignment
    /// (50 in the paper); it then sees the prompts themselves, and must be on this machine
    #[arg(long, value_name = "WORDS", requires = "llm_model", requires = "encoder")]
    pub(crate) generation: Option<usize>,

    /// Have the chat model answer the prompts themselves as well, and say in both orders which answer is
    /// better, where the file has facts that an answer must hold; it must be on this machine
    #[arg(long, requires = "llm_model", conflicts_with = "generation")]
    pub(crate) compare: bool,

    /// The prompts are public: a chat model on another machine may see them
    #[arg(long, requires = "llm_model")]
    pub(crate) public: bool,
}

/// A chat model.
#[derive(Args)]
#[command(next_help_heading = CHAT)]
pub(crate) struct ChatArgs {
    /// Address, ending in /v1, of an OpenAI-compatible chat model that classifies and attacks. It gets
    /// the releases; a key is taken from OPENAI_API_KEY
    #[arg(long, value_name = "URL", requires = "llm_model")]
    pub(crate) llm_url: Option<String>,

    /// Name of that model; without an address, a GGUF file, and the model runs in this program
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) llm_model: Option<String>,

    /// Number of prompts that it attacks: from a release it guesses the whole prompt
    #[arg(long, value_name = "N", default_value_t = 25, requires = "llm_model")]
    pub(crate) llm_attack: usize,

    /// Number of questions that it is asked at a time; a server queues those beyond its slots
    #[arg(long, value_name = "N", default_value_t = 8, requires = "llm_model")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) llm_at_once: u16,

    /// Address of another chat model, which turns what the first one wrote after the release into a
    /// continuation of the prompt, and is also measured alone [default: the same one]
    #[arg(long, value_name = "URL", requires = "local_model")]
    pub(crate) local_url: Option<String>,

    /// Name of that model; without an address, a GGUF file
    #[arg(long, value_name = "NAME|FILE", requires = "llm_model")]
    pub(crate) local_model: Option<String>,
}

#[derive(Subcommand)]
pub(crate) enum EvalCommand {
    /// Run the paper's whole protocol: SST-2, QNLI and WikiText with Cape, the paper's mechanism on its
    /// three device models, and all baselines (for prompts in a file named paper: cape eval ./paper)
    ///
    /// It takes hours to days; a run that was stopped continues from its records. Without a chat model,
    /// accuracy and generation are left out.
    Paper(PaperArgs),
}

#[derive(Args)]
pub(crate) struct PaperArgs {
    /// Folder with SST-2/dev.tsv, QNLI/dev.tsv and wikitext-103-raw/wiki.test.raw as unpacked; the
    /// command says what is missing, and where to get it
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,

    /// Device models; the first one also attacks and is ablated
    #[arg(
        long,
        value_name = "NAME|DIR,…",
        value_delimiter = ',',
        default_value = "bert-base-uncased,gpt2,distilbert-base-uncased"
    )]
    pub(crate) models: Vec<String>,

    /// Sentence encoder for coherence, alignment and similarity
    #[arg(long, value_name = "NAME|DIR", default_value = "sentence-transformers/all-MiniLM-L6-v2")]
    pub(crate) encoder: String,

    /// Fetch the models that are not here from the Hugging Face hub
    #[arg(long)]
    pub(crate) pull: bool,

    /// Word vectors of the baselines, GloVe 840B in the paper [default: the embeddings of the first
    /// device model]
    #[arg(long, value_name = "FILE")]
    pub(crate) vectors: Option<PathBuf>,

    /// Values of ε [default: 1,2,3,6,10,14,20]
    #[arg(short, long, value_name = "ε,…", value_delimiter = ',', allow_negative_numbers = true)]
    pub(crate) epsilons: Vec<f64>,

    /// Number of times that every prompt is released
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seeds: u64,

    /// Take the first N prompts of each task only
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Try the Bayes attack, which is ours and slow, on the first N prompts of each task
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) bayes: usize,

    /// Folder for the records and the report
    #[arg(short, long, value_name = "DIR", default_value = "cape-paper")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) chat: ChatArgs,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum EvalMechanismArg {
    /// Whole words, profile personal: ε is ε₁
    Cape,
    /// The same, with the instruction of each prompt sent unchanged, where the file has one
    CapeInstructed,
    /// Whole words, profile everything
    CapeEverything,
    /// The paper's
    CapePaper,
    Santext,
    #[value(name = "santext+")]
    SantextPlus,
    Custext,
    #[value(name = "custext+")]
    CustextPlus,
    Inferdpt,
    /// A mask for each labelled span, where the file has such
    Masked,
    /// The prompts, unchanged
    None,
}
