//! A chat model behind an OpenAI-compatible address, or in a file: one question, one answer.
//!
//! Questions and answers show nowhere but in the answer itself: errors name the fault, `Debug`
//! shows sizes.

mod answer;
mod fault;

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cape_models::{Chat, Completion, Said};
use serde_json::{Value, json};
use ureq::http::{HeaderValue, Response, Uri};
use ureq::{Agent, Body};

pub use answer::{Answer, Finish, Usage};
pub use fault::ChatError;

/// No answer of a chat model is longer, in bytes.
const LARGEST: u64 = 4 << 20;
/// How much is read of an answer that is an error: enough for its code.
const LARGEST_ERROR: u64 = 1 << 16;
/// A host that is up accepts a connection at once, however long it thinks afterwards.
const CONNECT: Duration = Duration::from_secs(10);

/// A chat model, wherever it is.
#[derive(Clone)]
pub struct Client(Place);

#[derive(Clone)]
enum Place {
    /// Behind an address.
    Server(Server),
    /// In this process.
    Here(Arc<Chat>),
}

/// Where a chat model is, and how patiently it is asked.
#[derive(Clone)]
struct Server {
    agent: Agent,
    url: String,
    model: String,
    key: Option<HeaderValue>,
    time_limit: Duration,
    attempts: u32,
    pause: Duration,
}

impl Client {
    /// At a base address like `http://127.0.0.1:8080/v1`, by the model's name there. The key is sent
    /// to that address and to no other.
    pub fn new(
        url: &str,
        model: impl Into<String>,
        key: Option<String>,
    ) -> Result<Self, ChatError> {
        let uri: Uri = url.parse().map_err(|_| ChatError::Address)?;
        let http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !http || uri.host().is_none_or(str::is_empty) || uri.query().is_some() {
            return Err(ChatError::Address);
        }
        let key = key.filter(|key| !key.trim().is_empty()).map(|key| {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.trim()))?;
            value.set_sensitive(true);
            Ok::<_, ureq::http::header::InvalidHeaderValue>(value)
        });
        let agent = Agent::config_builder()
            // another address is another party: neither prompt nor key may follow
            .max_redirects(0)
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT))
            .build()
            .into();
        Ok(Self(Place::Server(Server {
            agent,
            url: format!("{}/chat/completions", url.trim_end_matches('/')),
            model: model.into(),
            key: key.transpose().map_err(|_| ChatError::Key)?,
            time_limit: Duration::from_mins(5),
            attempts: 4,
            pause: Duration::from_millis(500),
        })))
    }

    /// In a GGUF file. It gives the most likely answer, whatever temperature and seed are asked for.
    pub fn open(path: &Path) -> crate::Result<Self> {
        Ok(Self(Place::Here(Arc::new(Chat::open(path, cape_models::Options::default())?))))
    }

    /// How long a question may take, with all attempts and the pauses between them: 5 minutes unless
    /// told.
    #[must_use]
    pub fn time_limit(self, time_limit: Duration) -> Self {
        self.server(|server| Server { time_limit, ..server })
    }

    /// How often to ask at most, and how long to wait before the second attempt; the wait doubles
    /// from there. 4 and half a second unless told.
    #[must_use]
    pub fn attempts(self, attempts: u32, pause: Duration) -> Self {
        self.server(|server| Server { attempts, pause, ..server })
    }

    /// The same with another server; a model in this process needs no patience.
    fn server(self, other: impl FnOnce(Server) -> Server) -> Self {
        match self.0 {
            Place::Server(server) => Self(Place::Server(other(server))),
            here @ Place::Here(_) => Self(here),
        }
    }

    /// Asks, and waits for the whole answer. Faults that may pass are tried again, no sooner than the
    /// server wishes.
    pub fn complete(&self, messages: &[Message], options: &Options) -> Result<Answer, ChatError> {
        match &self.0 {
            Place::Server(server) => server.complete(messages, options),
            Place::Here(chat) => here(chat, messages, options),
        }
    }

    /// By how much more likely the answer begins with one word than with another: the logarithm of the quotient. None if
    /// a server does not tell, or both are too unlikely for it to tell.
    pub(crate) fn margin(
        &self,
        messages: &[Message],
        words: [&str; 2],
    ) -> Result<Option<f64>, ChatError> {
        match &self.0 {
            Place::Server(server) => server.margin(messages, words),
            Place::Here(chat) => Ok(Some(chat.margin(&said(messages), words)?.into())),
        }
    }
}

/// Messages as a model in this process takes them.
fn said(messages: &[Message]) -> Vec<Said<'_>> {
    messages
        .iter()
        .map(|message| Said { role: message.role.as_str(), content: &message.text })
        .collect()
}

