//! A known word is sent as before and costs nothing; a new one is paid for first, or not sent.
//! On SQLite, and on PostgreSQL where `CAPE_TEST_POSTGRES` has the URL of a server.

use std::collections::HashSet;

use crate::ledgers::{Trial, database, epsilon, server, trials};
use crate::recorder::{Recorder, json as reply};
use crate::relay::{Fault, Relay};
use crate::served::{Answer, CANARY, chat, get, post, router, router_on, send, settings};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use cape_ledger::{Each, Forget, Ledger, Limits};
use cape_proxy::{Action, Memory, Names, Policy, Settings};
use serde_json::{Value, json};
use sqlx::{AnyConnection, Connection, Executor};

const CHAT: &str = "/v1/chat/completions";

fn with_key(key: &str, path: &str, body: &Value) -> Request<Body> {
    let mut request = post(path, body);
    request.headers_mut().insert("authorization", format!("Bearer {key}").parse().unwrap());
    request
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// A proxy on the ledger of a trial.
async fn on(trial: &Trial, upstream: &Recorder, limits: Limits) -> Router {
    router_on(&Settings { limits, ..settings(&upstream.url) }, trial.open().await)
}

#[tokio::test]
async fn a_history_is_sent_as_it_was_and_costs_nothing() {
    for trial in trials().await {
        let upstream = Recorder::new(reply(&json!({})));
        let mut messages = Vec::new();
        let mut sent: Vec<Value> = Vec::new();
        for turn in 0..6_usize {
            // proxies come and go: what they know is in the ledger
            let router = on(&trial, &upstream, Limits::default()).await;
            messages.push(said("user", &format!("{CANARY} love paris and london, {turn}")));
            let body = json!({"model": "m", "messages": messages});
            let first = send(&router, with_key("k", CHAT, &body)).await;
            // the canary, love, paris, london, and the number, ε = 2 each; then the answer's two words in
            // the other map, and the next number; then numbers alone
            let (new, maps) = [("10", "1"), ("6", "1"), ("2", "0")][turn.min(2)];
            assert_eq!((first.status, first.header("x-cape-epsilon")), (200, new), "{turn}");
            assert_eq!(first.header("x-cape-maps"), maps, "{turn}");
            let again = send(&router, with_key("k", CHAT, &body)).await;
            assert_eq!(again.header("x-cape-epsilon"), "0");
            assert_eq!(again.header("x-cape-draws"), "0");
            let bodies = upstream.bodies();
            let [first, again] = &bodies[bodies.len() - 2..] else { unreachable!() };
            assert_eq!(first.to_string(), again.to_string());
            let now = first["messages"].as_array().unwrap();
            assert_eq!(now[..sent.len()], sent, "what was sent, unchanged");
            sent.clone_from(now);
            // an answer that is not the service's is drawn for, like the rest
            messages.push(said("assistant", "doctor and music"));
        }
        assert_eq!(trial.recorded().await, 2_000_000 * (5 + 3 + 4));
        assert!(!upstream.bytes().contains("canary"));
    }
}

#[tokio::test]
async fn words_are_drawn_once_for_each_account_and_each_of_its_two_maps() {
    let upstream = Recorder::new(reply(&json!({})));
    let trial = Trial::sqlite();
    let router = on(&trial, &upstream, Limits::default()).await;
    let text = "paris london doctor river money house letter night";
    let spent = async |key: &str, user: &str, messages: Value| {
        let body = json!({"model": "m", "user": user, "messages": messages});
        let answer = send(&router, with_key(key, CHAT, &body)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.header("x-cape-epsilon").parse::<f64>().unwrap()
    };
    let (user, assistant) = (said("user", text), said("assistant", text));
    assert_eq!(spent("k", "u", json!([user])).await, 16.0);
    for known in [json!([user]), json!([user, user]), json!([said("user", "river house")])] {
        assert_eq!(spent("k", "u", known).await, 0.0);
    }
    // text that the service may know, another key, and another user of the same key, who learns from a
    // cost of nothing what he himself has said, and nothing of others
    assert_eq!(spent("k", "u", json!([assistant])).await, 16.0);
    assert_eq!(spent("other", "u", json!([user])).await, 16.0);
    assert_eq!(spent("k", "v", json!([user])).await, 16.0);
    assert_eq!(spent("k", "v", json!([user])).await, 0.0);
    // each of them is a map of its own
    let bodies = upstream.bodies();
    let whole = bodies.iter().flat_map(|body| body["messages"].as_array().unwrap());
    let texts: HashSet<&str> = whole.map(|message| message["content"].as_str().unwrap()).collect();
    let long = texts.iter().filter(|text| text.split(' ').count() == 8);
    assert_eq!(long.count(), 4);
    // and within one, a word becomes the same wherever it stands
    let first = bodies[0]["messages"][0]["content"].as_str().unwrap().to_lowercase();
    let first: Vec<&str> = first.split(' ').collect();
    let short = bodies[3]["messages"][0]["content"].as_str().unwrap().to_lowercase();
    assert_eq!(short, format!("{} {}", first[3], first[5]));
}

/// The map of each conversation, or of each request, is another one, and is counted.
#[tokio::test]
async fn a_memory_may_be_shorter() {
    for trial in trials().await {
        let upstream = Recorder::new(reply(&json!({})));
        let with = async |memory| {
            router_on(&Settings { memory, ..settings(&upstream.url) }, trial.open().await)
        };
        let talk = async |router: &Router, texts: &[&str]| {
            let messages: Vec<Value> = texts.iter().map(|text| said("user", text)).collect();
            let body = json!({"model": "m", "messages": messages});
            let answer = send(router, with_key("k", CHAT, &body)).await;
            let counts = ["x-cape-draws", "x-cape-maps"].map(|name| answer.header(name).to_owned());
            (counts.map(|count| count.parse::<u32>().unwrap()), answer)
        };
        let proxy = with(Memory::Conversation).await;
        let (counts, first) = talk(&proxy, &["paris london"]).await;
        assert_eq!(counts, [2, 1]);
        let name = first.header("x-cape-conversation").to_owned();
        assert_eq!(name.len(), 16);
        // the conversation goes on, and another one begins
        let (counts, second) = talk(&proxy, &["paris london", "london river"]).await;
        assert_eq!((counts, second.header("x-cape-conversation")), ([1, 0], &name[..]));
        let (counts, third) = talk(&proxy, &["london paris"]).await;
        assert_eq!(counts, [2, 1]);
        assert_ne!(third.header("x-cape-conversation"), name);
        // it can be forgotten by the name that the client was told
        let ledger = trial.open().await;
        let account = first.header("x-cape-account");
        ledger.forget(account, Forget::Conversation(&name)).await.unwrap();
        assert_eq!(talk(&proxy, &["paris london", "london river"]).await.0, [3, 1]);
        assert_eq!(talk(&proxy, &["london paris"]).await.0, [0, 0]);

        let proxy = with(Memory::None).await;
        for _ in 0..2 {
            let (counts, answer) = talk(&proxy, &["paris london", "london"]).await;
            assert_eq!((counts, answer.header("x-cape-conversation")), ([2, 1], ""));
        }
        let proxy = with(Memory::Account).await;
        assert_eq!(talk(&proxy, &["paris london"]).await.0, [2, 1]);
        ledger.forget(account, Forget::Maps).await.unwrap();
        assert_eq!(talk(&proxy, &["paris london"]).await.0, [2, 1]);
        assert_eq!(trial.recorded().await, 2_000_000 * (2 + 1 + 2 + 3 + 4 + 4));
    }
}

/// A page of names, fetched by a tool, tells nothing of what the user's own words become, unless the operator
/// wants one map for all.
#[tokio::test]
async fn a_known_page_does_not_read_off_the_users_map() {
    for shared_map in [false, true] {
        let upstream = Recorder::new(reply(&json!({})));
        let policy = Policy { tool_names: Names::Pass, ..Policy::default() };
        let settings = Settings { shared_map, policy, ..settings(&upstream.url) };
        let router = router(&settings).await;
        let names = "Alice Bob Carol David Emma Frank Grace Henry";
        let call =
            json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}});
        let messages = json!([said("user", names), {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": names}]);
        let body = json!({"model": "m", "messages": messages});
        let answer = send(&router, post(CHAT, &body)).await;
        let both = if shared_map { ["8", "1"] } else { ["16", "2"] };
        let told = ["x-cape-draws", "x-cape-maps"].map(|name| answer.header(name));
        assert_eq!(told, both, "{}", answer.text);
        let sent = upstream.bodies().pop().unwrap();
        let texts = [0, 2].map(|i| sent["messages"][i]["content"].as_str().unwrap().to_owned());
        assert_eq!(texts[0] == texts[1], shared_map);
        if !shared_map {
            // any two words are drawn apart: two of eight agree by chance with probability 1e-7
            let pairs = texts[0].split(' ').zip(texts[1].split(' '));
            assert!(pairs.filter(|(own, known)| own == known).count() < 2, "{texts:?}");
        }
    }
}

#[tokio::test]
async fn maps_are_limited_like_draws() {
    let upstream = Recorder::new(reply(&json!({})));
    let maps = Each { key: Some(1), ..Each::default() };
    let limits = Limits { maps, ..Limits::default() };
    let router = router(&Settings { limits, ..settings(&upstream.url) }).await;
    let ask = async |user: &str| {
        let body = json!({"model": "m", "user": user, "messages": [said("user", "paris")]});
        send(&router, with_key("k", CHAT, &body)).await
    };
    assert_eq!(ask("one").await.status, 200);
    let told = ask("two").await;
    assert_eq!((told.status, told.header("retry-after")), (429, ""));
    let error = &told.json()["error"];
    assert_eq!(error["message"], "1 new map is more than the 0 left to this key; nothing was sent");
    let budget = &error["budget"];
    assert_eq!((&budget["counts"], &budget["limit"]), (&json!("maps"), &json!("key")));
    assert_eq!((&budget["asked"], &budget["left"]), (&json!(1), &json!(0)));
    assert_eq!(budget["all_left"]["maps"]["key"], 0);
    assert_eq!((ask("one").await.status, upstream.count()), (200, 2));
}

#[tokio::test]
async fn a_system_prompt_is_paid_for_once_wherever_it_stands() {
    let policy = Policy { system: Action::Perturb, ..Policy::default() };
    for (path, system, messages) in
        [("/v1/messages", "system", "messages"), ("/v1/responses", "instructions", "input")]
    {
        let upstream = Recorder::new(reply(&json!({})));
        let settings = Settings { policy: policy.clone(), ..settings(&upstream.url) };
        let router = router(&settings).await;
        let mut said_so_far = Vec::new();
        for (turn, cost) in ["6", "2", "2"].iter().enumerate() {
            said_so_far.push(said("user", &turn.to_string()));
            let body = json!({"model": "m", system: "paris london", messages: said_so_far});
            let answer = send(&router, post(path, &body)).await;
            assert_eq!(answer.header("x-cape-epsilon"), *cost, "{path} {turn}: {}", answer.text);
        }
        let sent: HashSet<String> =
            upstream.bodies().iter().map(|body| body[system].to_string()).collect();
        assert_eq!(sent.len(), 1);
    }
}

#[tokio::test]
async fn texts_of_a_list_are_each_for_themselves() {
    let upstream = Recorder::new(reply(&json!({})));
    let router = router(&settings(&upstream.url)).await;
    for (path, field) in [("/v1/embeddings", "input"), ("/v1/completions", "prompt")] {
        let new = if field == "input" { "8" } else { "0" };
        for (texts, cost) in [
            (json!(["paris london", "doctor", "music"]), new),
            // in another order, alone, and twice
            (json!(["music", "paris london"]), "0"),
            (json!("doctor"), "0"),
            (json!(["doctor", "doctor"]), "0"),
        ] {
            let answer = send(&router, post(path, &json!({"model": "m", field: texts}))).await;
            assert_eq!(answer.header("x-cape-epsilon"), cost, "{path} {texts}");
        }
    }
    let sent = upstream.bodies();
    assert_eq!(sent[0]["input"][0], sent[1]["input"][1]);
    assert_eq!(sent[0]["input"], sent[4]["prompt"]);
    // the same text twice in one request, and for the first time, is one release
    let body = json!({"model": "m", "input": ["night river", "night river"]});
    assert_eq!(send(&router, post("/v1/embeddings", &body)).await.header("x-cape-epsilon"), "4");
    let sent = upstream.bodies().pop().unwrap();
    assert_eq!(sent["input"][0], sent["input"][1]);
}

#[tokio::test]
async fn every_route_that_releases_text_spends() {
    let upstream = Recorder::new(reply(&json!({})));
    let trial = Trial::sqlite();
    let router = on(&trial, &upstream, Limits::default()).await;
    let guarded = json!({"texts": ["money"], "input_type": "request",
        "request_data": {"user_api_key_hash": "of a client of LiteLLM's"}});
    for (path, body, again) in [
        (CHAT, chat("paris"), "0"),
        ("/v1/completions", json!({"model": "m", "prompt": "london"}), "0"),
        ("/v1/embeddings", json!({"model": "m", "input": ["river"]}), "0"),
        ("/v1/responses", json!({"model": "m", "input": "doctor"}), "0"),
        ("/v1/messages", json!({"model": "m", "messages": [said("user", "music")]}), "0"),
        ("/beta/litellm_basic_guardrail_api", guarded, "0"),
        ("/perturb", json!({"text": "letter"}), "0"),
    ] {
        let before = trial.recorded().await;
        let first = send(&router, with_key("k", path, &body)).await;
        assert_eq!((first.status, first.header("x-cape-epsilon")), (200, "2"), "{path}");
        assert_eq!(trial.recorded().await - before, 2_000_000);
        let second = send(&router, with_key("k", path, &body)).await;
        assert_eq!(second.header("x-cape-epsilon"), again, "{path}");
    }
    let spenders = "SELECT count(DISTINCT spender) FROM cape_account WHERE spender <> ''";
    assert_eq!(trial.number(spenders).await, 2);
}

#[tokio::test]
async fn limits_refuse_and_say_what_is_left() {
    for trial in trials().await {
        let upstream = Recorder::new(reply(&json!({})));
        let limits =
            Limits { key_day: Some(epsilon(5.0)), total: Some(epsilon(9.0)), ..Limits::default() };
        let router = on(&trial, &upstream, limits).await;
        let ask = async |key: &str, path: &str, body: &Value| {
            send(&router, with_key(key, path, body)).await
        };
        assert_eq!(ask("one", CHAT, &chat("paris and london")).await.status, 200);
        let told = ask("one", CHAT, &chat("doctor and music")).await;
        assert_eq!((told.status, told.header("x-should-retry")), (429, "false"));
        let wait: u32 = told.header("retry-after").parse().unwrap();
        assert!((1..=86_400).contains(&wait));
        let maps = json!({"key_day": null, "key": null, "day": null, "total": null});
        let left = json!({"limit": "key_day", "counts": "epsilon", "asked": 4.0, "left": 1.0,
            "all_left": {"key_day": 1.0, "key": null, "day": null, "total": 5.0, "maps": maps}});
        let error = told.json()["error"].clone();
        assert_eq!((&error["code"], &error["budget"]), (&json!("cape_budget"), &left));
        assert!(error["message"].as_str().unwrap().contains("more than the 1 left to this key"));
        // another spelling of the key, and other ways in
        let mut spelt = post(
            "/v1/messages",
            &json!({"model": "m", "messages": [said("user", "doctor and music")]}),
        );
        spelt.headers_mut().insert("x-api-key", "one".parse().unwrap());
        let told = send(&router, spelt).await;
        assert_eq!((told.status, &told.json()["error"]["budget"]), (429, &left));
        assert_eq!(ask("one", "/perturb", &json!({"text": "doctor and music"})).await.status, 429);
        let path = "/beta/litellm_basic_guardrail_api";
        let body = json!({"texts": ["doctor and music"], "input_type": "request"});
        let verdict = ask("one", path, &body).await.json();
        assert_eq!(verdict["action"], "BLOCKED");
        assert!(verdict["blocked_reason"].as_str().unwrap().contains("left to this key"));
        // what was sent may be sent again, and another key has a day of its own
        assert_eq!(ask("one", CHAT, &chat("paris and london")).await.status, 200);
        assert_eq!(ask("two", CHAT, &chat("doctor and music")).await.status, 200);
        // a limit that does not pass with the day: there is no use in waiting
        let told = ask("three", CHAT, &chat("river")).await;
        assert_eq!((told.status, told.header("retry-after")), (429, ""));
        assert_eq!(told.json()["error"]["budget"]["limit"], "total");
        assert_eq!(upstream.count(), 3);
        assert_eq!(trial.recorded().await, 8_000_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_proxies_on_one_ledger_never_send_more_than_the_limit() {
    for trial in trials().await {
        let upstream = Recorder::new(reply(&json!({})));
        // of 40 messages at ε = 2 each, 13 fit
        let limits = Limits { total: Some(epsilon(27.0)), ..Limits::default() };
        let proxies = [on(&trial, &upstream, limits).await, on(&trial, &upstream, limits).await];
        let tasks: Vec<_> = (0..40)
            .map(|n| {
                let router = proxies[n % 2].clone();
                let body = chat(&n.to_string());
                tokio::spawn(async move {
                    send(&router, with_key(&format!("k{}", n % 3), CHAT, &body)).await.status
                })
            })
            .collect();
        let mut statuses = Vec::new();
        for task in tasks {
            statuses.push(task.await.unwrap());
        }
        let of = |status| statuses.iter().filter(|s| **s == status).count();
        assert_eq!((of(200), of(429)), (13, 27), "{statuses:?}");
        assert_eq!(upstream.count(), 13);
        assert_eq!(trial.recorded().await, 26_000_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_through_two_proxies_at_once_is_one_release() {
    for trial in trials().await {
        let upstream = Recorder::new(reply(&json!({})));
        let proxies = [
            on(&trial, &upstream, Limits::default()).await,
            on(&trial, &upstream, Limits::default()).await,
        ];
        let text = "paris london doctor river money house letter night";
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                let router = proxies[n % 2].clone();
                tokio::spawn(async move { send(&router, with_key("k", CHAT, &chat(text))).await })
            })
            .collect();
        let mut spent = 0.0;
        for task in tasks {
            let answer: Answer = task.await.unwrap();
            assert_eq!(answer.status, 200);
            spent += answer.header("x-cape-epsilon").parse::<f64>().unwrap();
        }
        let sent: HashSet<String> = upstream.bodies().iter().map(Value::to_string).collect();
        assert_eq!((sent.len(), upstream.count()), (1, 8));
        assert_eq!(trial.recorded().await, (spent * 1e6) as i64);
    }
}

/// The answer to a client while the ledger is away; nothing goes to upstream.
async fn away(router: &Router, upstream: &Recorder) {
    let sent = upstream.count();
    let told = send(router, with_key("k", CHAT, &chat(CANARY))).await;
    assert_eq!((told.status, &told.json()["error"]["code"]), (503, &json!("cape_ledger")));
    assert_eq!(told.header("retry-after"), "1");
    assert!(!told.text.contains("127.0.0.1") && !told.text.contains("canary"), "{}", told.text);
    assert_eq!(upstream.count(), sent);
}

#[tokio::test]
async fn a_ledger_that_cannot_be_written_sends_nothing() {
    let upstream = Recorder::new(reply(&json!({})));
    let trial = Trial::sqlite();
    let router = on(&trial, &upstream, Limits::default()).await;
    let mut other = AnyConnection::connect(&format!("sqlite:{}", trial.url)).await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    away(&router, &upstream).await;
    other.execute("ROLLBACK").await.unwrap();
    let then = send(&router, with_key("k", CHAT, &chat(CANARY))).await;
    assert_eq!((then.status, upstream.count()), (200, 1));
    assert_eq!(trial.recorded().await, 2_000_000);
    other.execute("DELETE FROM cape_account").await.unwrap();
    away_after(&router, &upstream).await;
}

/// The account is gone: what is new is refused, though what was sent may be sent again.
async fn away_after(router: &Router, upstream: &Recorder) {
    let sent = upstream.count();
    let told = send(router, with_key("k", CHAT, &chat("paris"))).await;
    assert_eq!((told.status, upstream.count()), (503, sent));
    assert_eq!(send(router, with_key("k", CHAT, &chat(CANARY))).await.status, 200);
}

/// A proxy whose wire to its ledger can be cut.
async fn wired(server: &str, fault: Fault, upstream: &Recorder) -> (Trial, Relay, Router) {
    let trial = Trial { dir: tempfile::tempdir().unwrap(), url: database(server).await };
    let (user, place) = trial.url.split_once('@').unwrap();
    let (address, name) = place.split_once('/').unwrap();
    let relay = Relay::to(address.to_owned(), fault).await;
    let url = format!("{user}@127.0.0.1:{}/{name}?sslmode=disable", relay.port);
    let ledger = Ledger::open(&url, trial.key()).await.unwrap();
    (trial, relay, router_on(&settings(&upstream.url), ledger))
}

#[tokio::test]
async fn a_lost_connection_to_the_ledger_sends_nothing() {
    let Some(server) = server() else { return };
    for fault in [Fault::Before, Fault::After] {
        let upstream = Recorder::new(reply(&json!({})));
        let (trial, relay, router) = wired(&server, fault, &upstream).await;
        assert_eq!(send(&router, get("/ready")).await.status, 200);
        let mut refused = 0;
        for packets in 0.. {
            relay.fail_after(packets);
            let answer = send(&router, with_key("k", CHAT, &chat(&packets.to_string()))).await;
            relay.fail_after(i64::MAX);
            if answer.status == 200 {
                break;
            }
            assert_eq!(answer.json()["error"]["code"], "cape_ledger");
            assert_eq!(upstream.count(), 0);
            refused += 1;
        }
        assert!(refused >= 6, "{refused}");
        assert_eq!(upstream.count(), 1);
        // what was sent is booked; of what was refused, only commits whose answer was lost, and whole.
        // How many depends on which connection of the pool served: the ledger's own test counts one
        let lost = trial.recorded().await - 2_000_000;
        let most = if fault == Fault::After { refused * 2_000_000 } else { 0 };
        assert!((0..=most).contains(&lost) && lost % 2_000_000 == 0, "{fault:?} {lost}");
        relay.fail_after(0);
        assert_eq!(send(&router, get("/ready")).await.status, 503);
    }
}

#[tokio::test]
async fn a_ledger_that_keeps_silent_is_not_waited_for() {
    let Some(server) = server() else { return };
    let upstream = Recorder::new(reply(&json!({})));
    let (trial, relay, router) = wired(&server, Fault::Silence, &upstream).await;
    relay.fail_after(4);
    away(&router, &upstream).await;
    assert_eq!(trial.recorded().await, 0);
}
