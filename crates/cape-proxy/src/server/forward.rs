//! A request that is forwarded: read, perturbed, paid for, and only then sent to upstream.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Method, Response};

use super::service::Service;
use crate::answer::pass::pass;
use crate::answer::remember::AwaitedAnswer;
use crate::answer::rewrite::Rewriter;
use crate::fault::Fault;
use crate::request::body::{self, pattern};
use crate::request::headers;
use crate::request::route::{self, AnswerFormat, Route};

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
    let live = service.live();
    if route::is_foreign(live.upstream.host(), route) {
        return Err(Fault::Foreign(route.dialect.other()));
    }
    let client = headers::sent(request.headers())?;
    let who = service.spender(request.headers());
    let (bytes, permit) = service.receive(request).await?;
    let policy = &live.policy;
    let outgoing = body::read(&bytes, route.table, policy)?;
    if let Some(learner) = &service.learner {
        learner.learn(outgoing.system.iter().map(String::as_str));
    }
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
) -> Response<Body> {
    about_models(&service, &client, "models").await
}

/// GET /v1/models/{id}: upstream's description of a model that may be asked.
pub(super) async fn model(
    State(service): State<Arc<Service>>,
    Path(model): Path<String>,
    client: HeaderMap,
) -> Response<Body> {
    if !pattern::model_in_path(&model) || !service.live().policy.allows(&model) {
        return Fault::NotFound.response(headers::dialect(&client));
    }
    about_models(&service, &client, &format!("models/{model}")).await
}

async fn about_models(service: &Service, client: &HeaderMap, path: &str) -> Response<Body> {
    let dialect = headers::dialect(client);
    let answered = async {
        let (permit, sent) = (service.permit()?, headers::sent(client)?);
        let answer = service.live().upstream.ask(Method::GET, path, sent, None).await?;
        pass(answer, dialect, permit, None).await
    };
    answered.await.unwrap_or_else(|fault: Fault| fault.response(dialect))
}
