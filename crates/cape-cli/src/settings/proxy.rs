//! The settings of the proxy and its ledger: flags of `cape serve` and `cape ledger`, and the section
//! `[proxy]` of cape.toml.

use std::net::SocketAddr;
use std::path::PathBuf;

use cape_ledger::{Limits, Micros};
use cape_proxy::Policy;
use clap::Args;
use serde::Deserialize;

use super::{Setting, settings};

/// Headings of `--help`; settings under them are no part of `-h`.
const LEDGER: &str = "Ledger and limits";
const ANSWERS: &str = "Answers";
const TLS: &str = "TLS";
const PLAYGROUND: &str = "Playground";

settings! {
    /// The settings of the proxy, as `cape_proxy::Settings` explains them. Those without a flag are for the
    /// file alone.
    #[serde(deny_unknown_fields)]
    ProxySettings {
        /// Address of the LLM service, with its version
        #[arg(long, env = "CAPE_UPSTREAM", value_name = "URL")]
        upstream: Option<String>,

        /// Address to listen on [default: 127.0.0.1:8787]
        #[arg(long, env = "CAPE_LISTEN", value_name = "ADDRESS")]
        listen: Option<SocketAddr>,

        #[command(flatten, next_help_heading = LEDGER)]
        ledger: LedgerPlace,

        /// Key file of the ledger, made if there is none; back it up apart from the ledger
        /// [default: cape/ledger.key in the user's data folder]
        #[arg(long, env = "CAPE_LEDGER_KEY", value_name = "FILE", help_heading = LEDGER)]
        ledger_key: Option<PathBuf>,

        #[command(flatten, next_help_heading = LEDGER)]
        limits: LimitSettings,

        /// OpenAI-compatible address of a model that rewrites answers with the true prompt at hand
        #[arg(long, env = "CAPE_EXTRACTOR_URL", value_name = "URL", help_heading = ANSWERS)]
        extractor_url: Option<String>,

        /// Name of that model
        #[arg(long, env = "CAPE_EXTRACTOR_MODEL", value_name = "NAME", help_heading = ANSWERS)]
        extractor_model: Option<String>,

        /// Allow that model to be on another machine, which then sees the true prompts
        #[arg(long, env = "CAPE_EXTRACTOR_ELSEWHERE", help_heading = ANSWERS)]
        extractor_elsewhere: bool,

        /// Certificate (PEM), to serve over TLS
        #[arg(long, env = "CAPE_TLS_CERTIFICATE", value_name = "FILE", help_heading = TLS)]
        tls_certificate: Option<PathBuf>,

        /// Key of the certificate (PEM)
        #[arg(long, env = "CAPE_TLS_KEY", value_name = "FILE", help_heading = TLS)]
        tls_key: Option<PathBuf>,

        /// Show the playground at /playground, too
        #[arg(long, env = "CAPE_PLAYGROUND", help_heading = PLAYGROUND)]
        playground: bool,

        /// Token that the playground asks for; needed where other machines can reach the address (better
        /// as CAPE_PLAYGROUND_TOKEN, which the list of processes does not show)
        #[arg(long, env = "CAPE_PLAYGROUND_TOKEN", value_name = "TOKEN", help_heading = PLAYGROUND)]
        playground_token: Option<String>,

        #[arg(skip)]
        policy: Option<Policy>,
        #[arg(skip)]
        max_body: Option<usize>,
        #[arg(skip)]
        max_requests: Option<usize>,
        #[arg(skip)]
        timeout: Option<u64>,
        #[arg(skip)]
        idle_timeout: Option<u64>,
        #[arg(skip)]
        grace: Option<u64>,
        #[arg(skip)]
        remember_days: Option<u32>,
    }
}

/// Where the ledger is.
#[derive(Args, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct LedgerPlace {
    /// The ledger: a SQLite file, or postgres://USER:PASSWORD@HOST/DATABASE (better as CAPE_LEDGER,
    /// which the list of processes does not show) [default: cape/ledger.db in the user's data folder]
    #[arg(long, env = "CAPE_LEDGER", value_name = "FILE|URL")]
    pub(crate) ledger: Option<String>,
}

impl Setting for LedgerPlace {
    fn is_given(&self) -> bool {
        self.ledger.is_some()
    }
}

settings! {
    /// How much may be spent; without a limit, anything.
    #[serde(deny_unknown_fields)]
    LimitSettings {
        /// ε that a key may spend in a day (UTC)
        #[arg(long = "limit-key-day", env = "CAPE_LIMIT_KEY_DAY", value_name = "EPSILON")]
        key_day: Option<Micros>,

        /// ε that a key may spend in total
        #[arg(long = "limit-key", env = "CAPE_LIMIT_KEY", value_name = "EPSILON")]
        key: Option<Micros>,

        /// ε that all keys together may spend in a day (UTC)
        #[arg(long = "limit-day", env = "CAPE_LIMIT_DAY", value_name = "EPSILON")]
        day: Option<Micros>,

        /// ε that all keys together may spend in total
        #[arg(long = "limit-total", env = "CAPE_LIMIT_TOTAL", value_name = "EPSILON")]
        total: Option<Micros>,
    }
}

impl From<LimitSettings> for Limits {
    fn from(LimitSettings { key_day, key, day, total }: LimitSettings) -> Self {
        Self { key_day, key, day, total }
    }
}

impl From<ProxySettings> for cape_proxy::Settings {
    fn from(given: ProxySettings) -> Self {
        let default = Self::default();
        Self {
            upstream: given.upstream,
            listen: given.listen.unwrap_or(default.listen),
            max_body: given.max_body.unwrap_or(default.max_body),
            max_requests: given.max_requests.unwrap_or(default.max_requests),
            timeout: given.timeout.unwrap_or(default.timeout),
            idle_timeout: given.idle_timeout.unwrap_or(default.idle_timeout),
            extractor_url: given.extractor_url,
            extractor_model: given.extractor_model,
            extractor_elsewhere: given.extractor_elsewhere,
            grace: given.grace.unwrap_or(default.grace),
            tls_certificate: given.tls_certificate,
            tls_key: given.tls_key,
            ledger: given.ledger.ledger,
            ledger_key: given.ledger_key,
            remember_days: given.remember_days.unwrap_or(default.remember_days),
            limits: given.limits.into(),
            policy: given.policy.unwrap_or_default(),
        }
    }
}
