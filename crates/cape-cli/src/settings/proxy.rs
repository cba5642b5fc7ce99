//! The settings of the proxy and its ledger: flags of `cape serve` and `cape ledger`, and the section
//! `[proxy]` of cape.toml.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cape_ledger::{Each, Limits, Micros};
use cape_proxy::{Memory, PolicyChanges, Preset};
use clap::Args;
use clap::builder::TypedValueParser;
use serde::Deserialize;

use super::choices::{Restored, memories};
use super::{Setting, one_of, settings};

/// Headings of `--help`; settings under them are no part of `-h`.
const INSTRUCTIONS: &str = "System prompts";
pub(crate) const LEDGER: &str = "Ledger and limits";
const ANSWERS: &str = "Answers";
const TLS: &str = "Other machines";
const PLAYGROUND: &str = "Playground";

settings! {
    /// The settings of the proxy, as `cape_proxy::Settings` explains them. Those without a flag are for the
    /// file alone.
    #[serde(deny_unknown_fields)]
    ProxySettings {
        /// Address of the LLM service, with its version
        #[arg(long, env = "CAPE_UPSTREAM", value_name = "URL")]
        upstream: Option<String>,

        /// Allow plain http to an upstream or extractor on another machine
        #[arg(long, env = "CAPE_PLAIN_HTTP", help_heading = TLS)]
        plain_http: bool,

        /// Address to listen on [default: 127.0.0.1:8787]
        #[arg(long, env = "CAPE_LISTEN", value_name = "ADDRESS")]
        listen: Option<SocketAddr>,

        /// Settings for a program, where neither flags nor cape.toml say otherwise; --show prints them
        #[arg(long, env = "CAPE_PRESET", value_name = "NAME", value_parser = presets())]
        preset: Option<Preset>,

        /// List of lines of system prompts that pass unchanged, by their SHA-256 sums
        ///
        /// All other lines are treated as `system` in [proxy.policy] says: perturbed, or refused.
        #[arg(long, env = "CAPE_ALLOW_SYSTEM", value_name = "FILE", help_heading = INSTRUCTIONS)]
        allow_system: Option<PathBuf>,

        /// Add the lines of all system prompts to such a list: sums alone, never text
        #[arg(long, env = "CAPE_LEARN_SYSTEM", value_name = "FILE", help_heading = INSTRUCTIONS)]
        learn_system: Option<PathBuf>,

        #[command(flatten, next_help_heading = LEDGER)]
        ledger: LedgerPlace,

        /// Key file of the ledger, made if there is none; back it up apart from the ledger
        /// [default: cape/ledger.key in the user's data folder]
        #[arg(long, env = "CAPE_LEDGER_KEY", value_name = "FILE", help_heading = LEDGER)]
        ledger_key: Option<PathBuf>,

        /// How long a word becomes the same, and is paid for once [default: account]
        #[arg(long, env = "CAPE_PROXY_MEMORY", value_name = "LENGTH", value_parser = memories(),
            help_heading = LEDGER)]
        memory: Option<Memory>,

        #[command(flatten, next_help_heading = LEDGER)]
        limits: LimitSettings,

        /// Which of your words are put back into answers: any of persons, identifiers, other-names (places,
        /// organisations) and values (numbers, dates), with commas; none if empty [default:
        /// persons,identifiers]
        #[arg(long, env = "CAPE_RESTORE", value_name = "NAMES", help_heading = ANSWERS)]
        restore: Option<Restored>,

        /// Tell the service, in the system prompt, that some details are substitutes
        #[arg(long, env = "CAPE_NOTICE", help_heading = ANSWERS)]
        notice: bool,

        /// OpenAI-compatible address of a model that rewrites answers with the true prompt at hand
        #[arg(long, env = "CAPE_EXTRACTOR_URL", value_name = "URL", help_heading = ANSWERS)]
        extractor_url: Option<String>,

        /// Name of that model
        #[arg(long, env = "CAPE_EXTRACTOR_MODEL", value_name = "NAME", help_heading = ANSWERS)]
        extractor_model: Option<String>,

        /// Allow that model to be on another machine, which then sees the true prompts
        #[arg(long, env = "CAPE_EXTRACTOR_ELSEWHERE", help_heading = ANSWERS)]
        extractor_elsewhere: bool,

        /// File with the token that clients must show in the header X-Cape-Token
        #[arg(long, env = "CAPE_TOKEN_FILE", value_name = "FILE", help_heading = TLS)]
        token_file: Option<PathBuf>,

        /// Allow clients on other machines without TLS
        #[arg(long, env = "CAPE_LISTEN_PLAIN", help_heading = TLS)]
        listen_plain: bool,

        /// Allow clients on other machines without a token
        #[arg(long, env = "CAPE_LISTEN_ANYONE", help_heading = TLS)]
        listen_anyone: bool,

        /// Certificate (PEM), to serve over TLS
        #[arg(long, env = "CAPE_TLS_CERTIFICATE", value_name = "FILE", help_heading = TLS)]
        tls_certificate: Option<PathBuf>,

        /// Key of the certificate (PEM)
        #[arg(long, env = "CAPE_TLS_KEY", value_name = "FILE", help_heading = TLS)]
        tls_key: Option<PathBuf>,

        /// Show the playground at /playground, too
        #[arg(long, env = "CAPE_PLAYGROUND", help_heading = PLAYGROUND)]
        playground: bool,

        #[arg(skip)]
        policy: PolicyChanges,
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
        shared_map: bool,
        #[arg(skip)]
        remember_days: Option<u32>,
    }
}

