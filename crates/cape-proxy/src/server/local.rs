//! The paths that cape answers itself.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use cape::ReleaseJson;
use serde_json::{Value, json};

use super::log::Told;
use super::service::Service;
use crate::fault::{Fault, Refusal};
use crate::request::user::user;

/// POST /perturb: a text in, its release out.
pub(super) async fn perturb(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Response<Body>, Fault> {
    let own = request.headers().clone();
    let (body, _permit) = service.receive(request).await?;
    let (text, user) = text(&body)?;
    let account = service.account(&own, &user);
    let (release, released) = service.release_text(&account, &text).await?;
    let described = ReleaseJson::new(&service.releaser.sanitizer, &text, &release);
    let described = serde_json::to_value(described).map_err(|_| Fault::Perturber)?;
    let mut response = json_response(&described);
    response.extensions_mut().insert(Told::new(&account, &released));
    Ok(response)
}

/// The text of `{"text": "…"}`, and the user whom `user` names.
fn text(body: &[u8]) -> Result<(String, String), Refusal> {
    let mut body: Value = serde_json::from_slice(body)?;
    let user = user(&body);
    let fields = body.as_object_mut().into_iter().flatten();
    let mut text = None;
    for (name, value) in fields {
        match (name.as_str(), value.take()) {
            ("text", Value::String(given)) => text = Some(given),
            ("text", _) | ("user", Value::String(_)) => {}
            _ => return Err(Refusal::Unknown { path: name.clone() }),
        }
    }
    let missing = || Refusal::Value { path: "text".into(), expected: "a string".into() };
    Ok((text.ok_or_else(missing)?, user))
}

/// GET /health: the process is alive.
pub(super) async fn health() -> Response<Body> {
    json_response(&json!({ "status": "ok" }))
}

/// GET /ready: a text can be perturbed and paid for, and there is room for a request.
pub(super) async fn ready(State(service): State<Arc<Service>>) -> Result<Response<Body>, Fault> {
    match service.try_out().await {
        Ok(()) if !service.has_room() => Err(Fault::Busy),
        Ok(()) => Ok(json_response(&json!({ "status": "ready" }))),
        Err(fault @ (Fault::Ledger(_) | Fault::Corrupted)) => Err(fault),
        Err(_) => Err(Fault::Perturber),
    }
}

/// GET /metrics, for Prometheus.
pub(super) async fn metrics(State(service): State<Arc<Service>>) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4";
    ([(CONTENT_TYPE, kind)], service.metrics.render(service.in_flight()))
}

pub(super) fn json_response(value: &Value) -> Response<Body> {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
