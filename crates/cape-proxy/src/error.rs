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
    /// Prompts would go to another machine in the clear.
    #[error(
        "the upstream or the extractor is on another machine and is asked over plain http: the network \
         can read prompts, answers and API keys"
    )]
    PlainHttp,
    /// Clients on other machines would send their prompts in the clear.
    #[error(
        "the address to listen on is open to other machines, and there is no TLS: the network can read \
         the true prompts and the API keys"
    )]
    ListenPlain,
    /// Clients on other machines would need no token.
    #[error(
        "the address to listen on is open to other machines, and there is no token: whoever reaches it \
         can spend the budget"
    )]
    ListenAnyone,
    /// The token is too short, or holds what no header can.
    #[error("a token is one line of at least 16 letters, digits and signs")]
    Token,
    /// The operating system has no entropy.
    #[error("the operating system provides no random numbers")]
    Entropy,
    /// The proxy was told twice to end.
    #[error("ended at once: requests that were under way are broken off")]
    BrokenOff,
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
