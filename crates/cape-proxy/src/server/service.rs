//! What every request shares, and which paths are served.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::middleware;
use axum::routing::{get, post};
use cape::privacy::{Evidence, Notion};
use cape::sanitizer::Sanitizer;
use cape_ledger::{Ledger, Limits};
use tokio::sync::Semaphore;

use crate::answer::extractor::{Ask, Extractor};
use crate::answer::to_events::Answer;
use crate::error::{Dialect, Error};
use crate::request::body::tables::{anthropic, openai, responses};
use crate::request::perturber::Perturber;
use crate::request::policy::{Action, Policy};
use crate::server::forward::{self, Route};
use crate::server::log;
use crate::server::metrics::Metrics;
use crate::server::{guardrail, local, openapi};
use crate::settings::Settings;
use crate::upstream::Upstream;

/// What every request shares.
pub struct Service {
    policy: RwLock<Arc<Policy>>,
    pub(crate) perturber: Perturber,
    pub(crate) sanitizer: Arc<Sanitizer>,
    pub(crate) upstream: Upstream,
    pub(crate) extractor: Option<Arc<Extractor>>,
    pub(crate) ledger: Ledger,
    pub(crate) limits: Limits,
    /// All that a release depends on: under other settings it is another release.
    pub(crate) settings: String,
    pub(crate) metrics: Metrics,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) max_body: usize,
    pub(crate) max_requests: usize,
    pub(crate) timeout: Duration,
}

impl Service {
    /// What is wrong with the settings is found before anything is served. `ask` words what the
    /// extractor is asked, if there is one.
    pub fn new(
        settings: &Settings,
        sanitizer: Sanitizer,
        ledger: Ledger,
        ask: Ask,
    ) -> Result<Arc<Self>, Error> {
        let guarantee = sanitizer.guarantee();
        if guarantee.notion != Notion::Ldp || guarantee.evidence == Evidence::None {
            return Err(Error::Unproven);
        }
        let extractor = Extractor::new(settings, ask)?.map(Arc::new);
        if extractor.is_some() && settings.policy.assistant == Action::Pass {
            return Err(Error::RewrittenPass);
        }
        let timeout = Duration::from_secs(settings.timeout);
        let idle = Duration::from_secs(settings.idle_timeout);
        let base = settings.upstream.as_deref().unwrap_or_default();
        let sanitizer = Arc::new(sanitizer);
        let started = Perturber::start(&sanitizer);
        let what = "the thread that perturbs cannot be started";
        Ok(Arc::new(Self {
            policy: RwLock::new(Arc::new(settings.policy.clone())),
            perturber: started.map_err(|source| Error::Io { what, source })?,
            settings: sanitizer.about().fingerprint.clone(),
            sanitizer,
            upstream: Upstream::new("the upstream", base, timeout, idle)?,
            extractor,
            ledger,
            limits: settings.limits,
            metrics: Metrics::default(),
            permits: Arc::new(Semaphore::new(settings.max_requests)),
            max_body: settings.max_body,
            max_requests: settings.max_requests,
            timeout,
        }))
    }

    /// The policy at this moment: a request keeps the one it began with.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Another policy for the requests to come, if it may be one here.
    pub fn set_policy(&self, policy: Policy) -> Result<(), Error> {
        if self.extractor.is_some() && policy.assistant == Action::Pass {
            return Err(Error::RewrittenPass);
        }
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
        Ok(())
    }
}

macro_rules! route {
    ($path:literal, $table:expr, $dialect:ident, $answer:ident) => {
        &Route { path: $path, table: $table, dialect: Dialect::$dialect, answer: Answer::$answer }
    };
}

/// The routes whose bodies go on to upstream.
pub(crate) const ROUTES: [&Route; 5] = [
    route!("chat/completions", openai::CHAT, OpenAi, Chat),
    route!("completions", openai::COMPLETIONS, OpenAi, Completion),
    route!("embeddings", openai::EMBEDDINGS, OpenAi, Vectors),
    route!("responses", responses::RESPONSES, OpenAi, Response),
    route!("messages", anthropic::MESSAGES, Anthropic, Message),
];

/// Every path that is served. Any other is a 404 that forwards nothing.
pub fn router(service: Arc<Service>) -> Router {
    let mut router = Router::new()
        .route("/v1/models", get(local::models))
        .route("/perturb", post(local::perturb))
        .route("/beta/litellm_basic_guardrail_api", post(guardrail::guard))
        .route("/openapi.json", get(openapi::openapi))
        .route("/health", get(local::health))
        .route("/ready", get(local::ready))
        .route("/metrics", get(local::metrics));
    for route in ROUTES {
        let forward = move |service, request| forward::forward(service, request, route);
        router = router.route(&format!("/v1/{}", route.path), post(forward));
    }
    router
        .fallback(local::not_found)
        .method_not_allowed_fallback(local::wrong_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&service), log::watch))
        .with_state(service)
}
