//! The tasks ask what they should, and read what they get.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod server;

use cape_eval::chat::{Client, Options};
use cape_eval::tasks::labels::{Entailed, Sentiment};
use cape_eval::tasks::{Case, accuracy, extraction, generation, restore};
use serde_json::{Value, json};

use server::{Reply, Server};

const OPTIONS: Options = Options { temperature: 0.0, max_tokens: 8, seed: None };

fn client(server: &Server) -> Client {
    Client::new(&server.url, "small", None).unwrap()
}

#[test]
fn tasks_ask_and_read() {
    let say = |text: &str| Server::new([Reply::content(&json!(text).to_string())]);
    let sst2 = Case::Sst2 { content: "a charming journey", is: Sentiment::Positive };
    let qnli = Case::Qnli { question: "Who?", sentence: "He did.", is: Entailed::Yes };
    for (case, answer, correct) in [
        (sst2, "Positive.", Some(true)),
        (sst2, "negative", Some(false)),
        (sst2, "It is positive.", None),
        (qnli, "Yes, he did.", Some(true)),
        (qnli, "No.", Some(false)),
    ] {
        let server = say(answer);
        assert_eq!(accuracy(&client(&server), &case, &OPTIONS).unwrap(), correct);
        let body: Value = serde_json::from_str(&server.requests()[0].body).unwrap();
        assert_eq!(body["messages"][1]["content"], case.messages()[1].text);
    }
    let server = say("and so on");
    let client = client(&server);
    assert_eq!(generation(&client, "prefix", &OPTIONS).unwrap(), "and so on");
    assert_eq!(extraction(&client, "prefix", "noise", &OPTIONS).unwrap(), "and so on");
    assert_eq!(restore::guess(&client, "released", &OPTIONS).unwrap(), "and so on");
    let bodies = server.requests().into_iter().map(|request| request.body).collect::<Vec<_>>();
    for (body, words) in bodies.iter().zip([["prefix"; 2], ["prefix", "noise"], ["released"; 2]]) {
        assert!(words.iter().all(|word| body.contains(word)));
    }
}
