//! Accounts: an API key, and the user whom a request names.

use std::fmt;

use crate::key::{Key, Spender, hex};

/// An account: an API key and a user id. It has maps of its own, so that nobody learns from a cost of
/// nothing what another user of the same key has said. Limits count for the key.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    spender: Spender,
    name: String,
}

impl Account {
    pub(crate) fn new(key: &Key, api_key: &[u8], user: &str) -> Self {
        let spender = key.spender(api_key);
        let parts = [spender.as_str().as_bytes(), user.as_bytes()];
        Self { name: hex(&key.hash("account", &parts)), spender }
    }

    /// As it stands in the database.
    pub(crate) fn stored(name: &str, spender: &str) -> Self {
        Self { spender: Spender::stored(spender), name: name.to_owned() }
    }

    /// The API key, which pays.
    #[must_use]
    pub fn spender(&self) -> &Spender {
        &self.spender
    }

    /// A keyed hash in hexadecimal digits.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_told_by_key_and_user() {
        let dir = tempfile::tempdir().unwrap();
        let key = Key::open(&dir.path().join("key")).unwrap();
        let name = |api_key: &str, user: &str| Account::new(&key, api_key.as_bytes(), user).name;
        let all = [name("k", ""), name("k", "a"), name("k", "b"), name("ka", ""), name("l", "a")];
        for (i, one) in all.iter().enumerate() {
            assert!(one.len() == 64 && !all[..i].contains(one), "{i}");
        }
        let (alone, named) = (Account::new(&key, b"k", ""), Account::new(&key, b"k", "a"));
        assert_eq!(alone.spender(), named.spender());
        assert_eq!(all[1], named.name());
    }
}