fn presets() -> impl TypedValueParser<Value = Preset> {
    let about =
        ["Anthropic's agent", "OpenAI's agent", "The editor", "The web page for chat models"];
    one_of(Preset::ALL, Preset::name, about)
}

impl Setting for PolicyChanges {
    fn is_given(&self) -> bool {
        *self != Self::default()
    }

    fn or(self, file: Self) -> Self {
        Self::or(self, file)
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

impl LedgerPlace {
    /// A file begins in this folder; the address of a database stays as it is.
    pub(super) fn lies_in(&mut self, folder: &Path) {
        let Some(place) = &mut self.ledger else { return };
        let scheme = ["sqlite://", "sqlite:"].into_iter().find(|scheme| place.starts_with(scheme));
        let scheme = scheme.unwrap_or_default();
        let file = &place[scheme.len()..];
        if !file.contains("://") {
            *place = format!("{scheme}{}", folder.join(file).display());
        }
    }
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

        /// Maps that a key may open in a day (UTC)
        #[arg(long = "limit-maps-key-day", env = "CAPE_LIMIT_MAPS_KEY_DAY", value_name = "MAPS")]
        maps_key_day: Option<u64>,

        /// Maps that a key may open in total
        #[arg(long = "limit-maps-key", env = "CAPE_LIMIT_MAPS_KEY", value_name = "MAPS")]
        maps_key: Option<u64>,

        /// Maps that all keys together may open in a day (UTC)
        #[arg(long = "limit-maps-day", env = "CAPE_LIMIT_MAPS_DAY", value_name = "MAPS")]
        maps_day: Option<u64>,

        /// Maps that all keys together may open in total
        #[arg(long = "limit-maps-total", env = "CAPE_LIMIT_MAPS_TOTAL", value_name = "MAPS")]
        maps_total: Option<u64>,
    }
}

impl From<LimitSettings> for Limits {
    fn from(given: LimitSettings) -> Self {
        Self {
            key_day: given.key_day,
            key: given.key,
            day: given.day,
            total: given.total,
            maps: Each {
                key_day: given.maps_key_day,
                key: given.maps_key,
                day: given.maps_day,
                total: given.maps_total,
            },
        }
    }
}

impl From<ProxySettings> for cape_proxy::Settings {
    fn from(given: ProxySettings) -> Self {
        let default = Self::default();
        Self {
            upstream: given.upstream,
            plain_http: given.plain_http,
            listen: given.listen.unwrap_or(default.listen),
            max_body: given.max_body.unwrap_or(default.max_body),
            max_requests: given.max_requests.unwrap_or(default.max_requests),
            timeout: given.timeout.unwrap_or(default.timeout),
            idle_timeout: given.idle_timeout.unwrap_or(default.idle_timeout),
            restore: given.restore.map_or(default.restore, |Restored(wanted)| wanted),
            notice: given.notice,
            extractor_url: given.extractor_url,
            extractor_model: given.extractor_model,
            extractor_elsewhere: given.extractor_elsewhere,
            grace: given.grace.unwrap_or(default.grace),
            token_file: given.token_file,
            listen_plain: given.listen_plain,
            listen_anyone: given.listen_anyone,
            tls_certificate: given.tls_certificate,
            tls_key: given.tls_key,
            ledger: given.ledger.ledger,
            ledger_key: given.ledger_key,
            memory: given.memory.unwrap_or_default(),
            shared_map: given.shared_map,
            remember_days: given.remember_days.unwrap_or(default.remember_days),
            limits: given.limits.into(),
            allow_system: given.allow_system,
            learn_system: given.learn_system,
            policy: given.policy.policy(),
        }
    }
}
