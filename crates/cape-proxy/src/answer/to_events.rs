//! A whole answer as the events of a stream, in the form of each service.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::request::route::AnswerFormat;

/// Makes an event of a piece of text.
pub(super) type Wrap = Box<dyn Fn(&str) -> String + Send>;

/// One step of a stream.
pub(super) enum Step {
    /// An event.
    Event(String),
    /// The events of a noisy text that is rewritten.
    Text(String, Wrap),
}

/// The places of an answer's texts. The thoughts of a service are none: it signs them.
pub(super) fn texts(answer: AnswerFormat, body: &Value) -> Vec<String> {
    let places: Vec<String> = match answer {
        AnswerFormat::Chat => each(body, "choices", |_| true, "message/content"),
        AnswerFormat::Completion => each(body, "choices", |_| true, "text"),
        AnswerFormat::Message => each(body, "content", |block| block["type"] == "text", "text"),
        AnswerFormat::Response => {
            let items = each(body, "output", |item| item["type"] == "message", "content");
            let parts = |item: String| {
                let count = body.pointer(&item).and_then(Value::as_array).map_or(0, Vec::len);
                (0..count).map(move |i| format!("{item}/{i}/text"))
            };
            items.into_iter().flat_map(parts).collect()
        }
        AnswerFormat::Vectors => Vec::new(),
    };
    let is_text = |place: &String| {
        body.pointer(place).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
    };
    places.into_iter().filter(is_text).collect()
}

/// The places of the arguments of an answer's tool calls.
pub(super) fn calls(answer: AnswerFormat, body: &Value) -> Vec<String> {
    match answer {
        AnswerFormat::Chat => {
            let calls = each(body, "choices", |_| true, "message/tool_calls");
            let arguments = |calls: String| {
                let count = body.pointer(&calls).and_then(Value::as_array).map_or(0, Vec::len);
                (0..count).map(move |i| format!("{calls}/{i}/function/arguments"))
            };
            calls.into_iter().flat_map(arguments).collect()
        }
        AnswerFormat::Message => {
            each(body, "content", |block| block["type"] == "tool_use", "input")
        }
        AnswerFormat::Response => {
            each(body, "output", |item| item["type"] == "function_call", "arguments")
        }
        AnswerFormat::Completion | AnswerFormat::Vectors => Vec::new(),
    }
}

/// The places of a field in the items of a list.
fn each(body: &Value, list: &str, is_meant: fn(&Value) -> bool, field: &str) -> Vec<String> {
    let items = body[list].as_array().into_iter().flatten().enumerate();
    let meant = items.filter(|(_, item)| is_meant(item));
    meant.map(|(i, _)| format!("/{list}/{i}/{field}")).collect()
}

