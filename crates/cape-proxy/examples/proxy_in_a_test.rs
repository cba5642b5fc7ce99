//! The proxy in a test: a client's prompt passes it, and the name in the prompt does not reach the service.
//!
//! `cargo run -p cape-proxy --example proxy_in_a_test`

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::routing::post;
use cape::mechanism::cape::Settings as CapeSettings;
use cape::{Cape, Lexicon, Sanitizer};
use cape_ledger::{Key, Ledger};
use cape_proxy::{Service, Settings};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tower::ServiceExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // a service that shows what it gets, and always gives the same answer
    let (sender, mut received) = mpsc::unbounded_channel();
    let answer =
        r#"{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Rest."}}]}"#;
    let chat = async move |body: String| {
        let _ = sender.send(body);
        answer
    };
    let upstream = Router::new().route("/v1/chat/completions", post(chat));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    tokio::spawn(async { axum::serve(listener, upstream).await });

    // the proxy in front of it, with the default mechanism and a ledger of its own
    let sanitizer = Sanitizer::words(Cape::new(Lexicon::embedded(), CapeSettings::default())?);
    let dir = tempfile::tempdir()?;
    let key = Key::open(&dir.path().join("ledger.key"))?;
    let ledger = Ledger::open(&dir.path().join("ledger.db").to_string_lossy(), key).await?;
    let settings = Settings { upstream: Some(url), ..Settings::default() };
    let proxy = cape_proxy::router(Service::new(&settings, sanitizer, ledger)?);

    // one request; a router needs no socket
    let prompt = "My neighbour Wojciechowska has a cold. What helps?";
    let body = json!({"model": "m", "messages": [{"role": "user", "content": prompt}]});
    let request = Request::post("/v1/chat/completions")
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))?;
    let response = proxy.oneshot(request).await?;

    let (status, headers) = (response.status(), response.headers().clone());
    let body = to_bytes(response.into_body(), 1 << 20).await?;
    assert_eq!((status.as_u16(), &body[..]), (200, answer.as_bytes()));
    println!("ε = {}", headers["x-cape-epsilon"].to_str()?);

    // the name is in no list of words, so no draw can fall on it
    let sent = received.recv().await.ok_or("nothing was sent")?;
    assert!(!sent.contains("Wojciechowska"), "{sent}");
    println!("sent: {sent}");
    Ok(())
}
