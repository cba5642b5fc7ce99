//! The settings that can change while the proxy serves.

use std::sync::Arc;
use std::time::Duration;

use cape::privacy::{Evidence, Notion};
use cape::sanitizer::Sanitizer;

use super::listen;
use super::token::Token;
use crate::answer::extractor::Extractor;
use crate::error::Error;
use crate::request::policy::{Action, Policy};
use crate::request::system::SystemLines;
use crate::settings::Settings;
use crate::upstream::Upstream;

/// Settings at work: a request keeps those it began with.
pub(super) struct Live {
    pub(super) settings: Settings,
    pub(super) policy: Arc<Policy>,
    pub(super) upstream: Upstream,
    pub(super) extractor: Option<Arc<Extractor>>,
    pub(super) token: Option<Token>,
}

impl Live {
    /// Checks the settings: whatever is wrong with them is found before anything is served.
    pub(super) fn new(settings: Settings) -> Result<Self, Error> {
        let timeout = Duration::from_secs(settings.timeout);
        let idle = Duration::from_secs(settings.idle_timeout);
        let base = settings.upstream.as_deref().unwrap_or_default();
        let upstream = Upstream::new("the upstream", base, timeout, idle)?;
        let extractor = Extractor::new(&settings)?.map(Arc::new);
        let others = extractor.iter().map(|extractor| extractor.server());
        if !settings.plain_http && std::iter::once(&upstream).chain(others).any(Upstream::is_bare) {
            return Err(Error::PlainHttp);
        }
        let policy = complete(&settings)?;
        let token = settings.token_file.as_deref().map(Token::read).transpose()?;
        if !settings.listen.ip().is_loopback() {
            if settings.tls_certificate.is_none() && !settings.listen_plain {
                return Err(Error::ListenPlain);
            }
            if token.is_none() && !settings.listen_anyone {
                return Err(Error::ListenAnyone);
            }
        }
        Ok(Self { settings, policy: Arc::new(policy), upstream, extractor, token })
    }

    /// The files that have the same names as before, and other contents.
    pub(super) fn changed_files(&self, before: &Self) -> Vec<&'static str> {
        let token = match (&self.settings.token_file, &before.token) {
            (Some(file), Some(token)) if self.settings.token_file == before.settings.token_file => {
                !token.is_in(file)
            }
            _ => false,
        };
        let lines = self.settings.allow_system == before.settings.allow_system
            && self.policy.system_lines != before.policy.system_lines;
        let files = [("contents of token-file", token), ("contents of allow-system", lines)];
        files.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
    }
}

/// The policy of the settings, with the operator's list of lines, if they fit together.
fn complete(settings: &Settings) -> Result<Policy, Error> {
    let rewritten = settings.extractor_url.is_some();
    let mut policy = Policy { rewritten, ..settings.policy.clone() };
    let changed = settings.extractor_url.is_some() || !settings.restore.is_empty();
    if changed && policy.assistant == Action::Pass {
        return Err(Error::RewrittenPass);
    }
    if settings.learn_system.is_some() && policy.system == Action::Block {
        return Err(Error::LearnBlocked);
    }
    if let Some(path) = &settings.allow_system {
        if policy.system == Action::Pass {
            return Err(Error::AllowPassed);
        }
        policy.system_lines = Arc::new(SystemLines::read(path)?);
    }
    Ok(policy)
}

/// Fails if a proxy could not start with these settings and this mechanism, whatever its ledger and its
/// port are like.
pub fn check(settings: &Settings, sanitizer: &Sanitizer) -> Result<(), Error> {
    listen::tls_of(settings)?;
    proven(sanitizer)?;
    Live::new(settings.clone()).map(drop)
}

/// Fails if a mechanism promises too little for a proxy.
pub(super) fn proven(sanitizer: &Sanitizer) -> Result<(), Error> {
    let guarantee = sanitizer.guarantee();
    let proven = guarantee.notion == Notion::Ldp && guarantee.evidence != Evidence::None;
    if sanitizer.cape().is_none() || !proven {
        return Err(Error::Unproven);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_with_other_contents_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let (token, lines) = (dir.path().join("token"), dir.path().join("lines"));
        fs::write(&token, "0123456789abcdef\n").unwrap();
        fs::write(&lines, format!("{}\n", "0".repeat(64))).unwrap();
        let settings = Settings {
            upstream: Some("http://127.0.0.1:9/v1".into()),
            token_file: Some(token.clone()),
            allow_system: Some(lines.clone()),
            ..Settings::default()
        };
        let live = || Live::new(settings.clone()).unwrap();
        let before = live();
        fs::write(&token, "0123456789abcdef").unwrap();
        assert!(live().changed_files(&before).is_empty());
        fs::write(&token, "another-0123456789").unwrap();
        assert_eq!(live().changed_files(&before), ["contents of token-file"]);
        fs::write(&lines, "").unwrap();
        let both = ["contents of token-file", "contents of allow-system"];
        assert_eq!(live().changed_files(&before), both);
        // another file is named as such
        let none = Settings { token_file: None, allow_system: None, ..settings.clone() };
        assert!(Live::new(none).unwrap().changed_files(&before).is_empty());
    }
}