/// The steps of an answer that is given back while it is rewritten; none for OpenAI's responses,
/// whose last events repeat the whole text.
pub(super) fn steps(answer: AnswerFormat, body: &Value, usage: bool) -> Option<VecDeque<Step>> {
    match answer {
        AnswerFormat::Chat => Some(choices(body, usage, true)),
        AnswerFormat::Completion => Some(choices(body, usage, false)),
        AnswerFormat::Message => Some(message(body)),
        AnswerFormat::Response | AnswerFormat::Vectors => None,
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event that says its name.
fn named(name: &str, fields: Value) -> String {
    let mut value = json!({ "type": name });
    if let (Some(value), Value::Object(fields)) = (value.as_object_mut(), fields) {
        value.extend(fields);
    }
    format!("event: {name}\ndata: {value}\n\n")
}

fn choices(body: &Value, usage: bool, chat: bool) -> VecDeque<Step> {
    let mut base = body.clone();
    if let Some(base) = base.as_object_mut() {
        base.remove("choices");
        base.remove("usage");
        if chat {
            base.insert("object".into(), json!("chat.completion.chunk"));
        }
    }
    let chunk = |choices: Value| {
        let mut chunk = base.clone();
        chunk["choices"] = choices;
        chunk
    };
    let mut steps = VecDeque::new();
    for choice in body["choices"].as_array().into_iter().flatten() {
        let index = choice["index"].clone();
        let said = |content: Value, finish: &Value| {
            let name = if chat { "delta" } else { "text" };
            chunk(json!([{"index": index, name: content, "finish_reason": finish}]))
        };
        let own = if chat { &choice["message"]["content"] } else { &choice["text"] };
        if chat {
            let begin = said(json!({"role": "assistant", "content": ""}), &Value::Null);
            steps.push_back(Step::Event(data(&begin)));
        }
        if let Some(noisy) = own.as_str().filter(|text| !text.is_empty()) {
            let empty = said(Value::Null, &Value::Null);
            let wrap = move |piece: &str| {
                let mut chunk = empty.clone();
                let choice = &mut chunk["choices"][0];
                if chat {
                    choice["delta"] = json!({ "content": piece });
                } else {
                    choice["text"] = json!(piece);
                }
                data(&chunk)
            };
            steps.push_back(Step::Text(noisy.to_owned(), Box::new(wrap)));
        }
        if let Some(calls) = choice["message"]["tool_calls"].as_array() {
            let numbered = calls.iter().enumerate().map(|(i, call)| {
                let mut call = call.clone();
                call["index"] = json!(i);
                call
            });
            let calls = json!({ "tool_calls": numbered.collect::<Vec<_>>() });
            steps.push_back(Step::Event(data(&said(calls, &Value::Null))));
        }
        let rest = if chat { json!({}) } else { json!("") };
        steps.push_back(Step::Event(data(&said(rest, &choice["finish_reason"]))));
    }
    if usage && body["usage"].is_object() {
        let mut last = chunk(json!([]));
        last["usage"] = body["usage"].clone();
        steps.push_back(Step::Event(data(&last)));
    }
    steps.push_back(Step::Event("data: [DONE]\n\n".into()));
    steps
}

fn message(body: &Value) -> VecDeque<Step> {
    let mut start = body.clone();
    start["content"] = json!([]);
    (start["stop_reason"], start["stop_sequence"]) = (Value::Null, Value::Null);
    let mut steps = VecDeque::new();
    let event = |steps: &mut VecDeque<Step>, name: &str, fields: Value| {
        steps.push_back(Step::Event(named(name, fields)));
    };
    event(&mut steps, "message_start", json!({ "message": start }));
    for (index, block) in body["content"].as_array().into_iter().flatten().enumerate() {
        let delta = move |delta: Value| json!({"index": index, "delta": delta});
        let mut begun = block.clone();
        let text = block["text"].as_str();
        if text.is_some() {
            begun["text"] = json!("");
        } else if block["type"] == "tool_use" {
            begun["input"] = json!({});
        }
        event(&mut steps, "content_block_start", json!({"index": index, "content_block": begun}));
        if let Some(noisy) = text.filter(|text| !text.is_empty()) {
            let wrap = move |piece: &str| {
                let said = delta(json!({"type": "text_delta", "text": piece}));
                named("content_block_delta", said)
            };
            steps.push_back(Step::Text(noisy.to_owned(), Box::new(wrap)));
        } else if block["type"] == "tool_use" {
            let input = block["input"].to_string();
            let said = delta(json!({"type": "input_json_delta", "partial_json": input}));
            event(&mut steps, "content_block_delta", said);
        }
        event(&mut steps, "content_block_stop", json!({ "index": index }));
    }
    let reason =
        json!({"stop_reason": body["stop_reason"], "stop_sequence": body["stop_sequence"]});
    event(&mut steps, "message_delta", json!({"delta": reason, "usage": body["usage"]}));
    event(&mut steps, "message_stop", json!({}));
    steps
}

/// A response that is rewritten already, as events.
pub(super) fn response(body: &Value) -> String {
    let mut number = 0;
    let mut event = |name: &str, mut fields: Map<String, Value>| {
        fields.insert("sequence_number".into(), json!(number));
        number += 1;
        named(name, Value::Object(fields))
    };
    let fields = |value: Value| value.as_object().cloned().unwrap_or_default();
    let mut begun = body.clone();
    (begun["output"], begun["status"]) = (json!([]), json!("in_progress"));
    let mut out = event("response.created", fields(json!({ "response": begun })));
    for (i, item) in body["output"].as_array().into_iter().flatten().enumerate() {
        let mut empty = item.clone();
        if empty["content"].is_array() {
            empty["content"] = json!([]);
        }
        let at = json!({"output_index": i, "item": empty});
        out += &event("response.output_item.added", fields(at));
        for (j, part) in item["content"].as_array().into_iter().flatten().enumerate() {
            let place = json!({"item_id": item["id"], "output_index": i, "content_index": j});
            let with = |more: Value| {
                let mut all = fields(place.clone());
                all.extend(fields(more));
                all
            };
            let mut empty = part.clone();
            empty["text"] = json!("");
            out += &event("response.content_part.added", with(json!({ "part": empty })));
            out += &event("response.output_text.delta", with(json!({ "delta": part["text"] })));
            out += &event("response.output_text.done", with(json!({ "text": part["text"] })));
            out += &event("response.content_part.done", with(json!({ "part": part })));
        }
        out +=
            &event("response.output_item.done", fields(json!({"output_index": i, "item": item})));
    }
    out + &event("response.completed", fields(json!({ "response": body })))
}
