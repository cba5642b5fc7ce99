//! What attackers know of Cape on words: its list, and what a masked model expects of each word.

use std::sync::{Arc, OnceLock};

use cape::attack::nearest::Nearest;
use cape::attack::suspects::{Bayes, Suspects};
use cape::lexicon::{Lexicon, fold};
use cape::mechanism::cape::Cape;
use cape::text::Piece;
use cape_models::Device;

use crate::draft::Word;

/// How many words the Bayes attack looks at for a position.
const MOST: usize = 2000;

/// The lexicon and what is made of it, whatever ε is.
pub(crate) struct Listing {
    pub(crate) lexicon: Arc<Lexicon>,
    /// The nearest words of each.
    pub(crate) nearest: Nearest,
    /// Where each known word stands among the entries that an attacker has logits for.
    entries: OnceLock<Vec<Option<usize>>>,
}

impl Listing {
    pub(crate) fn new(lexicon: Arc<Lexicon>) -> Self {
        let nearest = Nearest::new(Arc::clone(&lexicon));
        Self { lexicon, nearest, entries: OnceLock::new() }
    }

    /// What an attacker expects at a place, for each known word, from its logits of all entries that begin a
    /// word. Words that it has no entry for are as improbable as the last of those that it has.
    pub(crate) fn prior(&self, attacker: &Device, row: &[f32]) -> Vec<f32> {
        let entries = self.entries.get_or_init(|| {
            let vocab = attacker.model.vocab();
            let entries = vocab.of_kind(Piece::Start);
            let entry = |word: &str| {
                entries.binary_search(&vocab.piece_id(&fold(word), Piece::Start)?).ok()
            };
            self.lexicon.words().map(entry).collect()
        });
        let least = row.iter().copied().fold(f32::INFINITY, f32::min);
        entries.iter().map(|entry| entry.map_or(least, |at| row[at])).collect()
    }
}

/// The Bayes attack at one ε.
pub struct Guessing {
    bayes: Bayes,
    /// What can stand in a place that is not first, and in one that is.
    suspects: [OnceLock<Suspects>; 2],
}

impl Guessing {
    pub(crate) fn new(cape: &Cape) -> Self {
        Self { bayes: Bayes::new(cape, MOST), suspects: [OnceLock::new(), OnceLock::new()] }
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
        let suspects = self.suspects[usize::from(word.first)]
            .get_or_init(|| Suspects::new(cape, listing.lexicon.words(), word.first));
        let guess = self.bayes.guess(cape, suspects, released, prior);
        guess.is_some_and(|guess| word.key.as_ref() == Some(&suspects.keys()[guess.key]))
    }
}
