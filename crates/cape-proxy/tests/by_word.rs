//! The proxy as it is by default: Cape on words with the embedded lexicon.

use crate::ledgers::Trial;
use crate::recorder::{Recorder, json as reply};
use crate::served::{CANARY, chat, get, json_post, post, send, settings};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use cape::mechanism::cape::Settings as CapeSettings;
use cape::units::{self, Unit};
use cape::{Cape, Guarantee, Kind, Level, Lexicon, Sanitizer};
use cape_ledger::{Cost, Limits, Micros};
use cape_proxy::{Service, Settings};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";

/// Two of its words are protected; eight are distinct.
const PROMPT: &str = "My daughter Alice has asthma, and Alice has a dog.";

fn cape() -> Cape {
    Cape::new(Lexicon::embedded(), CapeSettings::default()).unwrap()
}

/// A proxy on the ledger of a trial.
async fn on(trial: &Trial, upstream: &str, limits: Limits) -> Router {
    let settings = Settings { limits, ..settings(upstream) };
    let sanitizer = Sanitizer::words(cape());
    let service = Service::new(&settings, sanitizer, trial.open().await).unwrap();
    cape_proxy::router(service)
}

fn with_key(key: &str, body: &Value) -> Request<Body> {
    let request = json_post(CHAT).header("authorization", format!("Bearer {key}"));
    request.body(Body::from(body.to_string())).unwrap()
}

/// The guarantee for a text of words alone.
fn of_words() -> Guarantee {
    cape().guarantee_for(&[Kind::Word])
}

/// The proxy's price of so many draws, in millionths of ε.
fn price(draws: u64, guarantee: &Guarantee) -> Micros {
    let price = Cost::new(draws, guarantee.bound).epsilon;
    // the bound times the draws, and no more than what rounding up adds to each
    let exact = draws as f64 * guarantee.bound;
    assert!(price.epsilon() >= exact && price.epsilon() <= exact + draws as f64 * 1.1e-6);
    price
}

fn said(upstream: &Recorder) -> Vec<String> {
    let text = |body: &Value| {
        body["messages"][0]["content"].as_str().map(str::to_owned).unwrap_or_default()
    };
    upstream.bodies().iter().map(text).collect()
}

fn cut(text: &str) -> Vec<Unit> {
    units::cut(text, units::Options::default()).unwrap()
}

