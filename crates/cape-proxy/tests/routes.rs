//! Every route: perturbed texts go to upstream, and nothing else does.

use std::path::Path;
use std::sync::Arc;

use crate::recorder::{Recorder, json as reply};
use crate::served::{self, CANARY, chat, get, ledger, post, router, send, settings};
use axum::body::Body;
use axum::http::Request;
use cape::mechanism::cape_paper::{CapePaper, Settings as PaperSettings};
use cape::privacy::Epsilon;
use cape::sanitizer::{About, Sanitizer};
use cape::tokens::{Context, KeepList};
use cape_proxy::{Action, Error, Policy, Service, Settings};
use serde_json::{Value, json};

fn hello() -> Value {
    json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}}]})
}

#[tokio::test]
async fn a_chat_is_perturbed_and_answered() {
    let upstream = Recorder::new(reply(&hello()));
    let router = router(&settings(&upstream.url)).await;
    let body = chat(&format!("the {CANARY}, and the {CANARY}!"));
    let answer = send(&router, post("/v1/chat/completions", &body)).await;
    assert_eq!((answer.status, answer.json()), (200, hello()));
    assert_eq!(answer.header("x-cape-draws"), "1");
    assert_eq!(answer.header("x-cape-maps"), "1");
    assert_eq!(answer.header("x-cape-epsilon"), "2");
    assert_eq!(answer.header("x-cape-account").len(), 16);
    assert_eq!(answer.header("x-cape-conversation"), "");
    assert_eq!(answer.header("x-cape-request-id").len(), 16);
    assert!(!upstream.bytes().contains("canary"));
    let sent = upstream.bodies()[0]["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(
        sent.starts_with("the ") && sent.ends_with('!') && sent.contains(", and the "),
        "{sent}"
    );
}

/// A mechanism on tokens would draw anew for every request: it has no keys.
#[tokio::test]
async fn a_mechanism_on_tokens_is_refused() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
    let device = cape_models::load(dir.to_str().unwrap()).unwrap();
    let paper = PaperSettings::new(Epsilon::new(2.0).unwrap());
    let paper = PaperSettings { context: Context::Released, ..paper };
    let mechanism = CapePaper::new(Arc::clone(&device.model), paper).unwrap();
    let about = About { mechanism: "cape-paper", words: None, fingerprint: "of tests".into() };
    let sanitizer =
        Sanitizer::tokens(device.tokenizer, KeepList::default(), Box::new(mechanism), about);
    let (ledger, _dir) = ledger().await;
    let refused =
        Service::new(&settings("http://127.0.0.1:9/v1"), sanitizer, ledger).err().unwrap();
    assert!(matches!(refused, Error::Unproven));
}

#[tokio::test]
async fn every_route_perturbs() {
    let upstream = Recorder::new(reply(&json!({})));
    let router = router(&settings(&upstream.url)).await;
    let items = json!([{"role": "user", "content": [{"type": "input_text", "text": CANARY}]}]);
    let cases = [
        ("/v1/chat/completions", chat(CANARY)),
        ("/v1/completions", json!({"model": "m", "prompt": [CANARY, CANARY]})),
        ("/v1/embeddings", json!({"model": "m", "input": CANARY})),
        ("/v1/responses", json!({"model": "m", "input": CANARY})),
        ("/v1/responses", json!({"model": "m", "input": items})),
        (
            "/v1/messages",
            json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": CANARY}]}),
        ),
        (
            "/v1/messages/count_tokens",
            json!({"model": "m", "messages": [{"role": "user", "content": CANARY}]}),
        ),
        // a base URL without its version, or with two
        ("/chat/completions", chat(CANARY)),
        ("/v1/v1/chat/completions", chat(CANARY)),
    ];
    for (path, body) in &cases {
        let answer = send(&router, post(path, body)).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }
    assert_eq!(upstream.count(), cases.len());
    assert!(!upstream.bytes().contains("canary"));
}

