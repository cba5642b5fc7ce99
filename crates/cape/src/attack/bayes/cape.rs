//! The adversary who knows Cape to the last bit: the most probable word given what was released.
//!
//! The posterior of t at a place is `prior(t) · P(y | t)`. The prior is given: what a model expects there, given
//! all that was released around it. P(y | t) is the probability with which t is *written* y, from the integers
//! of the draw: where several listed words are written alike, that of all of them.
//!
//! The attacker chooses among words that the prior knows and that are protected at the place; a true word that is none of
//! them is never guessed. Give it all [known words](crate::lexicon::Lexicon::words), and not the listed ones alone, for the stronger
//! attack. No attack with the same prior finds the word more often.

use std::collections::HashMap;

use crate::kinds::Kind;
use crate::law::Law;
use crate::levels::Key;
use crate::lexicon::Listed;
use crate::mechanism::cape::Cape;
use crate::recent::Recent;
use crate::text::Level;
use crate::writing::{capitalised, is_article};

/// The words that can stand at a place, and how they can be read.
pub struct Suspects {
    keys: Vec<Key>,
    /// The key of each word that was given; none where it is not protected.
    of: Vec<Option<u32>>,
    /// The listed words that are written so there.
    readings: HashMap<String, Vec<Listed>>,
    /// The key whose own word is a listed one.
    own: HashMap<Listed, u32>,
}

/// The attack on one mechanism.
pub struct CapeBayes {
    rows: Recent<Key, Ranks>,
    /// How many ranks have more than the least weight before the rest.
    reach: usize,
    most: usize,
}

/// A guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapeGuess {
    /// The number of the most probable key, among those of the suspects.
    pub key: usize,
    /// Whether every word that could be more probable was looked at.
    pub exact: bool,
}

/// The ranks that a key gives to listed words, as far as they matter.
enum Ranks {
    /// Those with more than the least weight before the rest, in order of the words; all others that are ranked have the same.
    Near(Box<[(Listed, u32)]>),
    /// All of them.
    All(Box<[u16]>),
}

/// How many bytes the rows that are kept may have together: 512 MB.
const RECENT: usize = 1 << 29;
/// How many rows are kept at most.
const MOST_RECENT: usize = 1 << 17;

impl Suspects {
    /// Suspects these words, in a first place or in another, and where words of prose have a capital or not.
    pub fn new<'a>(
        cape: &Cape,
        words: impl IntoIterator<Item = &'a str>,
        first: bool,
        capital: bool,
    ) -> Self {
        let capital = capital && !cape.settings().cut.is_data();
        let written = |word: &str| if capital { capitalised(word) } else { word.to_owned() };
        let (mut keys, mut numbers) = (Vec::new(), HashMap::new());
        let mut number = |word: &str| {
            let (key, _) = cape.key(Kind::Word, &written(word), first);
            let known = |key: &Key| {
                keys.push(key.clone());
                keys.len() as u32 - 1
            };
            (key.level == Level::Protected).then(|| *numbers.entry(key).or_insert_with_key(known))
        };
        let of = words.into_iter().map(&mut number).collect();
        let mut readings: HashMap<String, Vec<Listed>> = HashMap::new();
        for listed in (0..cape.lexicon().len() as u32).map(Listed) {
            let reading = reading(&written(cape.lexicon().word(listed)));
            readings.entry(reading).or_default().push(listed);
        }
        let owned = (0..).zip(&keys).filter_map(|(number, key)| Some((cape.own(key)?, number)));
        // of several keys with one own word, the first
        let own = owned.collect::<Vec<_>>().into_iter().rev().collect();
        Self { keys, of, readings, own }
    }

    /// The keys that can be guessed: one for all words that are drawn alike.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }
}

/// A word as it can be read: which article is written depends on the word that follows.
fn reading(word: &str) -> String {
    if is_article(word) { word[..1].to_owned() } else { word.to_owned() }
}

impl CapeBayes {
    /// The attack on this mechanism; at most `most` keys are looked at for a place, by falling prior.
    #[must_use]
    pub fn new(cape: &Cape, most: usize) -> Self {
        let (reach, n) = (reach(cape), cape.lexicon().len());
        let bytes = (8 * reach).min(2 * n).max(1);
        Self { rows: Recent::new((RECENT / bytes).min(MOST_RECENT)), reach, most }
    }

