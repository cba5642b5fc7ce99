//! The proxy in this process, asked without a socket.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "shared by tests")]

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Builder;
use axum::http::{HeaderMap, Request};
use axum::{Extension, Router};
use cape::law::Shape;
use cape::lexicon::Lexicon;
use cape::mechanism::cape::{Cape, Settings as CapeSettings};
use cape::privacy::Epsilon;
use cape::sanitizer::Sanitizer;
use cape_ledger::{Key, Ledger};
use cape_proxy::{Error, Policy, Service, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

/// A word that is not on the list: no draw can fall on it.
pub const CANARY: &str = "zq🂡canary";

/// Cape with laws under which any word becomes nearly any other, whatever its level. "and" and the like are
/// kept. A draw costs 2, which is easy to count.
pub fn sanitizer() -> Sanitizer {
    let epsilon = Epsilon::new(2.0).unwrap();
    let settings = CapeSettings {
        epsilon,
        shape: Shape { k: 1, alpha: None },
        epsilon_ordinary: Some(epsilon),
        keep: ["and", "the", "a", "is", "of", "in"].map(str::to_owned).into(),
        ..CapeSettings::default()
    };
    Sanitizer::words(Cape::new(Lexicon::embedded(), settings).unwrap())
}

/// An answer, whole.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub fn settings(upstream: &str) -> Settings {
    let policy = Policy::default();
    Settings { upstream: Some(upstream.into()), policy, ..Settings::default() }
}

/// For an upstream that falls silent. Others have all the time that a busy machine takes.
pub fn impatient(upstream: &str) -> Settings {
    Settings { timeout: 2, idle_timeout: 1, ..settings(upstream) }
}

/// A ledger in a folder of its own.
pub async fn ledger() -> (Ledger, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let key = Key::open(&dir.path().join("key")).unwrap();
    let file = dir.path().join("ledger.db");
    (Ledger::open(file.to_str().unwrap(), key).await.unwrap(), dir)
}

/// A proxy with a ledger of its own, which goes with it.
pub async fn router(settings: &Settings) -> Router {
    let (ledger, dir) = ledger().await;
    router_on(settings, ledger).layer(Extension(Arc::new(dir)))
}

/// A proxy on this ledger.
pub fn router_on(settings: &Settings, ledger: Ledger) -> Router {
    cape_proxy::router(service(settings, ledger).unwrap())
}

pub fn service(settings: &Settings, ledger: Ledger) -> Result<Arc<Service>, Error> {
    Service::new(settings, sanitizer(), ledger)
}

pub async fn send(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, 1 << 24).await.unwrap();
    Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

pub fn post(path: &str, body: &Value) -> Request<Body> {
    json_post(path).body(Body::from(body.to_string())).unwrap()
}

/// A request whose body is said to be JSON.
pub fn json_post(path: &str) -> Builder {
    Request::post(path).header("content-type", "application/json")
}

pub fn get(path: &str) -> Request<Body> {
    Request::get(path).body(Body::empty()).unwrap()
}

/// A chat of one message.
pub fn chat(text: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]})
}
