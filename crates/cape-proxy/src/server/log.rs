//! Every request gets an id, a line in the log and a count: numbers only.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Response};
use axum::middleware::Next;
use axum::response::IntoResponse;
use cape::rng::{self, CryptoRng};
use cape_ledger::{Account, Cost};

use super::service::Service;
use crate::fault::{Code, Fault};
use crate::request::releaser::Released;
use crate::request::route::ROUTES;

/// What a client is told of its request, in headers.
#[derive(Clone)]
pub(super) struct Told {
    spent: Cost,
    /// The names by which maps are forgotten: enough of them to tell them apart.
    account: String,
    conversation: Option<String>,
}

impl Told {
    pub(super) fn new(account: &Account, released: &Released) -> Self {
        let short = |name: &str| name.chars().take(16).collect();
        Self {
            spent: released.spent,
            account: short(account.name()),
            conversation: released.conversation.as_deref().map(short),
        }
    }
}

/// Logs and counts a request. Its path is logged only if it is one of ours: another could hold text. What
/// the client is [told](Told) stands on the response.
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
    let told = response.extensions().get::<Told>().cloned();
    let fault = response.extensions().get::<Code>().map_or("", |code| code.0);
    let outcome = if fault.is_empty() { status.to_string() } else { fault.to_owned() };
    service.metrics.request(route, outcome);
    let Cost { draws, maps, epsilon } = told.as_ref().map(|told| told.spent).unwrap_or_default();
    let milliseconds = started.elapsed().as_millis() as u64;
    let loss = epsilon.epsilon();
    tracing::info!(id, route, status, fault, draws, maps, epsilon = loss, milliseconds, "request");
    let mut tell = |name, value: String| {
        let value = HeaderValue::try_from(value).unwrap_or_else(|_| HeaderValue::from_static("?"));
        response.headers_mut().insert(HeaderName::from_static(name), value);
    };
    tell("x-cape-request-id", id);
    if let Some(Told { account, conversation, .. }) = told {
        tell("x-cape-epsilon", epsilon.to_string());
        tell("x-cape-draws", draws.to_string());
        tell("x-cape-maps", maps.to_string());
        tell("x-cape-account", account);
        if let Some(name) = conversation {
            tell("x-cape-conversation", name);
        }
    }
    response
}

const GUARDRAIL: &str = "beta/litellm_basic_guardrail_api";

/// The name that a path is counted under, one of a fixed list whatever clients ask for.
fn route(matched: Option<&str>) -> &'static str {
    let own = ["models", "perturb", "health", "ready", "metrics", "openapi.json", GUARDRAIL];
    let mut last = matched.unwrap_or_default().strip_prefix('/').unwrap_or_default();
    if last.starts_with("playground") {
        return "playground";
    }
    while let Some(rest) = last.strip_prefix("v1/") {
        last = rest;
    }
    if last.starts_with("models/") {
        last = "models";
    }
    let known = ROUTES.iter().map(|route| route.path).chain(own);
    known.into_iter().find(|name| *name == last).unwrap_or("other")
}

/// An id that says nothing about the request.
fn id() -> cape::Result<String> {
    let mut generator = rng::secure()?;
    let rng: &mut dyn CryptoRng = &mut generator;
    Ok(format!("{:016x}", rng.next_u64()))
}
