//! With consistent terms a word becomes the same throughout a conversation, and is paid for once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../cape-ledger/tests/common/mod.rs"]
mod ledgers;
mod recorder;
mod served;

use std::collections::{HashMap, HashSet};

use axum::Router;
use cape_ledger::Limits;
use cape_proxy::Settings;
use ledgers::{Trial, epsilon, trials};
use recorder::{Recorder, json as reply};
use serde_json::{Value, json};
use served::{Answer, CANARY, post, router_on, send, settings};

const CHAT: &str = "/v1/chat/completions";

async fn on(trial: &Trial, upstream: &Recorder, limits: Limits) -> Router {
    let settings = Settings { consistent_terms: true, limits, ..settings(&upstream.url) };
    router_on(&settings, trial.open().await)
}

async fn say(router: &Router, said: &[&str]) -> Answer {
    let messages: Vec<Value> = said
        .iter()
        .enumerate()
        .map(|(i, text)| json!({"role": (if i % 2 == 0 { "user" } else { "assistant" }), "content": text}))
        .collect();
    send(router, post(CHAT, &json!({"model": "m", "messages": messages}))).await
}

/// What each word became, if every word became one.
fn terms(said: &[&str], body: &Value) -> HashMap<String, String> {
    let mut terms = HashMap::new();
    for (text, message) in said.iter().zip(body["messages"].as_array().unwrap()) {
        let released: Vec<&str> = message["content"].as_str().unwrap().split(' ').collect();
        assert_eq!(text.split(' ').count(), released.len());
        for (word, released) in text.split(' ').zip(released) {
            let before = terms.insert(word.to_lowercase(), released.to_owned());
            assert!(before.is_none_or(|before| before == released), "{word}");
        }
    }
    terms
}

const SAID: [&str; 4] = [
    "paris love paris doctor PARIS music",
    "doctor night the love",
    "night Doctor the music music",
    "river love river",
];

#[tokio::test]
async fn a_word_becomes_the_same_and_is_paid_for_once() {
    for trial in trials().await {
        let upstream = Recorder::new(reply(&json!({})));
        // of four distinct words, one more, none and one more, at ε = 2 each
        for (turn, cost) in ["8", "2", "0", "2"].into_iter().enumerate() {
            let router = on(&trial, &upstream, Limits::default()).await;
            let first = say(&router, &SAID[..=turn]).await;
            assert_eq!((first.status, first.header("x-cape-epsilon")), (200, cost), "{turn}");
            assert_eq!(say(&router, &SAID[..=turn]).await.header("x-cape-epsilon"), "0");
        }
        let bodies = upstream.bodies();
        for (i, body) in bodies.iter().enumerate() {
            let terms = terms(&SAID[..=i / 2], body);
            assert!(terms.get("the").is_none_or(|kept| kept == "the"));
            let (earlier, last) = (&bodies[0]["messages"][0], bodies.last().unwrap());
            assert_eq!(&last["messages"][0], earlier, "what was sent, unchanged");
        }
        assert_eq!(trial.recorded().await, 12_000_000);
    }
}

#[tokio::test]
async fn an_answer_goes_back_as_it_was_and_teaches_nothing() {
    let (own, trial) = ("doctor paris", Trial::sqlite());
    let message = json!({"role": "assistant", "content": own});
    let upstream = Recorder::new(reply(&json!({"choices": [{"index": 0, "message": message}]})));
    let router = on(&trial, &upstream, Limits::default()).await;
    assert_eq!(say(&router, &["paris love"]).await.header("x-cape-epsilon"), "4");
    // a word of the user's becomes what it was; one of upstream's own is drawn for
    let said = ["paris love", own, "doctor paris"];
    assert_eq!(say(&router, &said).await.header("x-cape-epsilon"), "2");
    let sent = upstream.bodies().pop().unwrap();
    let word = |message: usize, n: usize| {
        let text = sent["messages"][message]["content"].as_str().unwrap();
        text.split(' ').nth(n).unwrap().to_owned()
    };
    assert_eq!((sent["messages"][1]["content"].as_str(), word(2, 1)), (Some(own), word(0, 0)));
}

#[tokio::test]
async fn another_conversation_has_terms_of_its_own() {
    let upstream = Recorder::new(reply(&json!({})));
    let trial = Trial::sqlite();
    let router = on(&trial, &upstream, Limits::default()).await;
    let became: HashSet<String> = {
        for n in 0..40 {
            let words = format!("{n} paris");
            assert_eq!(say(&router, &[words.as_str()]).await.header("x-cape-epsilon"), "4");
        }
        let bodies = upstream.bodies();
        let last = |body: &Value| body["messages"][0]["content"].as_str().unwrap().to_owned();
        bodies.iter().map(|body| last(body).split(' ').nth(1).unwrap().to_owned()).collect()
    };
    // no candidate is drawn 40 times in a row at ε = 2
    assert!(became.len() > 1);
    let twice = json!({"text": format!("{CANARY} music {CANARY}")});
    let perturbed = send(&router, post("/perturb", &twice)).await;
    assert_eq!(perturbed.header("x-cape-tokens-perturbed"), "2");
    let text = perturbed.json()["text"].as_str().unwrap().to_owned();
    let words: Vec<&str> = text.split(' ').collect();
    assert_eq!(words[0], words[2]);
}

#[tokio::test]
async fn what_a_limit_refuses_is_not_sent() {
    let upstream = Recorder::new(reply(&json!({})));
    let trial = Trial::sqlite();
    let limits = Limits { total: Some(epsilon(9.0)), ..Limits::default() };
    let router = on(&trial, &upstream, limits).await;
    let told = say(&router, &SAID[..2]).await;
    assert_eq!((told.status, &told.json()["error"]["budget"]["left"]), (429, &json!(1.0)));
    assert_eq!(upstream.count(), 0);
    // the first message was paid for, and is sent for nothing
    assert_eq!(trial.recorded().await, 8_000_000);
    assert_eq!(say(&router, &SAID[..1]).await.header("x-cape-epsilon"), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_proxies_agree_on_every_word() {
    for trial in trials().await {
        let upstream = Recorder::new(reply(&json!({})));
        let proxies = [
            on(&trial, &upstream, Limits::default()).await,
            on(&trial, &upstream, Limits::default()).await,
        ];
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                let router = proxies[n % 2].clone();
                tokio::spawn(async move { say(&router, &SAID).await.status })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), 200);
        }
        let sent: HashSet<String> = upstream.bodies().iter().map(Value::to_string).collect();
        assert_eq!((sent.len(), upstream.count()), (1, 8));
        terms(&SAID, &upstream.bodies()[0]);
        assert_eq!(trial.recorded().await, 12_000_000);
    }
}
