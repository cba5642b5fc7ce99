//! A request that is forwarded: read, perturbed, paid for, and only then sent to upstream.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Response};

use super::log::Told;
use super::service::Service;
use crate::answer::names::Names;
use crate::answer::pass::{give, pass};
use crate::answer::remember::AwaitedAnswer;
use crate::answer::rewrite::Rewriter;
use crate::fault::{Dialect, Fault, Refusal};
use crate::request::policy::Calls;
use crate::request::route::{AnswerFormat, Route};
use crate::request::user::user;
use crate::request::{body, headers, notice};

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
    let permit = service.permit()?;
    let client = headers::sent(request.headers())?;
    let own = request.headers().clone();
    let bytes = service.receive(request).await?;
    let policy = service.policy();
    let value = serde_json::from_slice(&bytes).map_err(Refusal::from)?;
    let outgoing = body::read_value(&value, route.table, &policy)?;
    let account = service.account(&own, &user(&value));
    let released = service.release(&account, &outgoing.said).await?;
    let told = Told::new(&account, &released);
    let mut body = outgoing.fill(&released.texts);
    let names = match service.releaser.sanitizer.cape() {
        Some(cape) if route.answer != AnswerFormat::Vectors => {
            let calls = policy.tool_calls == Calls::Restore;
            Names::new(cape, &service.restore, calls, &outgoing.said, &released, &body)
        }
        _ => None,
    };
    if service.notice {
        notice::add(&mut body, route.answer);
    }
    let (releaser, after) = (&service.releaser, released.after);
    let awaited = AwaitedAnswer::new(releaser, route, &policy, after, service.max_body);
    let extractor = service.extractor.as_ref().filter(|_| route.answer != AnswerFormat::Vectors);
    let rewriter = extractor.map(|extractor| Rewriter::new(extractor, outgoing.prompt, &mut body));
    let answered = async {
        let body = Some(body.to_string());
        let answer = service.upstream.ask(Method::POST, route.path, client, body).await?;
        if !answer.status().is_success() {
            return pass(answer, route.dialect, permit).await;
        }
        match rewriter {
            Some(rewriter) => rewriter.rewrite(answer, route, permit, awaited, names).await,
            None => give(answer, route, permit, awaited, names).await,
        }
    };
    // what is spent is spent, whatever comes of it
    let mut response = answered.await.unwrap_or_else(|fault| fault.response(route.dialect));
    response.extensions_mut().insert(told);
    Ok(response)
}

/// GET /v1/models: upstream's own list. Nothing but credentials goes there.
pub(super) async fn models(
    State(service): State<Arc<Service>>,
    client: HeaderMap,
) -> Result<Response<Body>, Fault> {
    let (permit, client) = (service.permit()?, headers::sent(&client)?);
    let answer = service.upstream.ask(Method::GET, "models", client, None).await?;
    pass(answer, Dialect::OpenAi, permit).await
}
