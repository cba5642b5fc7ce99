//! A proxy inside of this process, on a socket that nobody else can reach.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use cape::{Lexicon, Sanitizer};
use cape_proxy::{Memory, PolicyChanges, Service, Settings, serve_on};
use pyo3::prelude::*;
use tokio::net::UnixListener;
use tokio::sync::oneshot;

use crate::engine::{Cape, one_of};
use crate::errors;
use crate::ledger::{self, Ledger};
use crate::release::named;
use crate::threads::runtime;

/// The server behind `cape_dp.Proxy`.
#[pyclass(frozen, module = "cape_dp._cape_dp", name = "_Server")]
pub(crate) struct Server {
    /// Ends it when it is dropped.
    stop: Mutex<Option<oneshot::Sender<()>>>,
}

#[pymethods]
impl Server {
    #[new]
    #[pyo3(signature = (
        socket, upstream, cape, ledger, *, policy, restore, notice, memory, plain_http, timeout, max_body,
    ))]
    #[allow(clippy::too_many_arguments, reason = "one per setting")]
    fn new(
        py: Python<'_>,
        socket: PathBuf,
        upstream: String,
        cape: &Bound<'_, Cape>,
        ledger: &Bound<'_, Ledger>,
        policy: &str,
        restore: Option<Vec<String>>,
        notice: bool,
        memory: &str,
        plain_http: bool,
        timeout: u64,
        max_body: usize,
    ) -> PyResult<Self> {
        let ledger = ledger.get();
        let default = Settings::default();
        // the message names keys and values of a policy, which are no words of a prompt
        let policy = serde_json::from_str::<PolicyChanges>(policy)
            .map_err(|error| errors::setting(format!("policy: {error}")))?;
        let settings = Settings {
            upstream: Some(upstream),
            policy: policy.policy(),
            restore: match restore {
                Some(names) => names.iter().map(|name| named(name)).collect::<PyResult<_>>()?,
                None => default.restore.clone(),
            },
            notice,
            memory: one_of("memory", memory, Memory::ALL, Memory::as_str)?,
            plain_http,
            timeout,
            max_body,
            limits: ledger.limits,
            ..default
        };
        let own = cape.get().cape().settings().clone();
        let own =
            cape::Cape::new(Lexicon::embedded(), own).map_err(|error| errors::cape(&error))?;
        let ledger = ledger::open(py, &ledger.place, &ledger.key)?;
        let runtime = runtime()?;
        // a runtime must be there where a socket, a service or a client is made
        let _inside = runtime.enter();
        let service = Service::new(&settings, Sanitizer::words(own), ledger)
            .map_err(|error| errors::proxy(&error))?;
        let door = UnixListener::bind(socket).map_err(|error| errors::internal(&error))?;
        let (stop, stopped) = oneshot::channel::<()>();
        runtime.spawn(async move {
            serve_on(&service, settings.remember_days, door, stopped).await;
        });
        Ok(Self { stop: Mutex::new(Some(stop)) })
    }

    /// Ends it: requests that have begun are finished.
    fn close(&self) {
        drop(self.stop.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
