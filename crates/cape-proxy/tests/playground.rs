//! The playground, asked as its page asks, without a socket.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::recorder::{self, Recorder};
use crate::served::{self, Answer, CANARY, get, ledger, send, settings as proxy_settings};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::http::request::Builder;
use cape::kinds::Kind;
use cape::lexicon::Lexicon;
use cape::mechanism::cape::{Cape, Settings};
use cape::text::Level;
use cape_proxy::{Playground, PlaygroundOptions, Policy, playground_router};
use serde_json::{Value, json};

const HOST: &str = "127.0.0.1:8787";
const PROMPT: &str = "Hello 👋, my daughter Alice has asthma, and Alice is 12.";

fn open(options: PlaygroundOptions) -> Router {
    playground_router(Arc::new(Playground::new(Settings::default(), options).unwrap()))
}

fn cape() -> Cape {
    Cape::new(Lexicon::embedded(), Settings::default()).unwrap()
}

fn own(path: &str) -> Builder {
    Request::post(format!("/playground/api/{path}"))
        .header("host", HOST)
        .header("origin", format!("http://{HOST}"))
        .header("content-type", "application/json")
}

async fn ask(router: &Router, path: &str, body: &Value) -> Answer {
    send(router, own(path).body(Body::from(body.to_string())).unwrap()).await
}

async fn asked(router: &Router, path: &str, body: &Value) -> Value {
    let answer = ask(router, path, body).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()
}

/// The settings that the page begins with.
async fn chosen(router: &Router) -> Value {
    asked(router, "start", &json!({})).await["settings"].clone()
}

fn with(settings: &Value, name: &str, value: Value) -> Value {
    let mut settings = settings.clone();
    settings[name] = value;
    settings
}

/// The words that a page shows, cut as JavaScript cuts.
fn words(text: &str, plan: &Value) -> Vec<String> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let at = |word: &Value, name: &str| usize::try_from(word[name].as_u64().unwrap()).unwrap();
    let of = |word: &Value| String::from_utf16(&units[at(word, "start")..at(word, "end")]).unwrap();
    plan["words"].as_array().unwrap().iter().map(of).collect()
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let router = open(PlaygroundOptions::default());
    let page = |path: &str| Request::get(path).header("host", HOST).body(Body::empty()).unwrap();
    for (path, kind) in [
        ("/playground/", "text/html; charset=utf-8"),
        ("/playground/app.js", "text/javascript; charset=utf-8"),
        ("/playground/app.css", "text/css; charset=utf-8"),
        ("/playground/icon.svg", "image/svg+xml"),
    ] {
        let answer = send(&router, page(path)).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, kind));
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
        assert!(!policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'));
        assert_eq!(answer.header("cache-control"), "no-store");
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
        assert!(!answer.text.contains("localStorage") && !answer.text.contains("sessionStorage"));
    }
    let html = send(&router, page("/playground/")).await.text;
    assert!(html.contains("src=\"./app.js\"") && !html.contains("<script>"), "{html}");
    for path in ["/", "/playground"] {
        assert_eq!(send(&router, page(path)).await.header("location"), "/playground/");
    }
    assert_eq!(send(&router, page("/playground/../Cargo.toml")).await.status, 404);
}

#[tokio::test]
async fn a_plan_is_shown_and_nothing_drawn() {
    let router = open(PlaygroundOptions::default());
    let settings = chosen(&router).await;
    let plan = asked(&router, "plan", &json!({"text": PROMPT, "settings": settings})).await;
    let shown = words(PROMPT, &plan);
    assert_eq!(shown[3..6], ["daughter", "Alice", "has"]);
    let field = |name: &str, i: usize| plan["words"][i][name].as_str().unwrap().to_owned();
    assert_eq!((field("level", 4), field("why", 4)), ("protected".into(), "uncommon".into()));
    assert_eq!((field("level", 6), field("why", 6)), ("protected".into(), "illness".into()));
    let last = shown.len() - 1;
    assert_eq!((shown[last].as_str(), field("kind", last)), ("12", "number".into()));
    assert!(plan["words"][4].get("released").is_none());
    let holds = cape().guarantee_for(&[Kind::Word, Kind::Number]);
    let privacy = &plan["privacy"];
    // Alice stands there twice and is drawn once
    assert_eq!(privacy["draws"].as_u64().unwrap() + 1, shown.len() as u64);
    assert_eq!(plan["fresh"], privacy["draws"]);
    assert!((privacy["epsilon_any"].as_f64().unwrap() - holds.bound).abs() < 1e-9);
    let session = &asked(&router, "start", &json!({})).await["session"];
    assert_eq!(session, &json!({"draws": 0, "maps": 1, "epsilon": 0.0}));
}

