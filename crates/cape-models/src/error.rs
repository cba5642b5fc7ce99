use std::path::PathBuf;

/// What can go wrong with a model's files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such model.
    #[error("there is no model named `{0}`, nor a folder of that name")]
    Unknown(String),
    /// There is no such model here, but its name could be one of the hub's.
    #[error("there is no model named `{0}`, nor a folder of that name, and it has not been pulled")]
    NotPulled(String),
    /// A GGUF file is broken, or of a kind that is not supported.
    #[error("the GGUF file cannot be used: {0}")]
    Gguf(String),
    /// A model could not be fetched.
    #[error(transparent)]
    Hub(#[from] crate::hub::HubError),
    /// A file cannot be read or written.
    #[error("cannot access {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A JSON file does not say what it should.
    #[error("{file} is not valid")]
    Json {
        /// The file's name.
        file: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// A value in `config.json` is not supported.
    #[error("config.json: {0}")]
    Config(String),
    /// The weights file as a whole is broken.
    #[error("model.safetensors is broken or truncated")]
    Weights(#[source] safetensors::SafeTensorError),
    /// `model.safetensors.index.json` and the shards do not fit together.
    #[error("model.safetensors.index.json: {0}")]
    Index(String),
    /// One of several weights files is broken.
    #[error("{file} is broken or truncated")]
    Shard {
        /// The file's name.
        file: String,
        /// Why.
        source: safetensors::SafeTensorError,
    },
    /// A file is larger than any model's.
    #[error("{path} is larger than {most} bytes, which is more than any model's")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most it may be.
        most: u64,
    },
    /// A tensor is missing.
    #[error("model.safetensors has no tensor `{0}`")]
    Missing(String),
    /// A tensor has the wrong shape.
    #[error("tensor `{name}` has shape {found:?}, but config.json asks for {wanted:?}")]
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
    #[error("tokenizer.json has {tokenizer} entries, but the model's vocabulary has {model}")]
    Vocabulary {
        /// Entries of the tokenizer.
        tokenizer: usize,
        /// Rows of the embedding.
        model: usize,
    },
    /// The tokenizer lacks a token that the model needs.
    #[error("tokenizer.json has no token `{0}`")]
    SpecialToken(&'static str),
    /// The calibration is not two finite numbers in order.
    #[error("cape.json: `lo` must be below `hi`, both finite")]
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
        /// What is wrong, and in which line or at which word.
        why: String,
    },
    /// A sentence encoder is of a kind that is not supported, or its files do not fit together.
    #[error("the sentence encoder cannot be used: {0}")]
    Sentence(String),
    /// The mathematics refused.
    #[error(transparent)]
    Cape(#[from] cape::Error),
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
