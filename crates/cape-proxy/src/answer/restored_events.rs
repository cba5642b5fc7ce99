//! Names put back into a stream, event by event. A word that may go on is held back until it cannot, and a
//! call for the client's tools, if they get names, until it is whole.

use std::collections::{BTreeMap, VecDeque};

use cape::Restoring;
use serde_json::{Value, json};

use super::names::{Names, arguments};
use super::sse;
use crate::request::route::AnswerFormat;
use crate::upstream::LARGEST;

#[cfg(test)]
mod tests;

/// A stream on its way to the client.
pub(super) struct RestoredEvents {
    names: Names,
    format: AnswerFormat,
    /// The text of each choice: what a client may join is read as one text.
    texts: BTreeMap<u64, Text>,
    /// The arguments of each call that have come, by choice and number, with the frame of their events.
    calls: BTreeMap<(u64, u64), (String, Value)>,
    /// The texts as they were given, by output and part: the last events of a response repeat them.
    given: BTreeMap<(u64, u64), String>,
    /// The number of the next event, where they are numbered.
    number: Option<u64>,
    /// The bytes that may still be kept; none once there were too many.
    room: Option<usize>,
}

/// A text that is being said.
struct Text {
    restoring: Restoring,
    /// Its block, or its output and part.
    spot: (u64, u64),
    /// The fields that its events share.
    frame: Value,
}

/// The bytes that a text or a call is counted for beside its own.
const ENTRY: usize = 4096;

/// The events for the client so far.
type Out = VecDeque<String>;

impl RestoredEvents {
    pub(super) fn new(names: Names, format: AnswerFormat) -> Self {
        let (texts, calls, given) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { names, format, texts, calls, given, number: None, room: Some(LARGEST) }
    }

    /// Whether more had to be kept than of an answer that comes whole: an upstream that never ends gets
    /// no more memory.
    pub(super) fn is_full(&self) -> bool {
        self.room.is_none()
    }

    /// Takes room for so many bytes.
    fn has_room(&mut self, bytes: usize) -> bool {
        self.room = self.room.and_then(|room| room.checked_sub(bytes));
        self.room.is_some()
    }

    /// Takes an event of upstream, and gives those that the client can have.
    pub(super) fn push(&mut self, event: String, out: &mut Out) {
        let data = sse::data(&event).unwrap_or_default();
        if data == "[DONE]" {
            self.end(out);
        }
        let Ok(mut data) = serde_json::from_str::<Value>(&data) else {
            return out.push_back(event);
        };
        let goes_on = match self.format {
            AnswerFormat::Chat | AnswerFormat::Completion => self.chunk(&mut data, out),
            AnswerFormat::Message => self.block(&mut data, out),
            AnswerFormat::Response => self.output(&mut data, out),
            AnswerFormat::Vectors => true,
        };
        if goes_on {
            let fields =
                event.lines().filter(|line| !line.starts_with("data:") && !line.is_empty());
            let fields: String = fields.flat_map(|line| [line, "\n"]).collect();
            self.write(&fields, data, out);
        }
    }

    /// Gives all that was held back.
    pub(super) fn end(&mut self, out: &mut Out) {
        let choices: Vec<u64> = self.texts.keys().copied().collect();
        for choice in choices {
            self.pause(choice, out);
        }
        let calls: Vec<(u64, u64)> = self.calls.keys().copied().collect();
        for call in calls {
            self.call(call, out);
        }
    }

    /// A chunk of OpenAI's choices.
    fn chunk(&mut self, data: &mut Value, out: &mut Out) -> bool {
        let shared = |(_, value): &(&String, &Value)| match value {
            Value::String(text) => text.len() <= 256,
            value => value.is_number(),
        };
        let fields = data.as_object().into_iter().flatten().filter(shared);
        let fields = fields.map(|(name, value)| (name.clone(), value.clone())).take(12);
        let frame = Value::Object(fields.collect());
        let is_chat = self.format == AnswerFormat::Chat;
        for choice in data["choices"].as_array_mut().into_iter().flatten() {
            let index = choice["index"].as_u64().unwrap_or(0);
            let ends = choice["finish_reason"].is_string();
            let calls = choice.pointer_mut("/delta/tool_calls").and_then(Value::as_array_mut);
            let calls = calls.filter(|calls| !calls.is_empty());
            let has_calls = calls.is_some();
            let holds = self.names.for_calls();
            for call in calls.into_iter().flatten().filter(|_| holds) {
                let at = (index, call["index"].as_u64().unwrap_or(0));
                if let Some(Value::String(part)) = call.pointer_mut("/function/arguments") {
                    self.hold(at, &std::mem::take(part), &frame);
                }
            }
            let place = if is_chat { "/delta/content" } else { "/text" };
            match choice.pointer_mut(place) {
                Some(Value::String(text)) => {
                    *text = self.say(index, (0, 0), text, &frame, out);
                    if ends || has_calls {
                        *text += &self.rest(index);
                    }
                }
                _ if ends || has_calls => self.pause(index, out),
                _ => {}
            }
            let held = self.calls.range((index, 0)..=(index, u64::MAX));
            let held: Vec<(u64, u64)> = held.map(|(at, _)| *at).collect();
            for at in held.into_iter().filter(|_| ends) {
                self.call(at, out);
            }
        }
        true
    }

