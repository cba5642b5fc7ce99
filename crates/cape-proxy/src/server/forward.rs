//! A request that is forwarded: read, perturbed, paid for, and only then sent to upstream.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Method, Response};
use serde_json::Value;

use super::log::Told;
use super::service::Service;
use crate::answer::names::{Names, Restored};
use crate::answer::pass::{Expected, give, pass};
use crate::answer::remember::AwaitedAnswer;
use crate::answer::rewrite::Rewriter;
use crate::fault::{Fault, Refusal};
use crate::request::body::{self, BodyText, Outgoing, pattern};
use crate::request::policy::Calls;
use crate::request::releaser::ReleasedText;
use crate::request::route::{self, AnswerFormat, Route};
use crate::request::user::user;
use crate::request::{headers, notice};

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
    let own = request.headers().clone();
    let (bytes, permit) = service.receive(request).await?;
    let policy = &live.policy;
    let value = serde_json::from_slice(&bytes).map_err(Refusal::from)?;
    let outgoing = body::read_value(&value, route.table, policy)?;
    if let Some(learner) = &service.learner {
        learner.learn(outgoing.system.iter().map(String::as_str));
    }
    let account = service.account(&own, &user(&value));
    let released = service.release(&account, &outgoing.said).await?;
    let told = Told::new(&account, &released);
    let mut body = outgoing.fill(&released.texts);
    let Outgoing { said, beside, prompt, .. } = outgoing;
    let names = if route.answer == AnswerFormat::Vectors {
        None
    } else {
        let calls = policy.tool_calls == Calls::Restore;
        let restored = Restored { wanted: live.settings.restore.clone(), calls };
        names(service, restored, (said, beside, released.texts), body.clone()).await?
    };
    if live.settings.notice {
        notice::add(&mut body, route.answer);
    }
    let (releaser, after) = (&service.releaser, released.after);
    let awaited = AwaitedAnswer::new(releaser, route, policy, after, live.settings.max_body);
    let extractor = live.extractor.as_ref().filter(|_| route.answer != AnswerFormat::Vectors);
    let rewriter = extractor.map(|extractor| Rewriter::new(extractor, prompt, &mut body));
    let answered = async {
        let body = Some(body.to_string());
        let answer = live.upstream.ask(Method::POST, route.path, client, body).await?;
        if !answer.status().is_success() {
            return pass(answer, route.dialect, permit).await;
        }
        let expected = Expected { route, permit, awaited, names };
        match rewriter {
            Some(rewriter) => rewriter.rewrite(answer, expected).await,
            None => give(answer, expected).await,
        }
    };
    // what is spent is spent, whatever comes of it
    let mut response = answered.await.unwrap_or_else(|fault| fault.response(route.dialect));
    response.extensions_mut().insert(told);
    Ok(response)
}

/// The names of a request. Long texts are read again for them, which blocks no other request.
async fn names(
    service: &Service,
    restored: Restored,
    (said, beside, texts): (Vec<BodyText>, Vec<String>, Vec<ReleasedText>),
    body: Value,
) -> Result<Option<Names>, Fault> {
    let sanitizer = Arc::clone(&service.releaser.sanitizer);
    let learned = tokio::task::spawn_blocking(move || {
        Names::new(sanitizer.cape()?, restored, &said, &beside, &texts, &body)
    });
    learned.await.map_err(|_| Fault::Perturber)
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
        pass(answer, dialect, permit).await
    };
    answered.await.unwrap_or_else(|fault: Fault| fault.response(dialect))
}
