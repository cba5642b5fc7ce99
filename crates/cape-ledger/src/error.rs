use std::path::PathBuf;

use crate::limits::Refusal;

/// What can go wrong. After any of these nothing may be sent. No message carries a word of a prompt,
/// an API key or the password of a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The limits do not allow it.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The database did not answer, or not as it should. What was asked of it may have been done.
    #[error("the ledger's database failed")]
    Database(#[source] sqlx::Error),
    /// The database took too long. What was asked of it may have been done.
    #[error("the ledger's database did not answer in time")]
    TimedOut,
    /// The ledger is neither a file nor in PostgreSQL.
    #[error("a ledger is a file, or in a database postgres://…")]
    Scheme,
    /// There is no ledger at this place.
    #[error("there is no ledger in that database")]
    NoLedger,
    /// There is no such file.
    #[error("there is no ledger {0}")]
    NoFile(PathBuf),
    /// A file cannot be made or found.
    #[error("cannot open the ledger {path}")]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The ledger was written by a newer version of this program.
    #[error("the ledger is of version {0}, which this program is too old for")]
    Newer(i64),
    /// The ledger belongs to another key file.
    #[error("the ledger was made with another key file")]
    WrongKey,
    /// A row is not as it was written.
    #[error("the ledger is damaged or was tampered with: {0}")]
    Damaged(&'static str),
    /// The key file cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The operating system has no entropy.
    #[error("the operating system gives no random numbers")]
    Entropy,
}

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It cannot be read or made.
    #[error("cannot use the key file {path}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Others than its owner may read it.
    #[error("the key file {path} can be used by others than its owner (mode {mode:o})")]
    Open {
        /// Which file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It is no key.
    #[error("the key file {0} does not hold 32 bytes")]
    Length(PathBuf),
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolTimedOut => Self::TimedOut,
            other => Self::Database(other),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
