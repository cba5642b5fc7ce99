//! The token that clients show, where the operator asks for one.

use std::path::Path;

use axum::http::HeaderMap;
use cape::rng::{self, CryptoRng};
use ring::hmac;

use crate::error::Error;

/// The header that carries it. It is in no list of headers that go to upstream.
const HEADER: &str = "x-cape-token";

/// The fewest characters of a token: as hexadecimal digits, 64 bits.
const FEWEST: usize = 16;

/// A token, as a keyed hash under a key that lives as long as the process.
pub(super) struct Token {
    key: hmac::Key,
    tag: hmac::Tag,
}

impl Token {
    /// The token in a file: its one line.
    pub(super) fn read(file: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Io { what: "the token file cannot be read", source };
        Self::new(std::fs::read(file).map_err(failed)?.trim_ascii())
    }

    /// Whether a file still has it.
    pub(super) fn is_in(&self, file: &Path) -> bool {
        let read = std::fs::read(file);
        read.is_ok_and(|read| hmac::verify(&self.key, read.trim_ascii(), self.tag.as_ref()).is_ok())
    }

    fn new(token: &[u8]) -> Result<Self, Error> {
        if token.len() < FEWEST || !token.iter().all(u8::is_ascii_graphic) {
            return Err(Error::Token);
        }
        let mut secret = [0; 32];
        let mut generator = rng::secure().map_err(|_| Error::Entropy)?;
        let rng: &mut dyn CryptoRng = &mut generator;
        rng.fill_bytes(&mut secret);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let tag = hmac::sign(&key, token);
        Ok(Self { key, tag })
    }

    /// Whether a client shows it, in constant time.
    pub(super) fn is_shown(&self, client: &HeaderMap) -> bool {
        let mut shown = client.get_all(HEADER).iter();
        let (first, second) = (shown.next(), shown.next());
        second.is_none()
            && first.is_some_and(|token| {
                hmac::verify(&self.key, token.as_bytes(), self.tag.as_ref()).is_ok()
            })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_token_itself_is_let_in() {
        let token = Token::new(b"0123456789abcdef").unwrap();
        let shown = |values: &[&'static str]| {
            let mut client = HeaderMap::new();
            for value in values {
                client.append(HEADER, HeaderValue::from_static(value));
            }
            token.is_shown(&client)
        };
        assert!(shown(&["0123456789abcdef"]));
        for wrong in ["", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef0"] {
            assert!(!shown(&[wrong]), "{wrong}");
        }
        assert!(!shown(&[]) && !shown(&["0123456789abcdef", "0123456789abcdef"]));
        for short in [&b""[..], b"0123456789abcde", b"0123456789 abcdef", b"0123456789abcdef\xff"] {
            assert!(matches!(Token::new(short), Err(Error::Token)));
        }
    }
}
