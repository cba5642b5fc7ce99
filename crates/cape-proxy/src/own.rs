//! The paths that cape answers itself.

use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use cape::ReleaseJson;
use serde_json::{Value, json};

use crate::body::Refusal;
use crate::error::{Dialect, Fault};
use crate::exchange::{answered, permit, state, whole};
use crate::service::Service;
use crate::{headers, release};

/// POST /perturb: a text in, its release out.
pub(crate) async fn perturb(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Response<Body> {
    let released = async {
        let _permit = permit(&service)?;
        let who = service.ledger.spender(headers::key(request.headers()));
        let text = text(&whole(&service, request).await?)?;
        let (release, spent) = release::once(&service, &who, &text).await?;
        let described = ReleaseJson::new(&service.sanitizer, &text, &release);
        let described = serde_json::to_value(described).map_err(|_| Fault::Perturber)?;
        let mut response = json_response(&described);
        state(&mut response, spent);
        Ok(response)
    };
    released.await.unwrap_or_else(|fault: Fault| fault.response(Dialect::OpenAi))
}

/// The text of `{"text": "…"}`.
fn text(body: &[u8]) -> Result<String, Refusal> {
    let mut body: Value = serde_json::from_slice(body)
        .map_err(|error| Refusal::Json { line: error.line(), column: error.column() })?;
    let fields = body.as_object_mut().into_iter().flatten();
    let mut text = None;
    for (name, value) in fields {
        match (name.as_str(), value.take()) {
            ("text", Value::String(given)) => text = Some(given),
            ("text", _) => {}
            _ => return Err(Refusal::Unknown { path: name.clone() }),
        }
    }
    text.ok_or_else(|| Refusal::Value { path: "text".into(), expected: "a string".into() })
}

/// GET /v1/models: upstream's own list. Nothing but credentials goes there.
pub(crate) async fn models(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Response<Body> {
    let client = headers::sent(request.headers());
    drop(request);
    let listed = async {
        let (permit, client) = (permit(&service)?, client?);
        let answer = service.upstream.ask(Method::GET, "models", client, None).await?;
        answered(answer, Dialect::OpenAi, permit, None).await
    };
    listed.await.unwrap_or_else(|fault: Fault| fault.response(Dialect::OpenAi))
}

/// GET /health: the process is there.
pub(crate) async fn health() -> Response<Body> {
    json_response(&json!({ "status": "ok" }))
}

/// GET /ready: a text can be perturbed and paid for, and there is room for a request.
pub(crate) async fn ready(State(service): State<Arc<Service>>) -> Response<Body> {
    // nothing of it is released, so nothing is spent
    let trial = async {
        service.perturber.perturb(vec!["the".into()]).await?;
        let nobody = service.ledger.spender(b"");
        service.ledger.left(&nobody, &service.limits, SystemTime::now()).await?;
        if service.permits.available_permits() == 0 { Err(Fault::Busy) } else { Ok(()) }
    };
    match trial.await {
        Ok(()) => json_response(&json!({ "status": "ready" })),
        Err(fault @ (Fault::Busy | Fault::Ledger(_))) => fault.response(Dialect::OpenAi),
        Err(_) => Fault::Perturber.response(Dialect::OpenAi),
    }
}

/// GET /metrics, for Prometheus.
pub(crate) async fn metrics(State(service): State<Arc<Service>>) -> Response<Body> {
    let in_flight = service.max_requests - service.permits.available_permits();
    let mut response = Response::new(Body::from(service.metrics.render(in_flight)));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

pub(crate) async fn not_found() -> Response<Body> {
    Fault::NotFound.response(Dialect::OpenAi)
}

pub(crate) async fn wrong_method() -> Response<Body> {
    Fault::Method.response(Dialect::OpenAi)
}

pub(crate) fn json_response(value: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = StatusCode::OK;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
