//! The only place that makes a random generator.
//!
//! Everything else takes `&mut dyn CryptoRng`; clippy's `disallowed_methods` keeps it so.

pub use rand::CryptoRng;
use rand::SeedableRng;
use rand::rngs::{ChaCha20Rng, SysRng};

use crate::{Error, Result};

/// A ChaCha20 generator keyed by the operating system: for everything that leaves the machine.
///
/// Without entropy there is no generator, and so no release.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn secure() -> Result<impl CryptoRng + use<>> {
    ChaCha20Rng::try_from_rng(&mut SysRng).map_err(Error::Entropy)
}

/// A reproducible generator, for experiments and tests only.
///
/// Whoever knows the seed can undo the draws: a release made with it carries no guarantee.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
#[must_use]
pub fn seeded(seed: u64) -> impl CryptoRng + use<> {
    ChaCha20Rng::seed_from_u64(seed)
}

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
        assert_eq!(seeded(7).next_u64(), seeded(7).next_u64());
        assert_ne!(seeded(7).next_u64(), seeded(8).next_u64());
        assert_ne!(secure().unwrap().next_u64(), secure().unwrap().next_u64());
    }
}