#[tokio::test]
async fn what_is_not_served_is_not_sent() {
    let upstream = Recorder::new(reply(&json!({})));
    let router = router(&settings(&upstream.url)).await;
    let body = chat(CANARY);
    for path in [
        "/v1/audio/speech",
        "/v1/files",
        "/v1/images/generations",
        "/v1/moderations",
        "/v1/messages/batches",
        "/v1/chat/completions/",
        "/v1/v1/v1/messages",
        "/v1//chat/completions",
        "/v1/chat/completions/zq-canary",
        "/zq-canary",
        "/",
    ] {
        assert_eq!(send(&router, post(path, &body)).await.status, 404, "{path}");
    }
    let put = Request::put("/v1/chat/completions").body(Body::from(body.to_string())).unwrap();
    assert_eq!(send(&router, put).await.status, 405);
    assert_eq!(send(&router, get("/v1/chat/completions")).await.status, 405);
    for body in ["", "{", "\"zqcanary\"", "[]", "{\"zqcanary\": 1}", "null"] {
        for path in ["/v1/chat/completions", "/v1/messages", "/perturb"] {
            let request = served::json_post(path).body(Body::from(body)).unwrap();
            assert_eq!(send(&router, request).await.status, 400, "{path} {body}");
        }
    }
    assert_eq!(upstream.bytes(), "");
}

#[tokio::test]
async fn refusals_speak_the_clients_language() {
    let upstream = Recorder::new(reply(&json!({})));
    let router = router(&settings(&upstream.url)).await;
    let body = json!({"system": CANARY});
    let openai = send(&router, post("/v1/chat/completions", &body)).await.json();
    assert_eq!(openai["error"]["code"], "cape_refused");
    assert_eq!(openai["error"]["type"], "invalid_request_error");
    let anthropic = send(&router, post("/v1/messages", &body)).await.json();
    assert_eq!(
        (&anthropic["type"], &anthropic["error"]["type"]),
        (&json!("error"), &json!("invalid_request_error"))
    );
    assert!(anthropic["error"]["message"].as_str().unwrap().contains("`system` in [proxy.policy]"));
    let bell = send(&router, post("/v1/chat/completions", &chat("a\u{7}b"))).await;
    assert_eq!((bell.status, &bell.json()["error"]["code"]), (400, &json!("cape_text")));
    assert_eq!(upstream.count(), 0);
}

/// A page in the user's browser may send a form or a text without asking, and would spend.
#[tokio::test]
async fn web_pages_are_not_served() {
    let upstream = Recorder::new(reply(&hello()));
    let router = router(&settings(&upstream.url)).await;
    let body = || Body::from(chat("hello there").to_string());
    for path in ["/v1/chat/completions", "/perturb"] {
        let page = served::json_post(path).header("origin", "https://a.example").body(body());
        assert_eq!(send(&router, page.unwrap()).await.status, 403);
        let form = Request::post(path).header("content-type", "text/plain").body(body());
        assert_eq!(send(&router, form.unwrap()).await.status, 415);
    }
    let both = served::json_post("/v1/chat/completions").header("authorization", "Bearer k");
    let both = both.header("x-api-key", "l").body(body()).unwrap();
    assert_eq!((send(&router, both).await.status, upstream.count()), (400, 0));
}

#[tokio::test]
async fn headers_and_queries_stay_here() {
    let upstream = Recorder::new(reply(&hello()));
    let router = router(&settings(&upstream.url)).await;
    let request = Request::post(format!("/v1/chat/completions?q={}", "zqcanary"))
        .header("authorization", "Bearer key-of-mine")
        .header("cookie", "a=zqcanary")
        .header("user-agent", "zqcanary")
        .header("x-stainless-lang", "zqcanary")
        .header("x-forwarded-for", "zqcanary")
        .header("x-request-id", "zqcanary")
        .header("accept", "zqcanary/json")
        .header("accept-language", "zqcanary")
        .header("content-type", "application/json; a=zqcanary")
        .header("traceparent", "zqcanary")
        .body(Body::from(chat("hello there").to_string()))
        .unwrap();
    assert_eq!(send(&router, request).await.status, 200);
    let sent = upstream.bytes();
    assert!(sent.contains("authorization: Bearer key-of-mine"), "{sent}");
    assert!(!sent.contains("zqcanary"), "{sent}");
    let request =
        Request::get("/v1/models?zqcanary").header("cookie", "zqcanary").body(Body::empty());
    assert_eq!(send(&router, request.unwrap()).await.status, 200);
    assert!(upstream.bytes().contains("GET /v1/models HTTP/1.1"));
    assert!(!upstream.bytes().contains("zqcanary"));
}

