//! Every request gets an id, a line in the log and a count: numbers only.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, Response};
use axum::middleware::Next;
use cape::rng::{self, CryptoRng};
use cape_ledger::Cost;

use crate::error::{Code, Dialect, Fault};
use crate::request::headers;
use crate::server::service::{ROUTES, Service};

/// Wraps a request. Its path is logged only where it is one of ours: another could hold text.
pub(crate) async fn watch(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let started = Instant::now();
    let Ok(id) = id() else { return Fault::Perturber.response(Dialect::OpenAi) };
    let route = route(request.extensions().get::<MatchedPath>().map(MatchedPath::as_str));
    let mut response = next.run(request).await;
    let status = response.status().as_u16();
    let Cost { draws, epsilon } = response.extensions().get().copied().unwrap_or_default();
    let epsilon = epsilon.epsilon();
    let fault = response.extensions().get::<Code>().map_or("", |code| code.0);
    let outcome = if fault.is_empty() { status.to_string() } else { fault.to_owned() };
    service.metrics.request(route, outcome);
    let milliseconds = started.elapsed().as_millis() as u64;
    tracing::info!(id, route, status, fault, draws, epsilon, milliseconds, "request");
    response
        .headers_mut()
        .insert(HeaderName::from_static("x-cape-request-id"), headers::number(&id));
    response
}

const GUARDRAIL: &str = "beta/litellm_basic_guardrail_api";

/// One of the names that are counted: whatever clients ask for, there are no others.
fn route(matched: Option<&str>) -> &'static str {
    let own = ["models", "perturb", "health", "ready", "metrics", "openapi.json", GUARDRAIL];
    let matched = matched.unwrap_or_default();
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
