//! The map of a job: one secret for many texts.

use std::hash::{BuildHasher, RandomState};

use crate::levels::Key;
use crate::mechanism::cape::{Cape, Drawn, Plan};
use crate::recent::Recent;
use crate::rng::Secret;
use crate::sanitizer::written;
use crate::text::Release;

/// How many draws are remembered: the words of a language that come again and again, in about 20 MB.
const REMEMBERED: usize = 1 << 17;

/// In how many parts, so that threads seldom wait for each other.
const PARTS: usize = 64;

/// A secret that many texts share, and what was drawn from it lately. A word is drawn from the secret and its
/// key alone, so it becomes the same in every text, on every machine that has the secret and whenever a text is
/// perturbed again; to remember a draw only saves time.
///
/// The time that a text takes tells which of its words came before: this is for the texts of one person or
/// one job, and not for a service.
pub struct JobMap {
    secret: Secret,
    drawn: Vec<Recent<Vec<u8>, Drawn>>,
    hasher: RandomState,
}

impl JobMap {
    /// The map of this secret.
    #[must_use]
    pub fn new(secret: Secret) -> Self {
        let drawn = (0..PARTS).map(|_| Recent::new(REMEMBERED / PARTS)).collect();
        Self { secret, drawn, hasher: RandomState::new() }
    }

    /// Its secret.
    #[must_use]
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The release of a text that was planned, as [`crate::Sanitizer::release`] gives it.
    #[must_use]
    pub fn release(&self, cape: &Cape, text: &str, plan: &Plan) -> Release {
        let drawn: Vec<Drawn> = plan.keys.iter().map(|key| self.draw(cape, key)).collect();
        written(cape, text, plan, &drawn, self.secret.is_seeded())
    }

    fn draw(&self, cape: &Cape, key: &Key) -> Drawn {
        let from = cape.drawn_from(key);
        let part = self.hasher.hash_one(&from) as usize % PARTS;
        let draw = || cape.draw_one(key, &self.secret).into();
        Drawn::clone(&self.drawn[part].get_or(from, draw))
    }
}

impl std::fmt::Debug for JobMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JobMap")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lexicon, Result, Sanitizer, Settings};

    #[test]
    fn a_job_releases_what_a_sanitizer_does() -> Result<()> {
        let cape = Cape::new(Lexicon::embedded(), Settings::default())?;
        let sanitizer = Sanitizer::words(Cape::new(Lexicon::embedded(), Settings::default())?);
        let bytes = Secret::bytes()?;
        let (map, secret) = (JobMap::new(Secret::from_bytes(&bytes)), Secret::from_bytes(&bytes));
        let texts = ["Alice has asthma.", "Bob saw Alice on 3 May 2021.", "Alice has asthma."];
        for text in texts {
            let release = map.release(&cape, text, &cape.plan(text)?);
            assert_eq!(release.text, sanitizer.release(text, &secret)?.text);
        }
        Ok(())
    }
}
