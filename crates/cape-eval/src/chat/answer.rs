//! Reads the answer in a chat model's JSON.

use std::fmt;

use serde_json::Value;

use super::ChatError;

/// The answer of a chat model.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text.
    pub text: String,
    /// Why it ends.
    pub finish: Finish,
    /// Its cost in tokens, if the server says so.
    pub usage: Option<Usage>,
}

impl fmt::Debug for Answer {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({} bytes, {:?}, {:?})", self.text.len(), self.finish, self.usage)
    }
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model had said all.
    Stop,
    /// It reached the greatest number of tokens.
    Length,
    /// The server withheld the rest.
    Filter,
    /// Something else, or the server does not say.
    Other,
}

/// Tokens as the server counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the question.
    pub prompt: u64,
    /// Tokens of the answer.
    pub completion: u64,
}

fn json(body: &[u8]) -> Result<Value, ChatError> {
    // without serde's error, which quotes what it found
    serde_json::from_slice(body).map_err(|_| ChatError::Answer("valid JSON"))
}

/// By how much more likely one word is than another as the first of an answer, where the server tells of both.
pub(super) fn margin(body: &[u8], words: [&str; 2]) -> Result<Option<f64>, ChatError> {
    let body = json(body)?;
    let likely = body.pointer("/choices/0/logprobs/content/0/top_logprobs");
    let likely = likely.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let logprob = |word: &str| {
        let is = |one: &&Value| one["token"].as_str().is_some_and(|token| token.trim() == word);
        likely.iter().filter(is).filter_map(|one| one["logprob"].as_f64()).reduce(f64::max)
    };
    Ok(logprob(words[0]).zip(logprob(words[1])).map(|(a, b)| a - b))
}

pub(super) fn parse(body: &[u8]) -> Result<Answer, ChatError> {
    let body = json(body)?;
    let choice = body.pointer("/choices/0").ok_or(ChatError::Answer("a choice"))?;
    let message = choice.get("message").ok_or(ChatError::Answer("a message"))?;
    let text = message.get("content").and_then(text).ok_or(ChatError::Answer("a text"))?;
    let finish = match choice.get("finish_reason").and_then(Value::as_str) {
        Some("stop") => Finish::Stop,
        Some("length") => Finish::Length,
        Some("content_filter") => Finish::Filter,
        _ => Finish::Other,
    };
    let usage = body.get("usage").and_then(|usage| {
        let count = |of| usage.get(of).and_then(Value::as_u64);
        Some(Usage { prompt: count("prompt_tokens")?, completion: count("completion_tokens")? })
    });
    Ok(Answer { text, finish, usage })
}

/// The text of a content, which is a text or comes in parts.
fn text(content: &Value) -> Option<String> {
    if let Value::String(text) = content {
        return Some(text.clone());
    }
    let texts = content.as_array()?.iter().filter_map(|part| part.get("text")?.as_str());
    let texts: Vec<&str> = texts.collect();
    (!texts.is_empty()).then(|| texts.concat())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(content: &Value) -> Result<Answer, ChatError> {
        let choices = json!([{ "message": { "content": content }, "finish_reason": "stop" }]);
        parse(json!({ "choices": choices }).to_string().as_bytes())
    }

    #[test]
    fn a_text_may_come_in_parts() {
        let read = |content| of(&content).map(|answer| answer.text).ok();
        assert_eq!(read(json!("yes")).as_deref(), Some("yes"));
        assert_eq!(read(json!("")).as_deref(), Some(""));
        let parts = json!([
            { "type": "reasoning", "summary": [] },
            { "type": "text", "text": "ye" },
            { "type": "text", "text": "s" },
        ]);
        assert_eq!(read(parts).as_deref(), Some("yes"));
        for none in [json!(null), json!([]), json!([{ "type": "image" }]), json!(7), json!({})] {
            assert!(matches!(of(&none), Err(ChatError::Answer("a text"))));
        }
    }

    #[test]
    fn a_margin_needs_both_words() {
        let with = |likely: Value| {
            let content = json!([{ "top_logprobs": likely }]);
            let body = json!({ "choices": [{ "logprobs": { "content": content } }] });
            margin(body.to_string().as_bytes(), ["A", "B"]).unwrap()
        };
        let of = |token: &str, logprob: f64| json!({ "token": token, "logprob": logprob });
        assert_eq!(with(json!([of("B", -0.5), of(" A", -2.0), of("A", -3.0)])), Some(-1.5));
        assert_eq!(with(json!([of("A", -0.5), of("b", -2.0)])), None);
        assert_eq!(margin(b"{}", ["A", "B"]).unwrap(), None);
        assert!(margin(b"<html>", ["A", "B"]).is_err());
    }

    #[test]
    fn what_is_not_said_is_not_known() {
        let answer = of(&json!("yes")).unwrap();
        assert_eq!((answer.finish, answer.usage), (Finish::Stop, None));
        let least = parse(br#"{"choices":[{"message":{"content":"x"}}],"usage":null}"#).unwrap();
        assert_eq!((least.finish, least.usage), (Finish::Other, None));
    }

    #[test]
    fn what_is_missing_is_named() {
        for (body, lacks) in [
            ("", "valid JSON"),
            ("<html>", "valid JSON"),
            ("{\"choices\":[", "valid JSON"),
            ("\u{1}", "valid JSON"),
            ("null", "a choice"),
            ("{}", "a choice"),
            (r#"{"choices":[]}"#, "a choice"),
            (r#"{"choices":"none"}"#, "a choice"),
            (r#"{"error":{"message":"overloaded"}}"#, "a choice"),
            (r#"{"choices":[{"text":"of an older API"}]}"#, "a message"),
            (r#"{"choices":[null]}"#, "a message"),
            (r#"{"choices":[{"message":{}}]}"#, "a text"),
        ] {
            let error = parse(body.as_bytes()).unwrap_err();
            assert!(matches!(error, ChatError::Answer(what) if what == lacks), "{body}: {error}");
        }
        let deep = "[".repeat(100_000);
        assert!(matches!(parse(deep.as_bytes()), Err(ChatError::Answer("valid JSON"))));
    }
}
