//! Errors at the start of the proxy.

use std::path::PathBuf;

/// Why the proxy cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address cannot be used.
    #[error("{0} must be an http or https address without a query")]
    Address(&'static str),
    /// The extractor is on another machine.
    #[error("the extractor, which sees the true prompts, is not on this machine")]
    ExtractorElsewhere,
    /// Answers with private words would be sent unchanged.
    #[error(
        "earlier answers hold private words where names are put back or an extractor rewrites: \
         `assistant` can be \"pass\" only with `restore = []` and without an extractor"
    )]
    RewrittenPass,
    /// The mechanism promises nothing that a proxy could rely on, or does not draw word by word.
    #[error(
        "the proxy needs Cape's own mechanism: it has a proven privacy loss for any two words, and \
         draws for a word once"
    )]
    Unproven,
    /// Other machines could use the playground.
    #[error("a playground that other machines can reach needs a token")]
    PlaygroundToken,
    /// The list of lines of system prompts cannot be read or written.
    #[error("cannot use {}, the list of lines of system prompts", path.display())]
    SystemFile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A line of that list is no sum.
    #[error("{}, line {line}: no SHA-256 sum in 64 hexadecimal digits", path.display())]
    SystemSum {
        /// The file.
        path: PathBuf,
        /// The number of the line.
        line: usize,
    },
    /// Nothing can be learned where system prompts are refused.
    #[error("to learn lines of system prompts, `system` must be \"pass\" or \"perturb\"")]
    LearnBlocked,
    /// A list of lines decides nothing where all lines pass.
    #[error(
        "the list of --allow-system decides nothing where `system` is \"pass\": set it to \
         \"perturb\" or \"block\""
    )]
    AllowPassed,
    /// The HTTP client cannot be made.
    #[error("the client for upstream cannot be made")]
    Client(#[source] reqwest::Error),
    /// The system refused something.
    #[error("{what}")]
    Io {
        /// The attempt that failed.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The certificate or its key is missing or unreadable.
    #[error("TLS needs a certificate and its key, each in a PEM file that can be read")]
    Pem,
    /// The certificate and its key cannot be used together.
    #[error("the certificate or its key cannot be used")]
    Tls(#[source] rustls::Error),
}
