//! The paths of the playground.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use axum::response::{IntoResponse, Redirect};
use axum::routing::{get, post};
use serde_json::Value;

use super::api::{self, QUESTIONS, Question};
use super::guard;
use super::page::{FILES, File};
use super::refused::Refused;
use super::state::Playground;
use crate::fault::Fault;
use crate::request::receive::receive;

/// Whether a path is one of the page's own files, which hold nothing private.
pub(crate) fn is_page(path: &str) -> bool {
    path == "/playground" || FILES.iter().any(|file| file.path == path)
}

/// The largest request, in bytes.
const LARGEST: usize = 1 << 20;
/// The time that one may take to arrive.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server with nothing but the playground: its first page is the playground's.
pub fn playground_router(playground: Arc<Playground>) -> Router {
    router(playground)
        .route("/", get(async || Redirect::temporary("/playground/")))
        .fallback(async || Fault::NotFound)
        .method_not_allowed_fallback(async || Fault::Method)
}

/// The page, its files, and what it asks.
pub(crate) fn router<S: Clone + Send + Sync + 'static>(playground: Arc<Playground>) -> Router<S> {
    let mut router = Router::new()
        .route("/playground", get(async || Redirect::temporary("/playground/")))
        .route("/playground/api/release", post(release))
        .route("/playground/api/send", post(send));
    for file in &FILES {
        let serve = move |State(playground): State<Arc<Playground>>, headers: HeaderMap| async move {
            page(&playground, &headers, file)
        };
        router = router.route(file.path, get(serve));
    }
    for (name, question) in QUESTIONS {
        let ask = move |State(playground): State<Arc<Playground>>, request: Request| async move {
            asked(playground, request, question).await
        };
        router = router.route(&format!("/playground/api/{name}"), post(ask));
    }
    router.with_state(playground)
}

fn page(
    playground: &Playground,
    headers: &HeaderMap,
    file: &'static File,
) -> Result<Response<Body>, Refused> {
    guard::host(headers, playground.has_token())?;
    Ok(file.response())
}

/// The body of a question that the page itself asks.
async fn body(playground: &Playground, mut request: Request) -> Result<Vec<u8>, Refused> {
    guard::page(request.headers(), playground.has_token())?;
    // it was the page's own: elsewhere, requests of pages are refused
    request.headers_mut().remove(header::ORIGIN);
    Ok(receive(request, LARGEST, TIMEOUT).await?)
}

/// Answers a question.
async fn asked(
    playground: Arc<Playground>,
    request: Request,
    question: Question,
) -> Result<Response<Body>, Refused> {
    let body = body(&playground, request).await?;
    Ok(json(&aside(move || question(&playground, &body)).await?))
}

/// Draws a release; beside a proxy, it is paid for first.
async fn release(
    State(playground): State<Arc<Playground>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    let body = Arc::new(body(&playground, request).await?);
    let _turn = playground.turn.lock().await;
    if let Some(exchange) = playground.exchange() {
        let (this, text) = (Arc::clone(&playground), Arc::clone(&body));
        let owed = aside(move || api::owed(&this, &text)).await?;
        if !owed.draws.is_empty() {
            (exchange.pay)(owed).await?;
        }
    }
    let this = Arc::clone(&playground);
    Ok(json(&aside(move || api::release(&this, &body)).await?))
}

async fn send(
    State(playground): State<Arc<Playground>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    let body = body(&playground, request).await?;
    Ok(json(&api::send(&playground, &body).await?))
}

/// The mathematics takes milliseconds and more, and blocks no other request.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Refused::failed("Cape failed at this question."))?
}

fn json(value: &Value) -> Response<Body> {
    let mut response = value.to_string().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
