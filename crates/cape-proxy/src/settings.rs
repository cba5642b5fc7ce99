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
#[allow(clippy::struct_excessive_bools, reason = "each allows one thing by itself")]
pub struct Settings {
    /// The service's address, with its version: `https://api.openai.com/v1`.
    pub upstream: Option<String>,
    /// Whether an upstream or extractor on another machine may be asked over plain http.
    pub plain_http: bool,
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
    /// The file of the token that clients show in the header `x-cape-token`.
    pub token_file: Option<PathBuf>,
    /// Whether clients on other machines may come without TLS.
    pub listen_plain: bool,
    /// Whether clients on other machines may come without a token.
    pub listen_anyone: bool,
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

/// What became of settings that were read again.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// The settings that are in force from now on.
    pub changed: Vec<&'static str>,
    /// Those that need a restart.
    pub restart: Vec<&'static str>,
}

impl Settings {
    /// The settings in force after these were read, and what that changes.
    pub(crate) fn reloaded(&self, new: Self) -> (Self, Reloaded) {
        // every field is named: one that is forgotten here would be ignored in silence
        let Self {
            upstream,
            plain_http,
            listen,
            max_body,
            max_requests,
            timeout,
            idle_timeout,
            restore,
            notice,
            extractor_url,
            extractor_model,
            extractor_elsewhere,
            grace,
            token_file,
            listen_plain,
            listen_anyone,
            tls_certificate,
            tls_key,
            ledger,
            ledger_key,
            memory,
            shared_map,
            remember_days,
            limits,
            allow_system,
            learn_system,
            policy,
        } = &new;
        let changed = [
            ("upstream", *upstream != self.upstream),
            ("plain-http", *plain_http != self.plain_http),
            ("max-body", *max_body != self.max_body),
            ("timeout", *timeout != self.timeout),
            ("idle-timeout", *idle_timeout != self.idle_timeout),
            ("restore", *restore != self.restore),
            ("notice", *notice != self.notice),
            ("extractor-url", *extractor_url != self.extractor_url),
            ("extractor-model", *extractor_model != self.extractor_model),
            ("extractor-elsewhere", *extractor_elsewhere != self.extractor_elsewhere),
            ("token-file", *token_file != self.token_file),
            ("listen-plain", *listen_plain != self.listen_plain),
            ("listen-anyone", *listen_anyone != self.listen_anyone),
            ("limits", *limits != self.limits),
            ("allow-system", *allow_system != self.allow_system),
            ("policy", *policy != self.policy),
        ];
        let restart = [
            ("listen", *listen != self.listen),
            ("max-requests", *max_requests != self.max_requests),
            ("grace", *grace != self.grace),
            ("tls-certificate", *tls_certificate != self.tls_certificate),
            ("tls-key", *tls_key != self.tls_key),
            ("ledger", *ledger != self.ledger),
            ("ledger-key", *ledger_key != self.ledger_key),
            ("memory", *memory != self.memory),
            ("shared-map", *shared_map != self.shared_map),
            ("learn-system", *learn_system != self.learn_system),
            ("remember-days", *remember_days != self.remember_days),
        ];
        let names = |all: &[(&'static str, bool)]| {
            all.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect()
        };
        let reloaded = Reloaded { changed: names(&changed), restart: names(&restart) };
        let running = self.clone();
        let in_force = Self {
            listen: running.listen,
            max_requests: running.max_requests,
            grace: running.grace,
            tls_certificate: running.tls_certificate,
            tls_key: running.tls_key,
            ledger: running.ledger,
            ledger_key: running.ledger_key,
            memory: running.memory,
            shared_map: running.shared_map,
            remember_days: running.remember_days,
            learn_system: running.learn_system,
            ..new
        };
        (in_force, reloaded)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            upstream: None,
            plain_http: false,
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
            token_file: None,
            listen_plain: false,
            listen_anyone: false,
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
