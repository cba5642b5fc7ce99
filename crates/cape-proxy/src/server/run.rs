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
use crate::settings::{Reloaded, Settings};

/// Serves until the process is told to end (SIGTERM, Ctrl-C), on the runtime that the ledger was
/// opened on; told twice, it ends at once. `ready` gets the address. `reload` gives the settings on SIGHUP,
/// with the fingerprint of their mechanism, or says why it cannot.
pub fn run(
    runtime: Runtime,
    settings: &Settings,
    service: &Arc<Service>,
    ready: impl FnOnce(SocketAddr),
    reload: impl Fn() -> Result<(Settings, String), String> + Send + 'static,
) -> Result<(), Error> {
    let failed = |source| Error::Io { what: "the server cannot be started", source };
    let tls = listen::tls_of(settings)?;
    let served = runtime.block_on(async {
        let door = Door::open(settings.listen, tls).await?;
        ready(door.local_addr().map_err(failed)?);
        let (stop, mut stopped) = watch::channel(0_u32);
        tokio::spawn(reloads(Arc::clone(service), reload));
        tokio::spawn(forgets(Arc::clone(service), settings.remember_days));
        tokio::spawn(async move {
            for times in 1..=2 {
                told_to_end().await;
                tracing::info!(times, "ending");
                let _ = stop.send(times);
            }
        });
        let (mut told, mut told_twice) = (stopped.clone(), stopped.clone());
        let told = async move { drop(told.wait_for(|times| *times > 0).await) };
        let serving = connections::serve(door, router(Arc::clone(service)), HEAD, told);
        let grace = async {
            let _ = stopped.wait_for(|times| *times > 0).await;
            tokio::time::sleep(Duration::from_secs(settings.grace)).await;
        };
        tokio::select! {
            () = serving => Ok(()),
            () = grace => Ok(()),
            _ = told_twice.wait_for(|times| *times > 1) => Err(Error::BrokenOff),
        }
    });
    if served.is_ok() {
        // requests that are still under way had their time
        let closing =
            async { tokio::time::timeout(CLOSING, service.releaser.ledger.close()).await };
        let _ = runtime.block_on(closing);
    }
    runtime.shutdown_background();
    served
}

/// Serves on a socket of this machine until it is told to stop: for a process that has a runtime of its own. Who can
/// reach the socket can use the proxy. Answers that were not sent back for so many days are forgotten.
#[cfg(unix)]
pub async fn serve_on(
    service: &Arc<Service>,
    remember_days: u32,
    socket: tokio::net::UnixListener,
    stop: impl Future,
) {
    let forgetting = tokio::spawn(forgets(Arc::clone(service), remember_days));
    connections::serve(socket, router(Arc::clone(service)), HEAD, stop).await;
    forgetting.abort();
    let _ = tokio::time::timeout(CLOSING, service.releaser.ledger.close()).await;
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
async fn reloads(
    service: Arc<Service>,
    reload: impl Fn() -> Result<(Settings, String), String> + Send,
) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    while hangup.recv().await.is_some() {
        let read = reload().and_then(|(settings, fingerprint)| {
            service.reload(settings, &fingerprint).map_err(|error| error.to_string())
        });
        match read {
            Ok(Reloaded { changed, restart }) => {
                let (changed, restart) = (changed.join(", "), restart.join(", "));
                tracing::info!(changed, needs_restart = restart, "settings read again");
            }
            Err(why) => tracing::warn!(why, "settings stay as they were"),
        }
    }
}

#[cfg(not(unix))]
async fn reloads(_: Arc<Service>, _: impl Fn() -> Result<(Settings, String), String> + Send) {}
