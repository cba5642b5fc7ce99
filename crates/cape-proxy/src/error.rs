//! Errors at the start of the proxy.

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
    /// Rewritten answers would be sent unchanged.
    #[error(
        "with an extractor, earlier answers hold private words: `assistant` cannot be \"pass\""
    )]
    RewrittenPass,
    /// The mechanism promises nothing that a proxy could rely on.
    #[error("the proxy needs a mechanism with a proven privacy loss for any two words")]
    Unproven,
    /// Other machines could use the playground.
    #[error("a playground that other machines can reach needs a token")]
    PlaygroundToken,
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
