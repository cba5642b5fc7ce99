//! The service behind the proxy, and how it is asked.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, Method, header};
use reqwest::redirect;
use reqwest::{Client, Response, Url};

use crate::error::Error;
use crate::fault::Fault;

/// The largest answer that is read whole, in bytes.
pub(crate) const LARGEST: usize = 64 << 20;

/// A server that speaks JSON over HTTP.
pub(crate) struct Upstream {
    client: Client,
    base: Url,
    timeout: Duration,
}

impl Upstream {
    /// `what` names the address in errors.
    pub(crate) fn new(
        what: &'static str,
        base: &str,
        timeout: Duration,
        idle: Duration,
    ) -> Result<Self, Error> {
        let mut base: Url = base.parse().map_err(|_| Error::Address(what))?;
        let plain = base.query().is_none() && base.fragment().is_none();
        let named = base.username().is_empty() && base.password().is_none() && base.has_host();
        if !(plain && named && matches!(base.scheme(), "http" | "https")) {
            return Err(Error::Address(what));
        }
        // `join` would replace a last part without a slash
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        // a second installation fails, and does not matter: the provider is the same
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            // a redirect could lead a prompt and its credentials elsewhere
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .user_agent(concat!("cape/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(timeout.min(Duration::from_secs(10)))
            .read_timeout(idle)
            .build()
            .map_err(Error::Client)?;
        Ok(Self { client, base, timeout })
    }

    /// Its address.
    pub(crate) fn address(&self) -> &str {
        self.base.as_str()
    }

    /// Its host, as it was given.
    pub(crate) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// Whether it is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        match self.base.host_str() {
            Some("localhost") => true,
            Some(host) => {
                let address = host.trim_start_matches('[').trim_end_matches(']');
                address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
            }
            None => false,
        }
    }

    /// Whether it is on another machine and asked without TLS: the network can read all that is sent.
    pub(crate) fn is_bare(&self) -> bool {
        self.base.scheme() == "http" && !self.is_local()
    }

    /// Asks, and waits for the answer to begin.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Option<String>,
    ) -> Result<Response, Fault> {
        let url = self.base.join(path).map_err(|_| Fault::Unreachable)?;
        let mut request = self.client.request(method, url).headers(headers);
        if let Some(body) = body {
            let json = HeaderValue::from_static("application/json");
            request = request.header(header::CONTENT_TYPE, json).body(body);
        }
        let answer = tokio::time::timeout(self.timeout, request.send()).await;
        let answer = answer
            .map_err(|_| Fault::Timeout)?
            .map_err(|error| fault(&error, Fault::Unreachable))?;
        // a compressed answer was not asked for
        let coded = answer.headers().contains_key(header::CONTENT_ENCODING);
        if coded || answer.status().is_redirection() || answer.status().is_informational() {
            return Err(Fault::Malformed);
        }
        Ok(answer)
    }
}

/// The whole of an answer.
pub(crate) async fn whole(mut answer: Response) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| fault(&error, Fault::Broken))? {
        if body.len() + chunk.len() > LARGEST {
            return Err(Fault::Malformed);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The fault for an error of the HTTP client, whose own message holds addresses and is not passed on.
pub(crate) fn fault(error: &reqwest::Error, otherwise: Fault) -> Fault {
    if error.is_timeout() && !error.is_connect() { Fault::Timeout } else { otherwise }
}
