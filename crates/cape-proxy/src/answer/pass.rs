//! An answer that comes in pieces.

use std::collections::VecDeque;

use axum::body::{Body, Bytes};
use futures_util::stream;
use reqwest::Response;
use tokio::sync::OwnedSemaphorePermit;

use crate::answer::remember::Overheard;
use crate::answer::sse::Events;
use crate::error::{Dialect, Fault};
use crate::upstream::fault;

/// Where a stream stands. When the client goes away it is dropped, and with it the connection to
/// upstream and the request's place.
struct State {
    answer: Response,
    events: Events,
    ready: VecDeque<String>,
    ended: bool,
    dialect: Dialect,
    overheard: Option<Overheard>,
    _permit: OwnedSemaphorePermit,
}

/// Passes events on, whole ones only. Where upstream fails, the last event says so.
pub(crate) fn pass(
    answer: Response,
    dialect: Dialect,
    permit: OwnedSemaphorePermit,
    overheard: Option<Overheard>,
) -> Body {
    let state = State {
        answer,
        events: Events::default(),
        ready: VecDeque::new(),
        ended: false,
        dialect,
        overheard,
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
                if let Some(overheard) = &mut self.overheard {
                    overheard.hear(&event).await;
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
pub(crate) fn failed(fault: &Fault, dialect: Dialect) -> String {
    let name = match dialect {
        Dialect::OpenAi => "",
        Dialect::Anthropic => "event: error\n",
    };
    format!("{name}data: {}\n\n", fault.body(dialect))
}
