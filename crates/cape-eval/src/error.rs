use std::path::PathBuf;

/// An error. No message carries a word of a prompt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    #[error("cannot access {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of prompts is not what it should be.
    #[error("the prompts of {path} cannot be used: {why}")]
    Data {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file of records is not of this run.
    #[error("{path} holds records of another run: {why}")]
    Records {
        /// The file.
        path: PathBuf,
        /// The difference.
        why: String,
    },
    /// The system starts no more threads.
    #[error("threads cannot be started")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// A chat model did not answer.
    #[error("the chat model failed")]
    Chat(#[from] crate::chat::ChatError),
    /// The mathematics refused.
    #[error(transparent)]
    Cape(#[from] cape::Error),
    /// A model or vectors could not be used.
    #[error(transparent)]
    Models(#[from] cape_models::Error),
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
