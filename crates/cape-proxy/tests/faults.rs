//! Upstream fails in every way, clients too: a clear error, and nothing leaked.

use std::time::Duration;

use crate::recorder::{self, Recorder, Step, answer, stream};
use crate::served::{self, CANARY, chat, get, impatient, post, router, send, settings};
use axum::body::Body;
use serde_json::json;
use tower::ServiceExt;

const CHAT: &str = "/v1/chat/completions";

fn event(text: &str) -> Step {
    Step::Send(format!("data: {}\n\n", json!({ "text": text })).into_bytes())
}

#[tokio::test]
async fn upstreams_own_errors_come_through() {
    for status in [400, 401, 429, 500, 503] {
        let body = json!({"error": {"message": "no"}}).to_string();
        let upstream = Recorder::new(answer(status, "application/json", &body));
        let got = send(&router(&settings(&upstream.url)).await, post(CHAT, &chat(CANARY))).await;
        assert_eq!((got.status, got.text), (status, body));
        assert!(!upstream.bytes().contains("canary"));
    }
}

#[tokio::test]
async fn failures_before_the_answer_have_names() {
    let cut = Step::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":".to_vec());
    let redirect = Step::Send(
        b"HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n".to_vec(),
    );
    let slow = vec![Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()), Step::Hang];
    let stalled =
        vec![Step::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec()), Step::Hang];
    let cases = [
        (vec![], 502, "upstream_unreachable"),
        (vec![Step::Hang], 504, "upstream_timeout"),
        (slow, 504, "upstream_timeout"),
        (stalled, 504, "upstream_timeout"),
        (vec![cut], 502, "upstream_broken"),
        (vec![Step::Send(b"SMTP ready\r\n".to_vec())], 502, "upstream_unreachable"),
        (vec![redirect], 502, "upstream_malformed"),
    ];
    for (steps, status, code) in cases {
        let upstream = Recorder::new(steps);
        let got = send(&router(&impatient(&upstream.url)).await, post(CHAT, &chat(CANARY))).await;
        assert_eq!((got.status, &got.json()["error"]["code"]), (status, &json!(code)));
        assert!(!got.text.contains("127.0.0.1") && !got.text.contains("canary"));
        assert_eq!(upstream.count(), 1);
        assert!(!upstream.bytes().contains("canary"));
    }
    let got =
        send(&router(&settings("http://127.0.0.1:9/v1")).await, post(CHAT, &chat(CANARY))).await;
    assert_eq!((got.status, &got.json()["error"]["code"]), (502, &json!("upstream_unreachable")));
}

#[tokio::test]
async fn a_stream_is_passed_on_however_it_is_cut() {
    let text =
        "data: {\"a\":\"Zürich 🦀\"}\n\ndata: {\"usage\":{\"total_tokens\":3}}\n\ndata: [DONE]\n\n";
    for cut in [1, 2, 3, 7] {
        let pieces = text.as_bytes().chunks(cut);
        let steps = pieces
            .flat_map(|piece| [Step::Send(piece.to_vec()), Step::Wait(Duration::from_millis(1))]);
        let upstream = Recorder::new(std::iter::once(stream()).chain(steps).collect());
        let mut body = chat(CANARY);
        body["stream"] = json!(true);
        let got = send(&router(&settings(&upstream.url)).await, post(CHAT, &body)).await;
        assert_eq!((got.status, got.text.as_str()), (200, text));
        assert_eq!(got.header("content-type"), "text/event-stream");
        assert_eq!(upstream.bodies()[0]["stream"], true);
        assert_eq!(got.header("x-cape-draws"), "1");
        assert!(!upstream.bytes().contains("canary"));
    }
}

