//! Why the playground does not do something: told to its page, and without a word of a prompt.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use serde_json::json;

use crate::fault::{Code, Fault};

/// A refusal.
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    message: String,
    code: &'static str,
}

impl Refused {
    /// A request that did not come from the page itself.
    pub(super) fn page(message: &str) -> Self {
        Self { status: StatusCode::FORBIDDEN, message: message.into(), code: "cape_refused" }
    }

    /// A request that makes no sense.
    pub(super) fn request(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into(), code: "cape_refused" }
    }

    /// The service refused.
    pub(super) fn service(status: u16) -> Self {
        let message = format!("The service answered with status {status}.");
        Self { status: StatusCode::BAD_GATEWAY, message, code: "upstream_refused" }
    }

    /// Something failed on this side.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self { status, message: message.into(), code: "cape_unavailable" }
    }
}

impl From<cape::Error> for Refused {
    /// Errors of the mathematics carry no word of a text.
    fn from(error: cape::Error) -> Self {
        Self::request(capitalised(&error.to_string()))
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        let (status, code) = (fault.status(), fault.code());
        Self { status, message: capitalised(&fault.to_string()), code }
    }
}

/// A message as a sentence of the page.
fn capitalised(message: &str) -> String {
    let mut chars = message.chars();
    let first = chars.next().map(|first| first.to_uppercase().collect::<String>());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response<Body> {
        let body = json!({"error": {"message": self.message, "code": self.code}});
        let headers = [("content-type", "application/json"), ("cache-control", "no-store")];
        let mut response = (self.status, headers, body.to_string()).into_response();
        response.extensions_mut().insert(Code(self.code));
        response
    }
}