#[tokio::test]
async fn draws_count_and_the_same_words_come_again() {
    let router = open(PlaygroundOptions::default());
    let settings = chosen(&router).await;
    let draw = async |text: &str, settings: &Value, fresh: bool| {
        let body = json!({"text": text, "settings": settings, "fresh": fresh});
        asked(&router, "release", &body).await
    };
    let first = draw(PROMPT, &settings, false).await;
    let draws = first["privacy"]["draws"].as_u64().unwrap();
    assert_eq!(first["session"]["draws"], draws);
    assert_eq!(first["fresh"], 0);
    let near = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-6;
    let all = first["privacy"]["epsilon_prompt"].as_f64().unwrap();
    assert!(near(&first["session"]["epsilon"], all) && near(&first["most_spent"], 8.0));
    // the same prompt is released in the same words, and so is an edited one
    let again = draw(PROMPT, &settings, false).await;
    assert_eq!((&again["text"], &again["session"]), (&first["text"], &first["session"]));
    let edited = format!("{PROMPT} Alice!");
    let again = draw(&edited, &settings, false).await;
    assert_eq!(again["words"][4]["released"], first["words"][4]["released"]);
    assert_eq!(again["session"]["draws"], draws);
    // another map draws all words again, and another law does
    let anew = draw(PROMPT, &settings, true).await;
    assert_eq!(
        (&anew["session"]["draws"], &anew["session"]["maps"]),
        (&json!(2 * draws), &json!(2))
    );
    assert!(near(&anew["most_spent"], 16.0));
    let smaller = draw(PROMPT, &with(&settings, "epsilon", json!(4)), false).await;
    assert_eq!(smaller["session"]["draws"], 3 * draws);
    assert!(near(&smaller["most_spent"], 20.0));
    // and maps differ: of twenty names few are the same
    let mut names = BTreeSet::new();
    for _ in 0..20 {
        let release = draw("Alice", &settings, true).await;
        names.insert(release["words"][0]["released"].as_str().unwrap().to_owned());
    }
    assert!(names.len() > 10, "{names:?}");
}

#[tokio::test]
async fn lists_and_profiles_change_levels() {
    let router = open(PlaygroundOptions::default());
    let settings = chosen(&router).await;
    let level = async |settings: &Value, i: usize| {
        let plan = asked(&router, "plan", &json!({"text": PROMPT, "settings": settings})).await;
        plan["words"][i]["level"].as_str().unwrap().to_owned()
    };
    assert_eq!(level(&with(&settings, "keep", json!(["Alice"])), 4).await, "kept");
    assert_eq!(level(&with(&settings, "ordinary", json!(["alice"])), 4).await, "ordinary");
    assert_eq!(level(&with(&settings, "protect", json!(["daughter"])), 3).await, "protected");
    assert_eq!(level(&with(&settings, "profile", json!("everything")), 3).await, "protected");
    assert_eq!(level(&with(&settings, "profile", json!("names")), 6).await, "ordinary");
    for (name, value) in [
        ("protect", json!([format!("{CANARY} and more")])),
        ("profile", json!(CANARY)),
        ("epsilon", json!(0)),
        ("k", json!(0)),
        ("k", json!(1_000_000)),
        ("epsilon", json!(CANARY)),
    ] {
        let settings = with(&settings, name, value);
        let answer = ask(&router, "plan", &json!({"text": CANARY, "settings": settings})).await;
        assert_eq!(answer.status, 400, "{name}");
        assert!(!answer.text.contains("canary"), "{}", answer.text);
    }
    let control = json!({"text": format!("{CANARY}\u{7}"), "settings": settings});
    let answer = ask(&router, "plan", &control).await;
    assert!(answer.status == 400 && !answer.text.contains("canary"), "{}", answer.text);
}

