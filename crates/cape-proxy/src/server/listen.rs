//! The listener for clients, plain or over TLS.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::error::Error;
use crate::settings::Settings;

/// The time that a client has for the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The listener for clients.
pub(super) enum Door {
    Plain(TcpListener),
    /// Connections whose handshake is done: a slow one keeps nobody else waiting.
    Tls(mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>, SocketAddr),
}

impl Door {
    pub(super) async fn open(
        address: SocketAddr,
        tls: Option<Arc<ServerConfig>>,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Io { what: "cannot listen on the address", source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let Some(tls) = tls else { return Ok(Self::Plain(listener)) };
        let address = listener.local_addr().map_err(failed)?;
        let (ready, connections) = mpsc::channel(1);
        tokio::spawn(handshakes(listener, TlsAcceptor::from(tls), ready));
        Ok(Self::Tls(connections, address))
    }
}

async fn handshakes(
    mut listener: TcpListener,
    acceptor: TlsAcceptor,
    ready: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    while !ready.is_closed() {
        // axum's `accept` waits while the system has no more files to open
        let (stream, address) = Listener::accept(&mut listener).await;
        let _ = stream.set_nodelay(true);
        let (acceptor, ready) = (acceptor.clone(), ready.clone());
        tokio::spawn(async move {
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                // nobody listens any more: the connection is dropped
                let _ = ready.send((stream, address)).await;
            }
        });
    }
}

/// The TLS settings for clients, if certificate and key are given.
pub(super) fn tls_of(settings: &Settings) -> Result<Option<Arc<ServerConfig>>, Error> {
    match (&settings.tls_certificate, &settings.tls_key) {
        (Some(certificate), Some(key)) => tls(certificate, key).map(Some),
        (None, None) => Ok(None),
        _ => Err(Error::Pem),
    }
}

/// The TLS settings for clients, from the files of the certificate and its key.
fn tls(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, Error> {
    let pem = |_| Error::Pem;
    let chain = CertificateDer::pem_file_iter(certificate).map_err(pem)?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(pem)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(pem)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    config.map(Arc::new).map_err(Error::Tls)
}

/// A connection with or without TLS.
pub(super) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

impl Listener for Door {
    type Io = Box<dyn Connection>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        match self {
            Self::Plain(listener) => {
                let (stream, address) = Listener::accept(listener).await;
                // pieces of an answer do not wait for one another; where this fails they are only slower
                let _ = stream.set_nodelay(true);
                (Box::new(stream), address)
            }
            Self::Tls(connections, _) => match connections.recv().await {
                Some((stream, address)) => (Box::new(stream), address),
                None => std::future::pending().await,
            },
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        match self {
            Self::Plain(listener) => listener.local_addr(),
            Self::Tls(_, address) => Ok(*address),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;

    use super::*;

    #[tokio::test]
    async fn a_client_that_says_nothing_keeps_no_other_waiting() {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let (certificate, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let config = tls(&certificate, &key).unwrap();
        let door = Door::open(SocketAddr::from(([127, 0, 0, 1], 0)), Some(config)).await.unwrap();
        let port = door.local_addr().unwrap().port();
        let router = Router::new().route("/", get(async || "hello"));
        tokio::spawn(axum::serve(door, router).into_future());
        let _silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let root = reqwest::Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
        let client = reqwest::Client::builder().tls_certs_only([root]).build().unwrap();
        let url = format!("https://localhost:{port}/");
        let answer = client.get(url).send().await.unwrap().text().await.unwrap();
        assert_eq!(answer, "hello");
        assert!(reqwest::get(format!("http://localhost:{port}/")).await.is_err());
        assert!(matches!(tls(&key, &certificate), Err(Error::Pem | Error::Tls(_))));
        assert!(matches!(tls(&dir.path().join("none"), &key), Err(Error::Pem)));
    }
}
