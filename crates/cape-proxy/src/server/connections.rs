//! Connections, each with a limit on the time for the head of a request: slower clients are dropped.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;

/// The time that the head of a request may take, and that a connection may wait for one.
pub(super) const HEAD: Duration = Duration::from_secs(30);

/// The most connections at a time; others wait until one ends. With the largest body this bounds the memory
/// that half-sent bodies take.
const MOST: usize = 1024;

/// Serves until it is told to stop, and then finishes the requests that have begun.
pub(super) async fn serve(
    mut door: impl Listener,
    router: Router,
    head: Duration,
    stop: impl Future,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head);
    let (graceful, mut stop) = (GracefulShutdown::new(), pin!(stop));
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let accepting = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (door.accept().await.0, place)
        };
        let (connection, place) = tokio::select! {
            accepted = accepting => accepted,
            _ = &mut stop => break,
        };
        let service = TowerToHyperService::new(router.clone());
        let served = graceful.watch(http.serve_connection(TokioIo::new(connection), service));
        tokio::spawn(async move {
            // a client that breaks off is told nothing
            let _ = served.await;
            drop(place);
        });
    }
    drop(door);
    graceful.shutdown().await;
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::net::SocketAddr;
    use std::time::Instant;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;

    use super::super::listen::Door;
    use super::*;

    async fn open() -> (Door, SocketAddr) {
        let door = Door::open(SocketAddr::from(([127, 0, 0, 1], 0)), None).await.unwrap();
        let address = door.local_addr().unwrap();
        (door, address)
    }

    fn router(time: Duration) -> Router {
        let hello = move || async move {
            tokio::time::sleep(time).await;
            "hello"
        };
        Router::new().route("/", get(hello))
    }

    #[tokio::test]
    async fn a_head_that_never_ends_is_not_waited_for() {
        let (door, address) = open().await;
        let head = Duration::from_millis(500);
        // an answer may take longer than a head
        let router = router(Duration::from_millis(800));
        tokio::spawn(serve(door, router, head, pending::<()>()));
        for begun in ["", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: x\r\nx: "] {
            let mut slow = TcpStream::connect(address).await.unwrap();
            slow.write_all(begun.as_bytes()).await.unwrap();
            let started = Instant::now();
            // it drips on, and is let go all the same
            let dripping = async {
                while slow.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(30), dripping).await.unwrap();
            assert!(started.elapsed() >= Duration::from_millis(400), "{begun:?}");
        }
        let mut quick = TcpStream::connect(address).await.unwrap();
        quick.write_all(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        quick.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("hello"), "{answer}");
    }

    #[tokio::test]
    async fn what_has_begun_ends_in_order() {
        let (door, address) = open().await;
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(serve(door, router(Duration::from_millis(300)), HEAD, stopped));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.send(()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("hello"), "{answer}");
        serving.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
