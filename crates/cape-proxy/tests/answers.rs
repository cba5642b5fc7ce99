//! Upstream's answers go back to it in its own words, and cost nothing.

use crate::ledgers::{Trial, epsilon, trials};
use crate::recorder::{Recorder, Step, answer, json as reply, stream};
use crate::served::{CANARY, chat, impatient, post, router, router_on, send, settings};
use axum::Router;
use cape_ledger::Limits;
use cape_proxy::{Action, Gate, Names, Policy, Settings};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tower::ServiceExt;

const CHAT: &str = "/v1/chat/completions";

/// Two words that are drawn for, at ε = 2 each, where they are not known.
const ANSWER: &str = "Doctor, and  music!";

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// A stream of these data, each an event.
fn streamed(data: &[Value]) -> Vec<Step> {
    let event = |data: &Value| {
        let name =
            data["type"].as_str().map_or_else(String::new, |name| format!("event: {name}\n"));
        let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        Step::Send(format!("{name}data: {data}\n\n").into_bytes())
    };
    [stream()].into_iter().chain(data.iter().map(event)).collect()
}

fn chunk(index: u64, delta: &Value) -> Value {
    json!({"choices": [{"index": index, "delta": delta}]})
}

fn choice(index: u64, text: &str) -> Value {
    let message =
        json!({"role": "assistant", "content": text, "refusal": null, "reasoning": "own"});
    json!({"index": index, "message": message, "finish_reason": "stop"})
}

