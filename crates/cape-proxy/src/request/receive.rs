//! A request's body as it arrives.

use std::time::Duration;

use axum::extract::Request;
use axum::http::header;

use super::encoding::Encoding;
use crate::fault::Fault;

/// The whole body, decoded, if it has at most `max` bytes before and after, and comes in time.
pub(crate) async fn receive(
    request: Request,
    max: usize,
    timeout: Duration,
) -> Result<Vec<u8>, Fault> {
    let headers = request.headers();
    // a browser lets any page send simple requests, which would spend its user's budget
    if headers.contains_key(header::ORIGIN) {
        return Err(Fault::Page);
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        return Err(Fault::ContentType);
    }
    let announced = headers.get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > max) {
        return Err(Fault::TooLarge(max));
    }
    let encoding = Encoding::of(headers)?;
    match tokio::time::timeout(timeout, axum::body::to_bytes(request.into_body(), max)).await {
        Ok(Ok(bytes)) => encoding.decode(bytes.into(), max),
        // it was longer than announced, or announced nothing
        Ok(Err(error)) if is_limit(&error) => Err(Fault::TooLarge(max)),
        Ok(Err(_)) | Err(_) => Err(Fault::Incomplete),
    }
}

fn is_limit(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.to_string().contains("limit"))
}
