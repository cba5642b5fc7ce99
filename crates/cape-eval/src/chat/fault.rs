//! Errors of a chat model, without a word of question, answer or key.

use std::time::Duration;

use serde_json::Value;

/// Codes of OpenAI and llama.cpp that tell what to change. Others are not shown: a server can put
/// anything there.
const CODES: [&str; 6] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "insufficient_quota",
    "invalid_api_key",
    "model_not_found",
    "rate_limit_exceeded",
];

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The address cannot be one.
    #[error("the chat model's address must be like http://127.0.0.1:8080/v1")]
    Address,
    /// The key cannot be sent.
    #[error("the chat model's key has characters that cannot be sent")]
    Key,
    /// The server refuses.
    #[error("the chat model's server answered {status}{}", bracketed(*code))]
    Status {
        /// The HTTP status.
        status: u16,
        /// Why, where it is a reason known to this program.
        code: Option<&'static str>,
        /// How long it asks us to wait.
        retry_after: Option<Duration>,
    },
    /// The server cannot be reached, or stops in the middle.
    #[error("the connection to the chat model failed: {0}")]
    Connection(String),
    /// It took too long.
    #[error("the chat model did not answer in time")]
    Timeout,
    /// The answer is longer than any of a chat model.
    #[error("the chat model's answer is larger than 4 MiB")]
    TooLarge,
    /// The model in this process cannot answer.
    #[error(transparent)]
    Here(#[from] cape_models::Error),
    /// The answer makes no sense.
    #[error("the chat model's answer lacks {0}")]
    Answer(&'static str),
}

impl ChatError {
    /// Whether the same question may be answered later.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Connection(_) | Self::Status { status: 429 | 500..=599, .. })
    }

    /// How long the server asks us to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl From<ureq::Error> for ChatError {
    /// Keeps the kind of fault only: some of these errors quote what was sent or received.
    fn from(error: ureq::Error) -> Self {
        Self::Connection(match error {
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                "nobody is there".into()
            }
            ureq::Error::Timeout(_) => return Self::Timeout,
            ureq::Error::Io(error) => error.kind().to_string(),
            ureq::Error::HostNotFound => "the host is not known".into(),
            // of certificates and ciphers, before anything of ours is sent
            ureq::Error::Rustls(error) => error.to_string(),
            ureq::Error::ConnectProxyFailed(_) | ureq::Error::InvalidProxyUrl => "the proxy".into(),
            _ => "what arrived makes no sense".into(),
        })
    }
}

fn bracketed(code: Option<&str>) -> String {
    code.map(|code| format!(" ({code})")).unwrap_or_default()
}

/// The known code in the body of an error.
pub(super) fn code(body: &[u8]) -> Option<&'static str> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let error = body.get("error")?;
    ["code", "type"].iter().find_map(|name| {
        let given = error.get(name)?.as_str()?;
        CODES.into_iter().find(|&known| known == given)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_codes_are_shown() {
        let of = |error: &str| code(format!("{{\"error\":{error}}}").as_bytes());
        assert_eq!(of(r#"{"code":"model_not_found"}"#), Some("model_not_found"));
        let full = r#"{"code":400,"type":"exceed_context_size_error"}"#;
        assert_eq!(of(full), Some("exceed_context_size_error"));
        for unknown in [r#"{"code":"the prompt itself"}"#, "null", "\"text\"", "{}", "{"] {
            assert_eq!(of(unknown), None);
        }
    }
}
