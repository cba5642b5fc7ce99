//! The errors of this crate.

use std::path::{Path, PathBuf};

use crate::names::{CAPE_JSON, CONFIG, INDEX, TOKENIZER, WEIGHTS};

/// Why a model or its files cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such model.
    #[error("there is no model named `{0}`, nor a folder of that name")]
    Unknown(String),
    /// There is no such model here, but its name could be one of the hub's.
    #[error("there is no model named `{0}`, nor a folder of that name, and it has not been pulled")]
    NotPulled(String),
    /// The embedded model is not there.
    #[error("this program was built from a package without the embedded model")]
    NotEmbedded,
    /// A GGUF file is broken, or of a kind that is not supported.
    #[error("the GGUF file cannot be used: {0}")]
    Gguf(String),
    /// A model could not be fetched.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// A file cannot be read or written.
    #[error("cannot access {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A JSON file is not valid.
    #[error("{file} is not valid")]
    Json {
        /// The file's name.
        file: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// A value in `config.json` is not supported.
    #[error("{file}: {0}", file = CONFIG)]
    Config(String),
    /// The weights file as a whole is broken.
    #[error("{WEIGHTS} is broken or truncated")]
    Weights(#[source] safetensors::SafeTensorError),
    /// `model.safetensors.index.json` and the shards do not fit together.
    #[error("{file}: {0}", file = INDEX)]
    Index(String),
    /// One of several weights files is broken.
    #[error("{file} is broken or truncated")]
    Shard {
        /// The file's name.
        file: String,
        /// Why.
        source: safetensors::SafeTensorError,
    },
    /// A file is larger than such a file can be.
    #[error("{path} is larger than {most} bytes, the most for such a file")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most it may be.
        most: u64,
    },
    /// A tensor is missing.
    #[error("{file} has no tensor `{0}`", file = WEIGHTS)]
    Missing(String),
    /// A tensor has the wrong shape.
    #[error("tensor `{name}` has shape {found:?}, but {CONFIG} asks for {wanted:?}")]
    Shape {
        /// The tensor.
        name: String,
        /// Its shape.
        found: Vec<usize>,
        /// The shape it should have.
        wanted: Vec<usize>,
    },
    /// A tensor is stored in a way that is not supported.
    #[error("tensor `{name}` is stored as {dtype}, which is not supported")]
    Dtype {
        /// The tensor.
        name: String,
        /// Its type.
        dtype: String,
    },
    /// A tensor holds an infinity or something that is not a number.
    #[error("tensor `{0}` holds a value that is not finite")]
    NotFinite(String),
    /// The tokenizer does not fit the model.
    #[error("{TOKENIZER} has {tokenizer} entries, but the model's vocabulary has {model}")]
    Vocabulary {
        /// Entries of the tokenizer.
        tokenizer: usize,
        /// Rows of the embedding.
        model: usize,
    },
    /// The tokenizer lacks a token that the model needs.
    #[error("{file} has no token `{0}`", file = TOKENIZER)]
    SpecialToken(&'static str),
    /// The calibration is not two finite numbers in order.
    #[error("{CAPE_JSON}: `lo` must be below `hi`, both finite")]
    Calibration,
    /// There was nothing to calibrate on.
    #[error("the text has no position to calibrate on")]
    NothingToCalibrate,
    /// There is nothing to count in a corpus.
    #[error("{0} has no two words that have vectors")]
    Corpus(PathBuf),
    /// A file of word vectors is broken, or of a kind that is not supported.
    #[error("the word vectors of {path} cannot be used: {why}")]
    Vectors {
        /// The file.
        path: PathBuf,
        /// The reason, with the line or the word.
        why: String,
    },
    /// A sentence encoder is of a kind that is not supported, or its files do not fit together.
    #[error("the sentence encoder cannot be used: {0}")]
    Sentence(String),
    /// A chat model cannot be used.
    #[error("the chat model cannot be used: {0}")]
    Chat(String),
    /// A question is too long for a chat model.
    #[error("the question ({tokens} tokens) and its answer exceed the model's {most} tokens")]
    TooLong {
        /// Its tokens.
        tokens: usize,
        /// The tokens of a question and its answer.
        most: usize,
    },
    /// The mechanism refused.
    #[error(transparent)]
    Cape(#[from] cape::Error),
}

impl Error {
    /// Makes the error of a file that cannot be read or written.
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + Copy {
        move |source| Self::Io { path: path.into(), source }
    }

    /// Makes the error of a JSON file that is not valid.
    pub(crate) fn json(file: &'static str) -> impl Fn(serde_json::Error) -> Self {
        move |source| Self::Json { file, source }
    }
}

/// Why a model could not be fetched. No message holds the token or the address of the hub.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// The name cannot be one of the hub's.
    #[error("`{0}` cannot be the name of a model on the hub")]
    Name(String),
    /// There is no place to put it.
    #[error("there is no home folder to keep models in")]
    NoHome,
    /// `HF_HUB_OFFLINE` is set.
    #[error("`{0}` is not in the cache, and HF_HUB_OFFLINE forbids fetching it")]
    Offline(String),
    /// `HF_ENDPOINT` is not the address of a hub.
    #[error("HF_ENDPOINT is not the address of a hub")]
    Endpoint,
    /// There is no such model, or the hub does not show it to us.
    #[error("the hub has no model `{0}`, or shows it to its members only")]
    NoModel(String),
    /// The hub refuses.
    #[error("the hub refuses access to `{0}`")]
    Denied(String),
    /// The hub answered something else.
    #[error("the hub answered {status} when asked for {what}")]
    Status {
        /// The thing asked for.
        what: String,
        /// The HTTP status.
        status: u16,
    },
    /// The hub did not answer, or stopped in the middle.
    #[error("the connection failed while fetching {what}")]
    Connection {
        /// The thing asked for.
        what: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The answer lacks something or makes no sense.
    #[error("the hub's answer about {what} lacks {lacks}")]
    Answer {
        /// The thing asked for.
        what: String,
        /// The thing that is missing or makes no sense.
        lacks: &'static str,
    },
    /// A file is not the one that the hub announced.
    #[error("the checksum of {0} is wrong: what arrived is not what the hub announced")]
    Checksum(String),
    /// The model lacks a file.
    #[error("`{name}` has no {file}")]
    NoFile {
        /// The model.
        name: String,
        /// The missing file.
        file: String,
    },
    /// The model has its weights as a Python pickle only.
    #[error("`{0}` has its weights as a Python pickle only, which could run any code")]
    Pickle(String),
    /// Another process fetches the same file.
    #[error("another process is fetching {0}")]
    Busy(String),
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
