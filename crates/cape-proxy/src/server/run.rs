//! The proxy as a process: it listens, obeys signals, and ends without breaking off answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::serve::Listener as _;
use cape_ledger::Day;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::connections::{self, HEAD};
use super::listen::{self, Door};
use super::router::router;
use super::service::Service;
use crate::error::Error;
use crate::playground::{Playground, playground_router};
use crate::request::policy::Policy;
use crate::settings::Settings;

/// Serves until the process is told to end (SIGTERM, Ctrl-C), on the runtime that the ledger was
/// opened on. `ready` gets the address; `reload` gives the policy on SIGHUP, or none to keep the old.
pub fn run(
    runtime: Runtime,
    settings: &Settings,
    service: &Arc<Service>,
    ready: impl FnOnce(SocketAddr),
    reload: impl Fn() -> Option<Policy> + Send + 'static,
) -> Result<(), Error> {
    let failed = |source| Error::Io { what: "the server cannot be started", source };
    let is_open = service.playground.get().is_some_and(|playground| !playground.has_token());
    if is_open && !settings.listen.ip().is_loopback() {
        return Err(Error::PlaygroundToken);
    }
    let tls = match (&settings.tls_certificate, &settings.tls_key) {
        (Some(certificate), Some(key)) => Some(listen::tls(certificate, key)?),
        (None, None) => None,
        _ => return Err(Error::Pem),
    };
    let served = runtime.block_on(async {
        let door = Door::open(settings.listen, tls).await?;
        ready(door.local_addr().map_err(failed)?);
        let (stop, mut stopped) = watch::channel(false);
        tokio::spawn(reloads(Arc::clone(service), reload));
        tokio::spawn(forgets(Arc::clone(service), settings.remember_days));
        tokio::spawn(async move {
            told_to_end().await;
            tracing::info!("ending");
            let _ = stop.send(true);
        });
        let mut told = stopped.clone();
        let told = async move { drop(told.wait_for(|stop| *stop).await) };
        let serving = connections::serve(door, router(Arc::clone(service)), HEAD, told);
        let grace = async {
            let _ = stopped.wait_for(|stop| *stop).await;
            tokio::time::sleep(Duration::from_secs(settings.grace)).await;
        };
        tokio::select! {
            () = serving => {}
            () = grace => {}
        }
        Ok(())
    });
    // requests that are still under way had their time
    let _ = runtime
        .block_on(async { tokio::time::timeout(CLOSING, service.releaser.ledger.close()).await });
    runtime.shutdown_background();
    served
}

/// Serves a playground and nothing else until the process is told to end; `ready` gets the address.
pub fn run_playground(
    runtime: &Runtime,
    address: SocketAddr,
    playground: Arc<Playground>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let failed = |source| Error::Io { what: "the server cannot be started", source };
    runtime.block_on(async {
        let door = Door::open(address, None).await?;
        ready(door.local_addr().map_err(failed)?);
        connections::serve(door, playground_router(playground), HEAD, told_to_end()).await;
        Ok(())
    })
}

/// The time that the ledger's connections have to end.
const CLOSING: Duration = Duration::from_secs(5);

/// Forgets answers that were not sent back for so many days, now and every hour.
async fn forgets(service: Arc<Service>, days: u32) {
    loop {
        match service.releaser.ledger.forget_answers(Day::of(SystemTime::now()).before(days)).await
        {
            Ok(answers) if answers > 0 => tracing::info!(answers, "forgotten"),
            Ok(_) => {}
            Err(_) => tracing::warn!("the ledger did not forget"),
        }
        tokio::time::sleep(Duration::from_hours(1)).await;
    }
}

#[cfg(unix)]
async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

#[cfg(not(unix))]
async fn told_to_end() {
    let _ = tokio::signal::ctrl_c().await;
}

#[cfg(unix)]
async fn reloads(service: Arc<Service>, reload: impl Fn() -> Option<Policy> + Send) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    while hangup.recv().await.is_some() {
        let changed = match reload().map(|policy| service.set_policy(policy)) {
            Some(Ok(())) => true,
            Some(Err(error)) => {
                tracing::warn!(%error, "the policy stays as it was");
                false
            }
            None => false,
        };
        tracing::info!(changed, "policy read again");
    }
}

#[cfg(not(unix))]
async fn reloads(_: Arc<Service>, _: impl Fn() -> Option<Policy> + Send) {}