    /// An event of Anthropic's blocks.
    fn block(&mut self, data: &mut Value, out: &mut Out) -> bool {
        let index = data["index"].as_u64().unwrap_or(0);
        let (kind, delta) = (&data["type"], &data["delta"]["type"]);
        let place = match kind.as_str() {
            Some("content_block_start") if data["content_block"]["type"] == "text" => {
                "/content_block/text"
            }
            Some("content_block_delta") if delta == "text_delta" => "/delta/text",
            Some("content_block_delta") if delta == "input_json_delta" => {
                let part = data["delta"]["partial_json"].as_str().unwrap_or_default();
                let holds = self.names.for_calls();
                if holds {
                    self.hold((0, index), part, &Value::Null);
                }
                return !holds;
            }
            Some("content_block_stop" | "message_delta" | "message_stop" | "error") => {
                self.end(out);
                return true;
            }
            _ => return true,
        };
        let Some(text) = data.pointer(place).and_then(Value::as_str) else { return true };
        let shown = self.say(0, (index, 0), text, &Value::Null, out);
        let goes_on = place != "/delta/text" || !shown.is_empty();
        if let Some(text) = data.pointer_mut(place) {
            *text = shown.into();
        }
        goes_on
    }

    /// An event of OpenAI's responses.
    fn output(&mut self, data: &mut Value, out: &mut Out) -> bool {
        let number = |name: &str| data[name].as_u64().unwrap_or(0);
        let spot = (number("output_index"), number("content_index"));
        let frame = json!({ "item_id": data["item_id"] });
        if self.number.is_none() {
            self.number = data["sequence_number"].as_u64();
        }
        match data["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" => {
                let said = data["delta"].as_str().unwrap_or_default();
                let shown = self.say(0, spot, said, &frame, out);
                let goes_on = !shown.is_empty();
                data["delta"] = shown.into();
                return goes_on;
            }
            "response.output_text.done" => {
                self.repeat(spot, &mut data["text"], out);
            }
            "response.content_part.done" if data["part"]["type"] == "output_text" => {
                self.repeat(spot, &mut data["part"]["text"], out);
            }
            "response.function_call_arguments.delta" if self.names.for_calls() => {
                let part = data["delta"].as_str().unwrap_or_default();
                self.hold((0, spot.0), part, &frame);
                return false;
            }
            "response.function_call_arguments.done" if self.names.for_calls() => {
                self.call((0, spot.0), out);
                if let Value::String(json) = &mut data["arguments"] {
                    *json = arguments(&self.names.of(0), json).0;
                }
            }
            "response.output_item.done" => {
                let mut whole = json!({"output": [data["item"].take()]});
                self.repeat_all(spot.0, &mut whole, out);
                data["item"] = whole["output"][0].take();
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(out);
                self.repeat_all(0, &mut data["response"], out);
            }
            _ => {}
        }
        true
    }

    /// The texts and calls of a whole response, or of its item of this number, as they were given.
    fn repeat_all(&mut self, first: u64, whole: &mut Value, out: &mut Out) {
        for (item, i) in whole["output"].as_array_mut().into_iter().flatten().zip(first..) {
            if item["type"] != "message" {
                continue;
            }
            let parts = item["content"].as_array_mut().into_iter().flatten();
            for (part, j) in parts.zip(0..).filter(|(part, _)| part["type"] == "output_text") {
                self.repeat((i, j), &mut part["text"], out);
            }
        }
        self.names.fill_calls(self.format, whole);
    }

    /// A text that was given in pieces, or is given now.
    fn repeat(&mut self, spot: (u64, u64), text: &mut Value, out: &mut Out) {
        if self.texts.get(&0).is_some_and(|now| now.spot == spot) {
            self.pause(0, out);
        }
        let Value::String(text) = text else { return };
        if !self.given.contains_key(&spot) {
            self.say(0, spot, text, &Value::Null, out);
            self.rest(0);
        }
        *text = self.given.get(&spot).cloned().unwrap_or_default();
    }