/// The words of what was sent, in the places of those of the prompt: all else must be as it was.
fn in_place<'a>(prompt: &str, sent: &'a str) -> Vec<&'a str> {
    let (own, now) = (cut(prompt), cut(sent));
    let kinds = |units: &[Unit]| units.iter().map(|unit| unit.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&own), kinds(&now), "{sent}");
    let between = |text: &str, units: &[Unit]| {
        let starts = units.iter().map(|unit| unit.start).chain([text.len()]);
        let ends = std::iter::once(0).chain(units.iter().map(|unit| unit.end));
        ends.zip(starts).map(|(end, start)| text[end..start].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(between(prompt, &own), between(sent, &now), "{sent}");
    now.iter().map(|unit| unit.of(sent)).collect()
}

#[tokio::test]
async fn a_chat_is_replaced_word_by_word() {
    let (upstream, trial) = (Recorder::new(reply(&json!({}))), Trial::sqlite());
    let router = on(&trial, &upstream.url, Limits::default()).await;
    let n = 40;
    for key in 0..n {
        let answer = send(&router, with_key(&key.to_string(), &chat(PROMPT))).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    let sent = said(&upstream);
    let words: Vec<Vec<&str>> = sent.iter().map(|sent| in_place(PROMPT, sent)).collect();
    // one ordinary word in a million changes: two prompts of these with probability 1e-7
    let ordinary = |words: &&Vec<&str>| {
        words[..2] == ["My", "daughter"] && words[3] == "has" && words[5] == "and"
    };
    assert!(words.iter().filter(ordinary).count() >= n - 1, "{sent:?}");
    // a protected word is itself one time in a hundred: nine times of forty with probability 1e-9
    assert!(cape().law(Level::Protected).probability(1) < 0.011);
    for (at, own) in [(2, "Alice"), (4, "asthma")] {
        let kept = words.iter().filter(|words| words[at] == own).count();
        assert!(kept < 9, "{own}: {kept}");
    }
    // the same word becomes the same within a text, and another elsewhere
    assert!(words.iter().all(|words| words[2] == words[6]));
    let mut names: Vec<&str> = words.iter().map(|words| words[2]).collect();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() > 10, "{names:?}");
}

#[tokio::test]
async fn what_is_not_listed_never_leaves() {
    let secrets = [
        CANARY,
        "Zqcanary",
        "zqcanary@example.org",
        "https://zqcanary.example/zqcanary?q=zqcanary",
        "4454 7945 1139 0933",
        "sk-proj-zqcanary0123456789abcdefABCDEF",
        "東京zqcanary",
    ];
    let text = format!("{}.\n\n- {}: `{}`", secrets.join(", "), secrets[0], secrets[1]);
    let (upstream, trial) = (Recorder::new(reply(&json!({}))), Trial::sqlite());
    let router = on(&trial, &upstream.url, Limits::default()).await;
    for key in 0..4 {
        let answer = send(&router, with_key(&key.to_string(), &chat(&text))).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(!answer.text.contains("canary"));
    }
    for sent in said(&upstream) {
        in_place(&text, &sent);
    }
    let bytes = upstream.bytes();
    for part in ["canary", "4454", "0933", "東京", "example.org", "🂡"] {
        assert!(!bytes.contains(part), "{part}");
    }
}

#[tokio::test]
async fn a_perturbed_text_is_described() {
    let trial = Trial::sqlite();
    let router = on(&trial, "http://127.0.0.1:9/v1", Limits::default()).await;
    let answer = send(&router, post("/perturb", &json!({"text": PROMPT}))).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let release = answer.json();

    let words = release["words"].as_array().unwrap();
    let field = |name: &str| words.iter().map(|word| word[name].as_str().unwrap()).collect();
    let (original, released): (Vec<&str>, Vec<&str>) = (field("original"), field("released"));
    assert_eq!(original, cut(PROMPT).iter().map(|unit| unit.of(PROMPT)).collect::<Vec<_>>());
    assert_eq!(released, in_place(PROMPT, release["text"].as_str().unwrap()));
    let levels: Vec<&str> = field("level");
    for (word, level) in original.iter().zip(levels) {
        let protected = ["Alice", "asthma"].contains(word);
        assert_eq!(level, if protected { "protected" } else { "ordinary" }, "{word}");
    }
    let kinds: Vec<&str> = field("kind");
    assert!(kinds.iter().all(|kind| *kind == "word"));

    let (privacy, holds) = (&release["privacy"], of_words());
    for (name, value) in [
        ("mechanism", json!("cape")),
        ("profile", json!(CapeSettings::default().profile.as_str())),
        ("notion", json!("LDP")),
        ("evidence", json!("proof")),
        ("words", json!(10)),
        ("protected_words", json!(3)),
        ("epsilon_protected", json!(holds.protected)),
        ("epsilon_any", json!(holds.bound)),
        ("epsilon_prompt", json!(8.0 * holds.bound)),
        ("most_kept", json!(holds.most_kept)),
        ("most_guessed", json!(holds.most_guessed)),
    ] {
        match (privacy[name].as_f64(), value.as_f64()) {
            // reading a number back from JSON may cost its last bit
            (Some(stated), Some(value)) => assert!((stated - value).abs() < 1e-9, "{name}"),
            _ => assert_eq!(privacy[name], value, "{name}"),
        }
    }
    assert!(holds.protected < holds.bound);

    // it is drawn with the map of the account: again, it is the same and costs nothing
    let price = price(8, &holds);
    assert_eq!(answer.header("x-cape-draws"), "8");
    assert_eq!(answer.header("x-cape-epsilon"), price.to_string());
    let again = send(&router, post("/perturb", &json!({"text": PROMPT}))).await;
    assert_eq!((again.header("x-cape-draws"), again.json()), ("0", release));
    let other = json!({"text": PROMPT, "user": "another"});
    assert_eq!(send(&router, post("/perturb", &other)).await.header("x-cape-draws"), "8");
    assert_eq!(epsilon(trial.recorded().await), price.times(2));
}

/// So many millionths.
fn epsilon(micros: i64) -> Micros {
    Micros::at_least(1e-7).times(u64::try_from(micros).unwrap())
}

#[tokio::test]
async fn draws_are_paid_for_once() {
    let (upstream, trial) = (Recorder::new(reply(&json!({}))), Trial::sqlite());
    let price = price(8, &of_words());
    let mut first = None;
    for turn in 0..3 {
        // proxies come and go: what they know is in the ledger
        let router = on(&trial, &upstream.url, Limits::default()).await;
        let answer = send(&router, with_key("k", &chat(PROMPT))).await;
        let (draws, spent) =
            if turn == 0 { ("8", price.to_string()) } else { ("0", "0".to_owned()) };
        assert_eq!((answer.status, answer.header("x-cape-draws")), (200, draws));
        assert_eq!(answer.header("x-cape-epsilon"), spent);
        assert_eq!(epsilon(trial.recorded().await), price);
        let sent = upstream.bodies().pop().unwrap();
        assert_eq!(*first.get_or_insert(sent.clone()), sent);
    }
    // a new word is paid for, and what was known becomes what it became
    let router = on(&trial, &upstream.url, Limits::default()).await;
    let edited = send(&router, with_key("k", &chat(&format!("{PROMPT} Wojciechowska!")))).await;
    let one = self::price(1, &of_words());
    assert_eq!(edited.header("x-cape-epsilon"), one.to_string());
    let metrics = send(&router, get("/metrics")).await.text;
    assert!(metrics.contains("cape_draws_total 1\n"), "{metrics}");
    assert_eq!(epsilon(trial.recorded().await), price.plus(one));
    let sent = said(&upstream);
    assert!(sent[3].starts_with(&sent[0]), "{sent:?}");
}

/// The cost of a text depends on the kinds of things in it: their laws differ.
#[tokio::test]
async fn each_text_costs_what_holds_for_its_kinds() {
    let trial = Trial::sqlite();
    let router = on(&trial, "http://127.0.0.1:9/v1", Limits::default()).await;
    let cases = [
        ("the dog", 2, vec![Kind::Word]),
        ("the dog, the dog", 2, vec![Kind::Word]),
        // case is in the key of a word that can be ordinary
        ("The dog, the DOG", 4, vec![Kind::Word]),
        ("12", 1, vec![Kind::Number]),
        ("at 14:30 on 2024-03-15", 4, vec![Kind::Word, Kind::Time, Kind::Date]),
        ("a@b.example", 1, vec![Kind::Email]),
        ("…!", 0, vec![]),
    ];
    for (text, draws, kinds) in cases {
        // a user of its own has paid for nothing yet
        let asked = json!({"text": text, "user": text});
        let answer = send(&router, post("/perturb", &asked)).await;
        let privacy = &answer.json()["privacy"];
        let holds = cape().guarantee_for(&kinds);
        assert_eq!(answer.header("x-cape-draws"), draws.to_string(), "{text}");
        assert_eq!(privacy["epsilon_any"], holds.bound, "{text}");
        assert_eq!(privacy["epsilon_prompt"], draws as f64 * holds.bound, "{text}");
        assert_eq!(answer.header("x-cape-epsilon"), price(draws, &holds).to_string(), "{text}");
    }
}

#[tokio::test]
async fn a_prompt_beyond_the_limit_is_not_sent() {
    let (upstream, trial) = (Recorder::new(reply(&json!({}))), Trial::sqlite());
    let price = price(8, &of_words());
    let total = |total| Limits { total: Some(total), ..Limits::default() };
    let less = on(&trial, &upstream.url, total(price.less(epsilon(1)))).await;
    let refused = send(&less, with_key("k", &chat(PROMPT))).await;
    assert_eq!((refused.status, upstream.count()), (429, 0), "{}", refused.text);
    let enough = on(&trial, &upstream.url, total(price)).await;
    for _ in 0..2 {
        assert_eq!(send(&enough, with_key("k", &chat(PROMPT))).await.status, 200);
    }
    assert_eq!(send(&enough, with_key("k", &chat("the"))).await.status, 429);
    assert_eq!(upstream.count(), 2);
}

#[tokio::test]
async fn it_is_ready_and_spends_nothing_by_that() {
    let trial = Trial::sqlite();
    let router = on(&trial, "http://127.0.0.1:9/v1", Limits::default()).await;
    assert_eq!(send(&router, get("/ready")).await.status, 200);
    let metrics = send(&router, get("/metrics")).await.text;
    assert!(metrics.contains("cape_epsilon_total 0"), "{metrics}");
}
