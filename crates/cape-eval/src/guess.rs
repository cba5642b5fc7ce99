//! The Bayes attack on one release: which word does an attacker guess at each place?

use std::sync::{Arc, Mutex, PoisonError};

use cape::attack::mask::{MaskedUnit, scores};
use cape::tokens::{KeepList, Piece};
use cape::{Cape, Kind, Level, Lexicon, Release, Settings};
use cape_models::Device;
use rayon::prelude::*;

use crate::Result;
use crate::listing::{Guessing, Listing};

/// An attacker who knows Cape to the last bit, and expects what a masked model expects.
pub struct Attacker {
    device: Device,
    listing: Listing,
    /// The attack on the mechanism that was attacked last, by its settings.
    last: Mutex<Option<(Settings, Arc<Guessing>)>>,
}

/// A guess of a protected word.
pub struct WordGuess {
    /// The number of the word in the release, counted from 0.
    pub word: usize,
    /// The guess; none where nothing is expected.
    pub guess: Option<String>,
    /// Whether it is the word that was written.
    pub right: bool,
    /// Whether every word was looked at that could be more probable.
    pub exact: bool,
}

impl Attacker {
    /// With this masked model.
    #[must_use]
    pub fn new(device: Device) -> Self {
        Self { device, listing: Listing::new(Lexicon::embedded()), last: Mutex::new(None) }
    }

    /// Guesses each protected word of a text from its release. Numbers and addresses are left out.
    pub fn guesses(&self, cape: &Cape, text: &str, release: &Release) -> Result<Vec<WordGuess>> {
        let plan = cape.plan(text)?;
        let mut units = Vec::new();
        let (mut asked, mut at) = (Vec::new(), 0);
        for (i, (word, place)) in release.words.iter().zip(&plan.places).enumerate() {
            self.push(&text[at..word.start], None, &mut units)?;
            at = word.end;
            let wanted = word.level == Level::Protected && word.kind == Kind::Word;
            asked.extend(wanted.then_some((i, place)));
            self.push(&word.released, wanted.then_some(Piece::Start), &mut units)?;
        }
        self.push(&text[at..], None, &mut units)?;
        let rows = scores(&*self.device.model, &units)?;
        let guessing = self.guessing(cape);
        let guesses = asked.par_iter().zip(rows).map(|(&(word, place), row)| {
            let prior = self.listing.prior(&self.device, &row);
            let where_ = (place.unit.first, place.unit.capital);
            let released = &release.words[word].released;
            let found = guessing.guess(cape, &self.listing, where_, released, &prior);
            let own = place.key.map(|key| &plan.keys[key]);
            WordGuess {
                word,
                guess: found.map(|(key, _)| key.form.clone()),
                right: found.is_some_and(|(key, _)| Some(key) == own),
                exact: found.is_none_or(|(_, exact)| exact),
            }
        });
        Ok(guesses.collect())
    }

    /// The pieces of a part of the release.
    fn push(&self, part: &str, asked: Option<Piece>, units: &mut Vec<MaskedUnit>) -> Result<()> {
        let pieces = self.device.tokenizer.tokenize(part, &KeepList::none())?;
        let ids: Vec<_> = pieces.as_slice().iter().map(|piece| piece.id).collect();
        if asked.is_some() || !ids.is_empty() {
            units.push(MaskedUnit { ids, asked });
        }
        Ok(())
    }

    fn guessing(&self, cape: &Cape) -> Arc<Guessing> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = cape.settings();
        let known = last.take().filter(|(known, _)| known == settings);
        let known = known.unwrap_or_else(|| (settings.clone(), Arc::new(Guessing::new(cape))));
        Arc::clone(&last.insert(known).1)
    }
}

#[cfg(test)]
mod tests {
    use cape::{Epsilon, Sanitizer, Secret};

    use super::*;

    #[test]
    fn a_law_that_hides_nothing_is_read_and_one_that_hides_all_is_not() {
        let attacker = Attacker::new(cape_models::load(cape_models::DEFAULT).unwrap());
        let text = "My daughter Alice was diagnosed with asthma in London, aged 12.";
        let right = |epsilon: f64, k: usize| {
            let shape = cape::Shape { k, alpha: None };
            let epsilon = Epsilon::new(epsilon).unwrap();
            let settings = Settings { epsilon, shape, ..Settings::default() };
            let cape = Cape::new(Lexicon::embedded(), settings.clone()).unwrap();
            let sanitizer = Sanitizer::words(Cape::new(Lexicon::embedded(), settings).unwrap());
            let release = sanitizer.release(text, &Secret::seeded(1, 0)).unwrap();
            let guesses = attacker.guesses(&cape, text, &release).unwrap();
            assert_eq!(guesses.iter().map(|guess| guess.word).collect::<Vec<_>>(), [2, 6, 8]);
            guesses.iter().filter(|guess| guess.right).count()
        };
        assert_eq!(right(30.0, 1), 3);
        assert_eq!(right(0.01, 1000), 0);
    }
}
