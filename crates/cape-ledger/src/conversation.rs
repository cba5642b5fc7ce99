//! Conversations, and the place of a message in one.

use std::fmt;

use ring::hmac;

use crate::account::Account;
use crate::key::{Key, hash, hex};

/// The place of a message: a keyed hash of the account, all messages before it, its role and its text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place([u8; 32]);

impl Place {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// As it names a conversation that begins with this message, in hexadecimal digits.
    #[must_use]
    pub fn name(&self) -> String {
        hex(&self.0)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Place")
    }
}

/// A conversation, walked through from its beginning.
#[derive(Clone)]
pub struct Conversation {
    key: hmac::Key,
    at: [u8; 32],
}

impl Conversation {
    /// The beginning of a conversation: see [`Ledger::conversation`](crate::Ledger::conversation).
    pub(crate) fn begin(key: &Key, account: &Account) -> Self {
        let key = key.places();
        let at = hash(&key, &[b"begin", account.name().as_bytes()]);
        Self { key, at }
    }

    /// The place of the next message. Every message of every role must be given, in order: two messages
    /// are the same only if all messages before them are.
    pub fn next(&mut self, role: &str, text: &str) -> Place {
        self.at = hash(&self.key, &[&self.at, role.as_bytes(), text.as_bytes()]);
        Place(self.at)
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Conversation")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_by_everything_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let key = Key::open(&dir.path().join("key")).unwrap();
        let places = |who: &str, user: &str, said: &[(&str, &str)]| {
            let mut conversation =
                Conversation::begin(&key, &Account::new(&key, who.as_bytes(), user));
            said.iter().map(|(role, text)| conversation.next(role, text)).collect::<Vec<_>>()
        };
        let said = [("system", "be brief"), ("user", "a"), ("assistant", "b"), ("user", "a")];
        let first = places("alice", "she", &said);
        assert_eq!(first, places("alice", "she", &said));
        assert_eq!(first[..2], places("alice", "she", &said[..2]));
        let mut all = first.clone();
        all.extend(places("bob", "she", &said));
        all.extend(places("alice", "he", &said));
        all.extend(places("alice", "she", &said[1..]));
        // the same bytes, cut elsewhere
        all.extend(places("alice", "she", &[("systemb", "e brief")]));
        all.extend(places("alice", "she", &[("user", "be brief")]));
        for (i, place) in all.iter().enumerate() {
            assert!(!all[..i].contains(place), "{i}");
        }
    }
}
