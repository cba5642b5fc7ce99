//! A known message is sent as before and costs nothing; a new one is paid for first, or not sent.
//! On SQLite, and on PostgreSQL where `CAPE_TEST_POSTGRES` has the URL of a server.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../cape-ledger/tests/common/mod.rs"]
mod ledgers;
mod recorder;
#[path = "../../cape-ledger/tests/relay/mod.rs"]
mod relay;
mod served;

use std::collections::HashSet;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use cape_ledger::{Ledger, Limits};
use cape_proxy::{Action, Policy, Settings};
use ledgers::{Trial, database, epsilon, server, trials};
use recorder::{Recorder, json as reply};
use relay::{Fault, Relay};
use serde_json::{Value, json};
use served::{Answer, CANARY, chat, get, post, router, router_on, send, settings};
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
        for turn in 0..6 {
            // proxies come and go: what they know is in the ledger
            let router = on(&trial, &upstream, Limits::default()).await;
            messages.push(said("user", &format!("{CANARY} love paris and london, {turn}")));
            let body = json!({"model": "m", "messages": messages});
            let first = send(&router, with_key("k", CHAT, &body)).await;
            // the canary, love, paris, london, and the number; ε = 2 each
            let new = if turn == 0 { "10" } else { "14" };
            assert_eq!((first.status, first.header("x-cape-epsilon")), (200, new), "{turn}");
            let again = send(&router, with_key("k", CHAT, &body)).await;
            assert_eq!(again.header("x-cape-epsilon"), "0");
            assert_eq!(again.header("x-cape-draws"), "0");
            let bodies = upstream.bodies();
            let [first, again] = &bodies[bodies.len() - 2..] else { unreachable!() };
            assert_eq!(first.to_string(), again.to_string());
            let now = first["messages"].as_array().unwrap();
            assert_eq!(now[..sent.len()], sent, "what was sent, unchanged");
            sent.clone_from(now);
            // an answer that is not the service's is drawn for once, like the rest
            messages.push(said("assistant", "doctor and music"));
        }
        assert_eq!(trial.recorded().await, 2_000_000 * (6 * 5 + 5 * 2));
        assert!(!upstream.bytes().contains("canary"));
    }
}

#[tokio::test]
async fn the_same_words_elsewhere_are_another_release() {
    let upstream = Recorder::new(reply(&json!({})));
    let trial = Trial::sqlite();
    let router = on(&trial, &upstream, Limits::default()).await;
    let text = "paris london doctor river money house letter night";
    let spent = async |key: &str, messages: Value| {
        let body = json!({"model": "m", "messages": messages});
        let answer = send(&router, with_key(key, CHAT, &body)).await;
        answer.header("x-cape-epsilon").parse::<f64>().unwrap()
    };
    let once = spent("k", json!([said("user", text)])).await;
    assert!(once > 0.0);
    assert_eq!(spent("k", json!([said("user", text)])).await, 0.0);
    assert_eq!(spent("k", json!([said("user", text), said("user", text)])).await, once);
    assert_eq!(spent("k", json!([said("assistant", text)])).await, once);
    assert_eq!(spent("other", json!([said("user", text)])).await, once);
    // each of them is a draw of its own
    let bodies = upstream.bodies();
    let texts: HashSet<String> = bodies
        .iter()
        .flat_map(|body| body["messages"].as_array().unwrap())
        .map(|message| message["content"].to_string())
        .collect();
    assert_eq!(texts.len(), 4);
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
        // a new draw each time, and paid for each time
        ("/perturb", json!({"text": "letter"}), "2"),
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
        let left = json!({"limit": "key_day", "asked": 4.0, "left": 1.0,
            "all_left": {"key_day": 1.0, "key": null, "day": null, "total": 5.0}});
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
