//! One word of a prompt: its exact law, and what else could stand behind the same release.

use cape::levels::Key;
use cape::mechanism::cape::{Place, Plan};
use cape::{Candidates, Cape, Kind, Level, kinds};
use serde::Serialize;

use super::refused::Refused;

/// How many candidates are shown.
const SHOWN: usize = 30;
/// How many words near the released one are looked at.
const OTHERS: usize = 30;

#[derive(Serialize)]
pub(super) struct Explanation<'a> {
    original: &'a str,
    level: &'static str,
    kind: &'static str,
    why: &'static str,
    law: Option<LawOfWord>,
    /// Whether the word itself can be drawn.
    listed: bool,
    candidates: Vec<Candidate>,
    others: Option<Others>,
}

#[derive(Serialize)]
struct LawOfWord {
    epsilon: f64,
    k: usize,
    ranks: usize,
    near: f64,
}

#[derive(Serialize)]
struct Candidate {
    rank: usize,
    released: String,
    similarity: Option<f32>,
    probability: f64,
}

/// Words in whose place the same could have been released.
#[derive(Serialize)]
struct Others {
    released: String,
    words: Vec<Other>,
}

#[derive(Serialize)]
struct Other {
    word: String,
    probability: f64,
}

impl<'a> Explanation<'a> {
    pub(super) fn new(
        cape: &Cape,
        plan: &Plan,
        text: &'a str,
        number: usize,
        released: Option<&str>,
    ) -> Result<Self, Refused> {
        let none = || Refused::request("The prompt has no such word.");
        let place = plan.places.get(number).ok_or_else(none)?;
        let mut explained = Self {
            original: place.unit.of(text),
            level: place.level.as_str(),
            kind: place.unit.kind.as_str(),
            why: place.why.as_str(),
            law: None,
            listed: true,
            candidates: Vec::new(),
            others: None,
        };
        let Some(key) = place.key.map(|key| &plan.keys[key]) else { return Ok(explained) };
        let Some(all) = Candidates::new(cape, key) else { return Ok(explained) };
        let law = all.law();
        let (epsilon, k, ranks) = (law.epsilon(), law.shape().k, law.ranked());
        explained.law = Some(LawOfWord { epsilon, k, ranks, near: law.first(k) });
        let drawn = released.and_then(|released| all.find(released));
        let beyond = drawn.filter(|&rank| rank > SHOWN);
        let candidate = |rank: usize| {
            let cape::Candidate { rank, released, similarity, probability, .. } = all.nth(rank);
            Candidate { rank, released, similarity, probability }
        };
        explained.candidates = (1..=SHOWN.min(ranks)).chain(beyond).map(candidate).collect();
        explained.listed = all.own_rank().is_some();
        if place.level == Level::Protected {
            explained.others = drawn.map(|rank| others(cape, place, key, &all, rank));
        }
        Ok(explained)
    }
}

/// The true word, and those near what was released, each with the probability of that release.
fn others(cape: &Cape, place: &Place, key: &Key, all: &Candidates<'_>, rank: usize) -> Others {
    let (released, drawn) = (all.text(rank), all.index(rank));
    let mut words: Vec<Other> = if key.kind == Kind::Word {
        let (near, _) = cape.key(Kind::Word, &released, place.unit.first);
        let of = |word: &str| {
            let (key, _) = cape.key(Kind::Word, word, place.unit.first);
            let protected = key.level == Level::Protected;
            probability(cape, &key, drawn).filter(|_| protected)
        };
        let near = cape.order(&near).into_iter().take(OTHERS);
        let words = near.map(|word| cape.lexicon().word(word).to_owned());
        words.filter_map(|word| Some(Other { probability: of(&word)?, word })).collect()
    } else {
        let value = |r| kinds::grid_nth(key.kind, drawn, r);
        let near = (1..=OTHERS.min(kinds::grid_len(key.kind))).map(value);
        let other = |value: usize| {
            let own = Key { form: value.to_string(), ..key.clone() };
            let word = kinds::grid_text(key.kind, value);
            Some(Other { word, probability: probability(cape, &own, drawn)? })
        };
        near.filter_map(other).collect()
    };
    words.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    Others { released, words }
}

/// The exact probability with which a key becomes the word or the value at an index.
fn probability(cape: &Cape, key: &Key, index: usize) -> Option<f64> {
    let share = cape.row(key)?[index];
    Some(share.weight as f64 / share.total as f64)
}
