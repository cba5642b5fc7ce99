//! One request: read, perturbed, paid for, and only then sent.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, Response, header};
use cape_ledger::Cost;
use tokio::sync::OwnedSemaphorePermit;

use crate::answer::pass;
use crate::answer::remember::{Awaited, Overheard};
use crate::answer::rewrite::{Asked, denoise};
use crate::answer::to_events::Answer;
use crate::error::{Dialect, Fault};
use crate::request::body;
use crate::request::{headers, release};
use crate::server::service::Service;
use crate::upstream;

/// A path at upstream, and what its bodies may hold.
pub(crate) struct Route {
    pub(crate) path: &'static str,
    pub(crate) table: &'static [(&'static str, body::Rule)],
    pub(crate) dialect: Dialect,
    pub(crate) answer: Answer,
}

/// Sends a request on once nothing in it is private.
pub(crate) async fn forward(
    State(service): State<Arc<Service>>,
    request: Request,
    route: &'static Route,
) -> Response<Body> {
    exchange(&service, request, route).await.unwrap_or_else(|fault| fault.response(route.dialect))
}

async fn exchange(
    service: &Arc<Service>,
    request: Request,
    route: &'static Route,
) -> Result<Response<Body>, Fault> {
    let permit = permit(service)?;
    let client = headers::sent(request.headers())?;
    let who = service.ledger.spender(headers::key(request.headers()));
    let bytes = whole(service, request).await?;
    let policy = service.policy();
    let outgoing = body::read(&bytes, route.table, &policy)?;
    let released = release::conversation(service, &who, &outgoing.said).await?;
    let body = outgoing.fill(&released.texts);
    let awaited = Awaited::new(service, route, &policy, who, released.after);
    let asked = Asked { headers: client, body, prompt: outgoing.prompt, awaited };
    let response = ask(service, route, asked, permit).await;
    // what is spent is spent, whatever comes of it
    let mut response = response.unwrap_or_else(|fault| fault.response(route.dialect));
    state(&mut response, released.spent);
    Ok(response)
}

/// Asks upstream, and has its answer rewritten where there is an extractor.
async fn ask(
    service: &Service,
    route: &'static Route,
    asked: Asked,
    permit: OwnedSemaphorePermit,
) -> Result<Response<Body>, Fault> {
    let extractor = service.extractor.as_ref().filter(|_| route.answer != Answer::Vectors);
    if let Some(extractor) = extractor {
        return denoise(Arc::clone(extractor), service, route, asked, permit).await;
    }
    let body = Some(asked.body.to_string());
    let answer = service.upstream.ask(Method::POST, route.path, asked.headers, body).await?;
    answered(answer, route.dialect, permit, asked.awaited).await
}

/// The place of a request among those that are served.
pub(crate) fn permit(service: &Service) -> Result<OwnedSemaphorePermit, Fault> {
    Arc::clone(&service.permits).try_acquire_owned().map_err(|_| Fault::Busy)
}

/// The whole body, if it is not too large and comes in time.
pub(crate) async fn whole(service: &Service, request: Request) -> Result<Vec<u8>, Fault> {
    let headers = request.headers();
    // a page may send what needs no leave, and would spend what is not its own
    if headers.contains_key(header::ORIGIN) {
        return Err(Fault::Page);
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        return Err(Fault::Kind);
    }
    let announced = headers.get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > service.max_body) {
        return Err(Fault::TooLarge(service.max_body));
    }
    let bytes = axum::body::to_bytes(request.into_body(), service.max_body);
    match tokio::time::timeout(service.timeout, bytes).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        // it was longer than announced, or announced nothing
        Ok(Err(error)) if is_limit(&error) => Err(Fault::TooLarge(service.max_body)),
        Ok(Err(_)) | Err(_) => Err(Fault::Incomplete),
    }
}

fn is_limit(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.to_string().contains("limit"))
}

/// Upstream's answer as the client gets it, remembered if it is one that may come back.
pub(crate) async fn answered(
    answer: reqwest::Response,
    dialect: Dialect,
    permit: OwnedSemaphorePermit,
    awaited: Option<Awaited>,
) -> Result<Response<Body>, Fault> {
    let (status, returned) = (answer.status(), headers::returned(answer.headers()));
    let awaited = awaited.filter(|_| status.is_success());
    let body = if is_stream(answer.headers()) {
        let overheard = awaited.map(|awaited| Overheard::new(awaited, None));
        pass::pass(answer, dialect, permit, overheard)
    } else {
        let bytes = upstream::whole(answer).await?;
        if let Some(awaited) = awaited {
            awaited.whole(&bytes).await;
        }
        Body::from(bytes)
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = returned;
    Ok(response)
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// What was spent, in the answer's headers.
pub(crate) fn state(response: &mut Response<Body>, spent: Cost) {
    let headers = response.headers_mut();
    let name = HeaderName::from_static;
    headers.insert(name("x-cape-epsilon"), headers::number(&spent.epsilon));
    headers.insert(name("x-cape-draws"), headers::number(&spent.draws));
    response.extensions_mut().insert(spent);
}
