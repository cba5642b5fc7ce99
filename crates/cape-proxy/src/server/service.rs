//! The state that all requests share.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::HeaderMap;
use cape::Wanted;
use cape::privacy::{Evidence, Notion};
use cape::sanitizer::Sanitizer;
use cape::text::Release;
use cape_ledger::{Account, Ledger};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::metrics::Metrics;
use crate::answer::extractor::Extractor;
use crate::error::Error;
use crate::fault::Fault;
use crate::playground::Playground;
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
    /// What is put back into answers.
    pub(super) restore: Vec<Wanted>,
    /// Whether the service is told of substitutes.
    pub(super) notice: bool,
    pub(super) metrics: Metrics,
    pub(super) playground: OnceLock<Arc<Playground>>,
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
        let proven = guarantee.notion == Notion::Ldp && guarantee.evidence != Evidence::None;
        if sanitizer.cape().is_none() || !proven {
            return Err(Error::Unproven);
        }
        let extractor = Extractor::new(settings)?.map(Arc::new);
        let surroundings = Surroundings {
            allow_system: settings.allow_system.clone(),
            learns: settings.learn_system.is_some(),
            changes: extractor.is_some() || !settings.restore.is_empty(),
        };
        let policy = surroundings.complete(settings.policy.clone())?;
        let timeout = Duration::from_secs(settings.timeout);
        let idle = Duration::from_secs(settings.idle_timeout);
        let base = settings.upstream.as_deref().unwrap_or_default();
        Ok(Arc::new(Self {
            policy: RwLock::new(Arc::new(policy)),
            surroundings,
            releaser: Arc::new(Releaser::start(sanitizer, ledger, settings)?),
            upstream: Upstream::new("the upstream", base, timeout, idle)?,
            extractor,
            learner: settings.learn_system.as_deref().map(SystemLearner::open).transpose()?,
            restore: settings.restore.clone(),
            notice: settings.notice,
            metrics: Metrics::default(),
            playground: OnceLock::new(),
            permits: Arc::new(Semaphore::new(settings.max_requests)),
            max_body: settings.max_body,
            max_requests: settings.max_requests,
            timeout,
        }))
    }

    /// Opens a playground beside the proxy; the first one stays. It pays from the proxy's ledger.
    pub fn open_playground(&self, playground: Playground) {
        let _ = self.playground.set(Arc::new(playground));
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

    /// The account of a user under the API key of a client's headers.
    pub(super) fn account(&self, client: &HeaderMap, user: &str) -> Account {
        self.releaser.ledger.account(headers::key(client), user)
    }

    /// The whole body of a request.
    pub(super) async fn receive(&self, request: Request) -> Result<Vec<u8>, Fault> {
        receive(request, self.max_body, self.timeout).await
    }

    /// Releases the texts of a conversation, timed and counted.
    pub(super) async fn release(
        &self,
        account: &Account,
        said: &[BodyText],
    ) -> Result<Released, Fault> {
        let started = Instant::now();
        let released = self.releaser.conversation(account, said).await?;
        self.metrics.released(started.elapsed(), released.spent);
        Ok(released)
    }

    /// Releases one text of the user's own, timed and counted.
    pub(super) async fn release_text(
        &self,
        account: &Account,
        text: &str,
    ) -> Result<(Release, Released), Fault> {
        let started = Instant::now();
        let (release, released) = self.releaser.text(account, text).await?;
        self.metrics.released(started.elapsed(), released.spent);
        Ok((release, released))
    }
}

/// The lists of lines of system prompts, and whether answers are changed: what a policy must fit.
struct Surroundings {
    allow_system: Option<PathBuf>,
    learns: bool,
    changes: bool,
}

impl Surroundings {
    /// A policy that fits, with the operator's list of lines.
    fn complete(&self, mut policy: Policy) -> Result<Policy, Error> {
        if self.changes && policy.assistant == Action::Pass {
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
