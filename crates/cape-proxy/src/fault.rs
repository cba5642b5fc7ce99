//! What can go wrong with a request, and how its client is told.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use cape_ledger::Error as LedgerError;

use crate::request::body::Refusal;
use crate::request::headers;

/// Why the proxy cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address is not one.
    #[error("{0} must be an http or https address without a query")]
    Address(&'static str),
    /// The extractor is elsewhere.
    #[error("the extractor sees the true prompts, and is not on this machine")]
    ExtractorElsewhere,
    /// Rewritten answers would be sent as they are.
    #[error("with an extractor earlier answers hold private words: `assistant` cannot be \"pass\"")]
    RewrittenPass,
    /// The mechanism promises nothing that a proxy could rely on.
    #[error("the proxy needs a mechanism with a proven privacy loss for any two words")]
    Unproven,
    /// The client for upstream.
    #[error("the client for upstream cannot be made")]
    Client(#[source] reqwest::Error),
    /// The system refused something.
    #[error("{what}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// No certificate or no key.
    #[error("TLS takes a certificate and its key, each a file of PEM that can be read")]
    Pem,
    /// Certificate or key are not usable.
    #[error("the certificate or its key cannot be used")]
    Tls(#[source] rustls::Error),
}

/// In which words a client expects to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    OpenAi,
    Anthropic,
}

/// Why a request was not served. Nothing of it was sent, except where upstream failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("the header {0} has a value that cape does not send")]
    Header(&'static str),
    #[error(
        "authorization and x-api-key come together, and cape cannot tell whose budget to charge"
    )]
    TwoKeys,
    #[error("cape takes no requests of web pages (they have the header origin)")]
    Page,
    #[error("the body must be of the type application/json")]
    Kind,
    #[error("a text cannot be perturbed: {0}")]
    Text(#[source] cape::Error),
    #[error("{0}; nothing was sent")]
    Ledger(#[source] LedgerError),
    #[error("cape does not serve this path, and sends nothing that it does not know")]
    NotFound,
    #[error("this path takes another method")]
    Method,
    #[error("the body has more than {0} bytes")]
    TooLarge(usize),
    #[error("the body did not arrive in time, or not whole")]
    Incomplete,
    #[error("cape is serving as many requests as it may: try again")]
    Busy,
    #[error("cape cannot perturb at the moment; nothing was sent")]
    Perturber,
    #[error("upstream cannot be reached")]
    Unreachable,
    #[error("upstream did not answer in time")]
    Timeout,
    #[error("upstream broke off its answer")]
    Broken,
    #[error("upstream's answer is not one that cape can read")]
    Malformed,
    #[error("the extractor failed, and a noisy answer is not passed on in its place")]
    Extractor,
}

impl From<LedgerError> for Fault {
    /// What ails the ledger is for the operator: no word of a request is in it.
    fn from(error: LedgerError) -> Self {
        if !matches!(error, LedgerError::Refused(_)) {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(%error, why = why.unwrap_or_default(), "the ledger failed");
        }
        Self::Ledger(error)
    }
}

impl Fault {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Refused(_)
            | Self::Header(_)
            | Self::TwoKeys
            | Self::Text(cape::Error::ControlCharacter { .. }) => StatusCode::BAD_REQUEST,
            Self::Page => StatusCode::FORBIDDEN,
            Self::Kind => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Text(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Ledger(LedgerError::Refused(_)) => StatusCode::TOO_MANY_REQUESTS,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Incomplete => StatusCode::REQUEST_TIMEOUT,
            Self::Busy | Self::Perturber | Self::Ledger(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreachable | Self::Broken | Self::Malformed | Self::Extractor => {
                StatusCode::BAD_GATEWAY
            }
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// For machines, logs and metrics: no word of the request.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Refused(Refusal::Blocked { .. }) => "cape_blocked",
            Self::Refused(_) | Self::Header(_) | Self::TwoKeys | Self::Page | Self::Kind => {
                "cape_refused"
            }
            Self::Text(_) => "cape_text",
            Self::Ledger(LedgerError::Refused(_)) => "cape_budget",
            Self::Ledger(_) => "cape_ledger",
            Self::NotFound => "cape_not_found",
            Self::Method => "cape_method",
            Self::TooLarge(_) => "cape_too_large",
            Self::Incomplete => "cape_incomplete",
            Self::Busy => "cape_busy",
            Self::Perturber => "cape_unavailable",
            Self::Unreachable => "upstream_unreachable",
            Self::Timeout => "upstream_timeout",
            Self::Broken => "upstream_broken",
            Self::Malformed => "upstream_malformed",
            Self::Extractor => "extractor_failed",
        }
    }

    /// The error as the client's library expects it.
    pub(crate) fn body(&self, dialect: Dialect) -> Value {
        let kind = match self.status().as_u16() {
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            400..500 => "invalid_request_error",
            _ => "api_error",
        };
        let message = self.to_string();
        let mut body = match dialect {
            Dialect::OpenAi => json!({"error": {
                "message": message, "type": kind, "param": null, "code": self.code()}}),
            Dialect::Anthropic => json!({"type": "error", "error": {
                "type": kind, "message": message}}),
        };
        if let Self::Ledger(LedgerError::Refused(refusal)) = self {
            body["error"]["budget"] = json!({"limit": refusal.limit, "asked": refusal.asked,
                "left": refusal.left, "all_left": refusal.all_left});
        }
        body
    }

    pub(crate) fn response(&self, dialect: Dialect) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body(dialect).to_string()));
        *response.status_mut() = self.status();
        let told = response.headers_mut();
        told.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let wait = match self {
            Self::Ledger(LedgerError::Refused(refusal)) => {
                // else clients try again at once, and again
                told.insert("x-should-retry", HeaderValue::from_static("false"));
                refusal.retry_after.map(|wait| wait.as_secs())
            }
            _ => (self.status() == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
        };
        if let Some(seconds) = wait {
            told.insert(header::RETRY_AFTER, headers::number(&seconds));
        }
        response.extensions_mut().insert(Code(self.code()));
        response
    }
}

/// What went wrong, for the log and the metrics.
#[derive(Clone, Copy)]
pub(crate) struct Code(pub(crate) &'static str);
