//! The paths that are served.

use std::sync::Arc;

use axum::Router;
use axum::middleware;
use axum::routing::{get, post};

use super::service::Service;
use super::{forward, guardrail, lent, local, log, openapi};
use crate::fault::Fault;
use crate::playground;
use crate::request::route::ROUTES;

/// Every path of the proxy. Any other is a 404 that forwards nothing.
pub fn router(service: Arc<Service>) -> Router {
    let mut router = Router::new()
        .route("/v1/models", get(forward::models))
        .route("/perturb", post(local::perturb))
        .route("/beta/litellm_basic_guardrail_api", post(guardrail::guard))
        .route("/openapi.json", get(openapi::openapi))
        .route("/health", get(local::health))
        .route("/ready", get(local::ready))
        .route("/metrics", get(local::metrics));
    for route in ROUTES {
        let forward = move |service, request| forward::forward(service, request, route);
        router = router.route(&format!("/v1/{}", route.path), post(forward));
    }
    if let Some(playground) = service.playground.get() {
        playground.lend(lent::exchange(&service));
        router = router.merge(playground::router(Arc::clone(playground)));
    }
    router
        .fallback(async || Fault::NotFound)
        .method_not_allowed_fallback(async || Fault::Method)
        .layer(middleware::from_fn_with_state(Arc::clone(&service), log::log))
        .with_state(service)
}
