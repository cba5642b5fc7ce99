//! A noisy answer taken whole, and given back rewritten: whole, or in pieces as they are written.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use futures_util::stream;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::extractor::{Extractor, Rewriting};
use super::pass::{Expected, failed, response};
use super::remember::StreamListener;
use super::to_events::{self, Step};
use crate::fault::Fault;
use crate::request::headers;
use crate::request::route::Route;
use crate::upstream;

/// Rewrites the answer to one prompt.
pub(crate) struct Rewriter {
    extractor: Arc<Extractor>,
    /// The true prompt.
    prompt: String,
    /// Whether the client wants a stream.
    streamed: bool,
    /// Whether the stream ends with the usage.
    usage: bool,
}

impl Rewriter {
    /// Takes the wish for a stream out of the body: the noisy answer is needed whole.
    pub(crate) fn new(extractor: &Arc<Extractor>, prompt: String, body: &mut Value) -> Self {
        let mut take = |name| body.as_object_mut().and_then(|body| body.remove(name));
        let streamed = take("stream").is_some_and(|stream| stream == true);
        let usage = take("stream_options").unwrap_or_default()["include_usage"] == true;
        Self { extractor: Arc::clone(extractor), prompt, streamed, usage }
    }

    /// The rewritten answer as the client gets it.
    pub(crate) async fn rewrite(
        self,
        answer: reqwest::Response,
        Expected { route, permit, awaited, names }: Expected,
    ) -> Result<Response<Body>, Fault> {
        let (streamed, mut returned) = (self.streamed, headers::returned(answer.headers()));
        let bytes = upstream::whole(answer).await?;
        let own: Value = serde_json::from_slice(&bytes).map_err(|_| Fault::Malformed)?;
        let mut answer = own.clone();
        // texts are rewritten; arguments of calls are not
        if let Some(names) = names {
            names.fill_calls(route.answer, &mut answer);
        }
        let body = match to_events::steps(route.answer, &answer, self.usage) {
            Some(steps) if streamed => {
                let listener = awaited.map(|awaited| StreamListener::made_of(awaited, own));
                let (rewriter, now) = (self, None);
                let state =
                    RewrittenStream { rewriter, steps, now, route, listener, _permit: permit };
                Body::from_stream(stream::unfold(state, |mut state| async move {
                    let event = state.next().await?;
                    Some((Ok::<_, std::convert::Infallible>(Bytes::from(event)), state))
                }))
            }
            _ => {
                for place in to_events::texts(route.answer, &answer) {
                    let Some(text) = answer.pointer_mut(&place) else { continue };
                    let noisy = text.as_str().unwrap_or_default();
                    *text = self.extractor.whole(&self.prompt, noisy).await?.into();
                }
                if let Some(awaited) = awaited {
                    awaited.remember(&own, &answer).await;
                }
                let whole = if streamed { to_events::response } else { Value::to_string };
                Body::from(whole(&answer))
            }
        };
        let kind = if streamed { "text/event-stream" } else { "application/json" };
        returned.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        Ok(response(StatusCode::OK, returned, body))
    }
}

/// An answer that is rewritten piece by piece.
struct RewrittenStream {
    rewriter: Rewriter,
    steps: VecDeque<Step>,
    /// The text that is being rewritten, and how a piece of it becomes an event.
    now: Option<(Rewriting, to_events::Wrap)>,
    route: &'static Route,
    listener: Option<StreamListener>,
    _permit: OwnedSemaphorePermit,
}

impl RewrittenStream {
    async fn next(&mut self) -> Option<String> {
        match self.event().await {
            Ok(event) => {
                if let (Some(event), Some(listener)) = (&event, &mut self.listener) {
                    listener.hear(event).await;
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
                    let Rewriter { extractor, prompt, .. } = &self.rewriter;
                    self.now = Some((extractor.rewrite(prompt, &noisy).await?, wrap));
                }
                None => return Ok(None),
            }
        }
    }
}
