//! The settings of the proxy.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use cape_ledger::Limits;

use crate::policy::Policy;

/// What the operator sets.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The service's address, with its version: `https://api.openai.com/v1`.
    pub upstream: Option<String>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// How many bytes the body of a request may have.
    pub max_body: usize,
    /// How many requests are served at a time; more are told to come again.
    pub max_requests: usize,
    /// How many seconds a request may take to arrive, and upstream to begin its answer.
    pub timeout: u64,
    /// How many seconds upstream may pause in an answer.
    pub idle_timeout: u64,
    /// The address of an OpenAI-compatible model that rewrites answers with the true prompt at hand.
    pub extractor_url: Option<String>,
    /// Its name.
    pub extractor_model: Option<String>,
    /// Whether it may be on another machine, which then sees the true prompts.
    pub extractor_elsewhere: bool,
    /// How many seconds requests have to end when the proxy is told to.
    pub grace: u64,
    /// The certificate, as PEM, where clients come over TLS.
    pub tls_certificate: Option<PathBuf>,
    /// Its key, as PEM.
    pub tls_key: Option<PathBuf>,
    /// Where the ledger is: a SQLite file, or `postgres://…`.
    pub ledger: Option<String>,
    /// The file of the ledger's key.
    pub ledger_key: Option<PathBuf>,
    /// How many days a message is remembered that is not sent again.
    pub remember_days: u32,
    /// How much may be spent.
    pub limits: Limits,
    /// What is let through.
    pub policy: Policy,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            upstream: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)),
            max_body: 256 << 10,
            max_requests: 64,
            timeout: 120,
            idle_timeout: 120,
            extractor_url: None,
            extractor_model: None,
            extractor_elsewhere: false,
            grace: 30,
            tls_certificate: None,
            tls_key: None,
            ledger: None,
            ledger_key: None,
            remember_days: 90,
            limits: Limits::default(),
            policy: Policy::default(),
        }
    }
}