/// A service: where it is asked, in which field, what its answer is, whole and streamed, and the
/// answer as a client sends it back.
fn services() -> [(&'static str, &'static str, Value, Vec<Step>, Value); 3] {
    let [half, rest] = [&ANSWER[..9], &ANSWER[9..]];
    let block = json!({"type": "text", "text": ANSWER, "citations": null});
    let part = json!({"type": "output_text", "text": ANSWER, "annotations": []});
    let item = json!({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]});
    let response = json!({"id": "r", "output": [{"type": "reasoning", "summary": []}, item]});
    let delta = |text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    [
        (
            CHAT,
            "messages",
            json!({"choices": [choice(0, ANSWER)]}),
            streamed(&[
                chunk(0, &json!({"role": "assistant", "content": half})),
                chunk(0, &json!({"content": rest})),
                json!("[DONE]"),
            ]),
            said("assistant", ANSWER),
        ),
        (
            "/v1/messages",
            "messages",
            json!({"type": "message", "role": "assistant", "content": [block]}),
            streamed(&[
                json!({"type": "message_start", "message": {"role": "assistant", "content": []}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                delta(half),
                delta(rest),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_stop"}),
            ]),
            json!({"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}),
        ),
        (
            "/v1/responses",
            "input",
            response.clone(),
            streamed(&[
                json!({"type": "response.output_text.delta", "delta": ANSWER}),
                json!({"type": "response.completed", "response": response}),
            ]),
            item,
        ),
    ]
}

/// The cost of a request.
async fn cost(router: &Router, path: &str, body: &Value) -> f64 {
    let answer = send(router, post(path, body)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.header("x-cape-epsilon").parse().unwrap()
}

async fn talk(router: &Router, messages: &[Value]) -> f64 {
    cost(router, CHAT, &json!({"model": "m", "messages": messages})).await
}

/// The text of what upstream got in this place of its last request.
fn got(upstream: &Recorder, field: &str, place: usize) -> Value {
    let mut message = upstream.bodies().pop().unwrap()[field][place]["content"].take();
    if message.is_array() { message[0]["text"].take() } else { message }
}

#[tokio::test]
async fn an_answer_goes_back_as_it_was_and_costs_nothing() {
    for trial in trials().await {
        // words that nobody has said yet
        let mut new = [
            "paris", "night", "river", "house", "letter", "money", "table", "garden", "road",
            "bread", "window", "winter",
        ]
        .into_iter();
        for (path, field, whole, pieces, back) in services() {
            for (steps, stream) in [(reply(&whole), false), (pieces, true)] {
                let [word, next] = [new.next().unwrap(), new.next().unwrap()];
                let upstream = Recorder::new(steps);
                let router = router_on(&settings(&upstream.url), trial.open().await);
                let asked = said("user", word);
                let body = json!({"model": "m", "stream": stream, field: [asked]});
                assert_eq!(cost(&router, path, &body).await, 2.0);
                // proxies come and go: what they know is in the ledger
                let router = router_on(&settings(&upstream.url), trial.open().await);
                let history = json!([asked, back, said("user", next)]);
                let body = json!({"model": "m", "stream": stream, field: history});
                assert_eq!(cost(&router, path, &body).await, 2.0, "{path} {stream}");
                assert_eq!(got(&upstream, field, 1), ANSWER);
                assert_eq!(cost(&router, path, &body).await, 0.0);
            }
        }
    }
}

#[tokio::test]
async fn an_answer_is_known_once_its_last_event_is_there() {
    for (path, field, whole, pieces, back) in services() {
        // by upstream itself, and by an extractor
        let clear = [chunk(0, &json!({"content": ANSWER})), json!("[DONE]")];
        let extractor = Recorder::new(streamed(&clear));
        for (steps, url) in [(pieces, None), (reply(&whole), Some(extractor.url.clone()))] {
            let upstream = Recorder::new(steps);
            let settings = Settings { extractor_url: url, ..settings(&upstream.url) };
            let router = router(&settings).await;
            let body = json!({"model": "m", "stream": true, field: [said("user", "paris")]});
            let answer = router.clone().oneshot(post(path, &body)).await.unwrap();
            let mut answer = answer.into_body().into_data_stream();
            let mut heard = String::new();
            // the client asks on before the stream has ended
            while !["[DONE]", "message_stop", "response.completed"]
                .iter()
                .any(|end| heard.contains(end))
            {
                let event = answer.next().await.unwrap().unwrap();
                heard += std::str::from_utf8(&event).unwrap();
            }
            let history = json!([said("user", "paris"), back]);
            assert_eq!(
                cost(&router, path, &json!({"model": "m", field: history})).await,
                0.0,
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn whatever_else_is_drawn_for() {
    let upstream = Recorder::new(reply(&json!({"choices": [choice(0, ANSWER)]})));
    let router = router(&settings(&upstream.url)).await;
    let (paris, river) = (said("user", "paris"), said("user", "river"));
    let turn = |first: &Value, second: &Value| [first.clone(), second.clone(), river.clone()];
    assert_eq!(talk(&router, std::slice::from_ref(&paris)).await, 2.0);
    // edited, after another message, in the place of a user's, without the question
    let edited = said("assistant", &format!("{ANSWER} and love"));
    assert_eq!(talk(&router, &turn(&paris, &edited)).await, 8.0);
    assert_ne!(got(&upstream, "messages", 1), edited["content"]);
    let back = said("assistant", ANSWER);
    assert_eq!(talk(&router, &turn(&said("user", "london"), &back)).await, 2.0);
    let elsewhere = got(&upstream, "messages", 1);
    assert_ne!(elsewhere, ANSWER);
    // the user's own words have another map
    assert_eq!(talk(&router, &turn(&paris, &said("user", ANSWER))).await, 4.0);
    assert_ne!(got(&upstream, "messages", 1), elsewhere);
    assert_eq!(talk(&router, &[back.clone(), river.clone()]).await, 0.0);
    assert_eq!(got(&upstream, "messages", 0), elsewhere);
    let mut other = post(CHAT, &json!({"model": "m", "messages": turn(&paris, &back)}));
    other.headers_mut().insert("authorization", "Bearer another".parse().unwrap());
    assert_eq!(send(&router, other).await.header("x-cape-epsilon"), "8");
    assert_eq!(talk(&router, &turn(&paris, &back)).await, 0.0);
    assert_eq!(got(&upstream, "messages", 1), ANSWER);
}

#[tokio::test]
async fn each_choice_is_known() {
    let others = ["letter night", "money house"];
    let whole = reply(&json!({"choices": [choice(1, others[1]), choice(0, others[0])]}));
    let pieces = streamed(&[
        chunk(0, &json!({"content": "letter"})),
        chunk(1, &json!({"content": "money"})),
        chunk(1, &json!({"content": " house"})),
        chunk(0, &json!({"content": " night"})),
        json!("[DONE]"),
    ]);
    for steps in [whole, pieces] {
        let upstream = Recorder::new(steps);
        let router = router(&settings(&upstream.url)).await;
        assert_eq!(talk(&router, &[said("user", "paris")]).await, 2.0);
        for (text, next) in others.into_iter().zip(["river", "doctor"]) {
            let turn = [said("user", "paris"), said("assistant", text), said("user", next)];
            assert_eq!(talk(&router, &turn).await, 2.0);
            assert_eq!(got(&upstream, "messages", 1), text);
        }
    }
}

#[tokio::test]
async fn an_answer_that_fails_is_not_remembered() {
    let begun = chunk(0, &json!({"content": ANSWER}));
    let error = json!({"choices": [choice(0, ANSWER)]}).to_string();
    for steps in [
        streamed(std::slice::from_ref(&begun)),
        [streamed(std::slice::from_ref(&begun)), vec![Step::Hang]].concat(),
        streamed(&[begun, json!({"error": {"message": "no"}}), json!("[DONE]")]),
        answer(500, "application/json", &error),
    ] {
        let upstream = Recorder::new(steps);
        let router = router(&impatient(&upstream.url)).await;
        send(&router, post(CHAT, &chat("paris"))).await;
        let turn =
            json!({"model": "m", "messages": [said("user", "paris"), said("assistant", ANSWER)]});
        let again = send(&router, post(CHAT, &turn)).await;
        assert_eq!(again.header("x-cape-epsilon"), "4", "{}", again.text);
        assert_eq!(upstream.count(), 2);
    }
}

#[tokio::test]
async fn arguments_of_tool_calls_go_back_as_they_were() {
    let policy = Policy { tools: Gate::Pass, tool_names: Names::Pass, ..Policy::default() };
    let arguments = json!({"city": "Paris", "what": ["doctor", "music"]});
    let written = arguments.to_string();
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": written}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let mut begun = call.clone();
    (begun["index"], begun["function"]["arguments"]) = (json!(0), json!(written[..9]));
    let rest = json!({"index": 0, "function": {"arguments": written[9..]}});
    let block = json!({"type": "tool_use", "id": "c", "name": "f", "input": arguments});
    let result = json!({"type": "tool_result", "tool_use_id": "c", "content": "river"});
    let cases = [
        (
            CHAT,
            reply(&json!({"choices": [{"index": 0, "message": message}]})),
            json!([said("user", "night"), message, {"role": "tool", "tool_call_id": "c", "content": "river"}]),
        ),
        (
            CHAT,
            streamed(&[
                chunk(0, &json!({"role": "assistant", "content": null, "tool_calls": [begun]})),
                chunk(0, &json!({"tool_calls": [rest]})),
                json!("[DONE]"),
            ]),
            json!([said("user", "night"), message, {"role": "tool", "tool_call_id": "c", "content": "river"}]),
        ),
        (
            "/v1/messages",
            reply(&json!({"content": [block]})),
            json!([said("user", "night"), {"role": "assistant", "content": [block]}, {"role": "user", "content": [result]}]),
        ),
    ];
    for (path, steps, history) in cases {
        let upstream = Recorder::new(steps);
        let settings = Settings { policy: policy.clone(), ..settings(&upstream.url) };
        let router = router(&settings).await;
        let first = json!({"model": "m", "messages": [history[0]]});
        assert_eq!(cost(&router, path, &first).await, 2.0);
        assert_eq!(cost(&router, path, &json!({"model": "m", "messages": history})).await, 2.0);
        let mut sent = upstream.bodies().pop().unwrap()["messages"][1].take();
        let sent = if path == CHAT {
            let written = sent["tool_calls"][0]["function"]["arguments"].take();
            serde_json::from_str(written.as_str().unwrap()).unwrap()
        } else {
            sent["content"][0]["input"].take()
        };
        assert_eq!(sent, arguments);
    }
}

#[tokio::test]
async fn code_that_passes_parts_an_answer() {
    let text = "doctor `x = 1` music";
    let upstream = Recorder::new(reply(&json!({"choices": [choice(0, text)]})));
    let policy = Policy { code: Action::Pass, ..Policy::default() };
    let router = router(&Settings { policy, ..settings(&upstream.url) }).await;
    assert_eq!(talk(&router, &[said("user", "paris")]).await, 2.0);
    let turn = [said("user", "paris"), said("assistant", text), said("user", "river")];
    assert_eq!(talk(&router, &turn).await, 2.0);
    assert_eq!(got(&upstream, "messages", 1), text);
}

#[tokio::test]
async fn upstream_gets_its_own_words_in_the_place_of_rewritten_ones() {
    for (path, field, whole, _, _) in services() {
        for stream in [false, true] {
            let upstream = Recorder::new(reply(&whole));
            let rewritten = [format!("{CANARY} is"), " a river".into()];
            let pieces = rewritten.each_ref().map(|piece| chunk(0, &json!({"content": piece})));
            let extractor = Recorder::new(streamed(&[&pieces[..], &[json!("[DONE]")]].concat()));
            let extractor_url = Some(extractor.url.clone());
            let router = router(&Settings { extractor_url, ..settings(&upstream.url) }).await;
            let asked = said("user", "paris");
            let body = json!({"model": "m", "stream": stream, field: [asked]});
            let clear = send(&router, post(path, &body)).await;
            assert!(clear.text.contains("canary") && !clear.text.contains("music"));
            let rewritten = said("assistant", &rewritten.concat());
            let history = json!([asked, rewritten, said("user", "night")]);
            let body = json!({"model": "m", field: history});
            assert_eq!(cost(&router, path, &body).await, 2.0, "{path} {stream}");
            assert_eq!(got(&upstream, field, 1), ANSWER);
            // the noisy words are not what the client was given
            let other = json!([asked, said("assistant", ANSWER)]);
            assert_eq!(cost(&router, path, &json!({"model": "m", field: other})).await, 4.0);
            assert!(!upstream.bytes().contains("canary"));
        }
    }
}

/// A rewritten answer holds private words, in its code as well.
#[tokio::test]
async fn code_of_a_rewritten_answer_does_not_pass() {
    let upstream = Recorder::new(reply(&json!({"choices": [choice(0, ANSWER)]})));
    let text = format!("letter `{CANARY}` house");
    let pieces = [chunk(0, &json!({"content": text})), json!("[DONE]")];
    let extractor = Recorder::new(streamed(&pieces));
    let settings = Settings {
        extractor_url: Some(extractor.url.clone()),
        policy: Policy { code: Action::Pass, urls: Action::Pass, ..Policy::default() },
        ..settings(&upstream.url)
    };
    let router = router(&settings).await;
    assert_eq!(talk(&router, &[said("user", "paris")]).await, 2.0);
    assert_eq!(talk(&router, &[said("user", "paris"), said("assistant", &text)]).await, 0.0);
    assert_eq!(got(&upstream, "messages", 1), ANSWER);
    let edited = format!("{text}: https://{CANARY}.example");
    assert!(talk(&router, &[said("user", "paris"), said("assistant", &edited)]).await > 4.0);
    assert!(!upstream.bytes().contains("canary"));
    // a user's own code passes
    assert_eq!(talk(&router, &[said("user", "paris `x = 1`")]).await, 0.0);
    assert!(got(&upstream, "messages", 0).as_str().unwrap().ends_with(" `x = 1`"));
}

/// A tool that takes a text is called in pieces, too.
#[tokio::test]
async fn a_streamed_text_for_a_tool_goes_back_as_it_was() {
    let call = |input: &str| json!({"index": 0, "id": "c", "type": "custom", "custom": {"name": "f", "input": input}});
    let rest = json!({"index": 0, "custom": {"input": "tor music"}});
    let upstream = Recorder::new(streamed(&[
        chunk(0, &json!({"role": "assistant", "content": null, "tool_calls": [call("doc")]})),
        chunk(0, &json!({"tool_calls": [rest]})),
        json!("[DONE]"),
    ]));
    let policy = Policy { tool_names: Names::Pass, ..Policy::default() };
    let router = router(&Settings { policy, ..settings(&upstream.url) }).await;
    assert_eq!(talk(&router, &[said("user", "night")]).await, 2.0);
    let message =
        json!({"role": "assistant", "content": null, "tool_calls": [call("doctor music")]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "river"});
    assert_eq!(talk(&router, &[said("user", "night"), message, result]).await, 2.0);
    let sent = &upstream.bodies().pop().unwrap()["messages"][1]["tool_calls"][0];
    assert_eq!(sent["custom"]["input"], "doctor music");
}

#[tokio::test]
async fn an_answer_is_remembered_when_nothing_is_left() {
    let upstream = Recorder::new(reply(&json!({"choices": [choice(0, ANSWER)]})));
    let limits = Limits { total: Some(epsilon(2.0)), ..Limits::default() };
    let router = router(&Settings { limits, ..settings(&upstream.url) }).await;
    assert_eq!(talk(&router, &[said("user", "paris")]).await, 2.0);
    let turn = [said("user", "paris"), said("assistant", ANSWER), said("user", "the")];
    assert_eq!(talk(&router, &turn).await, 0.0);
    assert_eq!(got(&upstream, "messages", 1), ANSWER);
}

#[tokio::test]
async fn an_answer_that_cannot_be_remembered_is_given_all_the_same() {
    let (trial, whole) = (Trial::sqlite(), json!({"choices": [choice(0, ANSWER)]}));
    let upstream = Recorder::new(reply(&whole));
    let router = router_on(&settings(&upstream.url), trial.open().await);
    trial
        .tamper(
            "CREATE TRIGGER full BEFORE INSERT ON cape_memory
             BEGIN SELECT RAISE(ABORT, 'full'); END",
        )
        .await;
    let first = send(&router, post(CHAT, &chat("paris"))).await;
    assert_eq!((first.status, first.json()), (200, whole));
    trial.tamper("DROP TRIGGER full").await;
    assert_eq!(talk(&router, &[said("user", "paris"), said("assistant", ANSWER)]).await, 4.0);
}
