//! The proxy in this process, with the tiny model, asked without a socket.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "shared by tests")]

use std::path::Path;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::http::request::Builder;
use axum::http::{HeaderMap, Request};
use axum::{Extension, Router};
use cape::mechanism::Mechanism;
use cape::mechanism::cape_paper::{CapePaper, Settings as CapeSettings};
use cape::rng::CryptoRng;
use cape::tokens::{KeepList, Outcome, Piece, Token, Tokenizer, Tokens};
use cape::{About, Epsilon, Evidence, Guarantee, Notion, Sanitizer};
use cape_ledger::{Key, Ledger};
use cape_models::Device;
use cape_proxy::{Error, Policy, Service, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

/// A word that no vocabulary has: it is one unknown token, and no draw can fall on it.
pub const CANARY: &str = "zq🂡canary";

fn device() -> &'static Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
        cape_models::load(dir.to_str().unwrap()).unwrap()
    })
}

/// Any word in the place of any other, each as likely: the prompt does not matter, and every ε holds.
/// A draw costs 2, which is easy to count.
struct Uniform(Arc<Tokenizer>);

impl Mechanism for Uniform {
    fn guarantee(&self) -> Guarantee {
        let epsilon = Epsilon::new(2.0).unwrap();
        Guarantee::uniform(epsilon, 2.0, 1.0, Notion::Ldp, Evidence::Proof)
    }

    fn perturb(&self, tokens: &Tokens, rng: &mut dyn CryptoRng) -> cape::Result<Vec<Outcome>> {
        let words = self.0.vocab().of_kind(Piece::Start);
        let mut draw = |token: &Token| {
            if let Some(why) = token.kept {
                return Outcome::Kept(why);
            }
            let id = words[cape::sample::below(words.len() as u64, rng) as usize];
            Outcome::Drawn { id, retention: 1.0 / words.len() as f64 }
        };
        Ok(tokens.as_slice().iter().map(&mut draw).collect())
    }
}

fn of(mechanism: Box<dyn Mechanism>, name: &'static str) -> Sanitizer {
    let about = About { mechanism: name, words: None, fingerprint: "of tests".into() };
    Sanitizer::tokens(Arc::clone(&device().tokenizer), KeepList::default(), mechanism, about)
}

pub fn sanitizer() -> Sanitizer {
    of(Box::new(Uniform(Arc::clone(&device().tokenizer))), "uniform")
}

/// The paper's mechanism at ε = 2: what holds is more than that.
pub fn paper() -> Sanitizer {
    let paper = CapeSettings::new(Epsilon::new(2.0).unwrap());
    let settings = CapeSettings { context: cape::tokens::Context::Released, ..paper };
    let mechanism = CapePaper::new(Arc::clone(&device().model), settings).unwrap();
    of(Box::new(mechanism), "cape-paper")
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
    Settings {
        upstream: Some(upstream.into()),
        timeout: 2,
        idle_timeout: 1,
        policy,
        ..Settings::default()
    }
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