#[tokio::test]
async fn a_model_is_asked_for_by_its_name_alone() {
    let upstream = Recorder::new(reply(&json!({"id": "org/m:free"})));
    let open = router(&settings(&upstream.url)).await;
    let policy = Policy { models: vec!["m".into()], ..Policy::default() };
    let shut = router(&Settings { policy, ..settings(&upstream.url) }).await;
    let told = send(&open, get("/v1/models/org/m:free?zqcanary")).await;
    assert_eq!((told.status, told.json()), (200, json!({"id": "org/m:free"})));
    assert_eq!(send(&open, get("/models/m")).await.status, 200);
    assert_eq!(send(&shut, get("/v1/models/m")).await.status, 200);
    assert_eq!(send(&shut, get("/v1/models/org/m:free")).await.status, 404);
    for path in [
        "/v1/models/..",
        "/v1/models/a/../../files",
        "/v1/models/my%20name",
        "/v1/models/a%2F..%2Fb",
    ] {
        assert_eq!(send(&open, get(path)).await.status, 404, "{path}");
    }
    let sent = upstream.bytes();
    assert_eq!((upstream.count(), sent.matches("GET /v1/models/m HTTP").count()), (3, 2), "{sent}");
    assert!(sent.contains("GET /v1/models/org/m:free HTTP/1.1") && !sent.contains("zqcanary"));
}

/// A path that is not served is refused in the shape that the client's library reads, with a hint.
#[tokio::test]
async fn a_wrong_base_url_gets_a_hint_in_the_clients_own_shape() {
    let upstream = Recorder::new(reply(&hello()));
    let router = router(&settings(&upstream.url)).await;
    let ask = async |path: &str, header: &str| {
        let request = served::json_post(path).header(header, "2023-06-01");
        send(&router, request.body(Body::from("{}")).unwrap()).await
    };
    let openai = ask("/api/v1/chat/completions", "x-other").await;
    assert_eq!((openai.status, &openai.json()["error"]["code"]), (404, &json!("cape_not_found")));
    let anthropic = ask("/api/v1/messages", "anthropic-version").await;
    assert_eq!((anthropic.status, &anthropic.json()["type"]), (404, &json!("error")));
    assert_eq!(anthropic.json()["error"]["type"], "not_found_error");
    for told in [openai, anthropic] {
        let message = told.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("http://HOST:PORT/v1 for OpenAI's clients"), "{message}");
    }
    let get = Request::get("/v1/messages").header("x-api-key", "k").body(Body::empty()).unwrap();
    let told = send(&router, get).await;
    assert_eq!((told.status, &told.json()["type"]), (405, &json!("error")));
    assert_eq!(upstream.count(), 0);
}

/// OpenAI has no messages, and Anthropic no responses: nothing is drawn or paid for that they would refuse.
#[tokio::test]
async fn a_service_is_not_asked_for_what_it_does_not_have() {
    let messages = json!({"model": "m", "messages": [{"role": "user", "content": CANARY}]});
    let responses = json!({"model": "m", "input": CANARY});
    for (host, path, body, want) in [
        ("api.openai.com", "/v1/messages", &messages, "--upstream https://api.anthropic.com/v1"),
        ("api.anthropic.com", "/v1/responses", &responses, "upstream is Anthropic's"),
    ] {
        let router = router(&settings(&format!("https://{host}/v1"))).await;
        let told = send(&router, post(path, body)).await;
        let message = told.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!((told.status, told.header("x-cape-draws")), (404, ""), "{host}");
        assert!(message.contains(want), "{message}");
    }
}

