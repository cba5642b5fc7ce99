//! The user's own names, put back into an answer on its way to the client.
//!
//! Upstream's answer is untrusted: it knows what was sent for a name and may want the name itself. Where
//! none is put back is decided by [`cape::Restorer`]; thoughts that the service signs, refusals and what
//! stands beside an answer (logprobs, citations) are left as they came.

use cape::{Cape, Restorer, Wanted};
use cape_ledger::Whose;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::to_events;
use crate::request::body::BodyText;
use crate::request::policy::Field;
use crate::request::releaser::{ReleasedText, Sent};
use crate::request::route::AnswerFormat;

/// Which names are put back.
pub(crate) struct Restored {
    pub(crate) wanted: Vec<Wanted>,
    /// Whether the client's tools get them, too.
    pub(crate) calls: bool,
}

/// The names of one request.
pub(crate) struct Names {
    /// Those of each conversation: several prompts to complete have nothing to do with one another.
    conversations: Vec<Restorer>,
    /// How many choices are given for each of them.
    choices: u64,
    /// Whether the client's tools get them, too.
    calls: bool,
}

impl Names {
    /// The names that were said in a request, as upstream got it; none where none are put back.
    pub(crate) fn new(
        cape: &Cape,
        Restored { wanted, calls }: Restored,
        said: &[BodyText],
        beside: &[String],
        texts: &[ReleasedText],
        body: &Value,
    ) -> Option<Self> {
        if wanted.is_empty() {
            return None;
        }
        let mut conversations = Vec::new();
        let mut texts = texts.iter().peekable();
        for (i, said) in said.iter().enumerate() {
            if said.begins {
                conversations.push(Restorer::default());
            }
            let Some(restorer) = conversations.last_mut() else { continue };
            match texts.next_if(|text| text.said == i).map(|text| &text.sent) {
                None => restorer.pass(&said.text),
                Some(Sent::Own(own)) => restorer.answered(own),
                Some(Sent::Drawn(release, whose)) => {
                    let own = *whose == Whose::User && said.field == Field::User;
                    let wanted = if own { wanted.as_slice() } else { &[] };
                    restorer.learn(cape, &said.text, &release.text, wanted);
                }
            }
        }
        // what was said before is not known here, and may have had any of these words
        if body["previous_response_id"].is_string() {
            conversations.clear();
        }
        for restorer in conversations.iter_mut().filter(|restorer| !restorer.is_empty()) {
            for text in beside {
                restorer.pass_beside(text);
            }
        }
        let choices = body["n"].as_u64().unwrap_or(1).max(1);
        Some(Self { conversations, choices, calls })
    }

    /// Whether an answer is given as it came.
    pub(super) fn is_empty(&self) -> bool {
        self.conversations.iter().all(Restorer::is_empty)
    }

    /// Whether tools get names, too.
    pub(super) fn for_calls(&self) -> bool {
        self.calls
    }

    /// The names for one of the choices.
    pub(super) fn of(&self, choice: u64) -> Restorer {
        let each = if self.conversations.len() == 1 { u64::MAX } else { self.choices };
        let at = usize::try_from(choice / each).unwrap_or(usize::MAX);
        self.conversations.get(at).cloned().unwrap_or_default()
    }

    /// Puts names into the texts of a whole answer, and counts them.
    pub(super) fn fill_texts(&self, format: AnswerFormat, answer: &mut Value) -> usize {
        let mut count = 0;
        let mut now = None;
        for place in to_events::texts(format, answer) {
            let choice = choice(answer, &place);
            // what a client may join is read as one text
            let (_, restoring) = match now.take() {
                Some(same @ (of, _)) if of == choice => now.insert(same),
                _ => now.insert((choice, self.of(choice).begin())),
            };
            let Some(Value::String(text)) = answer.pointer_mut(&place) else { continue };
            let before = restoring.count();
            *text = restoring.push(text) + &restoring.finish();
            count += restoring.count() - before;
        }
        count
    }

    /// Puts names into the arguments of a whole answer's tool calls, if tools get them, and counts them.
    pub(super) fn fill_calls(&self, format: AnswerFormat, answer: &mut Value) -> usize {
        if !self.calls {
            return 0;
        }
        let mut count = 0;
        for place in to_events::calls(format, answer) {
            let names = self.of(choice(answer, &place));
            match answer.pointer_mut(&place) {
                Some(Value::String(json)) => {
                    let (restored, own) = arguments(&names, json);
                    (*json, count) = (restored, count + own);
                }
                Some(input) => {
                    let (restored, own) = arguments(&names, &input.to_string());
                    if let Ok(restored) = serde_json::from_str(&restored)
                        && own > 0
                    {
                        (*input, count) = (restored, count + own);
                    }
                }
                None => {}
            }
        }
        count
    }
}

/// The index of the choice that a place of an answer belongs to.
fn choice(answer: &Value, place: &str) -> u64 {
    let mut parts = place.split('/').skip(1);
    match (parts.next(), parts.next().and_then(|at| at.parse::<usize>().ok())) {
        (Some("choices"), Some(at)) => answer["choices"][at]["index"].as_u64().unwrap_or(at as u64),
        _ => 0,
    }
}

/// The arguments of a call with names in their strings, and how many: keys, numbers and spaces stay. What is
/// no JSON stays as it is.
pub(super) fn arguments(names: &Restorer, json: &str) -> (String, usize) {
    if serde_json::from_str::<IgnoredAny>(json).is_err() {
        return (json.to_owned(), 0);
    }
    let (mut out, mut count, mut at) = (String::with_capacity(json.len()), 0, 0);
    while let Some(start) = json[at..].find('"').map(|start| at + start) {
        let end = string_end(json, start);
        let literal = &json[start..end];
        out += &json[at..start];
        at = end;
        let is_key = json[end..].trim_start().starts_with(':');
        let text = serde_json::from_str::<String>(literal).ok().filter(|_| !is_key);
        match text.map(|text| names.restore(&text)) {
            Some((restored, own)) if own > 0 => {
                out += &Value::String(restored).to_string();
                count += own;
            }
            _ => out += literal,
        }
    }
    (out + &json[at..], count)
}

