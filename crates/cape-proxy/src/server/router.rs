//! The paths that are served.

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::middleware;
use axum::routing::{get, post};

use super::admit::admit;
use super::service::Service;
use super::{forward, guardrail, lent, local, log, openapi};
use crate::fault::Fault;
use crate::playground;
use crate::request::headers;
use crate::request::route::{PREFIXES, ROUTES};

/// Every path of the proxy. Any other is a 404 that forwards nothing.
pub fn router(service: Arc<Service>) -> Router {
    let mut router = Router::new()
        .route("/perturb", post(local::perturb))
        .route(guardrail::PATH, post(guardrail::guard))
        .route("/openapi.json", get(openapi::openapi))
        .route("/health", get(local::health))
        .route("/ready", get(local::ready))
        .route("/metrics", get(local::metrics));
    for prefix in PREFIXES {
        for route in ROUTES {
            let forward = move |service, request| forward::forward(service, request, route);
            router = router.route(&format!("{prefix}/{}", route.path), post(forward));
        }
        router = router
            .route(&format!("{prefix}/models"), get(forward::models))
            .route(&format!("{prefix}/models/{{*model}}"), get(forward::model));
    }
    if let Some(playground) = service.playground.get() {
        playground.lend(lent::exchange(&service));
        router = router.merge(playground::router(Arc::clone(playground)));
    }
    router
        .fallback(async |client: HeaderMap| Fault::NotFound.response(headers::dialect(&client)))
        .method_not_allowed_fallback(async |client: HeaderMap| {
            Fault::Method.response(headers::dialect(&client))
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&service), admit))
        .layer(middleware::from_fn_with_state(Arc::clone(&service), log::log))
        .with_state(service)
}