    /// Whether what is known of one mechanism's ranks serves for another, which differs from it in its law
    /// alone.
    #[must_use]
    pub fn serves(&self, cape: &Cape) -> bool {
        reach(cape) <= self.reach
    }

    /// The key of the largest posterior; none where `released` cannot be read as a listed word, or all
    /// priors are zero. The prior is the logarithm of a probability, up to a constant, of each word that
    /// the suspects were made from.
    ///
    /// # Panics
    /// If there is not one prior per word.
    #[must_use]
    pub fn guess(
        &self,
        cape: &Cape,
        suspects: &Suspects,
        released: &str,
        prior: &[f32],
    ) -> Option<CapeGuess> {
        assert_eq!(prior.len(), suspects.of.len(), "one prior per word");
        let read = suspects.readings.get(&reading(released))?;
        let law = cape.law(Level::Protected);
        let weights = suspects.weights(prior);
        let mut order: Vec<u32> = (0..weights.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| weights[b as usize].total_cmp(&weights[a as usize]));
        let first = suspects.own.get(&read[0]).copied().into_iter();
        let highest = law.first(read.len());
        let (mut best, mut guess) = (0.0, None);
        for (count, t) in first.chain(order).enumerate() {
            let (t, weight) = (t as usize, weights[t as usize]);
            // nothing that follows can be more probable; the first one stands out of order
            if count > 0 && weight * highest <= best {
                return guess;
            }
            if count > self.most {
                return guess.map(|guess| CapeGuess { exact: false, ..guess });
            }
            let key = &suspects.keys[t];
            let row = self.rows.get_or(key.clone(), || self.row(cape, key).into());
            let posterior = weight * read.iter().map(|&y| row.probability(law, y)).sum::<f64>();
            if posterior > best {
                (best, guess) = (posterior, Some(CapeGuess { key: t, exact: true }));
            }
        }
        guess
    }

    fn row(&self, cape: &Cape, key: &Key) -> Ranks {
        let order = cape.order(key);
        if 4 * self.reach < order.len() || order.len() > usize::from(u16::MAX) {
            let near = order[..self.reach].iter().zip(1..).map(|(&word, rank)| (word, rank));
            let mut near: Box<[(Listed, u32)]> = near.collect();
            near.sort_unstable();
            Ranks::Near(near)
        } else {
            let mut ranks = vec![0; order.len()];
            for (word, rank) in order.iter().zip(1..) {
                ranks[word.index()] = rank;
            }
            Ranks::All(ranks.into())
        }
    }
}

impl Suspects {
    /// The prior of each key, up to a factor.
    fn weights(&self, prior: &[f32]) -> Vec<f64> {
        let of = || self.of.iter().zip(prior).filter_map(|(key, &prior)| Some(((*key)?, prior)));
        let top = of().map(|(_, prior)| prior).fold(f32::NEG_INFINITY, f32::max);
        let mut weights = vec![0.0; self.keys.len()];
        for (key, prior) in of().filter(|(_, prior)| *prior > f32::NEG_INFINITY) {
            weights[key as usize] += f64::from(prior - top).exp();
        }
        weights
    }
}

/// How many ranks have more than the least weight before the rest.
fn reach(cape: &Cape) -> usize {
    let law = cape.law(Level::Protected);
    let (mut reach, mut end) = (0, law.ranked());
    while reach < end {
        let middle = usize::midpoint(reach, end);
        if law.weight(middle + 1) > law.weight(law.ranked()) {
            reach = middle + 1;
        } else {
            end = middle;
        }
    }
    reach
}

impl Ranks {
    fn probability(&self, law: &Law, y: Listed) -> f64 {
        let rank = match self {
            // the rest stands behind the words that are ranked, and at the same ranks for every key
            _ if y.index() >= law.ranked() => law.len(),
            Self::All(ranks) => usize::from(ranks[y.index()]),
            Self::Near(near) => match near.binary_search_by_key(&y, |&(word, _)| word) {
                Ok(at) => near[at].1 as usize,
                Err(_) => law.ranked(),
            },
        };
        law.probability(rank)
    }
}
