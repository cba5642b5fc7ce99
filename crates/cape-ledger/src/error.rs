use std::path::PathBuf;

use crate::limits::Refusal;

/// An error of the ledger: nothing may be sent after it. No message carries a word of a prompt, an API
/// key or the password of a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The limits do not allow it.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The database failed. It may have done what it was asked.
    #[error("the ledger's database failed")]
    Database(#[source] sqlx::Error),
    /// The database took too long. It may have done what it was asked.
    #[error("the ledger's database did not answer in time")]
    TimedOut,
    /// The address names neither a file nor a PostgreSQL database.
    #[error("a ledger is a file, or a database at postgres://…")]
    Scheme,
    /// The address names a PostgreSQL database, and the program was built without the feature `postgres`.
    #[error("this build of cape has no PostgreSQL")]
    NoPostgres,
    /// The database holds no ledger.
    #[error("there is no ledger in that database")]
    NoLedger,
    /// There is no such file.
    #[error("there is no ledger {0}")]
    NoFile(PathBuf),
    /// The file cannot be made or found.
    #[error("cannot open the ledger {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The ledger was written by a newer version of this program.
    #[error("the ledger has version {0}, for which this program is too old")]
    Newer(i64),
    /// The ledger was written by an older version of this program.
    #[error("the ledger has version {0}, which this program does not read any more")]
    Older(i64),
    /// The ledger belongs to another key file.
    #[error("the ledger was made with another key file")]
    WrongKey,
    /// The database does not hold what was written to it.
    #[error("the ledger is damaged or was tampered with: {0}")]
    Damaged(&'static str),
    /// Nothing has this name.
    #[error("the ledger has no {0} of that name")]
    NotFound(&'static str),
    /// Several have this name.
    #[error("several have names that begin like that")]
    Ambiguous,
    /// The job was settled: it may draw no more.
    #[error("the job was settled before")]
    Settled,
    /// Another job has this id.
    #[error("a job of this id was reserved by another account, or for other draws")]
    OtherJob,
    /// A job made, or would make, more draws than it reserved.
    #[error("a job has more draws than it reserved")]
    Overdrawn,
    /// It is not the beginning of a name.
    #[error("a name is 8 to 64 hexadecimal digits")]
    Name,
    /// The database itself says that its file or a table is corrupted.
    #[error(
        "the ledger's database is corrupted: stop cape, keep a copy, and restore a backup \
         (docs/ledger.md says how)"
    )]
    Corrupted(#[source] sqlx::Error),
    /// The key file cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The operating system has no entropy.
    #[error("the operating system provides no random numbers")]
    Entropy,
}

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It cannot be read or made.
    #[error("cannot use the key file {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Others than its owner may use it.
    #[error("the key file {path} can be used by others than its owner (mode {mode:o})")]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It has the wrong length.
    #[error("the key file {0} does not hold 32 bytes")]
    Length(PathBuf),
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolTimedOut => Self::TimedOut,
            other if is_corruption(&other) => Self::Corrupted(other),
            other => Self::Database(other),
        }
    }
}

/// SQLite's primary code CORRUPT, which is the low byte of an extended code, and PostgreSQL's class of
/// damaged data. (A file that is no database at all may be somebody else's.)
fn is_corruption(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| match code.parse::<u32>() {
        Ok(number) if code.len() < 5 => number & 0xff == 11,
        _ => matches!(&*code, "XX001" | "XX002"),
    })
}

impl From<Box<Refusal>> for Error {
    fn from(refusal: Box<Refusal>) -> Self {
        Self::Refused(refusal)
    }
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
