//! The only place that makes a random generator.
//!
//! Everything else takes `&mut dyn CryptoRng`; clippy's `disallowed_methods` keeps it so.

use std::convert::Infallible;

pub use rand::CryptoRng;
use rand::rngs::{ChaCha20Rng, SysRng};
use rand::{Rng, SeedableRng, TryCryptoRng, TryRng};
use ring::hmac;

use crate::{Error, Result};

/// A ChaCha20 generator that knows whether anyone else can know its numbers.
pub struct Generator {
    inner: ChaCha20Rng,
    seeded: bool,
}

/// A generator keyed by the operating system: for everything that leaves the machine.
///
/// Without entropy there is no generator, and so no release.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn secure() -> Result<Generator> {
    let inner = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(Error::Entropy)?;
    Ok(Generator { inner, seeded: false })
}

/// A reproducible generator, for experiments and tests only; `stream` numbers independent ones of
/// the same seed.
///
/// Whoever knows the seed can undo the draws: a release made with it carries no guarantee.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
#[must_use]
pub fn seeded(seed: u64, stream: u64) -> Generator {
    let mut inner = ChaCha20Rng::seed_from_u64(seed);
    inner.set_stream(stream);
    Generator { inner, seeded: true }
}

/// The secret of a map: what a word's draw comes from, as long as the map lasts.
///
/// A keyed pseudo-random function (HMAC-SHA256) of the word's key gives each key a generator of its own,
/// so the same key is drawn alike wherever the secret is, and nothing of the words is stored.
/// Whoever has the secret can undo the draws.
pub struct Secret {
    key: hmac::Key,
    seeded: bool,
}

impl Secret {
    /// A new one, from the operating system.
    pub fn fresh() -> Result<Self> {
        Ok(Self::of(&mut secure()?))
    }

    /// For experiments and tests only, as [`seeded`].
    #[must_use]
    pub fn seeded(seed: u64, stream: u64) -> Self {
        Self::of(&mut seeded(seed, stream))
    }

    /// One that was made before by [`Secret::bytes`] and kept to oneself.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, bytes), seeded: false }
    }

    /// The bytes of a new secret, to be stored: from the operating system.
    pub fn bytes() -> Result<[u8; 32]> {
        let mut bytes = [0; 32];
        secure()?.fill_bytes(&mut bytes);
        Ok(bytes)
    }

    fn of(generator: &mut Generator) -> Self {
        let mut bytes = [0; 32];
        generator.fill_bytes(&mut bytes);
        Self { seeded: generator.seeded, ..Self::from_bytes(&bytes) }
    }

    /// The generator of one key.
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    #[must_use]
    pub fn generator(&self, key: &[u8]) -> Generator {
        let mut seed = [0; 32];
        seed.copy_from_slice(hmac::sign(&self.key, key).as_ref());
        Generator { inner: ChaCha20Rng::from_seed(seed), seeded: self.seeded }
    }

    /// A secret for one part of what this one is for: draws of different parts are independent, and those
    /// of a part can be repeated.
    #[must_use]
    pub fn part(&self, number: u64) -> Self {
        // no key of a word begins like this: it would be the SHA-256 sum of a law
        let name = [b"the secret of a part: ".as_slice(), &number.to_le_bytes()].concat();
        Self::of(&mut self.generator(&name))
    }

    /// Whether it was made from a seed.
    pub(crate) fn is_seeded(&self) -> bool {
        self.seeded
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl TryRng for Generator {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> std::result::Result<u32, Infallible> {
        self.inner.try_next_u32()
    }

    fn try_next_u64(&mut self) -> std::result::Result<u64, Infallible> {
        self.inner.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> std::result::Result<(), Infallible> {
        self.inner.try_fill_bytes(bytes)
    }
}

impl TryCryptoRng for Generator {}

/// A generator that gives the numbers it is told, for tests of what a draw does with each.
#[cfg(test)]
pub(crate) mod script {
    use rand::{TryCryptoRng, TryRng};

    pub(crate) struct Script(Vec<u64>);

    impl Script {
        pub(crate) fn new(numbers: &[u64]) -> Self {
            Self(numbers.iter().rev().copied().collect())
        }
    }

    impl TryRng for Script {
        type Error = std::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            unreachable!("draws take 64 bits")
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            Ok(self.0.pop().expect("more numbers than the script has"))
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
            unreachable!("draws take 64 bits")
        }
    }

    impl TryCryptoRng for Script {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_the_system_does_not() {
        assert_eq!(seeded(7, 0).next_u64(), seeded(7, 0).next_u64());
        assert_ne!(seeded(7, 0).next_u64(), seeded(8, 0).next_u64());
        assert_ne!(seeded(7, 0).next_u64(), seeded(7, 1).next_u64());
        assert!(seeded(7, 0).seeded && !secure().unwrap().seeded);
        assert_ne!(secure().unwrap().next_u64(), secure().unwrap().next_u64());
    }

    #[test]
    fn a_secret_gives_each_key_its_own_numbers_and_repeats_them() {
        let (secret, other) = (Secret::fresh().unwrap(), Secret::fresh().unwrap());
        let number = |secret: &Secret, key: &[u8]| secret.generator(key).next_u64();
        assert_eq!(number(&secret, b"a"), number(&secret, b"a"));
        assert_ne!(number(&secret, b"a"), number(&secret, b"b"));
        assert_ne!(number(&secret, b"a"), number(&other, b"a"));
        let bytes = Secret::bytes().unwrap();
        let again = || Secret::from_bytes(&bytes);
        assert_eq!(number(&again(), b"a"), number(&again(), b"a"));
        assert!(!again().is_seeded() && !again().generator(b"a").seeded);
        let seeded = Secret::seeded(7, 1);
        assert!(seeded.is_seeded() && seeded.generator(b"a").seeded);
        assert_eq!(number(&seeded, b"a"), number(&Secret::seeded(7, 1), b"a"));
        assert_ne!(number(&seeded, b"a"), number(&Secret::seeded(7, 2), b"a"));
        assert_eq!(format!("{secret:?}"), "Secret");
        let parts = [number(&secret.part(0), b"a"), number(&secret.part(1), b"a")];
        assert!(parts[0] != parts[1] && !parts.contains(&number(&secret, b"a")));
        assert_eq!(number(&secret.part(1), b"a"), parts[1]);
        assert!(seeded.part(1).is_seeded() && !secret.part(1).is_seeded());
    }
}
