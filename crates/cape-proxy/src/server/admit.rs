//! Which requests are let in?

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use axum::middleware::Next;

use super::guardrail;
use super::service::Service;
use crate::fault::Fault;
use crate::playground;
use crate::request::headers;

/// The paths for probes, which have no token and learn one word.
const OPEN: [&str; 2] = ["/health", "/ready"];

/// Lets a request in if no token is asked for, or if it has the right one. Its body is not read before.
pub(super) async fn admit(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let path = request.uri().path();
    let token = &service.live().token;
    // the page itself holds nothing; what it asks needs the token
    let is_open = OPEN.contains(&path) || playground::is_page(path);
    if is_open || token.as_ref().is_none_or(|it| it.is_shown(request.headers())) {
        return next.run(request).await;
    }
    if path == guardrail::PATH {
        return guardrail::blocked(&Fault::Token);
    }
    Fault::Token.response(headers::dialect(request.headers()))
}
