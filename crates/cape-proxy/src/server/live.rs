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
