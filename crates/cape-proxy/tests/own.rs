//! Blocks that the service signed or encrypted go back to it as they came, and nothing else in their place.

use crate::recorder::{Recorder, Step, json as reply};
use crate::served::{CANARY, post, router, send, settings};
use serde_json::{Value, json};

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn thinking(thought: &str) -> Value {
    json!({"type": "thinking", "thinking": thought, "signature": "EqQB"})
}

/// Sends a conversation of which the second message is this, and returns what upstream got for it.
async fn resent(router: &axum::Router, upstream: &Recorder, content: Value) -> Value {
    let messages = json!([user("the one"), {"role": "assistant", "content": content}, user("the")]);
    let body = json!({"model": "m", "max_tokens": 5, "messages": messages});
    let answer = send(router, post("/v1/messages", &body)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    upstream.bodies().pop().unwrap()["messages"].clone()
}

fn ask() -> Value {
    json!({"model": "m", "max_tokens": 5, "messages": [user("the one")]})
}

#[tokio::test]
async fn thoughts_go_back_as_they_came() {
    let said = json!([thinking("the answer"), {"type": "text", "text": "movie"}]);
    let upstream = Recorder::new(reply(&json!({"role": "assistant", "content": said})));
    let router = router(&settings(&upstream.url)).await;
    send(&router, post("/v1/messages", &ask())).await;
    assert_eq!(resent(&router, &upstream, said.clone()).await[1]["content"], said);
    // another thought, or another place, is nothing that upstream gave
    let text = json!({"type": "text", "text": "movie"});
    let made_up = json!([thinking(CANARY), text]);
    assert_eq!(resent(&router, &upstream, made_up).await[1]["content"], json!([text]));
    let later = json!([text, thinking("the answer")]);
    assert_eq!(resent(&router, &upstream, later).await[1]["content"], json!([text]));
    // a client that leaves thoughts out is known all the same: the text is upstream's own
    assert_eq!(resent(&router, &upstream, json!([text])).await[1]["content"], json!([text]));
    // a message of thoughts alone is left out
    let messages = resent(&router, &upstream, json!([thinking(CANARY)])).await;
    assert_eq!(messages.as_array().unwrap().len(), 2);
    assert!(!upstream.bytes().contains("canary"));
}

#[tokio::test]
async fn so_do_streamed_ones() {
    let event =
        |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    let begin =
        |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let stream: String = [
        json!({"type": "message_start", "message": {"content": []}}),
        begin(json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(json!({"type": "thinking_delta", "thinking": "the "})),
        delta(json!({"type": "thinking_delta", "thinking": "answer"})),
        delta(json!({"type": "signature_delta", "signature": "EqQB"})),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_stop"}),
    ]
    .map(event)
    .concat();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let upstream = Recorder::new(vec![Step::Send((head.to_owned() + &stream).into_bytes())]);
    let router = router(&settings(&upstream.url)).await;
    send(&router, post("/v1/messages", &ask())).await;
    let said = json!([thinking("the answer")]);
    assert_eq!(resent(&router, &upstream, said.clone()).await[1]["content"], said);
}

/// Clients send reasoning back without its id.
#[tokio::test]
async fn reasoning_goes_back_by_what_counts_of_it() {
    let reasoning = json!({"type": "reasoning", "summary": [], "encrypted_content": "gAAA"});
    let mut given = reasoning.clone();
    given["id"] = json!("rs_1");
    let upstream = Recorder::new(reply(&json!({"id": "resp_1", "output": [given]})));
    let router = router(&settings(&upstream.url)).await;
    let ask = async |items: Vec<Value>| {
        let body = json!({"model": "m", "input": items, "store": false});
        assert_eq!(send(&router, post("/v1/responses", &body)).await.status, 200);
        upstream.bodies().pop().unwrap()["input"].clone()
    };
    ask(vec![user("the one")]).await;
    let mut sent = reasoning.clone();
    sent["content"] = Value::Null;
    assert_eq!(ask(vec![user("the one"), sent]).await[1], reasoning);
    let made_up = json!({"type": "reasoning", "summary": [], "encrypted_content": CANARY});
    assert_eq!(ask(vec![user("the one"), made_up]).await.as_array().unwrap().len(), 1);
    assert!(!upstream.bytes().contains("canary"));
}
