//! A request that is forwarded: read, perturbed, paid for, and only then sent to upstream.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Response};

use super::service::Service;
use crate::answer::pass::pass;
use crate::answer::remember::AwaitedAnswer;
use crate::answer::rewrite::Rewriter;
use crate::fault::{Dialect, Fault};
use crate::request::route::{AnswerFormat, Route};
use crate::request::{body, headers};

/// POST /v1/…: sends a request on once nothing in it is private.
pub(super) async fn forward(
    State(service): State<Arc<Service>>,
    request: Request,
    route: &'static Route,
) -> Response<Body> {
    let answered = exchange(&service, request, route).await;
    answered.unwrap_or_else(|fault| fault.response(route.dialect))
}

async fn exchange(
    service: &Service,
    request: Request,
    route: &'static Route,
) -> Result<Response<Body>, Fault> {
    let client = headers::sent(request.headers())?;
    let who = service.spender(request.headers());
    let (bytes, permit) = service.receive(request).await?;
    let live = service.live();
    let policy = &live.policy;
    let outgoing = body::read(&bytes, route.table, policy)?;
    let released = service.release(&who, &outgoing.said).await?;
    let mut body = outgoing.fill(&released.texts);
    let (releaser, after) = (&service.releaser, released.after);
    let awaited = AwaitedAnswer::new(releaser, route, policy, who, after, live.settings.max_body);
    let extractor = live.extractor.as_ref().filter(|_| route.answer != AnswerFormat::Vectors);
    let rewriter = extractor.map(|extractor| Rewriter::new(extractor, outgoing.prompt, &mut body));
    let answered = async {
        let body = Some(body.to_string());
        let answer = live.upstream.ask(Method::POST, route.path, client, body).await?;
        match rewriter.filter(|_| answer.status().is_success()) {
            Some(rewriter) => rewriter.rewrite(answer, route, permit, awaited).await,
            None => pass(answer, route.dialect, permit, awaited).await,
        }
    };
    // what is spent is spent, whatever comes of it
    let mut response = answered.await.unwrap_or_else(|fault| fault.response(route.dialect));
    response.extensions_mut().insert(released.spent);
    Ok(response)
}

/// GET /v1/models: upstream's own list. Nothing but credentials goes there.
pub(super) async fn models(
    State(service): State<Arc<Service>>,
    client: HeaderMap,
) -> Result<Response<Body>, Fault> {
    let (permit, client) = (service.permit()?, headers::sent(&client)?);
    let answer = service.live().upstream.ask(Method::GET, "models", client, None).await?;
    pass(answer, Dialect::OpenAi, permit, None).await
}
