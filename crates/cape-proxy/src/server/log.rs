//! Every request gets an id, a line in the log and a count: numbers only.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Response};
use axum::middleware::Next;
use axum::response::IntoResponse;
use cape::rng::{self, CryptoRng};
use cape_ledger::Cost;

use super::service::Service;
use crate::fault::{Code, Fault};
use crate::request::route::ROUTES;

/// Logs and counts a request. Its path is logged only if it is one of ours: another could hold text. A
/// [`Cost`] on the response is what the request spent, and the client learns it from the headers.
pub(super) async fn log(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let started = Instant::now();
    let Ok(id) = id() else { return Fault::Perturber.into_response() };
    let route = route(request.extensions().get::<MatchedPath>().map(MatchedPath::as_str));
    let mut response = next.run(request).await;
    let status = response.status().as_u16();
    let cost = response.extensions().get::<Cost>().copied();
    let fault = response.extensions().get::<Code>().map_or("", |code| code.0);
    let outcome = if fault.is_empty() { status.to_string() } else { fault.to_owned() };
    service.metrics.request(route, outcome);
    let Cost { draws, epsilon } = cost.unwrap_or_default();
    let milliseconds = started.elapsed().as_millis() as u64;
    let loss = epsilon.epsilon();
    tracing::info!(id, route, status, fault, draws, epsilon = loss, milliseconds, "request");
    let mut tell = |name, value: String| {
        let value = HeaderValue::try_from(value).unwrap_or_else(|_| HeaderValue::from_static("?"));
        response.headers_mut().insert(HeaderName::from_static(name), value);
    };
    tell("x-cape-request-id", id);
    if cost.is_some() {
        tell("x-cape-epsilon", epsilon.to_string());
        tell("x-cape-draws", draws.to_string());
    }
    response
}

const GUARDRAIL: &str = "beta/litellm_basic_guardrail_api";

/// The name that a path is counted under, one of a fixed list whatever clients ask for.
fn route(matched: Option<&str>) -> &'static str {
    let own = ["models", "perturb", "health", "ready", "metrics", "openapi.json", GUARDRAIL];
    let matched = matched.unwrap_or_default();
    if matched.starts_with("/playground") {
        return "playground";
    }
    let last = matched.strip_prefix("/v1/").or(matched.strip_prefix('/')).unwrap_or_default();
    let known = ROUTES.iter().map(|route| route.path).chain(own);
    known.into_iter().find(|name| *name == last).unwrap_or("other")
}

/// An id that says nothing about the request.
fn id() -> cape::Result<String> {
    let mut generator = rng::secure()?;
    let rng: &mut dyn CryptoRng = &mut generator;
    Ok(format!("{:016x}", rng.next_u64()))
}
