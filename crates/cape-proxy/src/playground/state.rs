//! The playground's state, and what its owner gives it.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cape::{Cape, Release, Sanitizer, Settings};

use super::chosen::Mechanisms;
use super::exchange::Exchange;
use super::refused::Refused;
use super::session::Session;

/// Writes settings to the user's file, or says why not.
pub type Save = Box<dyn Fn(&Settings) -> Result<(), String> + Send + Sync>;

/// Loads the paper's mechanism, or says why not.
pub type Paper = Box<dyn Fn() -> Result<Sanitizer, String> + Send + Sync>;

/// Reads the proxy's ledger as `cape ledger show --json` shows it, or says why not.
pub type ReadLedger = Box<dyn Fn() -> Result<serde_json::Value, String> + Send + Sync>;

/// Guesses the protected words of a text from its release, as an attacker would who knows the mechanism.
pub type Attack = Box<dyn Fn(&Cape, &str, &Release) -> Result<Vec<Guess>, String> + Send + Sync>;

/// A guess of one word.
pub struct Guess {
    /// The number of the word in the text, counted from 0.
    pub word: usize,
    /// The guess, if there is any.
    pub guess: Option<String>,
    /// Whether it is right.
    pub right: bool,
    /// Whether every word was tried that could be more probable.
    pub exact: bool,
}

/// What a playground can do beside showing.
#[derive(Default)]
pub struct Options {
    /// The settings file that the page can save to: its name, and how.
    pub file: Option<(String, Save)>,
    /// The paper's mechanism, loaded when it is first asked for.
    pub paper: Option<Paper>,
    /// The attack on releases.
    pub attack: Option<Attack>,
    /// The proxy's ledger, read when it is asked for.
    pub ledger: Option<ReadLedger>,
}

/// A playground that is ready to be served.
pub struct Playground {
    pub(super) mechanisms: Mechanisms,
    pub(super) options: Options,
    pub(super) paper: OnceLock<Sanitizer>,
    session: Mutex<Session>,
    /// The proxy that it stands beside.
    exchange: OnceLock<Exchange>,
    /// Releases are drawn one after the other: what is paid for is what is drawn.
    pub(super) turn: tokio::sync::Mutex<()>,
}

impl Playground {
    /// A playground that begins with these settings. Without entropy there is none.
    pub fn new(settings: Settings, options: Options) -> cape::Result<Self> {
        let session = Mutex::new(Session::new()?);
        let mechanisms = Mechanisms::new(settings);
        let (exchange, turn) = (OnceLock::new(), tokio::sync::Mutex::default());
        Ok(Self { mechanisms, options, paper: OnceLock::new(), session, exchange, turn })
    }

    pub(super) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends it the parts of a proxy; the first one's stay.
    pub(crate) fn lend(&self, exchange: Exchange) {
        let _ = self.exchange.set(exchange);
    }

    pub(super) fn exchange(&self) -> Option<&Exchange> {
        self.exchange.get()
    }

    /// Whether requests were let in by a token, and not by the address alone.
    pub(super) fn has_token(&self) -> bool {
        self.exchange().is_some_and(|exchange| (exchange.about)().token)
    }

    /// The paper's mechanism, loaded by the first who asks.
    pub(super) fn paper(&self) -> Result<&Sanitizer, Refused> {
        if let Some(paper) = self.paper.get() {
            return Ok(paper);
        }
        let load = self.options.paper.as_ref();
        let load = load.ok_or_else(|| Refused::request("There is no device model here."))?;
        let loaded = load().map_err(Refused::failed)?;
        Ok(self.paper.get_or_init(|| loaded))
    }
}

impl std::fmt::Debug for Playground {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Playground")
    }
}
