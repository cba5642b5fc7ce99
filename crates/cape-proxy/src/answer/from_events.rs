//! The events of a stream put together again: the answer as it would have come whole.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::sse;
use crate::request::route::AnswerFormat;

/// An answer as far as its events have come.
pub(super) struct StreamedAnswer {
    answer: AnswerFormat,
    /// The bytes that may still be kept; none once there were too many, or the answer failed.
    room: Option<usize>,
    choices: BTreeMap<u64, Choice>,
    blocks: BTreeMap<u64, Block>,
}

/// A choice in OpenAI's format.
#[derive(Default)]
struct Choice {
    content: Option<String>,
    refusal: Option<String>,
    calls: BTreeMap<u64, Call>,
}

/// A call in OpenAI's format; its name and its id are not texts.
#[derive(Default)]
struct Call {
    /// The arguments of a function.
    arguments: Option<String>,
    /// The text for a tool that takes one.
    input: Option<String>,
}

/// A block in Anthropic's format.
struct Block {
    begun: Value,
    text: Option<String>,
    input: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
}

impl StreamedAnswer {
    /// Of an answer that is given up if it has more bytes than `most`.
    pub(super) fn new(answer: AnswerFormat, most: usize) -> Self {
        Self { answer, room: Some(most), choices: BTreeMap::new(), blocks: BTreeMap::new() }
    }

    /// Takes in an event, and returns the whole answer if it is the last.
    pub(super) fn push(&mut self, event: &str) -> Option<Value> {
        let data = sse::data(event)?;
        self.room?;
        if data == "[DONE]" {
            return (self.answer == AnswerFormat::Chat).then(|| self.chat());
        }
        let mut data: Value = serde_json::from_str(&data).ok()?;
        match self.answer {
            AnswerFormat::Chat => self.chunk(&data),
            AnswerFormat::Message if data["type"] == "message_stop" => return self.message(),
            AnswerFormat::Message => self.piece(&mut data),
            // the last event has all that was said
            AnswerFormat::Response => {
                let ends = ["response.completed", "response.incomplete"];
                return ends
                    .iter()
                    .any(|end| data["type"] == *end)
                    .then(|| data["response"].take());
            }
            AnswerFormat::Completion | AnswerFormat::Vectors => {}
        }
        None
    }

    fn chunk(&mut self, data: &Value) {
        if data.get("error").is_some() {
            self.room = None;
        }
        let room = &mut self.room;
        for choice in list(&data["choices"]) {
            let (own, delta) = (self.choices.entry(index(choice)).or_default(), &choice["delta"]);
            append(room, &mut own.content, &delta["content"]);
            append(room, &mut own.refusal, &delta["refusal"]);
            for call in list(&delta["tool_calls"]) {
                let own = own.calls.entry(index(call)).or_default();
                append(room, &mut own.arguments, &call["function"]["arguments"]);
                append(room, &mut own.input, &call["custom"]["input"]);
            }
        }
    }

    fn chat(&self) -> Value {
        let choices = self.choices.iter().map(|(index, Choice { content, refusal, calls })| {
            let calls = calls.values().map(|call| match &call.input {
                Some(input) => json!({"type": "custom", "custom": {"input": input}}),
                None => json!({"function": {"arguments": call.arguments}}),
            });
            let calls: Vec<Value> = calls.collect();
            let message = json!({"content": content, "refusal": refusal, "tool_calls": calls});
            json!({"index": index, "message": message})
        });
        json!({ "choices": choices.collect::<Vec<_>>() })
    }

    fn piece(&mut self, data: &mut Value) {
        let (index, delta) = (index(data), &data["delta"]);
        if let Some(block) = self.blocks.get_mut(&index) {
            append(&mut self.room, &mut block.text, &delta["text"]);
            append(&mut self.room, &mut block.input, &delta["partial_json"]);
            append(&mut self.room, &mut block.thinking, &delta["thinking"]);
            append(&mut self.room, &mut block.signature, &delta["signature"]);
        } else if data["type"] == "content_block_start" {
            let begun = data["content_block"].take();
            let text = begun["text"].as_str().map(str::to_owned);
            self.room = less(self.room, &begun.to_string());
            let block = Block { begun, text, input: None, thinking: None, signature: None };
            self.blocks.insert(index, block);
        }
    }

