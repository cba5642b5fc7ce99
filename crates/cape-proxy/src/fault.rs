//! Why a request is not served, and how its client is told.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use cape_ledger::{Error as LedgerError, Over};
use serde_json::{Value, json};

/// The service whose form of errors a client expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    OpenAi,
    Anthropic,
}

impl Dialect {
    /// The service that does not speak it.
    pub(crate) fn other(self) -> &'static str {
        match self {
            Self::OpenAi => "Anthropic's",
            Self::Anthropic => "OpenAI's",
        }
    }
}

/// Why a request is not served. Nothing of it was sent, except where upstream failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("cape does not forward this value of the header {0}")]
    Header(&'static str),
    #[error("authorization and x-api-key came together: cape cannot tell whose budget to charge")]
    TwoKeys,
    #[error("cape refuses requests of web pages (they carry the header origin)")]
    Page,
    #[error("the header x-cape-token is missing or wrong; nothing was sent")]
    Token,
    #[error("the content type must be application/json")]
    ContentType,
    #[error("cape does not read the content encoding {0}: it reads zstd, gzip and br")]
    Encoding(String),
    #[error("the body is not what its content encoding says")]
    Encoded,
    #[error("a text cannot be perturbed: {0}")]
    Text(#[source] cape::Error),
    #[error("{0}; nothing was sent")]
    Ledger(#[source] LedgerError),
    #[error("the ledger's database is corrupted; nothing is sent until it is repaired")]
    Corrupted,
    #[error(
        "cape does not serve this path, and sent nothing; is the base URL right? It is \
         http://HOST:PORT/v1 for OpenAI's clients and http://HOST:PORT for Anthropic's; the paths are in \
         /openapi.json"
    )]
    NotFound,
    #[error(
        "upstream is {0}, which does not have this path; nothing was sent. For Anthropic's clients, start \
         cape with --upstream https://api.anthropic.com/v1; for OpenAI's, https://api.openai.com/v1"
    )]
    Foreign(&'static str),
    #[error("cape does not serve this method on this path")]
    Method,
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the body did not arrive whole and in time")]
    Incomplete,
    #[error("cape is already serving as many requests as it may: try again")]
    Busy,
    #[error("cape cannot perturb at the moment; nothing was sent")]
    Perturber,
    #[error("upstream cannot be reached")]
    Unreachable,
    #[error("upstream did not answer in time")]
    Timeout,
    #[error("upstream broke off its answer")]
    Broken,
    #[error("cape cannot read upstream's answer")]
    Malformed,
    #[error("the extractor failed; the noisy answer is not passed on in its place")]
    Extractor,
}

/// Why a body is refused: the place, and never what stood there. For the client alone: a path can hold
/// a key that the client chose.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the body is not JSON: error at line {line}, column {column}")]
    Json { line: usize, column: usize },
    #[error("unknown field {path}: cape forwards only known fields")]
    Unknown { path: String },
    #[error("{path} must be {expected}")]
    Value { path: String, expected: String },
    #[error(
        "{path} is blocked: of its {of} lines {} are not on the list of --allow-system (the first \
         is line {}); `system` in [proxy.policy] of cape.toml can have them perturbed",
        others.len(), others.first().unwrap_or(&0)
    )]
    Unlisted { path: String, others: Vec<usize>, of: usize },
    #[error("{path} is blocked: {why}; `{key}` in [proxy.policy] of cape.toml can let it through")]
    Blocked { path: String, why: &'static str, key: &'static str },
}

impl From<serde_json::Error> for Refusal {
    /// Keeps the position alone: the parser's own message can quote the body.
    fn from(error: serde_json::Error) -> Self {
        Self::Json { line: error.line(), column: error.column() }
    }
}

impl From<LedgerError> for Fault {
    /// Logs the cause for the operator: no word of a request is in it.
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
            | Self::Encoded
            | Self::Text(cape::Error::ControlCharacter { .. }) => StatusCode::BAD_REQUEST,
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::Page => StatusCode::FORBIDDEN,
            Self::ContentType | Self::Encoding(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Text(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Ledger(LedgerError::Refused(_)) => StatusCode::TOO_MANY_REQUESTS,
            Self::NotFound | Self::Foreign(_) => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Incomplete => StatusCode::REQUEST_TIMEOUT,
            Self::Busy | Self::Perturber | Self::Ledger(_) | Self::Corrupted => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Unreachable | Self::Broken | Self::Malformed | Self::Extractor => {
                StatusCode::BAD_GATEWAY
            }
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// A name for machines, logs and metrics, without a word of the request.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Refused(Refusal::Blocked { .. } | Refusal::Unlisted { .. }) => "cape_blocked",
            Self::Refused(_)
            | Self::Header(_)
            | Self::TwoKeys
            | Self::Page
            | Self::ContentType
            | Self::Encoding(_)
            | Self::Encoded => "cape_refused",
            Self::Token => "cape_token",
            Self::Text(_) => "cape_text",
            Self::Ledger(LedgerError::Refused(_)) => "cape_budget",
            Self::Ledger(_) | Self::Corrupted => "cape_ledger",
            Self::NotFound | Self::Foreign(_) => "cape_not_found",
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
            401 => "authentication_error",
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
            let (counts, asked, left) = match refusal.over {
                Over::Epsilon { asked, left, .. } => ("epsilon", json!(asked), json!(left)),
                Over::Maps { asked, left } => ("maps", json!(asked), json!(left)),
            };
            body["error"]["budget"] = json!({"limit": refusal.limit, "counts": counts,
                "asked": asked, "left": left, "all_left": refusal.all_left});
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
                // without this, clients would keep trying
                told.insert("x-should-retry", HeaderValue::from_static("false"));
                refusal.retry_after.map(|wait| wait.as_secs())
            }
            _ => (self.status() == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
        };
        if let Some(seconds) = wait {
            told.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(Code(self.code()));
        response
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response<Body> {
        self.response(Dialect::OpenAi)
    }
}

/// The code of a fault, left on its response for the log and the metrics.
#[derive(Clone, Copy)]
pub(crate) struct Code(pub(crate) &'static str);