#[tokio::test]
async fn compressed_bodies_are_read() {
    let upstream = Recorder::new(reply(&hello()));
    let router = router(&settings(&upstream.url)).await;
    let body = chat(CANARY).to_string().into_bytes();
    let zstd =
        ruzstd::encoding::compress_to_vec(&body[..], ruzstd::encoding::CompressionLevel::Fastest);
    let ask = async |encoding: &str, body: Vec<u8>| {
        let request =
            served::json_post("/v1/chat/completions").header("content-encoding", encoding);
        send(&router, request.body(Body::from(body)).unwrap()).await
    };
    assert_eq!(ask("zstd", zstd.clone()).await.status, 200);
    assert!(!upstream.bytes().contains("canary"));
    assert!(!upstream.bytes().contains("content-encoding"));
    for (encoding, body, status) in
        [("compress", body.clone(), 415), ("zstd", body.clone(), 400), ("gzip", zstd, 400)]
    {
        let told = ask(encoding, body).await;
        assert_eq!((told.status, &told.json()["error"]["code"]), (status, &json!("cape_refused")));
    }
    // a small body that becomes a large one
    let large = chat(&"a ".repeat(1 << 20)).to_string().into_bytes();
    let bomb =
        ruzstd::encoding::compress_to_vec(&large[..], ruzstd::encoding::CompressionLevel::Fastest);
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    assert_eq!((ask("zstd", bomb).await.status, upstream.count()), (413, 1));
}

#[tokio::test]
async fn lines_of_system_prompts_are_learned_and_then_pass() {
    let upstream = Recorder::new(reply(&hello()));
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("lines");
    let ask = |line: &str| {
        let system = format!("You are a clerk.\n{line}\nBe kind.");
        let system = json!({"role": "system", "content": system});
        post("/v1/chat/completions", &json!({"model": "m", "messages": [system]}))
    };
    let of = |system: Action| Policy { system, ..Policy::default() };
    let learning = |system: Action| Settings {
        policy: of(system),
        learn_system: Some(list.clone()),
        ..settings(&upstream.url)
    };
    let learns = router(&learning(Action::Perturb)).await;
    assert_eq!(send(&learns, ask("Folder: example")).await.status, 200);
    let allowing = |system: Action| Settings {
        policy: of(system),
        allow_system: Some(list.clone()),
        ..settings(&upstream.url)
    };
    let strict = router(&allowing(Action::Block)).await;
    assert_eq!(send(&strict, ask("Folder: example")).await.status, 200);
    let told = send(&strict, ask(CANARY)).await;
    assert_eq!((told.status, &told.json()["error"]["code"]), (400, &json!("cape_blocked")));
    assert!(told.text.contains("of its 3 lines 1 are not on the list"), "{}", told.text);
    let mild = router(&allowing(Action::Perturb)).await;
    let told = send(&mild, ask(CANARY)).await;
    assert_eq!((told.status, told.header("x-cape-draws")), (200, "1"));
    let sent = upstream.bodies().pop().unwrap()["messages"][0]["content"].clone();
    let sent = sent.as_str().unwrap();
    assert!(sent.starts_with("You are a clerk.\n") && sent.ends_with("\nBe kind."), "{sent}");
    assert!(!upstream.bytes().contains("canary"));
    // settings that would decide nothing, or learn nothing
    for wrong in [allowing(Action::Pass), learning(Action::Block)] {
        let (ledger, _dir) = ledger().await;
        assert!(served::service(&wrong, ledger).is_err());
    }
}

#[tokio::test]
async fn own_routes_answer() {
    let upstream = Recorder::new(reply(&json!({})));
    let router = router(&settings(&upstream.url)).await;
    let released = send(&router, post("/perturb", &json!({"text": CANARY}))).await;
    assert_eq!((released.status, released.header("x-cape-draws")), (200, "1"));
    assert!(!released.json()["text"].as_str().unwrap().contains("canary"));
    assert_eq!(send(&router, get("/health")).await.status, 200);
    assert_eq!(send(&router, get("/ready")).await.status, 200);
    let metrics = send(&router, get("/metrics")).await.text;
    assert!(
        metrics.contains("cape_requests_total{route=\"perturb\",outcome=\"200\"} 1"),
        "{metrics}"
    );
    assert!(metrics.contains("cape_draws_total 1"));
    assert_eq!(upstream.count(), 0);
}

