//! Streams, cut everywhere.

use super::*;
use crate::answer::names::tests::names;
use crate::answer::to_events;

/// The data of the events that a client gets for these, cut as they are.
fn events(format: AnswerFormat, calls: bool, data: &[Value]) -> Vec<Value> {
    let (mut restored, mut out) = (RestoredEvents::new(names(calls), format), Out::new());
    for data in data {
        let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        restored.push(format!("data: {data}\n\n"), &mut out);
    }
    restored.end(&mut out);
    let read = |event: &String| sse::data(event).filter(|data| data != "[DONE]");
    let data = out.iter().filter_map(read);
    data.map(|data| serde_json::from_str(&data).unwrap()).collect()
}

/// The strings in one place of all events, joined.
fn joined(events: &[Value], place: &str) -> String {
    events.iter().filter_map(|event| event.pointer(place).and_then(Value::as_str)).collect()
}

const NOISY: &str = "Dear Emma’s, see `Emma`:\n```\nEmma\n```\nYours, Emma";
const CLEAR: &str = "Dear Alice’s, see `Emma`:\n```\nEmma\n```\nYours, Alice";

/// All ways to cut the answer in three.
fn cuts() -> impl Iterator<Item = [&'static str; 3]> {
    let at: Vec<usize> = NOISY.char_indices().map(|(at, _)| at).collect();
    let pairs = at.clone().into_iter().flat_map(move |first| {
        at.clone().into_iter().filter(move |&second| second >= first).map(move |s| (first, s))
    });
    pairs.map(|(first, second)| [&NOISY[..first], &NOISY[first..second], &NOISY[second..]])
}

#[test]
fn choices_are_restored_however_they_are_cut() {
    let chunk = |index: u64, delta: Value, finish: Value| {
        json!({"id": "x", "usage": null,
        "choices": [{"index": index, "delta": delta, "finish_reason": finish}]})
    };
    for pieces in cuts() {
        let mut stream = vec![chunk(0, json!({"role": "assistant", "content": ""}), Value::Null)];
        for piece in pieces {
            // two choices at a time
            for index in [0, 1] {
                stream.push(chunk(index, json!({"content": piece}), Value::Null));
            }
        }
        stream.push(chunk(0, json!({}), json!("stop")));
        stream.push(chunk(1, json!({}), json!("stop")));
        stream.push(json!("[DONE]"));
        let events = events(AnswerFormat::Chat, false, &stream);
        for index in [0, 1] {
            let own = |event: &&Value| event["choices"][0]["index"] == index;
            let own: Vec<Value> = events.iter().filter(own).cloned().collect();
            assert_eq!(joined(&own, "/choices/0/delta/content"), CLEAR);
            let last = own.last().unwrap();
            assert_eq!(last["choices"][0]["finish_reason"], "stop");
            assert!(own.iter().all(|event| event["id"] == "x"));
        }
    }
}

#[test]
fn completions_are_restored_however_they_are_cut() {
    for pieces in cuts() {
        let chunk = |text: &str, finish: Value| {
            json!({"choices": [
            {"index": 0, "text": text, "finish_reason": finish}]})
        };
        let [a, b, c] = pieces;
        let stream = [chunk(a, Value::Null), chunk(b, Value::Null), chunk(c, json!("stop"))];
        let events = events(AnswerFormat::Completion, false, &stream);
        assert_eq!(joined(&events, "/choices/0/text"), CLEAR);
    }
}

