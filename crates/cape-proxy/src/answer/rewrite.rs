//! A noisy answer taken whole, and given back rewritten: whole, or in pieces as they are written.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Response, header};
use futures_util::stream;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use crate::answer::extractor::{Extractor, Rewriting};
use crate::answer::pass::failed;
use crate::answer::remember::{Awaited, Overheard};
use crate::answer::to_events::{self, Step};
use crate::error::Fault;
use crate::request::headers;
use crate::server::forward::{Route, answered};
use crate::server::service::Service;
use crate::upstream;

/// What upstream is asked, the true prompt, and what the answer follows.
pub(crate) struct Asked {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) prompt: String,
    pub(crate) awaited: Option<Awaited>,
}

/// Asks upstream, and has its answer rewritten.
pub(crate) async fn denoise(
    extractor: Arc<Extractor>,
    service: &Service,
    route: &'static Route,
    mut asked: Asked,
    permit: OwnedSemaphorePermit,
) -> Result<Response<Body>, Fault> {
    let (streamed, usage) = take_stream(&mut asked.body);
    let body = Some(asked.body.to_string());
    let answer = service.upstream.ask(Method::POST, route.path, asked.headers, body).await?;
    if !answer.status().is_success() {
        return answered(answer, route.dialect, permit, None).await;
    }
    let mut returned = headers::returned(answer.headers());
    let bytes = upstream::whole(answer).await?;
    let mut answer: Value = serde_json::from_slice(&bytes).map_err(|_| Fault::Malformed)?;
    let body = match to_events::steps(route.answer, &answer, usage) {
        Some(steps) if streamed => {
            let prompt = asked.prompt;
            let overheard = asked.awaited.map(|awaited| Overheard::new(awaited, Some(answer)));
            let now = None;
            let state =
                Playing { extractor, prompt, steps, now, route, overheard, _permit: permit };
            Body::from_stream(stream::unfold(state, |mut state| async move {
                let event = state.next().await?;
                Some((Ok::<_, std::convert::Infallible>(Bytes::from(event)), state))
            }))
        }
        _ => {
            let own = answer.clone();
            for place in to_events::texts(route.answer, &answer) {
                let Some(text) = answer.pointer_mut(&place) else { continue };
                let noisy = text.as_str().unwrap_or_default();
                *text = extractor.whole(&asked.prompt, noisy).await?.into();
            }
            if let Some(awaited) = asked.awaited {
                awaited.remember(&own, &answer).await;
            }
            let whole = if streamed { to_events::response(&answer) } else { answer.to_string() };
            Body::from(whole)
        }
    };
    let kind = if streamed { "text/event-stream" } else { "application/json" };
    returned.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let mut response = Response::new(body);
    *response.headers_mut() = returned;
    Ok(response)
}

/// Takes the wish for a stream out of a body: the noisy answer is needed whole.
fn take_stream(body: &mut Value) -> (bool, bool) {
    let Some(body) = body.as_object_mut() else { return (false, false) };
    let streamed = body.remove("stream").is_some_and(|stream| stream == true);
    let options = body.remove("stream_options").unwrap_or_default();
    (streamed, options["include_usage"] == true)
}

/// An answer that is given back in pieces.
struct Playing {
    extractor: Arc<Extractor>,
    prompt: String,
    steps: VecDeque<Step>,
    /// What is being rewritten, and how a piece of it becomes an event.
    now: Option<(Rewriting, to_events::Wrap)>,
    route: &'static Route,
    overheard: Option<Overheard>,
    _permit: OwnedSemaphorePermit,
}

impl Playing {
    async fn next(&mut self) -> Option<String> {
        match self.event().await {
            Ok(event) => {
                if let (Some(event), Some(overheard)) = (&event, &mut self.overheard) {
                    overheard.hear(event).await;
                }
                event
            }
            Err(fault) => {
                (self.now, self.steps) = (None, VecDeque::new());
                Some(failed(&fault, self.route.dialect))
            }
        }
    }

    async fn event(&mut self) -> Result<Option<String>, Fault> {
        loop {
            if let Some((rewriting, wrap)) = &mut self.now {
                if let Some(piece) = rewriting.next().await? {
                    return Ok(Some(wrap(&piece)));
                }
                self.now = None;
            }
            match self.steps.pop_front() {
                Some(Step::Event(event)) => return Ok(Some(event)),
                Some(Step::Text(noisy, wrap)) => {
                    self.now = Some((self.extractor.rewrite(&self.prompt, &noisy).await?, wrap));
                }
                None => return Ok(None),
            }
        }
    }
}