#[tokio::test]
async fn a_word_is_explained_by_its_exact_law() {
    let (router, cape) = (open(PlaygroundOptions::default()), cape());
    let settings = chosen(&router).await;
    let explain = async |word: usize, released: Value| {
        let body =
            json!({"text": PROMPT, "settings": settings, "word": word, "released": released});
        asked(&router, "explain", &body).await
    };
    let (key, _) = cape.key(Kind::Word, "Alice", false);
    let (order, law) = (cape.order(&key), cape.law(Level::Protected));
    let explained = explain(4, Value::Null).await;
    assert!(explained["others"].is_null());
    for (rank, candidate) in (1..).zip(explained["candidates"].as_array().unwrap()) {
        assert_eq!(candidate["rank"], rank);
        assert_eq!(candidate["released"], cape.lexicon().word(order[rank - 1]));
        assert!((candidate["probability"].as_f64().unwrap() - law.probability(rank)).abs() < 1e-12);
    }
    // a far word that was drawn is shown with its rank
    let far = cape.lexicon().word(order[4999]).to_owned();
    let explained = explain(4, json!(far)).await;
    let last = explained["candidates"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["rank"], &last["released"]), (&json!(5000), &json!(far)));
    // who could stand there: with the probability of that very release
    let near = order[7];
    let explained = explain(4, json!(cape.lexicon().word(near))).await;
    let others = explained["others"]["words"].as_array().unwrap();
    assert!(others.len() > 10);
    for other in others {
        let (key, _) = cape.key(Kind::Word, other["word"].as_str().unwrap(), false);
        assert_eq!(key.level, Level::Protected);
        let rank = cape.order(&key).iter().position(|&word| word == near).unwrap() + 1;
        let exactly = law.probability(rank);
        assert!((other["probability"].as_f64().unwrap() - exactly).abs() < 1e-12);
    }
    // a number, on its grid
    let number = explain(10, json!("14")).await;
    assert_eq!(
        (&number["kind"], &number["candidates"][0]["released"]),
        (&json!("number"), &json!("12"))
    );
    assert!(
        number["others"]["words"].as_array().unwrap().iter().any(|other| other["word"] == "12")
    );
    let missing = json!({"text": PROMPT, "settings": settings, "word": 99, "released": null});
    assert_eq!(ask(&router, "explain", &missing).await.status, 400);
}

#[tokio::test]
async fn the_law_is_told_in_numbers() {
    let (router, cape) = (open(PlaygroundOptions::default()), cape());
    let told = asked(&router, "law", &json!({"settings": chosen(&router).await})).await;
    let (law, guarantee) = (cape.law(Level::Protected), cape.guarantee_for(&[Kind::Word]));
    let n = law.ranked();
    let middle = if n % 2 == 1 { law.probability(n / 2 + 1) / 2.0 } else { 0.0 };
    let half = law.first(n / 2) + middle + (1.0 - law.first(n)) / 2.0;
    for (name, value) in [
        ("epsilon_protected", guarantee.protected),
        ("epsilon_any", guarantee.bound),
        ("kept", guarantee.most_kept),
        ("near", law.first(100)),
        ("guessed", half),
    ] {
        assert!((told[name].as_f64().unwrap() - value).abs() < 1e-9, "{name}");
    }
    let curve = told["curve"].as_array().unwrap();
    let last = &curve[curve.len() - 1];
    assert_eq!((&curve[0][0], &last[0]), (&json!(1), &json!(n)));
    assert!((last[1].as_f64().unwrap() - law.first(n)).abs() < 1e-12);
}

