//! Upstream's answers are remembered: sent back by the client, they go to upstream as they came.
//!
//! A service learns nothing from its own words, so they cost nothing. Where they were rewritten for the
//! client, the service's words are found by the rewritten ones, which upstream never gets.

use std::sync::Arc;

use cape_ledger::{Answer, Conversation};
use serde_json::{Value, json};

use super::from_events::StreamedAnswer;
use crate::request::body::{self, BodyText};
use crate::request::policy::{Names, Policy};
use crate::request::releaser::Releaser;
use crate::request::route::{AnswerFormat, Route};

/// An answer that is still to come, with the conversation before it.
pub(crate) struct AwaitedAnswer {
    releaser: Arc<Releaser>,
    route: &'static Route,
    policy: Policy,
    after: Conversation,
    /// A longer answer could not come back in a request.
    max_body: usize,
}

impl AwaitedAnswer {
    /// The answer to a conversation; none where answers do not come back.
    pub(crate) fn new(
        releaser: &Arc<Releaser>,
        route: &'static Route,
        policy: &Policy,
        after: Conversation,
        max_body: usize,
    ) -> Option<Self> {
        // a call of a tool that the next turn does not declare is refused then
        let policy = Policy { tool_names: Names::Pass, ..policy.clone() };
        let releaser = Arc::clone(releaser);
        let comes_back = !matches!(route.answer, AnswerFormat::Completion | AnswerFormat::Vectors);
        comes_back.then_some(Self { releaser, route, policy, after, max_body })
    }

    /// Remembers an answer of so many bytes that came whole.
    pub(crate) async fn whole(&self, bytes: usize, own: &Value, given: &Value) {
        if bytes <= self.max_body {
            self.remember(own, given).await;
        }
    }

    /// Remembers upstream's own words for those that the client is given. If that fails, the answer is
    /// perturbed like any other text when it comes back.
    pub(crate) async fn remember(&self, own: &Value, given: &Value) {
        let (own, given) = (self.alternatives(own), self.alternatives(given));
        let mut messages = Vec::new();
        if own.len() == given.len() {
            for (own, given) in own.iter().zip(&given) {
                messages.extend(self.places(own, given).unwrap_or_default());
            }
        }
        if messages.is_empty() {
            return;
        }
        if self.releaser.remember(&messages).await.is_err() {
            tracing::warn!("an answer is not remembered");
        }
    }

    /// The messages to remember; none where the texts of the two do not correspond.
    fn places(&self, own: &Value, given: &Value) -> Option<Vec<Answer>> {
        let (own, given) = (self.said(own)?, self.said(given)?);
        let kind = |said: &BodyText| (said.field, said.passes, said.own);
        if !own.iter().map(kind).eq(given.iter().map(kind)) {
            return None;
        }
        let mut conversation = self.after.clone();
        let mut messages = Vec::new();
        for (own, given) in own.into_iter().zip(given) {
            let place = given.place(&mut conversation);
            if !given.passes {
                messages.push(Answer { place, text: own.text });
            }
        }
        Some(messages)
    }

    /// The texts of an answer as they are read when it comes back.
    fn said(&self, answer: &Value) -> Option<Vec<BodyText>> {
        Some(body::read_value(answer, self.route.table, &self.policy).ok()?.said)
    }

    /// An answer as a part of the next request; several, where the client has a choice.
    fn alternatives(&self, answer: &Value) -> Vec<Value> {
        let message = |mut message: Value| {
            message["role"] = json!("assistant");
            json!({ "messages": [message] })
        };
        match self.route.answer {
            AnswerFormat::Chat => {
                let mut choices: Vec<&Value> =
                    answer["choices"].as_array().into_iter().flatten().collect();
                choices.sort_by_key(|choice| choice["index"].as_u64());
                let own = choices.into_iter().map(|choice| {
                    let said = &choice["message"];
                    // services add fields of their own, which are not sent back
                    message(json!({"content": said["content"], "refusal": said["refusal"],
                        "tool_calls": said["tool_calls"]}))
                });
                own.collect()
            }
            AnswerFormat::Message => vec![message(json!({ "content": answer["content"] }))],
            AnswerFormat::Response => vec![json!({ "input": answer["output"] })],
            AnswerFormat::Completion | AnswerFormat::Vectors => Vec::new(),
        }
    }
}

/// Listens to an answer that is given to the client in pieces, to remember it.
pub(crate) struct StreamListener {
    awaited: AwaitedAnswer,
    /// The answer as the client gets it.
    given: StreamedAnswer,
    own: OwnWords,
}

/// Upstream's own words for what the client gets.
enum OwnWords {
    /// The same.
    Given,
    /// Others, which came in pieces, and are whole or not yet.
    Coming(StreamedAnswer, Option<Value>),
    /// Others, which came whole.
    Whole(Value),
}

impl StreamListener {
    /// To a stream that the client gets as it comes.
    pub(crate) fn new(awaited: AwaitedAnswer) -> Self {
        Self::of(awaited, OwnWords::Given)
    }

    /// To a stream that is changed on its way: [`hear_own`](Self::hear_own) takes it as it came.
    pub(crate) fn changed(awaited: AwaitedAnswer) -> Self {
        let own = StreamedAnswer::new(awaited.route.answer, awaited.max_body);
        Self::of(awaited, OwnWords::Coming(own, None))
    }

    /// To a stream that is made of this answer.
    pub(crate) fn made_of(awaited: AwaitedAnswer, own: Value) -> Self {
        Self::of(awaited, OwnWords::Whole(own))
    }

    fn of(awaited: AwaitedAnswer, own: OwnWords) -> Self {
        let given = StreamedAnswer::new(awaited.route.answer, awaited.max_body);
        Self { awaited, given, own }
    }

    /// Hears an event of upstream that is changed for the client.
    pub(crate) fn hear_own(&mut self, event: &str) {
        if let OwnWords::Coming(coming, whole) = &mut self.own
            && let Some(own) = coming.push(event)
        {
            *whole = Some(own);
        }
    }

    /// Hears an event before the client does. At the last one the answer is remembered: the next
    /// request may follow at once.
    pub(crate) async fn hear(&mut self, event: &str) {
        let Some(given) = self.given.push(event) else { return };
        let own = match &self.own {
            OwnWords::Given => Some(&given),
            OwnWords::Coming(_, whole) => whole.as_ref(),
            OwnWords::Whole(own) => Some(own),
        };
        if let Some(own) = own {
            self.awaited.remember(own, &given).await;
        }
    }
}
