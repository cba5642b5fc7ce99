//! Upstream's answer passed on: as it came, or with the user's names; whole, or event by event.

use std::collections::VecDeque;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use futures_util::stream;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::names::Names;
use super::remember::{AwaitedAnswer, StreamListener};
use super::restored_events::RestoredEvents;
use super::sse::Events;
use crate::fault::{Dialect, Fault};
use crate::request::headers;
use crate::request::route::{AnswerFormat, Route};
use crate::upstream::{self, fault};

/// How many words of an answer were put back.
const RESTORED: &str = "x-cape-restored";

/// What is known of an answer before it comes.
pub(crate) struct Expected {
    pub(crate) route: &'static Route,
    /// The request's place among those that are served.
    pub(crate) permit: OwnedSemaphorePermit,
    /// How it is remembered, if it may come back.
    pub(crate) awaited: Option<AwaitedAnswer>,
    /// The names that are put back.
    pub(crate) names: Option<Names>,
}

/// Upstream's answer as it came.
pub(crate) async fn pass(
    answer: reqwest::Response,
    dialect: Dialect,
    permit: OwnedSemaphorePermit,
) -> Result<Response<Body>, Fault> {
    let (status, returned) = (answer.status(), headers::returned(answer.headers()));
    let body = if is_stream(answer.headers()) {
        events(answer, dialect, permit, None, None)
    } else {
        Body::from(upstream::whole(answer).await?)
    };
    Ok(response(status, returned, body))
}

/// Upstream's answer as the client gets it, with its names, and remembered if it is one that may come back.
pub(crate) async fn give(
    answer: reqwest::Response,
    Expected { route, permit, awaited, names }: Expected,
) -> Result<Response<Body>, Fault> {
    let mut returned = headers::returned(answer.headers());
    let status = answer.status();
    let body = if is_stream(answer.headers()) {
        let names = names.filter(|names| !names.is_empty());
        let listen = if names.is_some() { StreamListener::changed } else { StreamListener::new };
        let restored = names.map(|names| RestoredEvents::new(names, route.answer));
        events(answer, route.dialect, permit, awaited.map(listen), restored)
    } else {
        let bytes = upstream::whole(answer).await?;
        let read = awaited.is_some() || names.is_some();
        let (own, given, count) =
            if read { named(&bytes, route.answer, names.as_ref()) } else { (None, None, 0) };
        if let (Some(awaited), Some(own)) = (awaited, own) {
            awaited.whole(bytes.len(), &own, given.as_ref().unwrap_or(&own)).await;
        }
        if names.is_some() {
            returned.insert(RESTORED, HeaderValue::from(count));
        }
        Body::from(given.map_or(bytes, |given| given.to_string().into_bytes()))
    };
    Ok(response(status, returned, body))
}

/// A response of these parts.
pub(super) fn response(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    response
}

/// An answer as it came, with names if any were put back, and how many.
fn named(
    bytes: &[u8],
    format: AnswerFormat,
    names: Option<&Names>,
) -> (Option<Value>, Option<Value>, usize) {
    let Ok(own) = serde_json::from_slice::<Value>(bytes) else { return (None, None, 0) };
    let Some(names) = names.filter(|names| !names.is_empty()) else { return (Some(own), None, 0) };
    let mut given = own.clone();
    let count = names.fill_texts(format, &mut given) + names.fill_calls(format, &mut given);
    (Some(own), (count > 0).then_some(given), count)
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
    restored: Option<RestoredEvents>,
    _permit: OwnedSemaphorePermit,
}

/// Passes events on, whole ones only. Where upstream fails, the last event says so.
fn events(
    answer: reqwest::Response,
    dialect: Dialect,
    permit: OwnedSemaphorePermit,
    listener: Option<StreamListener>,
    restored: Option<RestoredEvents>,
) -> Body {
    let state = State {
        answer,
        events: Events::default(),
        ready: VecDeque::new(),
        ended: false,
        dialect,
        listener,
        restored,
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
                if let Some(restored) = &mut self.restored {
                    restored.end(&mut self.ready);
                }
                self.ready.push_back(failed(&fault, self.dialect));
            }
        }
    }

    async fn read(&mut self) -> Result<(), Fault> {
        let chunk = self.answer.chunk().await.map_err(|error| fault(&error, Fault::Broken))?;
        let mut came = Vec::new();
        let read = if let Some(bytes) = chunk {
            self.events.push(&bytes, &mut came).map_err(|_| Fault::Malformed)
        } else {
            self.ended = true;
            self.events.end().map(|last| came.extend(last)).map_err(|_| Fault::Broken)
        };
        self.take(came);
        let full = self.restored.as_ref().is_some_and(RestoredEvents::is_full);
        if full { Err(Fault::Malformed) } else { read }
    }

    /// Events of upstream as the client gets them.
    fn take(&mut self, came: Vec<String>) {
        let Some(restored) = &mut self.restored else { return self.ready.extend(came) };
        for event in came {
            if let Some(listener) = &mut self.listener {
                listener.hear_own(&event);
            }
            restored.push(event, &mut self.ready);
        }
        if self.ended {
            restored.end(&mut self.ready);
        }
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
