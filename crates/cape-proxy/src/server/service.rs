//! The state that all requests share.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
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
use crate::playground::Playground;
use crate::request::body::BodyText;
use crate::request::headers;
use crate::request::policy::{Action, Policy};
use crate::request::receive::receive;
use crate::request::releaser::{Released, Releaser};
use crate::settings::Settings;
use crate::upstream::Upstream;

/// A proxy that is ready to serve: [`router`](crate::router) gives it its paths.
pub struct Service {
    policy: RwLock<Arc<Policy>>,
    pub(super) releaser: Arc<Releaser>,
    pub(super) upstream: Upstream,
    pub(super) extractor: Option<Arc<Extractor>>,
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
        if guarantee.notion != Notion::Ldp || guarantee.evidence == Evidence::None {
            return Err(Error::Unproven);
        }
        let extractor = Extractor::new(settings)?.map(Arc::new);
        if extractor.is_some() && settings.policy.assistant == Action::Pass {
            return Err(Error::RewrittenPass);
        }
        let timeout = Duration::from_secs(settings.timeout);
        let idle = Duration::from_secs(settings.idle_timeout);
        let base = settings.upstream.as_deref().unwrap_or_default();
        Ok(Arc::new(Self {
            policy: RwLock::new(Arc::new(settings.policy.clone())),
            releaser: Arc::new(Releaser::start(sanitizer, ledger, settings.limits)?),
            upstream: Upstream::new("the upstream", base, timeout, idle)?,
            extractor,
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

    /// Sets the policy of the requests to come, unless the extractor forbids it.
    pub fn set_policy(&self, policy: Policy) -> Result<(), Error> {
        if self.extractor.is_some() && policy.assistant == Action::Pass {
            return Err(Error::RewrittenPass);
        }
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
