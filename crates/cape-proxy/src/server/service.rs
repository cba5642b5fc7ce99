//! The state that all requests share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::HeaderMap;
use cape::sanitizer::Sanitizer;
use cape::text::Release;
use cape_ledger::{Account, Error as LedgerError, Ledger};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::live::{Live, proven};
use super::metrics::Metrics;
use crate::error::Error;
use crate::fault::Fault;
use crate::playground::Playground;
use crate::request::body::BodyText;
use crate::request::headers;
use crate::request::receive::receive;
use crate::request::releaser::{Released, Releaser};
use crate::request::system::SystemLearner;
use crate::settings::{Reloaded, Settings};

/// A proxy that is ready to serve: [`router`](crate::router) gives it its paths.
pub struct Service {
    live: RwLock<Arc<Live>>,
    pub(super) releaser: Arc<Releaser>,
    /// Writes down the lines of system prompts, if it is told to.
    pub(super) learner: Option<SystemLearner>,
    pub(super) metrics: Metrics,
    pub(super) playground: OnceLock<Arc<Playground>>,
    permits: Arc<Semaphore>,
    max_requests: usize,
    /// Whether the ledger's database has said that it is corrupted: no account in it can be trusted.
    corrupted: AtomicBool,
    /// When the ledger was last found able to write.
    probed: Mutex<Option<Instant>>,
}

/// The time for which a probe of the ledger holds: asking more often costs nothing more.
const PROBED: Duration = Duration::from_millis(250);

impl Service {
    /// Checks the settings and starts the threads that perturb: whatever is wrong with the settings
    /// is found before anything is served.
    pub fn new(
        settings: &Settings,
        sanitizer: Sanitizer,
        ledger: Ledger,
    ) -> Result<Arc<Self>, Error> {
        let live = Live::new(settings.clone())?;
        proven(&sanitizer)?;
        Ok(Arc::new(Self {
            live: RwLock::new(Arc::new(live)),
            releaser: Arc::new(Releaser::start(sanitizer, ledger, settings)?),
            learner: settings.learn_system.as_deref().map(SystemLearner::open).transpose()?,
            metrics: Metrics::default(),
            playground: OnceLock::new(),
            permits: Arc::new(Semaphore::new(settings.max_requests)),
            max_requests: settings.max_requests,
            corrupted: AtomicBool::new(false),
            probed: Mutex::new(None),
        }))
    }

    /// Opens a playground beside the proxy; the first one stays. It pays from the proxy's ledger.
    pub fn open_playground(&self, playground: Playground) {
        let _ = self.playground.set(Arc::new(playground));
    }

    /// The settings at this moment: a request keeps those it began with.
    pub(super) fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes over the settings that can change while it serves, all or none, for the requests to come.
    /// The mechanism cannot: another `fingerprint` than its own is named as needing a restart.
    pub fn reload(&self, settings: Settings, fingerprint: &str) -> Result<Reloaded, Error> {
        let before = self.live();
        let (settings, mut reloaded) = before.settings.reloaded(settings);
        if *fingerprint != self.releaser.sanitizer.about().fingerprint {
            reloaded.restart.push("settings of the mechanism");
        }
        let live = Live::new(settings)?;
        reloaded.changed.extend(live.changed_files(&before));
        self.releaser.set_limits(live.settings.limits);
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(live);
        Ok(reloaded)
    }

    /// A request's place among those that are served at a time.
    pub(super) fn permit(&self) -> Result<OwnedSemaphorePermit, Fault> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| Fault::Busy)
    }

    /// Fails if a text could not be perturbed and paid for now.
    pub(super) async fn try_out(&self) -> Result<(), Fault> {
        if self.corrupted.load(Ordering::Relaxed) {
            return Err(Fault::Corrupted);
        }
        let probed = || self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        if probed().is_some_and(|at| at.elapsed() < PROBED) {
            return Ok(());
        }
        self.observed(self.releaser.try_out().await)?;
        *probed() = Some(Instant::now());
        Ok(())
    }

    /// Notes what a result says of the ledger.
    pub(super) fn observed<T>(&self, result: Result<T, Fault>) -> Result<T, Fault> {
        if let Err(Fault::Ledger(error)) = &result
            && !matches!(error, LedgerError::Refused(_))
        {
            *self.probed.lock().unwrap_or_else(PoisonError::into_inner) = None;
            let is_corrupted = matches!(error, LedgerError::Corrupted(_));
            self.corrupted.fetch_or(is_corrupted, Ordering::Relaxed);
        }
        result
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

    /// The whole body of a request, and its place. One that is still arriving takes no place.
    pub(super) async fn receive(
        &self,
        request: Request,
    ) -> Result<(Vec<u8>, OwnedSemaphorePermit), Fault> {
        if self.corrupted.load(Ordering::Relaxed) {
            return Err(Fault::Corrupted);
        }
        if !self.has_room() {
            return Err(Fault::Busy);
        }
        let live = self.live();
        let timeout = Duration::from_secs(live.settings.timeout);
        let body = receive(request, live.settings.max_body, timeout).await?;
        Ok((body, self.permit()?))
    }

    /// Releases the texts of a conversation, timed and counted.
    pub(super) async fn release(
        &self,
        account: &Account,
        said: &[BodyText],
    ) -> Result<Released, Fault> {
        let started = Instant::now();
        let released = self.observed(self.releaser.conversation(account, said).await)?;
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
        let (release, released) = self.observed(self.releaser.text(account, text).await)?;
        self.metrics.released(started.elapsed(), released.spent);
        Ok((release, released))
    }
}
