//! What the page asks, one function a question: JSON in, JSON out.

use cape::sanitizer::written;
use cape::{Release, Secret};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answers::{PlanAnswer, ReleaseAnswer, guarantee};
use super::chosen::Chosen;
use super::exchange::{Last, Owed};
use super::explain::Explanation;
use super::law::LawNumbers;
use super::refused::Refused;
use super::state::Playground;

/// A question of the page.
pub(super) type Question = fn(&Playground, &[u8]) -> Result<Value, Refused>;

/// The questions, by their path under `/playground/api/`.
pub(super) const QUESTIONS: [(&str, Question); 8] = [
    ("start", start),
    ("plan", plan),
    ("explain", explain),
    ("law", law),
    ("paper", paper),
    ("guesses", guesses),
    ("save", save),
    ("ledger", ledger),
];

/// A body as it is asked for. The parser's own message could quote it.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Refused::request(format!("The request cannot be read: line {line}, column {column}."))
    })
}

fn answer(value: impl Serialize) -> Result<Value, Refused> {
    serde_json::to_value(value).map_err(|_| Refused::failed("The answer cannot be written."))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfText {
    text: String,
    settings: Chosen,
}

fn start(playground: &Playground, body: &[u8]) -> Result<Value, Refused> {
    let Nothing {} = read(body)?;
    let options = &playground.options;
    let settings = Chosen::from(playground.mechanisms.base());
    let about = playground.exchange().map(|exchange| (exchange.about)());
    Ok(json!({
        "settings": settings,
        "listed": playground.mechanisms.get(&settings)?.lexicon().len(),
        "version": env!("CARGO_PKG_VERSION"),
        "file": options.file.as_ref().map(|(name, _)| name),
        "paper": options.paper.is_some(),
        "attack": options.attack.is_some(),
        "ledger": options.ledger.is_some(),
        "upstream": about.as_ref().map(|about| &about.upstream),
        "extractor": about.as_ref().is_some_and(|about| about.extractor),
        "session": playground.session().counts(),
    }))
}

/// The levels and the cost of a text. Nothing is drawn.
fn plan(playground: &Playground, body: &[u8]) -> Result<Value, Refused> {
    let OfText { text, settings } = read(body)?;
    let cape = playground.mechanisms.get(&settings)?;
    let plan = cape.plan(&text)?;
    let price = playground.session().price(&cape, &plan);
    answer(PlanAnswer::new(&cape, &text, &plan, price))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Draw {
    text: String,
    settings: Chosen,
    /// Whether a new map is opened.
    fresh: bool,
}

/// The draws that a release would make.
pub(super) fn owed(playground: &Playground, body: &[u8]) -> Result<Owed, Refused> {
    let Draw { text, settings, fresh } = read(body)?;
    let cape = playground.mechanisms.get(&settings)?;
    let plan = cape.plan(&text)?;
    let bound = guarantee(&cape, &plan).bound;
    Ok(playground.session().owed(&cape, &plan, bound, fresh))
}

/// The one question that draws from the user's map.
pub(super) fn release(playground: &Playground, body: &[u8]) -> Result<Value, Refused> {
    let Draw { text, settings, fresh } = read(body)?;
    let cape = playground.mechanisms.get(&settings)?;
    let plan = cape.plan(&text)?;
    let bound = guarantee(&cape, &plan).bound;
    let mut session = playground.session();
    if fresh {
        session.another_map()?;
    }
    let drawn = session.draw(&cape, &plan, bound);
    let release = written(&cape, &text, &plan, &drawn, false);
    let planned = PlanAnswer::new(&cape, &text, &plan, session.price(&cape, &plan));
    let answered = answer(ReleaseAnswer::new(planned, &release, session.counts()));
    session.keep(Last { text, release, cape });
    answered
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfWord {
    text: String,
    settings: Chosen,
    word: usize,
    released: Option<String>,
}

fn explain(playground: &Playground, body: &[u8]) -> Result<Value, Refused> {
    let OfWord { text, settings, word, released } = read(body)?;
    let cape = playground.mechanisms.get(&settings)?;
    let plan = cape.plan(&text)?;
    answer(Explanation::new(&cape, &plan, &text, word, released.as_deref())?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfSettings {
    settings: Chosen,
}

fn law(playground: &Playground, body: &[u8]) -> Result<Value, Refused> {
    let OfSettings { settings } = read(body)?;
    answer(LawNumbers::new(&*playground.mechanisms.get(&settings)?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextAlone {
    text: String,
}

/// A draw by the paper's mechanism, to look at.
fn paper(playground: &Playground, body: &[u8]) -> Result<Value, Refused> {
    let TextAlone { text } = read(body)?;
    let release = playground.paper()?.release(&text, &Secret::fresh()?)?;
    let guarantee = release.privacy.holds();
    Ok(json!({
        "text": release.text,
        "epsilon": guarantee.nominal.get(),
        "bound": guarantee.bound,
        "notion": guarantee.notion.to_string(),
        "evidence": guarantee.evidence.to_string(),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attacked {
    text: String,
    settings: Chosen,
    released: Vec<String>,
}

/// What an attacker guesses who sees this release. Nothing is drawn.
fn guesses(playground: &Playground, body: &[u8]) -> Result<Value, Refused> {
    let Attacked { text, settings, released } = read(body)?;
    let attack = playground.options.attack.as_ref();
    let attack = attack.ok_or_else(|| Refused::request("There is no device model here."))?;
    let cape = playground.mechanisms.get(&settings)?;
    let release = said(&cape, &text, released)?;
    let guesses = attack(&cape, &text, &release).map_err(Refused::failed)?;
    let guesses = guesses.into_iter().map(|guess| {
        json!({"word": guess.word, "guess": guess.guess, "right": guess.right, "exact": guess.exact})
    });
    Ok(json!({"guesses": guesses.collect::<Vec<_>>()}))
}

/// A release in the words that the page says it had.
fn said(cape: &cape::Cape, text: &str, released: Vec<String>) -> Result<Release, Refused> {
    let plan = cape.plan(text)?;
    if plan.places.len() != released.len() {
        return Err(Refused::request("The release does not belong to this text."));
    }
    let mut words = Vec::with_capacity(released.len());
    let (mut out, mut at) = (String::new(), 0);
    for (place, released) in plan.places.iter().zip(released) {
        let cape::units::Unit { start, end, kind, .. } = place.unit;
        out.push_str(&text[at..start]);
        out.push_str(&released);
        at = end;
        let (level, why) = (place.level, place.why);
        words.push(cape::ReleasedWord { start, end, released, level, kind, why });
    }
    out.push_str(&text[at..]);
    let count = |level| words.iter().filter(|word| word.level == level).count();
    let privacy = cape::Privacy {
        guarantee: guarantee(cape, &plan),
        seeded: false,
        words: words.len() - count(cape::Level::Kept),
        draws: plan.keys.len(),
        protected: count(cape::Level::Protected),
        uncovered: 0,
    };
    Ok(Release { text: out, words, privacy })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Send {
    model: String,
    key: String,
    /// The release that the page shows.
    release: String,
}

/// Sends the last release to the service, if it is the one that the page shows: another page may have drawn
/// since.
pub(super) async fn send(playground: &Playground, body: &[u8]) -> Result<Value, Refused> {
    let Send { model, key, release } = read(body)?;
    let exchange = playground.exchange();
    let exchange = exchange.ok_or_else(|| Refused::request("There is no service to send to."))?;
    let last = playground.session().last();
    let last = last.filter(|last| last.release.text == release);
    let other = "This is not the last release: another was drawn since. Release the prompt again.";
    let last = last.ok_or_else(|| Refused::request(other))?;
    exchange.send(&last, &model, &key).await
}

/// Saves the settings, because the user asked for it.
fn save(playground: &Playground, body: &[u8]) -> Result<Value, Refused> {
    let OfSettings { settings } = read(body)?;
    let file = playground.options.file.as_ref();
    let (name, save) = file.ok_or_else(|| Refused::request("There is no file to save to."))?;
    // what cannot be used is not saved
    let cape = playground.mechanisms.get(&settings)?;
    save(cape.settings()).map_err(Refused::failed)?;
    Ok(json!({"file": name}))
}

/// What was spent through the proxy: counts, and no word.
fn ledger(playground: &Playground, body: &[u8]) -> Result<Value, Refused> {
    let Nothing {} = read(body)?;
    let ledger = playground.options.ledger.as_ref();
    let ledger = ledger.ok_or_else(|| Refused::request("There is no ledger here."))?;
    ledger().map_err(Refused::failed)
}
