//! Why a request was refused: where, and never what stood there.

/// Why a request was refused. For the client alone: a path can hold a key that the client chose.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The body cannot be read.
    #[error("the body is not JSON: error at line {line}, column {column}")]
    Json {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// A field that no table has.
    #[error("{path} is no field that cape knows, and what it does not know it does not send")]
    Unknown {
        /// Where it is.
        path: String,
    },
    /// A value of the wrong kind or outside its range.
    #[error("{path} must be {expected}")]
    Value {
        /// Where it is.
        path: String,
        /// What it must be.
        expected: String,
    },
    /// The operator does not let it through.
    #[error(
        "{path} is blocked: {why}; `{key}` in [proxy.policy] of cape.toml can let it through (README, The proxy)"
    )]
    Blocked {
        /// Where it is.
        path: String,
        /// Why.
        why: &'static str,
        /// The policy's key.
        key: &'static str,
    },
}
