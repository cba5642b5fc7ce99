//! The paper's last step: a model that the operator trusts rewrites the noisy answer with the true prompt
//! at hand. True prompts go nowhere else.

use std::collections::VecDeque;
use std::time::Duration;

use axum::http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::sse::{self, Events};
use crate::error::Error;
use crate::fault::Fault;
use crate::settings::Settings;
use crate::upstream::Upstream;

/// The paper's instruction.
const INSTRUCTION: &str = r#"Your task is to extend the "Prefix Text".
Use the "Perturbed Generation" as your primary writing material for your extension.
Extract coherent and consistent text from the "Perturbed Generation" and integrate them into your continuation.
Ensure a seamless alignment with the context established by the "Prefix Text".
Provide only your "Extended Text"."#;

/// The messages that ask for an answer.
fn messages(prompt: &str, noisy: &str) -> Value {
    let fields = format!(
        "----\"Prefix Text\": {prompt}\n----\"Perturbed Generation\": {noisy}\n----\"Extended Text\":"
    );
    json!([{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": fields}])
}

/// An OpenAI-compatible model that sees true prompts.
pub(crate) struct Extractor {
    server: Upstream,
    model: String,
}

impl Extractor {
    /// The extractor of the settings, if they name one.
    pub(crate) fn new(settings: &Settings) -> Result<Option<Self>, Error> {
        let Some(url) = &settings.extractor_url else { return Ok(None) };
        let timeout = Duration::from_secs(settings.timeout);
        let idle = Duration::from_secs(settings.idle_timeout);
        let server = Upstream::new("the extractor", url, timeout, idle)?;
        if !server.is_local() && !settings.extractor_elsewhere {
            return Err(Error::ExtractorElsewhere);
        }
        let model = settings.extractor_model.clone().unwrap_or_else(|| "default".into());
        Ok(Some(Self { server, model }))
    }

    /// The server that it is asked on.
    pub(crate) fn server(&self) -> &Upstream {
        &self.server
    }

    /// Begins to rewrite an answer.
    pub(crate) async fn rewrite(&self, prompt: &str, noisy: &str) -> Result<Rewriting, Fault> {
        let messages = messages(prompt, noisy);
        let body = json!({"model": self.model, "messages": messages, "stream": true}).to_string();
        // no header of the client goes here
        let asked = self.server.ask(Method::POST, "chat/completions", HeaderMap::new(), Some(body));
        let answer = asked.await.map_err(|_| Fault::Extractor)?;
        if !answer.status().is_success() {
            return Err(Fault::Extractor);
        }
        let (events, ready) = (Events::default(), VecDeque::new());
        Ok(Rewriting { answer, events, ready, finished: false })
    }

    /// The whole of a rewritten answer.
    pub(crate) async fn whole(&self, prompt: &str, noisy: &str) -> Result<String, Fault> {
        let mut rewriting = self.rewrite(prompt, noisy).await?;
        let mut text = String::new();
        while let Some(piece) = rewriting.next().await? {
            text.push_str(&piece);
        }
        Ok(text)
    }
}

/// An answer that is being rewritten.
pub(crate) struct Rewriting {
    answer: reqwest::Response,
    events: Events,
    ready: VecDeque<String>,
    finished: bool,
}

impl Rewriting {
    /// The next piece of text; none at the end. A stream that breaks off is a failure.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, Fault> {
        loop {
            while let Some(event) = self.ready.pop_front() {
                let Some(data) = sse::data(&event) else { continue };
                if data == "[DONE]" {
                    return Ok(None);
                }
                let data: Value = serde_json::from_str(&data).map_err(|_| Fault::Extractor)?;
                let choice = &data["choices"][0];
                self.finished |= choice["finish_reason"].is_string();
                match choice["delta"]["content"].as_str() {
                    Some(text) if !text.is_empty() => return Ok(Some(text.to_owned())),
                    _ if data.get("error").is_some() => return Err(Fault::Extractor),
                    _ => {}
                }
            }
            match self.answer.chunk().await.map_err(|_| Fault::Extractor)? {
                Some(bytes) => {
                    let pushed = self.events.push(&bytes, &mut self.ready);
                    pushed.map_err(|_| Fault::Extractor)?;
                }
                None if self.finished => return Ok(None),
                None => return Err(Fault::Extractor),
            }
        }
    }
}
