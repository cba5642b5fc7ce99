//! Plans and releases as the page reads them.

use cape::mechanism::cape::Plan;
use cape::{Cape, Guarantee, Kind, Level, Release};
use serde::Serialize;

use super::session::{Counts, Price};

/// A word of a prompt. Places are in UTF-16 units, as the page counts.
#[derive(Serialize)]
pub(super) struct WordAnswer {
    start: usize,
    end: usize,
    level: &'static str,
    kind: &'static str,
    why: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    released: Option<String>,
}

/// The statement on a plan or a release. The number of protected words is for the user alone.
#[derive(Serialize)]
pub(super) struct PrivacyAnswer {
    words: usize,
    draws: usize,
    protected: usize,
    epsilon_protected: f64,
    epsilon_any: f64,
    epsilon_prompt: f64,
    most_kept: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_kept_value: Option<f64>,
    most_guessed: f64,
}

/// A text before any draw.
#[derive(Serialize)]
pub(super) struct PlanAnswer {
    words: Vec<WordAnswer>,
    privacy: PrivacyAnswer,
    #[serde(flatten)]
    price: Price,
}

/// A text after it.
#[derive(Serialize)]
pub(super) struct ReleaseAnswer {
    #[serde(flatten)]
    plan: PlanAnswer,
    text: String,
    session: Counts,
}

/// The guarantee for the kinds that a plan has.
pub(super) fn guarantee(cape: &Cape, plan: &Plan) -> Guarantee {
    let mut kinds: Vec<Kind> = plan.keys.iter().map(|key| key.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    cape.guarantee_for(&kinds)
}

impl PlanAnswer {
    pub(super) fn new(cape: &Cape, text: &str, plan: &Plan, price: Price) -> Self {
        let mut utf16 = Utf16 { text, bytes: 0, units: 0 };
        let words = plan.places.iter().map(|place| WordAnswer {
            start: utf16.at(place.unit.start),
            end: utf16.at(place.unit.end),
            level: place.level.as_str(),
            kind: place.unit.kind.as_str(),
            why: place.why.as_str(),
            released: None,
        });
        let words = words.collect();
        let guarantee = guarantee(cape, plan);
        let count =
            |of: &dyn Fn(Level) -> bool| plan.places.iter().filter(|place| of(place.level)).count();
        let draws = plan.keys.len();
        let privacy = PrivacyAnswer {
            words: count(&|level| level != Level::Kept),
            draws,
            protected: count(&|level| level == Level::Protected),
            epsilon_protected: guarantee.protected,
            epsilon_any: guarantee.bound,
            epsilon_prompt: guarantee.prompt(draws),
            most_kept: guarantee.most_kept,
            most_kept_value: guarantee.most_kept_value,
            most_guessed: guarantee.most_guessed,
        };
        Self { words, privacy, price }
    }
}

impl ReleaseAnswer {
    pub(super) fn new(mut plan: PlanAnswer, release: &Release, session: Counts) -> Self {
        for (word, released) in plan.words.iter_mut().zip(&release.words) {
            word.released = Some(released.released.clone());
        }
        Self { plan, text: release.text.clone(), session }
    }
}

/// Counts UTF-16 units up to places that come in order.
struct Utf16<'a> {
    text: &'a str,
    bytes: usize,
    units: usize,
}

impl Utf16<'_> {
    fn at(&mut self, byte: usize) -> usize {
        self.units += self.text[self.bytes..byte].encode_utf16().count();
        self.bytes = byte;
        self.units
    }
}
