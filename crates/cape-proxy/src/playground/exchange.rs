//! What a proxy lends to its playground: its ledger to pay from, its service to ask, its model that rewrites answers.

use std::pin::Pin;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use cape::{Cape, Release, Restorer, Wanted};
use serde_json::{Value, json};

use super::refused::Refused;
use crate::fault::Fault;
use crate::request::body::pattern;

/// What comes later.
pub(crate) type Later<T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send>>;

/// The release that was drawn last, and what it was drawn for.
pub(super) struct Last {
    pub(super) text: String,
    pub(super) release: Release,
    pub(super) cape: Arc<Cape>,
}

/// Draws that are not paid for yet.
pub(crate) struct Owed {
    /// The name of the map that they are made from.
    pub(crate) map: String,
    /// What each of them is drawn from, and its word.
    pub(crate) draws: Vec<(Vec<u8>, Vec<u8>)>,
    /// The loss of each.
    pub(crate) bound: f64,
}

/// An answer of the service: its status and its body.
pub(crate) type Answer = (u16, Vec<u8>);

/// What the page should know of a proxy.
#[derive(Default)]
pub(crate) struct About {
    /// The service's address.
    pub(crate) upstream: String,
    /// Whether a model rewrites answers.
    pub(crate) extractor: bool,
    /// Whether requests must carry a token.
    pub(crate) token: bool,
    /// What is put back into answers.
    pub(crate) restore: Vec<Wanted>,
}

/// A question to the service.
pub(crate) struct Asked {
    pub(crate) model: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// The parts of a proxy that a playground uses.
pub(crate) struct Exchange {
    /// Its settings at this moment.
    pub(crate) about: Box<dyn Fn() -> About + Send + Sync>,
    /// Pays for draws before they are made, or refuses.
    pub(crate) pay: Box<dyn Fn(Owed) -> Later<()> + Send + Sync>,
    /// Asks the service, if its model may be asked; its answer comes with the status.
    pub(crate) ask: Box<dyn Fn(Asked) -> Later<Answer> + Send + Sync>,
    /// Rewrites an answer with the true prompt at hand, if there is a model for that: the prompt, and then
    /// the answer.
    pub(crate) rewrite: Box<dyn Fn(String, String) -> Later<Option<String>> + Send + Sync>,
}

impl Exchange {
    /// Sends the last release, and never its text, and shows what became of the answer.
    pub(super) async fn send(&self, last: &Last, model: &str, key: &str) -> Result<Value, Refused> {
        if !pattern::model(model) {
            return Err(Refused::request("This is no name of a model."));
        }
        let mut headers = HeaderMap::new();
        if !key.is_empty() {
            let bearer = HeaderValue::try_from(format!("Bearer {key}"));
            let mut bearer =
                bearer.map_err(|_| Refused::request("This is no key: it has odd characters."))?;
            bearer.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, bearer);
        }
        let sent = &last.release.text;
        let body = json!({"model": model, "messages": [{"role": "user", "content": sent}]});
        let asked = Asked { model: model.to_owned(), headers, body: body.to_string() };
        let (status, answer) = (self.ask)(asked).await?;
        if status != 200 {
            return Err(Refused::service(status));
        }
        let answer: Value = serde_json::from_slice(&answer).map_err(|_| Fault::Malformed)?;
        let answer = answer["choices"][0]["message"]["content"].as_str();
        let answer = answer.ok_or(Fault::Malformed)?;
        let mut restorer = Restorer::default();
        restorer.learn(&last.cape, &last.text, sent, &(self.about)().restore);
        let (restored, put_back) = restorer.restore(answer);
        let rewritten = (self.rewrite)(last.text.clone(), answer.to_owned()).await?;
        Ok(json!({
            "sent": sent,
            "answer": answer,
            "restored": restored,
            "put_back": put_back,
            "rewritten": rewritten,
        }))
    }
}