#[tokio::test]
async fn the_guardrail_of_litellm_perturbs_or_blocks() {
    let router = router(&settings("http://127.0.0.1:9/v1")).await;
    let path = "/beta/litellm_basic_guardrail_api";
    let ask = async |body: Value| send(&router, post(path, &body)).await;
    let texts = json!([CANARY, "", CANARY]);
    let told = ask(
        json!({"texts": texts, "input_type": "request", "request_data": {"user_api_key_hash": "x"},
        "images": [], "tools": null, "litellm_call_id": "y"}),
    )
    .await;
    assert_eq!((told.status, told.header("x-cape-draws")), (200, "1"));
    let verdict = told.json();
    assert_eq!(verdict["action"], "GUARDRAIL_INTERVENED");
    assert_eq!((verdict["texts"].as_array().unwrap().len(), &verdict["texts"][1]), (3, &json!("")));
    assert!(!told.text.contains("canary"));
    for (name, value) in [
        ("images", json!([CANARY])),
        ("images", json!(CANARY)),
        ("tools", json!([{"type": "function"}])),
        ("tool_calls", json!([{"id": CANARY}])),
        ("texts", json!(CANARY)),
        ("texts", json!([1])),
        ("texts", json!(["a\u{7}b"])),
    ] {
        let mut body = json!({"texts": ["a"], "input_type": "request"});
        body[name] = value;
        let told = ask(body).await;
        assert_eq!((told.status, &told.json()["action"]), (200, &json!("BLOCKED")), "{name}");
        assert!(!told.text.contains("canary"));
    }
    for body in
        [json!([]), json!({}), json!({"texts": [], "structured_messages": [{"role": "user"}]})]
    {
        assert_eq!(ask(body).await.json()["action"], "BLOCKED");
    }
    // what is said in the messages and is not among the texts would be sent as it is
    let user = |content: Value| json!({"role": "user", "content": content});
    for (message, action) in [
        (user(json!("a")), "GUARDRAIL_INTERVENED"),
        (user(json!([{"type": "text", "text": "a"}])), "GUARDRAIL_INTERVENED"),
        (user(json!(CANARY)), "BLOCKED"),
        (user(json!([{"type": "text", "text": CANARY}])), "BLOCKED"),
        (user(json!([{"type": "file", "file": CANARY}])), "BLOCKED"),
        (json!({"role": "user", "content": "a", "name": CANARY}), "BLOCKED"),
        (json!({"role": CANARY, "content": "a"}), "BLOCKED"),
        (json!({"role": "tool", "content": "a", "tool_call_id": "my name is"}), "BLOCKED"),
        (json!({"role": "tool", "content": "a", "tool_call_id": "call_1"}), "GUARDRAIL_INTERVENED"),
        (json!({"role": "assistant", "tool_calls": [CANARY]}), "BLOCKED"),
        (json!(CANARY), "BLOCKED"),
    ] {
        let body = json!({"texts": ["a"], "structured_messages": [user(json!("a")), message]});
        assert_eq!(ask(body).await.json()["action"], action);
    }
    let answer = ask(json!({"texts": [CANARY], "input_type": "response"})).await.json();
    assert_eq!(answer, json!({"action": "NONE"}));
    let broken = served::json_post(path).body(Body::from("{")).unwrap();
    assert_eq!(send(&router, broken).await.json()["action"], "BLOCKED");
}

#[tokio::test]
async fn the_description_names_every_field_that_may_leave() {
    let router = router(&settings("http://127.0.0.1:9/v1")).await;
    let described = send(&router, get("/openapi.json")).await.json();
    for path in described["paths"].as_object().unwrap().keys() {
        let path = path.replace("{model}", "m");
        assert_ne!(send(&router, get(&path)).await.status, 404, "{path}");
    }
    let chat = &described["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]
        ["schema"];
    assert_eq!(chat["properties"]["temperature"]["maximum"], 2.0);
    assert_eq!(chat["additionalProperties"], false);
    assert!(chat["properties"]["logit_bias"].is_null());
}
