//! Upstream's answer passed on as it came: whole, or event by event.

use std::collections::VecDeque;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Response, header};
use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;

use super::remember::{AwaitedAnswer, StreamListener};
use super::sse::Events;
use crate::fault::{Dialect, Fault};
use crate::request::headers;
use crate::upstream::{self, fault};

/// Upstream's answer as the client gets it, remembered if it is one that may come back.
pub(crate) async fn pass(
    answer: reqwest::Response,
    dialect: Dialect,
    permit: OwnedSemaphorePermit,
    awaited: Option<AwaitedAnswer>,
) -> Result<Response<Body>, Fault> {
    let (status, returned) = (answer.status(), headers::returned(answer.headers()));
    let awaited = awaited.filter(|_| status.is_success());
    let body = if is_stream(answer.headers()) {
        let listener = awaited.map(|awaited| StreamListener::new(awaited, None));
        events(answer, dialect, permit, listener)
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

/// A stream under way. When the client goes away it is dropped, and with it the connection to upstream
/// and the request's place.
struct State {
    answer: reqwest::Response,
    events: Events,
    ready: VecDeque<String>,
    ended: bool,
    dialect: Dialect,
    listener: Option<StreamListener>,
    _permit: OwnedSemaphorePermit,
}

/// Passes events on, whole ones only. Where upstream fails, the last event says so.
fn events(
    answer: reqwest::Response,
    dialect: Dialect,
    permit: OwnedSemaphorePermit,
    listener: Option<StreamListener>,
) -> Body {
    let state = State {
        answer,
        events: Events::default(),
        ready: VecDeque::new(),
        ended: false,
        dialect,
        listener,
        _permit: permit,
    };
    Body::from_stream(stream::unfold(state, |mut state| async move {
        let event = state.next().await?;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(event)), state))
    }))
}

impl State {
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if let Some(listener) = &mut self.listener {
                    listener.hear(&event).await;
                }
                return Some(event);
            }
            if self.ended {
                return None;
            }
            if let Err(fault) = self.read().await {
                self.ended = true;
                self.ready.push_back(failed(&fault, self.dialect));
            }
        }
    }

    async fn read(&mut self) -> Result<(), Fault> {
        let chunk = self.answer.chunk().await.map_err(|error| fault(&error, Fault::Broken))?;
        let Some(bytes) = chunk else {
            self.ended = true;
            self.ready.extend(self.events.end().map_err(|_| Fault::Broken)?);
            return Ok(());
        };
        self.events.push(&bytes, &mut self.ready).map_err(|_| Fault::Malformed)
    }
}

/// A failure as an event.
pub(super) fn failed(fault: &Fault, dialect: Dialect) -> String {
    let name = match dialect {
        Dialect::OpenAi => "",
        Dialect::Anthropic => "event: error\n",
    };
    format!("{name}data: {}\n\n", fault.body(dialect))
}