#[tokio::test]
async fn only_its_own_page_may_ask() {
    let router = open(PlaygroundOptions::default());
    let status = async |request: Builder| {
        let answer = send(&router, request.body(Body::from("{}")).unwrap()).await;
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
        answer.status
    };
    let bare = || Request::post("/playground/api/start").header("content-type", "application/json");
    assert_eq!(status(own("start")).await, 200);
    assert_eq!(status(bare().header("host", HOST)).await, 403);
    let foreign = || bare().header("host", HOST).header("origin", "https://evil.example");
    assert_eq!(status(foreign()).await, 403);
    // a foreign name that was made to point here
    let rebound = bare().header("host", "evil.example").header("origin", "http://evil.example");
    assert_eq!(status(rebound).await, 403);
    assert_eq!(status(own("start").header("sec-fetch-site", "cross-site")).await, 403);
    let form = Request::post("/playground/api/start").header("host", HOST);
    let form = form.header("origin", format!("http://{HOST}")).header("content-type", "text/plain");
    assert_eq!(status(form).await, 415);
    let preflight = Request::options("/playground/api/start").header("host", HOST);
    assert_eq!(status(preflight).await, 405);
    assert_eq!(send(&router, get("/playground/")).await.status, 403);
    assert_eq!(send(&router, get("/playground/api/start")).await.status, 405);
}

#[tokio::test]
async fn the_token_of_the_proxy_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    std::fs::write(&file, "open-sesame-open-sesame\n").unwrap();
    let mut settings = proxy_settings("http://127.0.0.1:9/v1");
    settings.token_file = Some(file);
    let (router, _dir) = beside(&settings).await;
    let status = async |request: Builder| {
        send(&router, request.body(Body::from("{}")).unwrap()).await.status
    };
    // the page comes without, to ask for it; names are allowed, for a certificate's sake
    let page = |path: &str| Request::get(path).header("host", "cape.example");
    assert_eq!(status(page("/playground/")).await, 200);
    assert_eq!(status(page("/playground/app.js")).await, 200);
    assert_eq!(status(own("start")).await, 401);
    assert_eq!(status(own("start").header("x-cape-token", "open-barley-open-barley")).await, 401);
    assert_eq!(status(own("start").header("x-cape-token", "open-sesame-open-sesame")).await, 200);
}

