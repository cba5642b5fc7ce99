//! Maps: what makes two draws the same, and the secret that a draw comes from.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use crate::account::Account;
use crate::conversation::Place;
use crate::error::Result;
use crate::key::{Key, hex};

/// Whose words a map is for. A service that could have a text of its own drawn with the user's map would
/// read the map off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whose {
    /// The user's own words.
    User,
    /// Text that the service may know or have written.
    Known,
}

impl Whose {
    fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::User => b"user",
            Self::Known => b"known",
        }
    }
}

/// How long a map lasts: within it, a word is drawn and paid for once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lasts {
    /// As long as the account.
    Account,
    /// As long as the conversation that begins with the message at this place.
    Conversation(Place),
    /// For one request.
    Request,
}

/// A map of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Map {
    /// Whose words it is for.
    pub whose: Whose,
    /// How long it lasts.
    pub lasts: Lasts,
}

/// A draw that is asked for.
pub struct Draw {
    /// The map.
    pub map: Map,
    /// All that is drawn from, beside the map's secret: the same bytes are the same draw.
    pub from: Vec<u8>,
    /// The word by which it can be forgotten.
    pub word: Vec<u8>,
}

impl std::fmt::Debug for Draw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Draw").field("map", &self.map).finish_non_exhaustive()
    }
}

/// How often each thing was forgotten, by its name; nothing stands for never.
pub(crate) type Generations = HashMap<String, i64>;

/// The name by which a word of an account is forgotten.
pub(crate) fn word_name(key: &Key, account: &Account, word: &[u8]) -> String {
    hex(&key.hash("word", &[account.name().as_bytes(), word]))
}

/// Draws with the maps that they fall into, as the generations have it.
pub(crate) struct Sorted {
    /// The secret of each draw, in order.
    pub(crate) secrets: Vec<[u8; 32]>,
    /// A keyed hash for each draw from a map that lasts.
    pub(crate) draws: HashSet<[u8; 32]>,
    /// A keyed hash for each map that lasts.
    pub(crate) maps: HashSet<[u8; 32]>,
    /// The number of draws, and of maps, that are for this request alone.
    pub(crate) passing: (u64, u64),
}

impl Sorted {
    pub(crate) fn new(
        key: &Key,
        account: &Account,
        draws: &[Draw],
        generations: &Generations,
    ) -> Result<Self> {
        let mut known: HashMap<(Map, Option<&[u8]>), Opened> = HashMap::new();
        let mut passing = HashSet::new();
        let mut sorted = Self {
            secrets: Vec::with_capacity(draws.len()),
            draws: HashSet::new(),
            maps: HashSet::new(),
            passing: (0, 0),
        };
        for draw in draws {
            let is_passing = draw.map.lasts == Lasts::Request;
            let word = word_name(key, account, &draw.word);
            // a word that was forgotten has a map of its own from then on
            let forgotten = generations.contains_key(&word) && !is_passing;
            let own = forgotten.then_some(draw.word.as_slice());
            let opened = match known.entry((draw.map, own)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    let word = forgotten.then_some(word.as_str());
                    let opened =
                        *new.insert(Opened::new(key, account, draw.map, word, generations)?);
                    if is_passing {
                        sorted.passing.1 += 1;
                    } else {
                        sorted.maps.insert(key.hash("opened", &[&opened.map]));
                    }
                    opened
                }
            };
            let name = key.hash("draw", &[&opened.map, &draw.from]);
            let draws = if is_passing { &mut passing } else { &mut sorted.draws };
            draws.insert(name);
            sorted.secrets.push(opened.secret);
        }
        sorted.passing.0 = passing.len() as u64;
        Ok(sorted)
    }
}

/// A map of one generation.
#[derive(Clone, Copy)]
struct Opened {
    map: [u8; 32],
    secret: [u8; 32],
}

impl Opened {
    /// The map as it is, or that of one word in it which was forgotten.
    fn new(
        key: &Key,
        account: &Account,
        map: Map,
        word: Option<&str>,
        generations: &Generations,
    ) -> Result<Self> {
        let of = |name: &str| generations.get(name).copied().unwrap_or(0).to_le_bytes();
        let conversation = match map.lasts {
            Lasts::Request => {
                let map = key.fresh()?;
                return Ok(Self { map, secret: key.secret(&map) });
            }
            Lasts::Conversation(place) => place.name(),
            Lasts::Account => String::new(),
        };
        let word = word.unwrap_or_default();
        let parts: [&[u8]; 7] = [
            account.name().as_bytes(),
            map.whose.as_bytes(),
            &of(account.name()),
            conversation.as_bytes(),
            &of(&conversation),
            word.as_bytes(),
            &of(word),
        ];
        let map = key.hash("map", &parts);
        Ok(Self { map, secret: key.secret(&map) })
    }
}
