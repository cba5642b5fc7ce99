//! The only place that makes a random generator.
//!
//! Everything else takes `&mut dyn CryptoRng`; clippy's `disallowed_methods` keeps it so.

use std::convert::Infallible;

pub use rand::CryptoRng;
use rand::rngs::{ChaCha20Rng, SysRng};
use rand::{SeedableRng, TryCryptoRng, TryRng};

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

impl Generator {
    /// Whether it was made from a seed.
    #[must_use]
    pub fn is_seeded(&self) -> bool {
        self.seeded
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
    use rand::Rng;

    use super::*;

    #[test]
    fn a_seed_repeats_and_the_system_does_not() {
        assert_eq!(seeded(7, 0).next_u64(), seeded(7, 0).next_u64());
        assert_ne!(seeded(7, 0).next_u64(), seeded(8, 0).next_u64());
        assert_ne!(seeded(7, 0).next_u64(), seeded(7, 1).next_u64());
        assert!(seeded(7, 0).is_seeded() && !secure().unwrap().is_seeded());
        assert_ne!(secure().unwrap().next_u64(), secure().unwrap().next_u64());
    }
}
