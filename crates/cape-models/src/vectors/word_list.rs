//! Words, each once: in one piece of text, with a table to find them in.

use std::hash::{BuildHasher, RandomState};

/// A place of the table that is free.
const FREE: u32 = u32::MAX;

/// Words in order, each once.
#[derive(Clone, Default)]
pub struct WordList {
    /// All of them, one after the other.
    text: String,
    ends: Vec<usize>,
    /// The places of words, found by hash and then the next free one; a power of two, or nothing.
    table: Vec<u32>,
    /// Seeded anew each time, so that no file can be made whose words all collide.
    hasher: RandomState,
}

impl WordList {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The word at this place.
    ///
    /// # Panics
    /// If there are not as many.
    #[must_use]
    pub fn get(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[at]]
    }

    /// The words in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Where a word is.
    #[must_use]
    pub fn find(&self, word: &str) -> Option<usize> {
        if self.table.is_empty() {
            return None;
        }
        let found = self.table[self.slot(word)];
        (found != FREE).then_some(found as usize)
    }

    /// Adds a word; false where it is there already.
    pub(super) fn insert(&mut self, word: &str) -> bool {
        if self.len() * 4 >= self.table.len() * 3 {
            self.grow();
        }
        let slot = self.slot(word);
        if self.table[slot] != FREE {
            return false;
        }
        self.table[slot] = self.len() as u32;
        self.text.push_str(word);
        self.ends.push(self.text.len());
        true
    }

    /// The slot of the table that has a word, or the free one where it belongs.
    fn slot(&self, word: &str) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = self.hasher.hash_one(word) as usize & mask;
        while self.table[slot] != FREE && self.get(self.table[slot] as usize) != word {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.table = vec![FREE; (self.table.len() * 2).max(64)];
        for at in 0..self.len() {
            let slot = self.slot(self.get(at));
            self.table[slot] = at as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_they_were_put() {
        let mut words = WordList::default();
        assert_eq!((words.find("a"), words.is_empty()), (None, true));
        for n in 0..1000 {
            assert!(words.insert(&format!("w{n}")));
            assert!(!words.insert(&format!("w{}", n / 2)));
        }
        assert_eq!(words.len(), 1000);
        assert_eq!(words.find("w1000"), None);
        for (at, word) in words.iter().enumerate() {
            assert_eq!((word, words.find(word)), (format!("w{at}").as_str(), Some(at)));
        }
    }
}