    fn message(&self) -> Option<Value> {
        let blocks =
            self.blocks.values().map(|Block { begun, text, input, thinking, signature }| {
                let mut block = begun.clone();
                for (name, piece) in
                    [("text", text), ("thinking", thinking), ("signature", signature)]
                {
                    if let Some(piece) = piece {
                        block[name] = json!(piece);
                    }
                }
                // a call without arguments has begun with none
                if let Some(input) = input.as_ref().filter(|input| !input.is_empty()) {
                    block["input"] = serde_json::from_str(input).ok()?;
                }
                Some(block)
            });
        Some(json!({ "content": blocks.collect::<Option<Vec<_>>>()? }))
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn index(value: &Value) -> u64 {
    value["index"].as_u64().unwrap_or(0)
}

fn append(room: &mut Option<usize>, text: &mut Option<String>, piece: &Value) {
    let Some(piece) = piece.as_str() else { return };
    *room = less(*room, piece);
    if room.is_some() {
        text.get_or_insert_default().push_str(piece);
    }
}

/// The room that a piece leaves: one without text takes room, too.
fn less(room: Option<usize>, piece: &str) -> Option<usize> {
    room?.checked_sub(piece.len() + 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer at the end of a stream of these data, with so much room.
    fn gathered(answer: AnswerFormat, most: usize, data: &[Value]) -> Option<Value> {
        let mut streamed = StreamedAnswer::new(answer, most);
        let mut last = None;
        for data in data {
            assert!(last.is_none(), "nothing is given before the end");
            let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
            last = streamed.push(&format!("data: {data}\n\n"));
        }
        last
    }

    fn chunk(index: u64, delta: &Value) -> Value {
        json!({"choices": [{"index": index, "delta": delta}]})
    }

    #[test]
    fn choices_are_put_together() {
        let call = |index: u64, arguments: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]});
        let custom = |call: Value| json!({ "tool_calls": [call] });
        let stream = [
            chunk(1, &json!({"role": "assistant", "content": "zw"})),
            chunk(0, &json!({"content": null})),
            chunk(0, &call(1, "{}")),
            chunk(1, &json!({"content": "ei"})),
            chunk(0, &call(0, "{\"a\":")),
            chunk(0, &call(0, "\"b\"}")),
            chunk(
                0,
                &custom(
                    json!({"index": 2, "type": "custom", "custom": {"name": "f", "input": "wo"}}),
                ),
            ),
            chunk(0, &custom(json!({"index": 2, "custom": {"input": "rds"}}))),
            json!({"choices": [], "usage": {}}),
            json!("[DONE]"),
        ];
        let calls = json!([{"function": {"arguments": "{\"a\":\"b\"}"}}, {"function": {"arguments": "{}"}},
            {"type": "custom", "custom": {"input": "words"}}]);
        let whole = json!({"choices": [
            {"index": 0, "message": {"content": null, "refusal": null, "tool_calls": calls}},
            {"index": 1, "message": {"content": "zwei", "refusal": null, "tool_calls": []}}]});
        assert_eq!(gathered(AnswerFormat::Chat, 1 << 20, &stream), Some(whole));
        assert_eq!(gathered(AnswerFormat::Chat, 1 << 20, &stream[..9]), None);
        // each of its seven pieces takes 16 bytes, and its text
        assert!(gathered(AnswerFormat::Chat, 7 * 16 + 20, &stream).is_some());
        assert_eq!(gathered(AnswerFormat::Chat, 7 * 16 + 19, &stream), None);
        let failed = [stream[0].clone(), json!({"error": {}}), json!("[DONE]")];
        assert_eq!(gathered(AnswerFormat::Chat, 1 << 20, &failed), None);
    }

    #[test]
    fn blocks_are_put_together() {
        let begin = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
        let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        let json = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
        let tool = |input: Value| json!({"type": "tool_use", "name": "f", "input": input});
        let mut stream = vec![
            json!({"type": "message_start", "message": {"content": []}}),
            begin(0, json!({"type": "text", "text": ""})),
            delta(0, json!({"type": "text_delta", "text": "ei"})),
            delta(0, json!({"type": "text_delta", "text": "ns"})),
            begin(1, tool(json!({}))),
            delta(1, json("")),
            delta(1, json("{\"a\":")),
            delta(1, json("\"b\"}")),
            begin(2, tool(json!({}))),
            delta(2, json("")),
            begin(3, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(3, json!({"type": "thinking_delta", "thinking": "hm"})),
            delta(3, json!({"type": "thinking_delta", "thinking": "!"})),
            delta(3, json!({"type": "signature_delta", "signature": "Eq"})),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            json!({"type": "message_stop"}),
        ];
        let text = json!({"type": "text", "text": "eins"});
        let thinking = json!({"type": "thinking", "thinking": "hm!", "signature": "Eq"});
        let whole = json!({"content": [text, tool(json!({"a": "b"})), tool(json!({})), thinking]});
        assert_eq!(gathered(AnswerFormat::Message, 1 << 20, &stream), Some(whole));
        stream.remove(7);
        assert_eq!(
            gathered(AnswerFormat::Message, 1 << 20, &stream),
            None,
            "half of the arguments"
        );
    }
}