#[tokio::test]
async fn settings_are_saved_when_asked_for() {
    let saved = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&saved);
    let save = move |settings: &Settings| {
        written.lock().unwrap().push(settings.clone());
        Ok(())
    };
    let file = Some(("cape.toml".to_owned(), Box::new(save) as cape_proxy::Save));
    let router = open(PlaygroundOptions { file, ..PlaygroundOptions::default() });
    let settings = with(&chosen(&router).await, "keep", json!(["Alice"]));
    asked(&router, "plan", &json!({"text": PROMPT, "settings": settings})).await;
    assert!(saved.lock().unwrap().is_empty());
    let told = asked(&router, "save", &json!({"settings": settings})).await;
    assert_eq!(told, json!({"file": "cape.toml"}));
    assert_eq!(saved.lock().unwrap().pop().unwrap().keep, ["Alice"]);
    // settings that cannot be used are not written
    let broken = with(&settings, "protect", json!(["two words"]));
    assert_eq!(ask(&router, "save", &json!({"settings": broken})).await.status, 400);
    assert!(saved.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_proxy_has_it_only_if_it_was_opened() {
    let (ledger, _dir) = ledger().await;
    let service = served::service(&proxy_settings("http://127.0.0.1:9/v1"), ledger).unwrap();
    let page = || Request::get("/playground/").header("host", HOST).body(Body::empty()).unwrap();
    let router = cape_proxy::router(Arc::clone(&service));
    assert_eq!(send(&router, page()).await.status, 404);
    let playground = Playground::new(Settings::default(), PlaygroundOptions::default()).unwrap();
    service.open_playground(playground);
    let router = cape_proxy::router(service);
    assert_eq!(send(&router, page()).await.status, 200);
    let started = asked(&router, "start", &json!({})).await;
    assert_eq!(started["upstream"], "http://127.0.0.1:9/v1/");
    // the proxy's own paths refuse pages as before
    let perturb = Request::post("/perturb").header("content-type", "application/json");
    let perturb = perturb.header("host", HOST).header("origin", format!("http://{HOST}"));
    let body = Body::from(json!({"text": "Alice"}).to_string());
    assert_eq!(send(&router, perturb.body(body).unwrap()).await.status, 403);
    let metrics = send(&router, get("/metrics")).await.text;
    assert!(metrics.contains("playground"), "{metrics}");
}

/// A proxy with a playground, on a ledger of its own.
async fn beside(settings: &cape_proxy::Settings) -> (Router, tempfile::TempDir) {
    let (ledger, dir) = ledger().await;
    let service = served::service(settings, ledger).unwrap();
    service.open_playground(
        Playground::new(Settings::default(), PlaygroundOptions::default()).unwrap(),
    );
    (cape_proxy::router(service), dir)
}

#[tokio::test]
async fn the_release_is_sent_and_never_the_prompt() {
    let said = "Dear Sir, all will be well.";
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": said}}]});
    let upstream = Recorder::new(recorder::json(&answer));
    let policy = Policy { models: vec!["m".into()], ..Policy::default() };
    let own = cape_proxy::Settings { policy, ..proxy_settings(&upstream.url) };
    let (router, _dir) = beside(&own).await;
    let mut send = json!({"model": "m", "key": "sk-mine", "release": ""});
    assert_eq!(ask(&router, "send", &send).await.status, 400);
    let text = format!("Write to {CANARY} in Zqcanaryville about the 4454 7945 1139 0933.");
    let body = json!({"text": text, "settings": chosen(&router).await, "fresh": false});
    let release = asked(&router, "release", &body).await;
    send["release"] = release["text"].clone();
    for (name, value) in
        [("release", "another one"), ("model", "other"), ("model", "my name is"), ("key", "\n")]
    {
        let refused = ask(&router, "send", &with(&send, name, json!(value))).await;
        assert_eq!(refused.status, 400, "{name}: {value}");
    }
    assert_eq!(upstream.count(), 0);
    let sent = asked(&router, "send", &send).await;
    assert_eq!((&sent["sent"], &sent["answer"]), (&release["text"], &json!(said)));
    assert_eq!((&sent["restored"], &sent["rewritten"]), (&json!(said), &Value::Null));
    let bodies = upstream.bodies();
    assert_eq!(
        bodies,
        [json!({"model": "m", "messages": [{"role": "user", "content": release["text"]}]})]
    );
    let bytes = upstream.bytes();
    assert!(bytes.contains("Bearer sk-mine"));
    for part in ["canary", "4454", "0933", "🂡"] {
        assert!(!bytes.contains(part), "{part}");
    }
    // a service that is gone
    let (router, _dir) = beside(&proxy_settings("http://127.0.0.1:9/v1")).await;
    send["release"] = asked(&router, "release", &body).await["text"].clone();
    let failed = ask(&router, "send", &send).await;
    assert!(failed.status == 502 && !failed.text.contains("canary"), "{}", failed.text);
}

#[tokio::test]
async fn beside_a_proxy_draws_are_paid_for_first() {
    let bound = cape().guarantee_for(&[Kind::Word]).bound;
    let limits = cape_ledger::Limits {
        total: Some(cape_ledger::Cost::new(7, bound).epsilon),
        ..cape_ledger::Limits::default()
    };
    let settings = cape_proxy::Settings { limits, ..proxy_settings("http://127.0.0.1:9/v1") };
    let (router, _dir) = beside(&settings).await;
    let settings = chosen(&router).await;
    let draw = async |text: &str, fresh: bool| {
        let body = json!({"text": text, "settings": settings, "fresh": fresh});
        ask(&router, "release", &body).await
    };
    let first = draw("My son Jonas has epilepsy.", false).await;
    assert_eq!(first.status, 200, "{}", first.text);
    // the same words cost nothing; two more are within the limit, and another map is not
    assert_eq!(draw("Jonas has epilepsy.", false).await.json()["session"]["draws"], 5);
    assert_eq!(draw("Jonas has two dogs.", false).await.json()["session"]["draws"], 7);
    let refused = draw("My son Jonas has epilepsy.", true).await;
    assert_eq!(refused.status, 429, "{}", refused.text);
    let session = &asked(&router, "start", &json!({})).await["session"];
    assert_eq!((&session["draws"], &session["maps"]), (&json!(7), &json!(1)));
    assert_eq!(
        draw("My son Jonas has epilepsy.", false).await.json()["text"],
        first.json()["text"]
    );
}
