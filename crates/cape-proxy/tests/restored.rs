//! Answers with the user's own names, which upstream never sees.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::recorder::{Recorder, Step, json as reply, stream};
use crate::served::{Answer, json_post, ledger, send, settings};
use axum::Router;
use cape::lexicon::Lexicon;
use cape::mechanism::cape::{Cape, Settings as CapeSettings};
use cape::sanitizer::Sanitizer;
use cape::units;
use cape::{Restorer, Wanted};
use cape_proxy::{Action, Calls, Gate, Names, Policy, Service, Settings};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
/// She is on no list: no draw can fall on her.
const NAME: &str = "Aliciana";
const PROMPT: &str = "Please write to Aliciana about the garden.";

fn cape() -> Cape {
    Cape::new(Lexicon::embedded(), CapeSettings::default()).unwrap()
}

/// A proxy as it is by default, in front of this upstream.
async fn proxy(settings: &Settings) -> Router {
    let (ledger, dir) = ledger().await;
    let service = Service::new(settings, Sanitizer::words(cape()), ledger).unwrap();
    cape_proxy::router(service).layer(axum::Extension(Arc::new(dir)))
}

async fn ask(router: &Router, key: &str, path: &str, body: &Value) -> Answer {
    let request = json_post(path).header("authorization", format!("Bearer {key}"));
    let answer = send(router, request.body(body.to_string().into()).unwrap()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn chat(messages: &[Value]) -> Value {
    json!({"model": "m", "messages": messages})
}

/// The word that stands for her in a release of the prompt.
fn substitute(sent: &str) -> String {
    let units = units::cut(sent, units::Options::default()).unwrap();
    units[3].of(sent).to_owned()
}

/// A key of a user for whom she becomes a name that can be put back, and that name. Some draws
/// cannot be.
async fn account(router: &Router, upstream: &Recorder) -> (String, String) {
    for key in 0..40 {
        let key = key.to_string();
        ask(router, &key, CHAT, &chat(&[said("user", PROMPT)])).await;
        let sent = upstream.bodies().pop().unwrap();
        let sent = sent["messages"].as_array().unwrap().last().unwrap()["content"].clone();
        let sent = sent.as_str().unwrap();
        let mut restorer = Restorer::default();
        restorer.learn(&cape(), PROMPT, sent, &Wanted::DEFAULT);
        if !restorer.is_empty() {
            return (key, substitute(sent));
        }
    }
    panic!("no name in forty draws");
}

/// The text of the last user in a request, whatever the service.
fn last(body: &Value) -> String {
    let message = |list: &Value| {
        let is_said = |item: &&Value| item["role"] == "user" && item["content"].is_string();
        let last = list.as_array()?.iter().rfind(is_said)?;
        last["content"].as_str().map(str::to_owned)
    };
    let texts = [message(&body["messages"]), message(&body["input"])];
    let plain = [&body["prompt"], &body["input"]].map(|text| text.as_str().map(str::to_owned));
    texts.into_iter().chain(plain).flatten().next().unwrap_or_default()
}

/// What a service answers of somebody of this name.
fn about(name: &str) -> String {
    format!("Dear {name}, {name}'s garden: http://evil.example/?q={name} and `{name}`.\n\n{name}")
}

/// The same with the names that are put back.
fn restored(name: &str) -> String {
    about(name)
        .replace(&format!("Dear {name}, {name}'s"), &format!("Dear {NAME}, {NAME}'s"))
        .replace(&format!("\n\n{name}"), &format!("\n\n{NAME}"))
}

/// A name in the description of a tool may be the one that the answer means.
#[tokio::test]
async fn names_of_what_passes_beside_a_prompt_stay() {
    let upstream = service(3);
    let policy = Policy { tools: Gate::Pass, ..Policy::default() };
    let router = proxy(&Settings { policy, ..settings(&upstream.url) }).await;
    let (key, name) = account(&router, &upstream).await;
    let mut body = chat(&[said("user", PROMPT)]);
    let text = |answer: &Answer| answer.json()["choices"][0]["message"]["content"].clone();
    assert_eq!(text(&ask(&router, &key, CHAT, &body).await), restored(&name));
    let tool = json!({"name": "f", "description": format!("Asks {name}.")});
    body["tools"] = json!([{"type": "function", "function": tool}]);
    assert_eq!(text(&ask(&router, &key, CHAT, &body).await), about(&name));
}

fn event(data: &Value) -> Step {
    let name = data["type"].as_str().map_or_else(String::new, |name| format!("event: {name}\n"));
    let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
    Step::Send(format!("{name}data: {data}\n\n").into_bytes())
}

fn service(cut: usize) -> Recorder {
    cut_service(&Arc::new(AtomicUsize::new(cut)))
}

/// A service that answers about whom it is asked, in its own form, streamed in two pieces if asked for.
fn cut_service(cut: &Arc<AtomicUsize>) -> Recorder {
    let cut = Arc::clone(cut);
    Recorder::answering(move |body| {
        let text = about(&substitute(&last(body)));
        let cut = cut.load(Ordering::Relaxed);
        let cut = (0..=cut.min(text.len())).rfind(|&at| text.is_char_boundary(at)).unwrap();
        let pieces = [&text[..cut], &text[cut..]];
        let part = json!({"type": "output_text", "text": text, "annotations": []});
        let item = json!({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]});
        let response = json!({"id": "r", "object": "response", "output": [item]});
        let events = |each: &dyn Fn(&str) -> Value, before: Vec<Value>, after: Vec<Value>| {
            let all = before.into_iter().chain(pieces.map(each)).chain(after);
            [stream()].into_iter().chain(all.map(|data| event(&data))).collect()
        };
        match (body.get("prompt"), body.get("input"), body.get("max_tokens")) {
            (Some(_), ..) if body["stream"] == true => events(
                &|piece| json!({"choices": [{"index": 0, "text": piece, "finish_reason": null}]}),
                vec![],
                vec![
                    json!({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}),
                    json!("[DONE]"),
                ],
            ),
            (Some(_), ..) => reply(&json!({"choices": [{"index": 0, "text": text}]})),
            (_, Some(_), _) if body["stream"] == true => events(
                &|piece| {
                    json!({"type": "response.output_text.delta", "item_id": "m", "output_index": 0,
                    "content_index": 0, "delta": piece})
                },
                vec![],
                vec![
                    json!({"type": "response.output_text.done", "item_id": "m", "output_index": 0,
                        "content_index": 0, "text": text}),
                    json!({"type": "response.completed", "response": response}),
                ],
            ),
            (_, Some(_), _) => reply(&response),
            (_, _, Some(_)) if body["stream"] == true => events(
                &|piece| {
                    json!({"type": "content_block_delta", "index": 0,
                    "delta": {"type": "text_delta", "text": piece}})
                },
                vec![
                    json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                ],
                vec![
                    json!({"type": "content_block_stop", "index": 0}),
                    json!({"type": "message_stop"}),
                ],
            ),
            (_, _, Some(_)) => {
                reply(&json!({"role": "assistant", "content": [{"type": "text", "text": text}]}))
            }
            _ if body["stream"] == true => events(
                &|piece| json!({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": null}]}),
                vec![],
                vec![
                    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
                    json!("[DONE]"),
                ],
            ),
            _ => reply(&json!({"choices": [{"index": 0, "message": said("assistant", &text)}]})),
        }
    })
}

/// The text of an answer, whole or streamed.
fn text(answer: &Answer) -> String {
    let places = [
        "/choices/0/message/content",
        "/choices/0/text",
        "/content/0/text",
        "/output/0/content/0/text",
    ];
    let found = |value: &Value, places: &[&str]| {
        places.iter().find_map(|place| value.pointer(place)?.as_str().map(str::to_owned))
    };
    if answer.header("content-type") != "text/event-stream" {
        return found(&answer.json(), &places).unwrap();
    }
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events =
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap());
    let deltas = ["/choices/0/delta/content", "/choices/0/text", "/delta/text", "/delta"];
    events.filter_map(|event: Value| found(&event, &deltas)).collect()
}

/// A service's path, a request to it, and how its answer comes back.
fn services() -> [(&'static str, Value, Option<&'static str>); 4] {
    [
        (CHAT, chat(&[said("user", PROMPT)]), Some("messages")),
        ("/v1/completions", json!({"model": "m", "prompt": PROMPT}), None),
        (
            "/v1/messages",
            json!({"model": "m", "max_tokens": 9, "messages": [said("user", PROMPT)]}),
            Some("messages"),
        ),
        ("/v1/responses", json!({"model": "m", "input": [said("user", PROMPT)]}), Some("input")),
    ]
}

#[tokio::test]
async fn names_come_back_and_upstream_gets_its_own_words() {
    let upstream = service(9);
    let router = proxy(&settings(&upstream.url)).await;
    let (key, name) = account(&router, &upstream).await;
    for (path, mut body, field) in services() {
        for stream in [false, true] {
            body["stream"] = json!(stream);
            let answer = ask(&router, &key, path, &body).await;
            assert_eq!(text(&answer), restored(&name), "{path} {stream}");
            // of a stream it is not known when its head is sent
            assert_eq!(answer.header("x-cape-restored"), if stream { "" } else { "3" });
            let Some(field) = field else { continue };
            // the next turn: upstream gets its own words, which cost nothing
            let mut next = body.clone();
            let history = next[field].as_array_mut().unwrap();
            history.extend([said("assistant", &restored(&name)), said("user", PROMPT)]);
            let again = ask(&router, &key, path, &next).await;
            assert_eq!(again.header("x-cape-draws"), "0");
            assert_eq!(text(&again), restored(&name), "{path} {stream}");
            let sent = upstream.bodies().pop().unwrap();
            assert_eq!(sent[field][1]["content"], about(&name), "{path} {stream}");
            // one that was edited is none of its own
            next[field][1] = said("assistant", &format!("{} {NAME}", restored(&name)));
            ask(&router, &key, path, &next).await;
            let sent = upstream.bodies().pop().unwrap();
            assert_ne!(sent[field][1]["content"], about(&name), "{path} {stream}");
        }
    }
    assert!(!upstream.bytes().contains(NAME), "she is on no list, and no draw falls on her");
}

#[tokio::test]
async fn a_stream_may_be_cut_anywhere() {
    let cut = Arc::new(AtomicUsize::new(0));
    let upstream = cut_service(&cut);
    let router = proxy(&settings(&upstream.url)).await;
    let (key, name) = account(&router, &upstream).await;
    for at in 0..=about(&name).len() {
        cut.store(at, Ordering::Relaxed);
        for (path, mut body, _) in services() {
            body["stream"] = json!(true);
            assert_eq!(
                text(&ask(&router, &key, path, &body).await),
                restored(&name),
                "{path} {at}"
            );
        }
    }
}

#[tokio::test]
async fn nothing_is_put_back_that_could_be_something_else() {
    let upstream = service(9);
    let policy = Policy { system: Action::Pass, ..Policy::default() };
    let router = proxy(&Settings { policy, ..settings(&upstream.url) }).await;
    let (key, name) = account(&router, &upstream).await;
    let user = said("user", PROMPT);
    let names = async |messages: &[Value]| {
        let answer = ask(&router, &key, CHAT, &chat(messages)).await;
        answer.header("x-cape-restored").parse::<usize>().unwrap()
    };
    assert_eq!(names(std::slice::from_ref(&user)).await, 3);
    // it stands in a text that passes
    let system = said("system", &format!("Be brief ({name})."));
    assert_eq!(names(&[system, user.clone()]).await, 0);
    // what was said before a response is not known
    let id = format!("resp_{}", "0".repeat(40));
    let body = json!({"model": "m", "input": PROMPT, "previous_response_id": id});
    let answer = ask(&router, &key, "/v1/responses", &body).await;
    assert_eq!((text(&answer), answer.header("x-cape-restored")), (about(&name), "0"));
    // the operator wants none
    let off = proxy(&Settings { restore: Vec::new(), ..settings(&upstream.url) }).await;
    let answer = ask(&off, &key, CHAT, &chat(&[user])).await;
    let name = substitute(&last(&upstream.bodies().pop().unwrap()));
    assert_eq!((text(&answer), answer.header("x-cape-restored")), (about(&name), ""));
}

#[tokio::test]
async fn a_name_that_upstream_said_first_stays() {
    // an upstream that knows by itself what she is called
    let known = Arc::new(Mutex::new(String::new()));
    let own = Arc::clone(&known);
    let upstream = Recorder::answering(move |body| {
        let asked = last(body);
        let answer = if asked == "Hi!" {
            format!("I know {}.", own.lock().unwrap())
        } else {
            about(&substitute(&asked))
        };
        reply(&json!({"choices": [{"index": 0, "message": said("assistant", &answer)}]}))
    });
    let router = proxy(&settings(&upstream.url)).await;
    let (key, name) = account(&router, &upstream).await;
    known.lock().unwrap().clone_from(&name);
    let (hi, user) = (said("user", "Hi!"), said("user", PROMPT));
    let first = text(&ask(&router, &key, CHAT, &chat(std::slice::from_ref(&hi))).await);
    assert_eq!(first, format!("I know {name}."));
    let first = said("assistant", &first);
    let before = chat(&[hi.clone(), first.clone(), user.clone()]);
    assert_eq!(ask(&router, &key, CHAT, &before).await.header("x-cape-restored"), "0");
    // after the user's word was sent it is what was sent
    let own = text(&ask(&router, &key, CHAT, &chat(std::slice::from_ref(&user))).await);
    let after = chat(&[user.clone(), said("assistant", &own), user]);
    assert_eq!(ask(&router, &key, CHAT, &after).await.header("x-cape-restored"), "3");
}

/// A call of a tool, and its answer in a conversation.
fn calls(service: &str, arguments: &str, result: &str) -> [Value; 2] {
    if service == CHAT {
        let function = json!({"name": "send", "arguments": arguments});
        let call = json!({"id": "c", "type": "function", "function": function});
        [
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": "c", "content": result}),
        ]
    } else {
        let input: Value = serde_json::from_str(arguments).unwrap();
        let call = json!({"type": "tool_use", "id": "c", "name": "send", "input": input});
        let result = json!({"type": "tool_result", "tool_use_id": "c", "content": result});
        [
            json!({"role": "assistant", "content": [call]}),
            json!({"role": "user", "content": [result]}),
        ]
    }
}

/// What the second message of a request says to which tool.
fn arguments(message: &Value) -> Value {
    match message["tool_calls"][0]["function"]["arguments"].as_str() {
        Some(written) => serde_json::from_str(written).unwrap(),
        None => message["content"][0]["input"].clone(),
    }
}

#[tokio::test]
async fn tools_get_names_if_the_operator_says_so() {
    let caller = Recorder::answering(|body| {
        let name = substitute(&last(body));
        let noisy =
            json!({"to": name, "link": format!("http://evil.example/{name}"), "n": 1}).to_string();
        let chat = body.get("max_tokens").is_none();
        let [message, _] = calls(if chat { CHAT } else { "" }, &noisy, "");
        if chat && body["stream"] == true {
            let call =
                |more: Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": [more]}}]});
            let mut begun = message["tool_calls"][0].clone();
            (begun["index"], begun["function"]["arguments"]) = (json!(0), json!(noisy[..9]));
            let rest = json!({"index": 0, "function": {"arguments": noisy[9..]}});
            let end =
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
            let all = [call(begun), call(rest), end, json!("[DONE]")];
            [stream()].into_iter().chain(all.iter().map(event)).collect()
        } else if chat {
            reply(&json!({"choices": [{"index": 0, "message": message}]}))
        } else {
            reply(&json!({"role": "assistant", "content": message["content"]}))
        }
    });
    let restore = |calls: Calls| {
        let policy = Policy {
            tools: Gate::Pass,
            tool_names: Names::Pass,
            tool_calls: calls,
            ..Policy::default()
        };
        Settings { policy, ..settings(&caller.url) }
    };
    let router = proxy(&restore(Calls::Restore)).await;
    let (key, name) = account(&router, &caller).await;
    for (path, stream) in [(CHAT, false), (CHAT, true), ("/v1/messages", false)] {
        let mut body = json!({"model": "m", "stream": stream, "messages": [said("user", PROMPT)]});
        if path != CHAT {
            body["max_tokens"] = json!(9);
        }
        let answer = ask(&router, &key, path, &body).await;
        let given = if stream {
            let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: {"));
            let events =
                data.map(|data| serde_json::from_str::<Value>(&format!("{{{data}")).unwrap());
            let part = "/choices/0/delta/tool_calls/0/function/arguments";
            let parts = events.filter_map(|e| e.pointer(part)?.as_str().map(str::to_owned));
            serde_json::from_str(&parts.collect::<String>()).unwrap()
        } else {
            let json = answer.json();
            arguments(if path == CHAT { &json["choices"][0]["message"] } else { &json })
        };
        let link = format!("http://evil.example/{name}");
        assert_eq!(given, json!({"to": NAME, "link": link, "n": 1}), "{path} {stream}");
        // the call goes back as upstream made it
        let [call, result] = calls(path, &given.to_string(), &format!("Sent to {NAME}."));
        body["messages"].as_array_mut().unwrap().extend([call, result]);
        body["stream"] = json!(false);
        ask(&router, &key, path, &body).await;
        let sent = caller.bodies().pop().unwrap();
        assert_eq!(arguments(&sent["messages"][1])["to"], name.as_str(), "{path} {stream}");
    }
    let router = proxy(&restore(Calls::Perturb)).await;
    let answer = ask(&router, "k", CHAT, &chat(&[said("user", PROMPT)])).await;
    assert!(!answer.text.contains(NAME), "{}", answer.text);
}

/// A page that the service knows, fetched by a tool, does not tell what the user's words became.
#[tokio::test]
async fn a_page_of_names_does_not_tell_the_users() {
    let lexicon = Lexicon::embedded();
    let is_name = |word: &&str| {
        let letters = word.chars().all(char::is_alphabetic);
        letters && lexicon.flags(word).is_some_and(cape::lexicon::Flags::is_name)
    };
    let mut page: Vec<String> = lexicon.words().filter(is_name).map(str::to_owned).collect();
    let listed = page.len();
    page.truncate(10_000);
    // others are as good: every string is drawn for
    page.extend((page.len()..10_000).map(|i| {
        format!(
            "Zq{}",
            ["a", "e", "i", "o", "u"]
                .map(|v| format!("{v}{}", (b'a' + (i / 7 % 20) as u8) as char))
                .concat()
        )
    }));
    assert!(listed > 1000 && page.len() == 10_000);
    let own: Vec<String> = page.iter().step_by(100).take(60).cloned().collect();
    let upstream = Recorder::new(reply(&json!({"choices": []})));
    let policy =
        Policy { tool_names: Names::Pass, tool_calls: Calls::Restore, ..Policy::default() };
    let router =
        proxy(&Settings { policy, timeout: 300, max_body: 1 << 20, ..settings(&upstream.url) })
            .await;
    let prompt = own.join(", ");
    let [call, result] = calls(CHAT, "{}", &page.join(", "));
    ask(&router, "k", CHAT, &chat(&[said("user", &prompt), call, result])).await;
    let sent = upstream.bodies().pop().unwrap();
    let words = |message: usize| -> Vec<String> {
        let text = sent["messages"][message]["content"].as_str().unwrap();
        text.split(", ").map(str::to_owned).collect()
    };
    let (mine, known) = (words(0), words(2));
    assert_eq!((mine.len(), known.len()), (60, 10_000));
    let looked_up = |(own, became): (&String, &String)| {
        let at = page.iter().position(|name| name == own).unwrap();
        known[at] == *became
    };
    // with one map for both all sixty would be found; by chance one in a hundred or so is
    let found = own.iter().zip(&mine).filter(|pair| looked_up(*pair)).count();
    assert!(found < 10, "{found} of 60 could be looked up");
}

#[tokio::test]
async fn the_service_is_told_of_substitutes_if_asked_for() {
    let upstream = service(9);
    let router = proxy(&Settings { notice: true, ..settings(&upstream.url) }).await;
    let plain = proxy(&settings(&upstream.url)).await;
    let notice = "Some names, numbers and other details in this conversation are substitutes. \
                  Use them as they are, and do not comment on them.";
    for (path, body, _) in services() {
        ask(&router, "k", path, &body).await;
        let mut sent = upstream.bodies().pop().unwrap();
        ask(&plain, "k", path, &body).await;
        assert!(!upstream.bodies().pop().unwrap().to_string().contains("substitutes"));
        let told = match path {
            CHAT => sent["messages"].as_array_mut().unwrap().remove(0),
            "/v1/messages" => sent.as_object_mut().unwrap().remove("system").unwrap(),
            "/v1/responses" => sent.as_object_mut().unwrap().remove("instructions").unwrap(),
            _ => Value::Null,
        };
        match path {
            CHAT => assert_eq!(told, said("system", notice)),
            "/v1/completions" => assert_eq!(told, Value::Null),
            _ => assert_eq!(told, notice),
        }
        // all else is as it would be
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&sent), keys(&body));
    }
}
