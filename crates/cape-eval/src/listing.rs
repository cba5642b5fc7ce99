//! The knowledge of attackers on Cape: its list, and what a masked model expects of each word.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cape::attack::Nearest;
use cape::attack::bayes::{CapeBayes, Suspects};
use cape::levels::Key;
use cape::lexicon::fold;
use cape::tokens::{KeepList, Piece};
use cape::{Cape, Lexicon};
use cape_models::Device;

use crate::draft::Word;

/// How many words the Bayes attack looks at for a position.
const MOST: usize = 2000;

/// The lexicon and what is made of it, whatever ε is.
pub(crate) struct Listing {
    pub(crate) lexicon: Arc<Lexicon>,
    /// The nearest words of each.
    pub(crate) nearest: Nearest,
    /// The beginning of each known word, as an attacker expects words to begin.
    beginnings: OnceLock<Vec<Option<Beginning>>>,
    /// The last Bayes attack. Most of its work serves for other laws.
    guessing: Mutex<Option<Arc<Guessing>>>,
}

/// The first piece of a known word.
struct Beginning {
    /// Its place among the entries that an attacker has logits for.
    entry: usize,
    /// The logarithm of how many known words begin with this piece: nothing says which of them it is.
    others: f32,
}

impl Listing {
    pub(crate) fn new(lexicon: Arc<Lexicon>) -> Self {
        let nearest = Nearest::new(Arc::clone(&lexicon));
        Self { lexicon, nearest, beginnings: OnceLock::new(), guessing: Mutex::new(None) }
    }

    /// The Bayes attack on a mechanism; all that share this differ in their laws alone.
    pub(crate) fn guessing(&self, cape: &Cape) -> Arc<Guessing> {
        let mut last = self.guessing.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.take().filter(|guessing| guessing.bayes.serves(cape));
        Arc::clone(last.insert(known.unwrap_or_else(|| Arc::new(Guessing::new(cape)))))
    }

    /// The expectation of an attacker at a place, for each known word, from its logits of all entries that begin a
    /// word. What it expects of a piece is shared by the words that begin with it; a word whose first piece
    /// it has no entry for is as improbable as the last of those that it has.
    pub(crate) fn prior(&self, attacker: &Device, row: &[f32]) -> Vec<f32> {
        let beginnings = self.beginnings.get_or_init(|| self.beginnings(attacker));
        let least = row.iter().copied().fold(f32::INFINITY, f32::min);
        beginnings
            .iter()
            .map(|one| one.as_ref().map_or(least, |one| row[one.entry] - one.others))
            .collect()
    }

    fn beginnings(&self, attacker: &Device) -> Vec<Option<Beginning>> {
        let entries = attacker.model.vocab().of_kind(Piece::Start);
        let entry = |word: &str| {
            let pieces = attacker.tokenizer.tokenize(&fold(word), &KeepList::none()).ok()?;
            entries.binary_search(&pieces.as_slice().first()?.id).ok()
        };
        let found: Vec<Option<usize>> = self.lexicon.words().map(entry).collect();
        let mut words = vec![0_u32; entries.len()];
        // The and the are one word to the attacker, and are counted twice: a little too many
        for &entry in found.iter().flatten() {
            words[entry] += 1;
        }
        found
            .into_iter()
            .map(|entry| entry.map(|entry| Beginning { entry, others: (words[entry] as f32).ln() }))
            .collect()
    }
}

/// The Bayes attack.
pub struct Guessing {
    bayes: CapeBayes,
    /// The words that can stand in a place that is not first, in one that is, and in one where words have a capital.
    suspects: [OnceLock<Suspects>; 3],
}

impl Guessing {
    pub(crate) fn new(cape: &Cape) -> Self {
        Self { bayes: CapeBayes::new(cape, MOST), suspects: [const { OnceLock::new() }; 3] }
    }

    /// Whether the attack finds the word that was released so. A word that is not protected is read.
    pub(crate) fn finds(
        &self,
        cape: &Cape,
        listing: &Listing,
        word: &Word,
        released: &str,
        prior: &[f32],
    ) -> bool {
        let guess = self.guess(cape, listing, (word.first, word.capital), released, prior);
        guess.is_some_and(|(key, _)| word.key.as_ref() == Some(key))
    }

    /// The key that the attack guesses, and whether every one that could be more probable was looked at. The
    /// place is first or not, and words have a capital there or not.
    pub(crate) fn guess(
        &self,
        cape: &Cape,
        listing: &Listing,
        (first, capital): (bool, bool),
        released: &str,
        prior: &[f32],
    ) -> Option<(&Key, bool)> {
        let suspects = self.suspects[usize::from(first) + usize::from(capital)]
            .get_or_init(|| Suspects::new(cape, listing.lexicon.words(), first, capital));
        let guess = self.bayes.guess(cape, suspects, released, prior)?;
        Some((&suspects.keys()[guess.key], guess.exact))
    }
}
