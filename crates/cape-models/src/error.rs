use std::path::PathBuf;

/// What can go wrong with a model's files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such model.
    #[error("there is no model named `{0}`, nor a folder of that name")]
    Unknown(String),
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
    /// A GGUF file is broken, or not supported.
    #[error("the GGUF file cannot be used: {0}")]
    GgufFile(String),
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
    /// The mathematics refused.
    #[error(transparent)]
    Cape(#[from] cape::Error),
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