#[test]
fn blocks_are_restored_however_they_are_cut() {
    for pieces in cuts() {
        let thought = json!({"type": "thinking", "thinking": "Emma", "signature": "Emma"});
        let mut stream = vec![
            json!({"type": "content_block_start", "index": 0, "content_block": thought}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Emma "}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        ];
        stream.extend(pieces.map(|piece| delta(1, &json!({"type": "text_delta", "text": piece}))));
        stream.push(json!({"type": "content_block_stop", "index": 1}));
        stream.push(json!({"type": "message_stop"}));
        let events = events(AnswerFormat::Message, false, &stream);
        assert_eq!(events[..3], stream[..3], "thoughts are signed");
        assert_eq!(joined(&events, "/delta/text"), CLEAR);
        let stop = events.iter().position(|event| *event == stream[stream.len() - 2]);
        let last = events.iter().rposition(|event| event["delta"]["text"].is_string());
        assert!(last < stop, "the rest comes before the end of its block");
    }
}

#[test]
fn responses_are_restored_however_they_are_cut() {
    for pieces in cuts() {
        let at = json!({"item_id": "m", "output_index": 1, "content_index": 0});
        let event = |kind: &str, number: usize, more: Value| {
            let mut event = at.clone();
            (event["type"], event["sequence_number"]) = (json!(kind), json!(number));
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            event
        };
        let part = json!({"type": "output_text", "text": NOISY});
        let item = json!({"type": "message", "id": "m", "content": [part]});
        let reasoning =
            json!({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Emma"}]});
        let [a, b, c] = pieces;
        let text = "response.output_text.delta";
        let stream = [
            json!({"type": "response.created", "sequence_number": 0, "response": {}}),
            event(text, 1, json!({"delta": a})),
            event(text, 2, json!({"delta": b})),
            event(text, 3, json!({"delta": c})),
            event("response.output_text.done", 4, json!({"text": NOISY})),
            event("response.content_part.done", 5, json!({"part": part})),
            json!({"type": "response.output_item.done", "output_index": 1, "sequence_number": 6, "item": item}),
            json!({"type": "response.completed", "sequence_number": 7, "response": {"output": [reasoning, item]}}),
        ];
        let events = events(AnswerFormat::Response, false, &stream);
        assert_eq!(joined(&events, "/delta"), CLEAR);
        assert_eq!(joined(&events, "/text"), CLEAR);
        assert_eq!(joined(&events, "/part/text"), CLEAR);
        assert_eq!(joined(&events, "/item/content/0/text"), CLEAR);
        let last = events.last().unwrap();
        assert_eq!(last["response"]["output"][1]["content"][0]["text"], CLEAR);
        assert_eq!(last["response"]["output"][0], reasoning);
        for (i, event) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], i);
        }
    }
}

/// Words that a client may join from several blocks are read as one text, and none waits for another.
#[test]
fn blocks_do_not_mix() {
    let text = |index: u64, text: &str| delta(index, &json!({"type": "text_delta", "text": text}));
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let stream = [
        text(0, "Em"),
        stop(0),
        text(1, "ma Em"),
        text(2, "ma"),
        text(1, "ma Emma"),
        stop(2),
        stop(1),
    ];
    let events = events(AnswerFormat::Message, false, &stream);
    let own = |index: u64| {
        let own = events.iter().filter(|event| event["index"] == index);
        joined(&own.cloned().collect::<Vec<_>>(), "/delta/text")
    };
    assert_eq!([own(0), own(1), own(2)], ["Em", "ma Emma Alice", "ma"]);
    let stream = [text(0, "<b "), stop(0), text(1, "Emma "), stop(1)];
    let events = super::tests::events(AnswerFormat::Message, false, &stream);
    assert_eq!(joined(&events, "/delta/text"), "<b Emma ");
}

#[test]
fn calls_are_given_whole() {
    let noisy = r#"{"who": "Emma's", "n": 1}"#;
    for at in 0..noisy.len() {
        let [first, rest] = [&noisy[..at], &noisy[at..]];
        let call = |index: u64, more: Value| {
            json!({"choices": [{"index": 0, "delta": {
            "tool_calls": [{"index": index, "id": "c", "function": more}]}}]})
        };
        let chat = [
            json!({"choices": [{"index": 0, "delta": {"content": "Ask Emma"}}]}),
            call(0, json!({"name": "f", "arguments": ""})),
            call(0, json!({"arguments": first})),
            call(1, json!({"name": "g", "arguments": noisy})),
            call(0, json!({"arguments": rest})),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
            json!("[DONE]"),
        ];
        let block = [
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "input": {}}}),
            delta(1, &json!({"type": "input_json_delta", "partial_json": first})),
            delta(1, &json!({"type": "input_json_delta", "partial_json": rest})),
            json!({"type": "content_block_stop", "index": 1}),
        ];
        let item = json!({"type": "function_call", "arguments": noisy});
        let kind = "response.function_call_arguments.delta";
        let response = [
            json!({"type": kind, "sequence_number": 0, "output_index": 0, "delta": first}),
            json!({"type": kind, "sequence_number": 1, "output_index": 0, "delta": rest}),
            json!({"type": "response.function_call_arguments.done", "sequence_number": 2, "output_index": 0, "arguments": noisy}),
            json!({"type": "response.completed", "sequence_number": 3, "response": {"output": [item]}}),
        ];
        for calls in [false, true] {
            let want = if calls { r#"{"who": "Alice's", "n": 1}"# } else { noisy };
            let got = events(AnswerFormat::Chat, calls, &chat);
            for index in [0, 1] {
                let place = "/choices/0/delta/tool_calls/0";
                let own =
                    |event: &&Value| event.pointer(place).is_some_and(|c| c["index"] == index);
                let own: Vec<Value> = got.iter().filter(own).cloned().collect();
                assert_eq!(joined(&own, &format!("{place}/function/arguments")), want);
            }
            assert_eq!(joined(&got, "/choices/0/delta/content"), "Ask Alice");
            let asked =
                got.iter().position(|event| event["choices"][0]["delta"]["content"] == "Alice");
            let called = got.iter().position(|e| !e["choices"][0]["delta"]["tool_calls"].is_null());
            assert!(asked < called, "what is held back is given before a call");
            let got = events(AnswerFormat::Message, calls, &block);
            assert_eq!(joined(&got, "/delta/partial_json"), want);
            assert_eq!(got.last(), block.last());
            let got = events(AnswerFormat::Response, calls, &response);
            assert_eq!(joined(&got, "/delta"), want);
            assert_eq!(joined(&got, "/arguments"), want);
            let numbers = got.iter().map(|event| event["sequence_number"].as_u64().unwrap());
            assert!(numbers.eq(0..got.len() as u64));
            let last = &got.last().unwrap()["response"];
            assert_eq!(
                last.pointer(&to_events::calls(AnswerFormat::Response, last)[0]).unwrap(),
                want
            );
        }
    }
}

/// An upstream that never ends a call gets no more memory than one that answers whole.
#[test]
fn a_stream_without_end_is_given_up() {
    let part = "x".repeat(1 << 20);
    let call = json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": part}}]}}]});
    let (mut restored, mut out) =
        (RestoredEvents::new(names(true), AnswerFormat::Chat), Out::new());
    let mut pushed = 0;
    while !restored.is_full() {
        restored.push(format!("data: {call}\n\n"), &mut out);
        out.clear();
        pushed += 1;
    }
    assert_eq!(pushed, LARGEST >> 20, "all of them, less what each entry takes");
}

/// A stream that breaks off has given all that came.
#[test]
fn nothing_is_lost() {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "to Em"}}]});
    let call = json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{\"a"}}]}}]});
    let got = events(AnswerFormat::Chat, true, &[chunk, call, json!({"choices": []})]);
    assert_eq!(joined(&got, "/choices/0/delta/content"), "to Em");
    assert_eq!(joined(&got, "/choices/0/delta/tool_calls/0/function/arguments"), "{\"a");
}