    /// The part of a text that the client can have.
    fn say(
        &mut self,
        choice: u64,
        spot: (u64, u64),
        text: &str,
        frame: &Value,
        out: &mut Out,
    ) -> String {
        if self.texts.get(&choice).is_some_and(|now| now.spot != spot) {
            self.pause(choice, out);
        }
        if !self.texts.contains_key(&choice) && !self.has_room(ENTRY) {
            return String::new();
        }
        let names = &self.names;
        let now = self.texts.entry(choice).or_insert_with(|| {
            let restoring = names.of(choice).begin();
            Text { restoring, spot, frame: Value::Null }
        });
        now.spot = spot;
        now.frame.clone_from(frame);
        let shown = now.restoring.push(text);
        self.gave(spot, &shown);
        shown
    }

    /// The rest of a choice's text.
    fn rest(&mut self, choice: u64) -> String {
        let Some(now) = self.texts.get_mut(&choice) else { return String::new() };
        let (rest, spot) = (now.restoring.finish(), now.spot);
        self.gave(spot, &rest);
        rest
    }

    /// Keeps what was given, where it is repeated.
    fn gave(&mut self, spot: (u64, u64), text: &str) {
        let entry = if self.given.contains_key(&spot) { 0 } else { ENTRY };
        if self.format == AnswerFormat::Response && self.has_room(entry + text.len()) {
            self.given.entry(spot).or_default().push_str(text);
        }
    }

    /// Gives the rest of a choice's text as an event.
    fn pause(&mut self, choice: u64, out: &mut Out) {
        let rest = self.rest(choice);
        let Some(now) = self.texts.get(&choice).filter(|_| !rest.is_empty()) else { return };
        let (spot, frame) = (now.spot, now.frame.clone());
        let fields = match self.format {
            AnswerFormat::Chat => said(choice, json!({"delta": {"content": rest}})),
            AnswerFormat::Completion => said(choice, json!({"text": rest, "logprobs": null})),
            AnswerFormat::Message => delta(spot.0, &json!({"type": "text_delta", "text": rest})),
            AnswerFormat::Response => json!({"type": "response.output_text.delta",
                "output_index": spot.0, "content_index": spot.1, "delta": rest, "logprobs": []}),
            AnswerFormat::Vectors => return,
        };
        self.add(frame, fields, out);
    }

    fn hold(&mut self, at: (u64, u64), part: &str, frame: &Value) {
        let entry = if self.calls.contains_key(&at) { 0 } else { ENTRY };
        if self.has_room(entry + part.len()) {
            let (held, _) = self.calls.entry(at).or_insert_with(|| (String::new(), frame.clone()));
            held.push_str(part);
        }
    }

    /// Gives the arguments of a call as an event.
    fn call(&mut self, at: (u64, u64), out: &mut Out) {
        let Some((json, frame)) = self.calls.remove(&at).filter(|(json, _)| !json.is_empty())
        else {
            return;
        };
        let (choice, index) = at;
        let (json, _) = arguments(&self.names.of(choice), &json);
        let fields = match self.format {
            AnswerFormat::Chat => {
                let call = json!({"index": index, "function": {"arguments": json}});
                said(choice, json!({"delta": {"tool_calls": [call]}}))
            }
            AnswerFormat::Message => {
                delta(index, &json!({"type": "input_json_delta", "partial_json": json}))
            }
            AnswerFormat::Response => json!({"type": "response.function_call_arguments.delta",
                "output_index": index, "delta": json}),
            AnswerFormat::Completion | AnswerFormat::Vectors => return,
        };
        self.add(frame, fields, out);
    }

    /// An event that upstream did not send.
    fn add(&mut self, frame: Value, fields: Value, out: &mut Out) {
        let mut data = if frame.is_object() { frame } else { json!({}) };
        if let (Some(data), Value::Object(fields)) = (data.as_object_mut(), fields) {
            data.extend(fields);
        }
        if self.number.is_some() {
            data["sequence_number"] = json!(0);
        }
        let name = data["type"].as_str().map(|name| format!("event: {name}\n"));
        self.write(&name.unwrap_or_default(), data, out);
    }

    /// Events are numbered as the client gets them.
    fn write(&mut self, fields: &str, mut data: Value, out: &mut Out) {
        if let Some(number) = &mut self.number
            && data.get("sequence_number").is_some()
        {
            data["sequence_number"] = json!(number);
            *number += 1;
        }
        out.push_back(format!("{fields}data: {data}\n\n"));
    }
}

/// A choice of OpenAI's with more of it.
fn said(choice: u64, mut more: Value) -> Value {
    (more["index"], more["finish_reason"]) = (json!(choice), Value::Null);
    json!({ "choices": [more] })
}

/// A block of Anthropic's with more of it.
fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}
