//! The routes to upstream, each with its table and the format of its answers.

use super::body::Rule;
use super::body::tables::{anthropic, openai, responses};
use crate::fault::Dialect;

/// A path at upstream, the fields that its bodies may hold, and the form of its answers.
pub(crate) struct Route {
    pub(crate) path: &'static str,
    pub(crate) table: &'static [(&'static str, Rule)],
    pub(crate) dialect: Dialect,
    pub(crate) answer: AnswerFormat,
}

/// The format of an answer, which tells where its texts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerFormat {
    /// OpenAI's chat completion.
    Chat,
    /// OpenAI's completion.
    Completion,
    /// Anthropic's message.
    Message,
    /// OpenAI's response.
    Response,
    /// Embeddings or a count of tokens: no text.
    Vectors,
}

macro_rules! route {
    ($path:literal, $table:expr, $dialect:ident, $answer:ident) => {{
        let (dialect, answer) = (Dialect::$dialect, AnswerFormat::$answer);
        &Route { path: $path, table: $table, dialect, answer }
    }};
}

/// Every route whose bodies go on to upstream.
pub(crate) const ROUTES: [&Route; 6] = [
    route!("chat/completions", openai::CHAT, OpenAi, Chat),
    route!("completions", openai::COMPLETIONS, OpenAi, Completion),
    route!("embeddings", openai::EMBEDDINGS, OpenAi, Vectors),
    route!("responses", responses::RESPONSES, OpenAi, Response),
    route!("messages", anthropic::MESSAGES, Anthropic, Message),
    route!("messages/count_tokens", anthropic::MESSAGES, Anthropic, Vectors),
];

/// Where routes are served. Clients differ in whether the version is part of their base URL, and it
/// is easily given twice or not at all.
pub(crate) const PREFIXES: [&str; 3] = ["/v1", "", "/v1/v1"];

/// Whether a service is known not to have a route, so that nothing need be drawn, paid for or sent.
pub(crate) fn is_foreign(host: &str, route: &Route) -> bool {
    match host {
        "api.openai.com" => route.dialect == Dialect::Anthropic,
        "api.anthropic.com" => {
            route.dialect == Dialect::OpenAi && route.answer != AnswerFormat::Chat
        }
        _ => false,
    }
}
