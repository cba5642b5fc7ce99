//! One word of a prompt: its exact law, and what else could stand behind the same release.

use cape::levels::Key;
use cape::lexicon::Listed;
use cape::mechanism::cape::{Place, Plan};
use cape::{Cape, Kind, Level, kinds};
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
        let Some(law) = cape.law_of(key) else { return Ok(explained) };
        let (epsilon, k, ranks) = (law.epsilon(), law.shape().k, law.len());
        explained.law = Some(LawOfWord { epsilon, k, ranks, near: law.first(k) });
        let order = Order::new(cape, key);
        let drawn = released.and_then(|released| order.find(cape, released));
        let beyond = drawn.filter(|&rank| rank > SHOWN);
        let candidate = |rank: usize| Candidate {
            rank,
            released: order.text(cape, rank),
            similarity: order.similarity(rank),
            probability: law.probability(rank),
        };
        explained.candidates = (1..=SHOWN.min(ranks)).chain(beyond).map(candidate).collect();
        explained.listed = key.kind != Kind::Word || cape.own(key).is_some();
        if place.level == Level::Protected {
            explained.others = drawn.map(|rank| order.others(cape, place, rank));
        }
        Ok(explained)
    }
}

/// What a key can become, from the first rank to the last.
enum Order<'a> {
    Words { order: Vec<Listed>, similarities: Vec<f32> },
    Values { key: &'a Key, own: usize },
}

impl<'a> Order<'a> {
    fn new(cape: &Cape, key: &'a Key) -> Self {
        if key.kind == Kind::Word {
            let similarities = cape.lexicon().similarities(&key.form);
            Self::Words { order: cape.order(key), similarities }
        } else {
            Self::Values { key, own: key.form.parse().unwrap_or(0) }
        }
    }

    fn text(&self, cape: &Cape, rank: usize) -> String {
        match self {
            Self::Words { order, .. } => cape.lexicon().word(order[rank - 1]).to_owned(),
            Self::Values { key, own } => {
                kinds::grid_text(key.kind, kinds::grid_nth(key.kind, *own, rank))
            }
        }
    }

    fn similarity(&self, rank: usize) -> Option<f32> {
        match self {
            Self::Words { order, similarities, .. } => Some(similarities[order[rank - 1].index()]),
            Self::Values { .. } => None,
        }
    }

    /// The rank of what was released. The place may have given it a capital.
    fn find(&self, cape: &Cape, released: &str) -> Option<usize> {
        match self {
            Self::Words { order, .. } => {
                let rank = |of: &dyn Fn(&str) -> bool| {
                    order.iter().position(|&word| of(cape.lexicon().word(word))).map(|at| at + 1)
                };
                let lower = released.to_lowercase();
                rank(&|word| word == released)
                    .or_else(|| rank(&|word| word.to_lowercase() == lower))
            }
            Self::Values { key, .. } => {
                let n = kinds::grid_len(key.kind);
                (1..=n).find(|&rank| self.text(cape, rank) == released)
            }
        }
    }

    /// The true word, and those near what was released, each with the probability of that release.
    fn others(&self, cape: &Cape, place: &Place, rank: usize) -> Others {
        let released = self.text(cape, rank);
        let mut words: Vec<Other> = match self {
            Self::Words { order, .. } => {
                let drawn = order[rank - 1].index();
                let (near, _) = cape.key(Kind::Word, &released, place.unit.first);
                let of = |word: &str| {
                    let (key, _) = cape.key(Kind::Word, word, place.unit.first);
                    let protected = key.level == Level::Protected;
                    probability(cape, &key, drawn).filter(|_| protected)
                };
                let near = cape.order(&near).into_iter().take(OTHERS);
                let words = near.map(|word| cape.lexicon().word(word).to_owned());
                words.filter_map(|word| Some(Other { probability: of(&word)?, word })).collect()
            }
            Self::Values { key, .. } => {
                let drawn = self.value(rank);
                let value = |r| kinds::grid_nth(key.kind, drawn, r);
                let near = (1..=OTHERS.min(kinds::grid_len(key.kind))).map(value);
                near.filter_map(|value| {
                    let own = Key { form: value.to_string(), ..(*key).clone() };
                    let word = kinds::grid_text(key.kind, value);
                    Some(Other { word, probability: probability(cape, &own, drawn)? })
                })
                .collect()
            }
        };
        words.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        Others { released, words }
    }

    /// The value at a rank, on the grid.
    fn value(&self, rank: usize) -> usize {
        match self {
            Self::Words { .. } => 0,
            Self::Values { key, own } => kinds::grid_nth(key.kind, *own, rank),
        }
    }
}

/// The exact probability with which a key becomes the word or the value at an index.
fn probability(cape: &Cape, key: &Key, index: usize) -> Option<f64> {
    let share = cape.row(key)?[index];
    Some(share.weight as f64 / share.total as f64)
}
