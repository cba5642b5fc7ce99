//! A chat model's faults: which are waited out, how the others are named, and that none of them tells
//! what was asked or answered.

use std::error::Error;
use std::fmt::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use cape_eval::chat::{ChatError, Client, Finish, Message, Options, Usage};
use serde_json::{Value, json};

use crate::server::{Reply, Server};

const OPTIONS: Options = Options { temperature: 0.0, max_tokens: 8, seed: Some(7) };

/// Without long pauses.
fn client(url: &str) -> Client {
    Client::new(url, "small", Some("key-canary".into()))
        .unwrap()
        .attempts(3, Duration::from_millis(5))
        .time_limit(Duration::from_secs(20))
}

fn ask(client: &Client) -> Result<String, ChatError> {
    let messages = [Message::system("Say yes."), Message::user("prompt-canary")];
    client.complete(&messages, &OPTIONS).map(|answer| answer.text)
}

/// The result of these replies, and the number of requests.
fn outcome(replies: impl IntoIterator<Item = Reply>) -> (Result<String, ChatError>, usize) {
    let server = Server::new(replies);
    let outcome = ask(&client(&server.url));
    (outcome, server.requests().len())
}

#[test]
fn a_question_is_asked_and_answered() {
    let server = Server::new([Reply::content(r#""Yes.""#)]);
    let client = client(&server.url);
    let messages = [Message::system("Say yes."), Message::user("Please")];
    let answer = client.complete(&messages, &OPTIONS).unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("Yes.", Finish::Stop));
    assert_eq!(answer.usage, Some(Usage { prompt: 21, completion: 3 }));
    client.complete(&messages, &Options { seed: None, ..OPTIONS }).unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].line, "POST /v1/chat/completions HTTP/1.1\r\n");
    assert_eq!(requests[0].authorization.as_deref(), Some("Bearer key-canary"));
    assert_eq!(requests[0].content_type.as_deref(), Some("application/json"));
    let mut body: Value = serde_json::from_str(&requests[0].body).unwrap();
    let expected = json!({
        "model": "small",
        "messages": [
            { "role": "system", "content": "Say yes." },
            { "role": "user", "content": "Please" },
        ],
        "temperature": 0.0,
        "max_tokens": 8,
        "stream": false,
        "seed": 7,
    });
    assert_eq!(body, expected);
    body.as_object_mut().unwrap().remove("seed");
    assert_eq!(serde_json::from_str::<Value>(&requests[1].body).unwrap(), body);
}

