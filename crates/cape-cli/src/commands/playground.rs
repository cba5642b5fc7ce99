//! `cape playground`

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use cape::mechanism::cape::Cape;
use cape_proxy::{Playground, PlaygroundOptions};
use tokio::runtime::Runtime;

use super::ledger;
use crate::args::PlaygroundArgs;
use crate::failure::{Done, Failure, io};
use crate::mechanism::{Loaded, paper};
use crate::output;
use crate::settings::{self, File, ProxySettings, Settings, SettingsFile};

pub(crate) fn run(args: &PlaygroundArgs) -> Done {
    let (cape, file) = (args.cape.clone(), args.file.clone());
    let Loaded::Cape(cape) = Loaded::new(&Settings { cape, file, ..Settings::default() })? else {
        return Err(Failure::usage(
            "the playground shows Cape, and the settings file names another mechanism",
            "take `mechanism` out of the file, or give another with --config",
        ));
    };
    let proxy = File::read(args.file.config.as_deref())?.proxy;
    let playground = playground(&cape, &args.file, proxy)?;
    let runtime = Runtime::new();
    let runtime = runtime.map_err(|error| io("the server cannot be started".into(), &error))?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let mut printed = Ok(());
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}/playground/");
        printed = output::print(&url);
        output::note(&"Ctrl-C ends it\n");
        if args.open {
            open(&url);
        }
    };
    cape_proxy::run_playground(&runtime, address, Arc::new(playground), ready)?;
    printed
}

/// A playground that begins with the settings of a mechanism, beside a proxy with these settings.
pub(crate) fn playground(
    cape: &Cape,
    file: &SettingsFile,
    proxy: ProxySettings,
) -> Done<Playground> {
    let named = file.config.clone();
    let name = settings::file_name(named.as_deref()).display().to_string();
    let save = move |chosen: &cape::Settings| {
        settings::save(named.as_deref(), chosen).map_err(|failure| in_words(&failure))
    };
    let (place, limits) = (proxy.ledger, proxy.limits.into());
    let read = move || ledger::view(&place, &limits).map_err(|failure| in_words(&failure));
    let options = PlaygroundOptions {
        file: Some((name, Box::new(save))),
        paper: Some(Box::new(|| paper().map_err(|failure| in_words(&failure)))),
        #[cfg(feature = "eval")]
        attack: Some(attack()),
        #[cfg(not(feature = "eval"))]
        attack: None,
        ledger: Some(Box::new(read)),
    };
    Ok(Playground::new(cape.settings().clone(), options)?)
}

/// An attacker on releases, whom the evaluation has.
#[cfg(feature = "eval")]
fn attack() -> cape_proxy::Attack {
    use std::sync::OnceLock;

    use cape_eval::Attacker;
    use cape_proxy::Guess;

    let attacker: OnceLock<Attacker> = OnceLock::new();
    Box::new(move |cape, text, release| {
        let attacker = if let Some(attacker) = attacker.get() {
            attacker
        } else {
            let device = cape_models::load(cape_models::DEFAULT);
            let device = device.map_err(|error| in_words(&error.into()))?;
            attacker.get_or_init(|| Attacker::new(device))
        };
        let guesses = attacker.guesses(cape, text, release);
        let guesses = guesses.map_err(|error| in_words(&error.into()))?.into_iter();
        let guesses = guesses.map(|guess| Guess {
            word: guess.word,
            guess: guess.guess,
            right: guess.right,
            exact: guess.exact,
        });
        Ok(guesses.collect())
    })
}

/// A failure as a line of the page.
fn in_words(failure: &Failure) -> String {
    let words = failure.to_string();
    words.trim().trim_start_matches("error: ").replace('\n', "; ")
}

/// Asks the system to show the page. Where that fails, the address stands in the terminal.
fn open(url: &str) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let quiet = Command::new(opener)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if quiet.is_err() {
        output::note(&format!("warning: {} cannot be started\n", Path::new(opener).display()));
    }
}
