//! The state that all requests share.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::HeaderMap;
use cape::privacy::{Evidence, Notion};
use cape::sanitizer::Sanitizer;
use cape::text::Release;
use cape_ledger::{Cost, Ledger, Spender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::metrics::Metrics;
use crate::answer::extractor::Extractor;
use crate::error::Error;
use crate::fault::Fault;
use crate::request::body::BodyText;
use crate::request::headers;
use crate::request::policy::{Action, Policy};
use crate::request::receive::receive;
use crate::request::releaser::{Released, Releaser};
use crate::request::system::{SystemLearner, SystemLines};
use crate::settings::Settings;
use crate::upstream::Upstream;

/// A proxy that is ready to serve: [`router`](crate::router) gives it its paths.
pub struct Service {
    policy: RwLock<Arc<Policy>>,
    surroundings: Surroundings,
    pub(super) releaser: Arc<Releaser>,
    pub(super) upstream: Upstream,
    pub(super) extractor: Option<Arc<Extractor>>,
    /// Writes down the lines of system prompts, if it is told to.
    pub(super) learner: Option<SystemLearner>,
    pub(super) metrics: Metrics,
    permits: Arc<Semaphore>,
    pub(super) max_body: usize,
    max_requests: usize,
    timeout: Duration,
}

impl Service {
    /// Checks the settings and starts the threads that perturb: whatever is wrong with the settings
    /// is found before anything is served.
    pub fn new(
        settings: &Settings,
        sanitizer: Sanitizer,
        ledger: Ledger,
    ) -> Result<Arc<Self>, Error> {
        let guarantee = sanitizer.guarantee();
        if guarantee.notion != Notion::Ldp || guarantee.evidence == Evidence::None {
            return Err(Error::Unproven);
        }
        let extractor = Extractor::new(settings)?.map(Arc::new);
        let surroundings = Surroundings {
            allow_system: settings.allow_system.clone(),
            learns: settings.learn_system.is_some(),
            rewrites: extractor.is_some(),
        };
        let policy = surroundings.complete(settings.policy.clone())?;
        let timeout = Duration::from_secs(settings.timeout);
        let idle = Duration::from_secs(settings.idle_timeout);
        let base = settings.upstream.as_deref().unwrap_or_default();
        Ok(Arc::new(Self {
            policy: RwLock::new(Arc::new(policy)),
            surroundings,
            releaser: Arc::new(Releaser::start(sanitizer, ledger, settings.limits)?),
            upstream: Upstream::new("the upstream", base, timeout, idle)?,
            extractor,
            learner: settings.learn_system.as_deref().map(SystemLearner::open).transpose()?,
            metrics: Metrics::default(),
            permits: Arc::new(Semaphore::new(settings.max_requests)),
            max_body: settings.max_body,
            max_requests: settings.max_requests,
            timeout,
        }))
    }

    /// The policy at this moment: a request keeps the one it began with.
    pub(super) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the policy of the requests to come, if it fits, and reads the list of lines again.
    pub fn set_policy(&self, policy: Policy) -> Result<(), Error> {
        let policy = self.surroundings.complete(policy)?;
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
        Ok(())
    }

    /// A request's place among those that are served at a time.
    pub(super) fn permit(&self) -> Result<OwnedSemaphorePermit, Fault> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| Fault::Busy)
    }

    /// The number of requests that are being served.
    pub(super) fn in_flight(&self) -> usize {
        self.max_requests - self.permits.available_permits()
    }

    /// Whether there is room for another request.
    pub(super) fn has_room(&self) -> bool {
        self.permits.available_permits() > 0
    }

    /// The spender that a client's headers name.
    pub(super) fn spender(&self, client: &HeaderMap) -> Spender {
        self.releaser.ledger.spender(headers::key(client))
    }

    /// The whole body of a request.
    pub(super) async fn receive(&self, request: Request) -> Result<Vec<u8>, Fault> {
        receive(request, self.max_body, self.timeout).await
    }

    /// Releases the texts of a conversation, timed and counted.
    pub(super) async fn release(
        &self,
        who: &Spender,
        said: &[BodyText],
    ) -> Result<Released, Fault> {
        let started = Instant::now();
        let released = self.releaser.conversation(who, said).await?;
        self.metrics.released(started.elapsed(), released.spent);
        Ok(released)
    }

    /// Releases one text without remembering it, timed and counted.
    pub(super) async fn release_once(
        &self,
        who: &Spender,
        text: &str,
    ) -> Result<(Release, Cost), Fault> {
        let started = Instant::now();
        let (release, spent) = self.releaser.once(who, text).await?;
        self.metrics.released(started.elapsed(), spent);
        Ok((release, spent))
    }
}

/// The lists of lines of system prompts, and whether answers are rewritten: what a policy must fit.
struct Surroundings {
    allow_system: Option<PathBuf>,
    learns: bool,
    rewrites: bool,
}

impl Surroundings {
    /// A policy that fits, with the operator's list of lines.
    fn complete(&self, mut policy: Policy) -> Result<Policy, Error> {
        if self.rewrites && policy.assistant == Action::Pass {
            return Err(Error::RewrittenPass);
        }
        if self.learns && policy.system == Action::Block {
            return Err(Error::LearnBlocked);
        }
        if let Some(path) = &self.allow_system {
            if policy.system == Action::Pass {
                return Err(Error::AllowPassed);
            }
            policy.system_lines = Arc::new(SystemLines::read(path)?);
        }
        Ok(policy)
    }
}