/// The answer of a model in this process.
fn here(chat: &Chat, messages: &[Message], options: &Options) -> Result<Answer, ChatError> {
    let Completion { text, whole, tokens: (prompt, completion) } =
        chat.complete(&said(messages), options.max_tokens as usize)?;
    let finish = if whole { Finish::Stop } else { Finish::Length };
    let usage = Some(Usage { prompt: prompt as u64, completion: completion as u64 });
    Ok(Answer { text, finish, usage })
}

impl Server {
    fn complete(&self, messages: &[Message], options: &Options) -> Result<Answer, ChatError> {
        answer::parse(&self.patiently(&self.question(messages, options))?)
    }

    fn margin(&self, messages: &[Message], words: [&str; 2]) -> Result<Option<f64>, ChatError> {
        let options = Options { temperature: 0.0, max_tokens: 1, seed: Some(0) };
        let mut question = self.question(messages, &options);
        question["logprobs"] = true.into();
        // the most that the API gives
        question["top_logprobs"] = 20.into();
        answer::margin(&self.patiently(&question)?, words)
    }

    /// The body of the answer. Faults that may pass are tried again.
    fn patiently(&self, question: &Value) -> Result<Vec<u8>, ChatError> {
        let question = question.to_string();
        let (start, mut pause, mut attempt) = (Instant::now(), self.pause, 1);
        let left = || self.time_limit.saturating_sub(start.elapsed());
        loop {
            let error = match self.ask(&question, left()) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let wait = error.retry_after().unwrap_or_default().max(pause);
            if attempt >= self.attempts || !error.may_pass() || wait >= left() {
                return Err(error);
            }
            sleep(wait);
            pause = pause.saturating_mul(2);
            attempt += 1;
        }
    }

    fn question(&self, messages: &[Message], options: &Options) -> Value {
        let messages: Vec<Value> = messages
            .iter()
            .map(|message| json!({ "role": message.role.as_str(), "content": message.text }))
            .collect();
        let mut question = json!({
            "model": self.model,
            "messages": messages,
            "temperature": options.temperature,
            "max_tokens": options.max_tokens,
            "stream": false,
        });
        // not every server takes a seed of null
        if let Some(seed) = options.seed {
            question["seed"] = seed.into();
        }
        question
    }

    /// One attempt.
    fn ask(&self, question: &str, left: Duration) -> Result<Vec<u8>, ChatError> {
        if left.is_zero() {
            return Err(ChatError::Timeout);
        }
        let mut ask = self.agent.post(&self.url).config().timeout_global(Some(left)).build();
        if let Some(key) = &self.key {
            ask = ask.header("authorization", key);
        }
        let answer = ask.header("content-type", "application/json").send(question)?;
        if !answer.status().is_success() {
            return Err(refusal(answer));
        }
        let bytes = read(answer, LARGEST)?;
        if bytes.len() as u64 > LARGEST {
            return Err(ChatError::TooLarge);
        }
        Ok(bytes)
    }
}

/// The body, cut off after a byte more than the limit.
fn read(answer: Response<Body>, limit: u64) -> Result<Vec<u8>, ChatError> {
    let mut bytes = Vec::new();
    let mut body = answer.into_body().into_reader().take(limit + 1);
    body.read_to_end(&mut bytes).map_err(ureq::Error::from)?;
    Ok(bytes)
}

fn refusal(answer: Response<Body>) -> ChatError {
    let status = answer.status().as_u16();
    let wait = answer.headers().get("retry-after").and_then(|wait| wait.to_str().ok());
    // the header's other form, a date, is passed over: then our own pause holds
    let retry_after = wait.and_then(|wait| wait.trim().parse().ok()).map(Duration::from_secs);
    let code = read(answer, LARGEST_ERROR).ok().and_then(|body| fault::code(&body));
    ChatError::Status { status, code, retry_after }
}

impl fmt::Debug for Client {
    /// Without the key, and without an address that may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (model, key) = match &self.0 {
            Place::Server(server) => (&server.model[..], server.key.is_some()),
            Place::Here(_) => ("a file", false),
        };
        f.debug_struct("Client").field("model", &model).field("key", &key).finish_non_exhaustive()
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Whoever tells the model what to do.
    System,
    /// Whoever gives it the text.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The API's name for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Something said.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// By whom.
    pub role: Role,
    /// The text.
    pub text: String,
}

impl Message {
    /// An instruction.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self { role: Role::System, text: text.into() }
    }

    /// The text that the instruction is about.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, text: text.into() }
    }
}

impl fmt::Debug for Message {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({}, {} bytes)", self.role.as_str(), self.text.len())
    }
}

/// How to answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// 0 for the most likely answer.
    pub temperature: f64,
    /// The longest answer, in the model's tokens.
    pub max_tokens: u32,
    /// For servers that can repeat a draw; 32 bits, as llama.cpp has it.
    pub seed: Option<u32>,
}