#[tokio::test]
async fn a_stream_that_fails_says_so_at_its_end() {
    let half = Step::Send(b"data: {\"text\":".to_vec());
    let cases = [
        (vec![stream(), event("a"), half.clone()], "upstream_broken"),
        (vec![stream(), event("a"), Step::Hang], "upstream_timeout"),
        (vec![stream(), event("a"), Step::Send(b"<html>\n\n".to_vec())], "upstream_malformed"),
        (vec![stream(), event("a"), Step::Send(b"data: {]\n\n".to_vec())], "upstream_malformed"),
        (
            vec![stream(), event("a"), Step::Send(b"data: \"\xff\"\n\n".to_vec())],
            "upstream_malformed",
        ),
    ];
    for (steps, code) in cases {
        let upstream = Recorder::new(steps);
        let got = send(&router(&impatient(&upstream.url)).await, post(CHAT, &chat(CANARY))).await;
        let events: Vec<&str> = got.text.split_terminator("\n\n").collect();
        assert_eq!((got.status, events.len()), (200, 2), "{}", got.text);
        assert_eq!(events[0], "data: {\"text\":\"a\"}");
        assert!(
            events[1].starts_with("data: {\"error\"") && events[1].contains(code),
            "{}",
            events[1]
        );
    }
    let upstream = Recorder::new(vec![stream(), half]);
    let body = json!({"model": "m", "messages": [{"role": "user", "content": CANARY}]});
    let got = send(&router(&settings(&upstream.url)).await, post("/v1/messages", &body)).await;
    assert!(got.text.starts_with("event: error\ndata: "), "{}", got.text);
}

#[tokio::test]
async fn a_client_that_goes_away_takes_upstreams_call_along() {
    let upstream = Recorder::new(vec![stream(), event("a"), Step::Hang]);
    let settings =
        cape_proxy::Settings { idle_timeout: 60, max_requests: 1, ..settings(&upstream.url) };
    let router = router(&settings).await;
    let response = router.clone().oneshot(post(CHAT, &chat(CANARY))).await.unwrap();
    // its place is taken while the stream is open, and free once it is dropped
    let busy = send(&router, post(CHAT, &chat(CANARY))).await;
    assert_eq!((busy.status, busy.header("retry-after")), (503, "1"));
    assert_eq!(send(&router, get("/ready")).await.status, 503);
    drop(response);
    let gone = tokio::task::spawn_blocking(move || upstream.wait_for_gone()).await.unwrap();
    assert!(gone);
    assert_eq!(send(&router, get("/ready")).await.status, 200);
}

#[tokio::test]
async fn bodies_have_a_size_and_a_time() {
    let upstream = Recorder::new(vec![]);
    let settings = cape_proxy::Settings { max_body: 1000, timeout: 1, ..settings(&upstream.url) };
    let router = router(&settings).await;
    let long = send(&router, post(CHAT, &chat(&"a ".repeat(1000)))).await;
    assert_eq!((long.status, &long.json()["error"]["code"]), (413, &json!("cape_too_large")));
    let pending = futures_util::stream::pending::<Result<String, std::convert::Infallible>>();
    let slow = served::json_post(CHAT).body(Body::from_stream(pending)).unwrap();
    assert_eq!(send(&router, slow).await.status, 408);
    assert_eq!(upstream.count(), 0);
}

#[tokio::test]
async fn a_text_that_cannot_be_perturbed_fails_alone() {
    let upstream = Recorder::new(recorder::json(&json!({})));
    let router = router(&settings(&upstream.url)).await;
    let requests = (0..24).map(|i| {
        let text = if i % 4 == 0 { "a\u{7}b" } else { CANARY };
        let (router, request) = (router.clone(), post(CHAT, &chat(text)));
        tokio::spawn(async move { send(&router, request).await.status })
    });
    let requests: Vec<_> = requests.collect();
    for (i, request) in requests.into_iter().enumerate() {
        assert_eq!(request.await.unwrap(), if i % 4 == 0 { 400 } else { 200 });
    }
    assert_eq!(upstream.count(), 18);
    assert!(!upstream.bytes().contains("canary"));
}
