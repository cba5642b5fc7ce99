//! One request: read, perturbed, paid for, and only then sent.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, Response, header};
use cape::text::Release;
use tokio::sync::OwnedSemaphorePermit;

use crate::body;
use crate::budget::Spend;
use crate::denoise::{Asked, denoise};
use crate::error::{Dialect, Fault};
use crate::replay::Answer;
use crate::service::Service;
use crate::{headers, stream, upstream};

/// A path at upstream, and what its bodies may hold.
pub(crate) struct Route {
    pub(crate) path: &'static str,
    pub(crate) table: &'static [(&'static str, body::Rule)],
    pub(crate) dialect: Dialect,
    pub(crate) answer: Answer,
}

/// What was spent on a request, for its answer's headers and the log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub(crate) tokens: usize,
    pub(crate) epsilon: f64,
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
    service: &Service,
    request: Request,
    route: &'static Route,
) -> Result<Response<Body>, Fault> {
    let permit = permit(service)?;
    let client = headers::sent(request.headers())?;
    let key = headers::key(request.headers());
    let bytes = whole(service, request).await?;
    let outgoing = body::read(&bytes, route.table, &service.policy())?;
    let (releases, spent) = perturb(service, outgoing.texts.clone(), &key).await?;
    let released: Vec<&str> = releases.iter().map(|release| release.text.as_str()).collect();
    let body = outgoing.fill(&released);
    let extractor = service.extractor.as_ref().filter(|_| route.answer != Answer::Vectors);
    let mut response = if let Some(extractor) = extractor {
        let asked = Asked { headers: client, body, prompt: outgoing.prompt };
        denoise(Arc::clone(extractor), service, route, asked, permit).await?
    } else {
        let body = Some(body.to_string());
        let answer = service.upstream.ask(Method::POST, route.path, client, body).await?;
        answered(answer, route.dialect, permit).await?
    };
    state(&mut response, spent);
    Ok(response)
}

/// The place of a request among those that are served.
pub(crate) fn permit(service: &Service) -> Result<OwnedSemaphorePermit, Fault> {
    Arc::clone(&service.permits).try_acquire_owned().map_err(|_| Fault::Busy)
}

/// The whole body, if it is not too large and comes in time.
pub(crate) async fn whole(service: &Service, request: Request) -> Result<Vec<u8>, Fault> {
    let announced = request.headers().get(header::CONTENT_LENGTH);
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

/// Releases of some texts that are paid for.
pub(crate) async fn perturb(
    service: &Service,
    texts: Vec<String>,
    key: &str,
) -> Result<(Vec<Release>, Spent), Fault> {
    let started = Instant::now();
    let releases = service.perturber.perturb(texts).await?;
    service.metrics.perturbed(started.elapsed());
    let tokens = releases.iter().map(|release| release.privacy.sensitive).sum();
    let epsilon = releases.iter().map(|release| release.privacy.epsilon_prompt()).sum();
    service.budget.spend(Spend { tokens, epsilon, key })?;
    service.metrics.spent(tokens, epsilon);
    Ok((releases, Spent { tokens, epsilon }))
}

/// Upstream's answer as the client gets it.
pub(crate) async fn answered(
    answer: reqwest::Response,
    dialect: Dialect,
    permit: OwnedSemaphorePermit,
) -> Result<Response<Body>, Fault> {
    let (status, returned) = (answer.status(), headers::returned(answer.headers()));
    let body = if is_stream(answer.headers()) {
        stream::pass(answer, dialect, permit)
    } else {
        Body::from(upstream::whole(answer).await?)
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
pub(crate) fn state(response: &mut Response<Body>, spent: Spent) {
    let headers = response.headers_mut();
    let name = HeaderName::from_static;
    headers.insert(name("x-cape-epsilon"), headers::number(&spent.epsilon));
    headers.insert(name("x-cape-tokens-perturbed"), headers::number(&spent.tokens));
    response.extensions_mut().insert(spent);
}
