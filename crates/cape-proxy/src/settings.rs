//! The settings of the proxy.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use cape::Wanted;
use cape_ledger::Limits;
use serde::Deserialize;

use crate::request::policy::Policy;

/// How long a word becomes the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// As long as the account lasts: an API key and a user id.
    #[default]
    Account,
    /// In one conversation, which is known by its texts up to the user's first.
    Conversation,
    /// In one request.
    None,
}

impl Memory {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Account, Self::Conversation, Self::None];

    /// As it appears in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Conversation => "conversation",
            Self::None => "none",
        }
    }
}

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
    /// What is put back into answers; nothing if empty.
    pub restore: Vec<Wanted>,
    /// Whether a line in the system prompt tells the service that some details are substitutes.
    pub notice: bool,
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
    /// How long a word becomes the same.
    pub memory: Memory,
    /// Whether text that the service may know is drawn with the user's own map. Then the service can look
    /// up any word.
    pub shared_map: bool,
    /// The days that an answer is remembered without being sent again.
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
            restore: Wanted::DEFAULT.to_vec(),
            notice: false,
            extractor_url: None,
            extractor_model: None,
            extractor_elsewhere: false,
            grace: 30,
            tls_certificate: None,
            tls_key: None,
            ledger: None,
            ledger_key: None,
            memory: Memory::default(),
            shared_map: false,
            remember_days: 90,
            limits: Limits::default(),
            allow_system: None,
            learn_system: None,
            policy: Policy::default(),
        }
    }
}
