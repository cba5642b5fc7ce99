//! The settings of the proxy.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use cape_ledger::Limits;

use crate::request::policy::Policy;

/// What the operator sets.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The service's address, with its version: `https://api.openai.com/v1`.
    pub upstream: Option<String>,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The largest body of a request, in bytes.
    pub max_body: usize,
    /// The most requests that are served at a time; others are told to try again.
    pub max_requests: usize,
    /// The seconds that a request may take to arrive, and upstream to begin its answer.
    pub timeout: u64,
    /// The seconds that upstream may pause in an answer.
    pub idle_timeout: u64,
    /// The address of an OpenAI-compatible model that rewrites answers with the true prompt at hand.
    pub extractor_url: Option<String>,
    /// The name of that model.
    pub extractor_model: Option<String>,
    /// Whether that model may be on another machine, which then sees the true prompts.
    pub extractor_elsewhere: bool,
    /// The seconds that requests have to end when the proxy is told to.
    pub grace: u64,
    /// The PEM file of the certificate, for clients over TLS.
    pub tls_certificate: Option<PathBuf>,
    /// The PEM file of the certificate's key.
    pub tls_key: Option<PathBuf>,
    /// The ledger: a SQLite file, or `postgres://…`.
    pub ledger: Option<String>,
    /// The ledger's key file.
    pub ledger_key: Option<PathBuf>,
    /// The days that a message is remembered without being sent again.
    pub remember_days: u32,
    /// The limits on what may be spent.
    pub limits: Limits,
    /// The list of lines of system prompts that pass, by their SHA-256 sums.
    pub allow_system: Option<PathBuf>,
    /// The list that the lines of all system prompts are added to.
    pub learn_system: Option<PathBuf>,
    /// The policy on what is let through.
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
            allow_system: None,
            learn_system: None,
            policy: Policy::default(),
        }
    }
}