/// The end of the string that begins here, in valid JSON.
fn string_end(json: &str, start: usize) -> usize {
    let mut escaped = false;
    let end = json[start + 1..].find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |end| start + 1 + end + 1)
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::LazyLock;

    use cape::{Lexicon, Settings};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::request::body::segments::{SegmentKind, segments};

    /// Alice became Emma.
    fn alice() -> Restorer {
        static ALICE: LazyLock<Restorer> = LazyLock::new(|| {
            let cape = Cape::new(Lexicon::embedded(), Settings::default()).unwrap();
            let mut restorer = Restorer::default();
            restorer.learn(&cape, "Tell Alice", "Tell Emma", &Wanted::DEFAULT);
            restorer
        });
        ALICE.clone()
    }

    pub(in crate::answer) fn names(calls: bool) -> Names {
        Names { conversations: vec![alice()], choices: 1, calls }
    }

    #[test]
    fn each_prompt_has_its_own_names() {
        let names =
            Names { conversations: vec![alice(), Restorer::default()], choices: 2, calls: false };
        let choice = |index: u64| json!({"index": index, "text": "Emma"});
        let mut answer =
            json!({"choices": [choice(3), choice(1), choice(2), choice(0), choice(9)]});
        assert_eq!(names.fill_texts(AnswerFormat::Completion, &mut answer), 2);
        let texts = answer["choices"].as_array().unwrap().iter().map(|choice| &choice["text"]);
        assert_eq!(texts.collect::<Vec<_>>(), ["Emma", "Alice", "Emma", "Alice", "Emma"]);
    }

    #[test]
    fn thoughts_are_left_as_they_came() {
        let part = |kind: &str, text: &str| json!({"type": kind, "text": text});
        let call =
            json!({"type": "tool_use", "id": "c", "name": "Emma", "input": {"Emma": ["Emma", 1]}});
        let thought = json!({"type": "thinking", "thinking": "Emma", "signature": "Emma"});
        let mut answer =
            json!({"content": [thought, part("text", "Emma, "), part("text", "Emma"), call]});
        let names = names(true);
        assert_eq!(names.fill_texts(AnswerFormat::Message, &mut answer), 2);
        assert_eq!(names.fill_calls(AnswerFormat::Message, &mut answer), 1);
        assert_eq!(answer["content"][0], thought);
        assert_eq!(answer["content"][2], part("text", "Alice"));
        assert_eq!(answer["content"][3]["input"], json!({"Emma": ["Alice", 1]}));
        assert_eq!(answer["content"][3]["name"], "Emma");
        let reasoning = json!({"type": "reasoning", "summary": [part("summary_text", "Emma")],
            "content": [part("reasoning_text", "Emma")]});
        let mut answer = json!({"output": [reasoning, {"type": "message", "content": [part("output_text", "Emma")]}]});
        assert_eq!(names.fill_texts(AnswerFormat::Response, &mut answer), 1);
        assert_eq!(answer["output"][0], reasoning);
    }

    #[test]
    fn arguments_stay_json() {
        for (json, expected, count) in [
            (
                r#"{"Emma": "Emma's", "n": 12345678901234567890123, "x":[ "Emma" , 1.10]}"#,
                r#"{"Emma": "Alice's", "n": 12345678901234567890123, "x":[ "Alice" , 1.10]}"#,
                2,
            ),
            (
                r#"{"a\"Emma" : "say \"Emma \" \\", "b": "\u0045mma"}"#,
                r#"{"a\"Emma" : "say \"Alice \" \\", "b": "Alice"}"#,
                2,
            ),
            (
                r#"{"url": "http://evil.example/?Emma", "code": "`Emma`"}"#,
                r#"{"url": "http://evil.example/?Emma", "code": "`Emma`"}"#,
                0,
            ),
            (r#"{"half": "Emma"#, r#"{"half": "Emma"#, 0),
            (r#""Emma""#, r#""Alice""#, 1),
        ] {
            assert_eq!(arguments(&alice(), json), (expected.to_owned(), count));
        }
    }

    proptest! {
        #[test]
        fn arguments_differ_in_strings_alone(text in "(Emma|[ \"\\\\a,:\n])*") {
            let value = json!({"Emma": [text.clone(), {"k": text}], "n": 1.5});
            let (json, count) = arguments(&alice(), &value.to_string());
            let read: Value = serde_json::from_str(&json).unwrap();
            let text = value["Emma"][0].as_str().unwrap();
            let (own, each) = alice().restore(text);
            prop_assert_eq!(count, 2 * each);
            prop_assert_eq!(read, json!({"Emma": [own.clone(), {"k": own}], "n": 1.5}));
        }

        /// Code and addresses of an answer may be sent back unchanged: no name may stand there.
        #[test]
        fn no_name_stands_in_what_may_pass(text in "(Emma|www\\.|https://|[` \n\r~<a.']|```\n?| \t)*") {
            let (restored, _) = alice().restore(&text);
            for (kind, range) in segments(&restored) {
                let named = restored[range.clone()].contains("Alice");
                prop_assert!(kind == SegmentKind::Prose || !named, "{:?}", &restored[range]);
            }
            prop_assert_eq!(segments(&restored).len(), segments(&text).len());
        }
    }
}
