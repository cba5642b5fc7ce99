//! The exact loss of one draw of Cape: every listed word, and any others, in one kind of place.

use std::collections::HashSet;

use super::{Extremes, Findings};
use crate::kinds::Kind;
use crate::levels::Key;
use crate::lexicon::{Lexicon, Listed};
use crate::mechanism::cape::Cape;
use crate::sample::Share;
use crate::text::Level;

/// The inputs of an audit: strings with different keys.
pub struct KeyAudit<'a> {
    cape: &'a Cape,
    inputs: Vec<Input>,
}

/// One input.
pub struct Input {
    /// The first string that has this key.
    pub word: String,
    /// The key of its draw.
    pub key: Key,
}

/// The extremes of the rows added so far.
#[derive(Clone)]
pub struct KeyExtremes {
    protected: Extremes<Share>,
    ordinary: Extremes<Share>,
}

impl<'a> KeyAudit<'a> {
    /// Takes these strings as words, each at the level that it has in a first place, or in another.
    pub fn new<'b>(cape: &'a Cape, words: impl IntoIterator<Item = &'b str>, first: bool) -> Self {
        let mut seen = HashSet::new();
        let input = |word: &str| {
            let (key, _) = cape.key(Kind::Word, word, first);
            seen.insert(key.clone()).then(|| Input { word: word.to_owned(), key })
        };
        Self { cape, inputs: words.into_iter().filter_map(input).collect() }
    }

    /// All listed words as they are written, and `unlisted` known words that are not listed, evenly spread
    /// over all of these.
    pub fn of_lexicon(lexicon: &Lexicon, unlisted: usize) -> impl Iterator<Item = &str> {
        let others: Vec<&str> =
            lexicon.words().filter(|word| lexicon.listed(word).is_none()).collect();
        let count = others.len();
        let taken = unlisted.min(count);
        let listed = (0..lexicon.len() as u32).map(|i| lexicon.word(Listed(i)));
        listed.chain((0..taken).map(move |i| others[i * count / taken]))
    }

    /// The inputs, in the order of their numbers.
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// No row so far.
    #[must_use]
    pub fn start(&self) -> KeyExtremes {
        let none = Extremes::new(self.cape.lexicon().len());
        KeyExtremes { protected: none.clone(), ordinary: none }
    }

    /// Adds the row of an input, by rising numbers.
    ///
    /// # Panics
    /// If there is no such input.
    #[must_use]
    pub fn add(&self, mut exact: KeyExtremes, input: u32) -> KeyExtremes {
        let key = &self.inputs[input as usize].key;
        let extremes = exact.of(key.level);
        for (word, share) in self.cape.row(key).into_iter().flatten().enumerate() {
            extremes.add(input, word, share);
        }
        exact
    }
}

impl KeyExtremes {
    fn of(&mut self, level: Level) -> &mut Extremes<Share> {
        if level == Level::Ordinary { &mut self.ordinary } else { &mut self.protected }
    }

    /// Merges the two; the other's inputs have larger numbers.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            protected: self.protected.merge(other.protected),
            ordinary: self.ordinary.merge(other.ordinary),
        }
    }

    /// The losses over all pairs, from the integers; none where no row was added.
    #[must_use]
    pub fn any(&self) -> Option<Findings<Share>> {
        self.protected.clone().merge(self.ordinary.clone()).findings(Share::log_ratio_up)
    }

    /// The losses over pairs of protected words.
    #[must_use]
    pub fn protected(&self) -> Option<Findings<Share>> {
        self.protected.findings(Share::log_ratio_up)
    }
}