#[test]
fn addresses_and_keys_are_taken_as_they_come() {
    for (end, key) in [("", None), ("/", Some("")), ("//", Some(" \n"))] {
        let server = Server::new([Reply::content(r#""Yes""#)]);
        let client = Client::new(&format!("{}{end}", server.url), "m", key.map(Into::into));
        assert_eq!(ask(&client.unwrap()).unwrap(), "Yes");
        let request = &server.requests()[0];
        assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1\r\n");
        assert_eq!(request.authorization, None);
    }
    for url in ["", "here", "/v1", "ftp://host/v1", "http://", "http:///v1", "http://h/v1?q=1"] {
        assert!(matches!(Client::new(url, "m", None), Err(ChatError::Address)), "{url}");
    }
    let key = Client::new("http://host/v1", "m", Some("key\ncanary".into()));
    assert!(matches!(key, Err(ChatError::Key)));
}

#[test]
fn the_server_says_how_long_to_wait() {
    let busy = Reply::Http(429, "Retry-After: 1\r\n", "{}".into());
    let start = Instant::now();
    let (answer, requests) = outcome([busy, Reply::content(r#""Yes""#)]);
    assert_eq!((answer.unwrap().as_str(), requests), ("Yes", 2));
    assert!(start.elapsed() >= Duration::from_secs(1));
    // longer than we have: there is no use in asking sooner
    let start = Instant::now();
    let (answer, requests) = outcome([Reply::Http(503, "retry-after: 3600\r\n", "{}".into())]);
    let wait = answer.unwrap_err().retry_after();
    assert_eq!((wait, requests), (Some(Duration::from_hours(1)), 1));
    assert!(start.elapsed() < Duration::from_secs(10));
    // what cannot be read is as if it were not there
    let date = "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n";
    let (answer, _) = outcome([Reply::Http(429, date, String::new()), Reply::content(r#""Yes""#)]);
    assert_eq!(answer.unwrap(), "Yes");
}

#[test]
fn passing_faults_are_waited_out() {
    let half = Reply::Cut(json!({ "choices": [] }).to_string());
    let faults = [Reply::status(500, "oops"), Reply::status(502, ""), half, Reply::Raw(b"")];
    for fault in faults.clone() {
        let (answer, requests) = outcome([fault.clone(), fault, Reply::content(r#""Yes""#)]);
        assert_eq!((answer.unwrap().as_str(), requests), ("Yes", 3));
    }
    for fault in faults {
        let (answer, requests) = outcome([fault]);
        let error = answer.unwrap_err();
        assert!(error.may_pass(), "{error}");
        assert_eq!(requests, 3);
    }
}

#[test]
fn other_refusals_are_final() {
    for status in [301, 307, 400, 401, 404] {
        let elsewhere = Server::new([Reply::content(r#""Yes""#)]);
        let location = format!("location: {}/chat/completions\r\n", elsewhere.url);
        let (answer, requests) = outcome([Reply::Http(status, location.leak(), "{}".into())]);
        let error = answer.unwrap_err();
        assert!(matches!(error, ChatError::Status { status: s, .. } if s == status), "{error}");
        assert_eq!((requests, elsewhere.requests().len()), (1, 0));
    }
    let body = r#"{"error":{"message":"no prompt-canary","code":"model_not_found"}}"#;
    let error = outcome([Reply::status(404, body)]).0.unwrap_err();
    assert_eq!(error.to_string(), "the chat model's server answered 404 (model_not_found)");
}

#[test]
fn silence_has_an_end() {
    let server = Server::new([Reply::Silence]);
    let start = Instant::now();
    let client = client(&server.url).time_limit(Duration::from_millis(300));
    assert!(matches!(ask(&client), Err(ChatError::Timeout)));
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn attempts_do_not_outlast_the_limit() {
    let server = Server::new([Reply::status(500, "")]);
    let client = client(&server.url)
        .time_limit(Duration::from_millis(400))
        .attempts(u32::MAX, Duration::from_millis(50));
    let start = Instant::now();
    assert!(ask(&client).is_err());
    assert!(start.elapsed() < Duration::from_secs(5));
    // after 0, 50, 150 and 350 ms
    assert!(server.requests().len() <= 4);
}

#[test]
fn nobody_is_there() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = ask(&client(&format!("http://{free}/v1"))).unwrap_err();
    assert_eq!(error.to_string(), "the connection to the chat model failed: connection refused");
}

#[test]
fn answers_that_make_no_sense_are_named() {
    let huge = format!("\"{}\"", "x".repeat(5 << 20));
    for (reply, says) in [
        (Reply::status(200, "<html>answer-canary"), "lacks valid JSON"),
        (Reply::status(200, r#"{"choices":["#), "lacks valid JSON"),
        (Reply::status(200, r#"{"choices":[]}"#), "lacks a choice"),
        (Reply::content("null"), "lacks a text"),
        (Reply::content(&huge), "larger than 4 MiB"),
        (Reply::Endless, "larger than 4 MiB"),
    ] {
        let (answer, requests) = outcome([reply]);
        let error = answer.unwrap_err().to_string();
        assert!(error.ends_with(says), "{error}");
        assert_eq!(requests, 1, "{says}");
    }
    let parts = Reply::content(r#"[{"type":"text","text":"Ye"},{"type":"text","text":"s"}]"#);
    assert_eq!(outcome([parts]).0.unwrap(), "Yes");
}

#[test]
fn no_error_tells_what_was_said() {
    const ECHO: &str = "prompt-canary key-canary answer-canary";
    let error = json!({ "error": { "message": ECHO, "type": ECHO, "code": ECHO } }).to_string();
    let canaries = ["prompt-canary", "key-canary", "answer-canary"];
    let replies = [
        Reply::status(400, &error),
        Reply::status(401, ECHO),
        Reply::Http(429, "retry-after: answer-canary\r\n", error.clone()),
        Reply::status(500, &error),
        Reply::Http(307, "location: http://answer-canary/\r\n", error.clone()),
        Reply::status(200, ECHO),
        Reply::status(200, &error),
        Reply::status(200, &json!({ "choices": ECHO }).to_string()),
        Reply::status(200, &json!({ "choices": [{ "message": { "x": ECHO } }] }).to_string()),
        Reply::content(&json!({ "answer-canary": ECHO }).to_string()),
        Reply::content(&json!(ECHO.repeat(200_000)).to_string()),
        Reply::Cut(json!(ECHO).to_string()),
        Reply::Http(200, "content-encoding: gzip\r\n", ECHO.into()),
        Reply::Raw(b"prompt-canary key-canary answer-canary\r\n\r\n"),
        Reply::Raw(b"HTTP/1.1 200 answer-canary\r\nanswer-canary key-canary\r\n\r\n"),
        Reply::Raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nanswer-canary\r\n"),
        Reply::Raw(b"HTTP/1.1 answer-canary\r\ncontent-length: prompt-canary\r\n\r\n"),
    ];
    for (number, reply) in replies.into_iter().enumerate() {
        let error = outcome([reply]).0.unwrap_err();
        let mut shown = format!("{error} {error:?} {error:#?}");
        let mut source = error.source();
        while let Some(cause) = source {
            write!(shown, "{cause} {cause:?}").unwrap();
            source = cause.source();
        }
        for canary in canaries {
            assert!(!shown.contains(canary), "{number}: {shown}");
        }
    }
    let server = Server::new([Reply::content(&json!(ECHO).to_string())]);
    let client = client(&server.url);
    let messages = [Message::user(ECHO)];
    let answer = client.complete(&messages, &OPTIONS).unwrap();
    let shown = format!("{client:#?} {messages:#?} {answer:#?}");
    for hidden in canaries.into_iter().chain([server.url.as_str()]) {
        assert!(!shown.contains(hidden), "{shown}");
    }
}
