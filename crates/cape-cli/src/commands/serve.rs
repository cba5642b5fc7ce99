//! `cape serve`

use std::io::IsTerminal;

use cape::sanitizer::Sanitizer;
use cape_ledger::{Key, Ledger};
use cape_proxy::{Service, Settings};
use tokio::runtime::Runtime;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::{ledger, playground};
use crate::args::ServeArgs;
use crate::failure::{Done, Failure, io};
use crate::settings::{self, File, ProxySettings, Setting};
use crate::{mechanism, output};

pub(crate) fn run(args: &ServeArgs) -> Done {
    if let (true, Some(preset)) = (args.show, args.proxy.preset) {
        return output::print(preset.toml());
    }
    let Asked { proxy, settings, sanitizer } = asked(args)?;
    let upstream = settings.upstream.clone().unwrap_or_default();
    let playground = match (proxy.playground, sanitizer.cape()) {
        (false, _) => None,
        (true, Some(cape)) => Some(playground::playground(cape, &args.file, proxy.clone())?),
        (true, None) => {
            return Err(Failure::usage(
                "the playground shows Cape alone",
                "leave out --playground",
            ));
        }
    };
    let runtime = Runtime::new();
    let runtime = runtime.map_err(|error| io("the server cannot be started".into(), &error))?;
    let ledger = open_ledger(&proxy, &runtime)?;
    let service = Service::new(&settings, sanitizer, ledger)?;
    if let Some(playground) = playground {
        service.open_playground(playground);
    }
    log();
    let scheme = if settings.tls_certificate.is_some() { "https" } else { "http" };
    let listening = |address: std::net::SocketAddr| {
        if std::io::stderr().is_terminal() {
            output::note(&format!(
                "listening on {scheme}://{address}/v1, for {upstream}; Ctrl-C ends it\n"
            ));
        }
        tracing::info!(target: "cape_proxy", %address, "listening");
    };
    let args = args.clone();
    let reload = move || {
        let read = asked(&args).map_err(|failure| failure.line())?;
        Ok((read.settings, read.sanitizer.about().fingerprint.clone()))
    };
    Ok(cape_proxy::run(runtime, &settings, &service, listening, reload)?)
}

/// The settings of a proxy, and its mechanism.
pub(super) struct Asked {
    pub(super) proxy: ProxySettings,
    pub(super) settings: Settings,
    pub(super) sanitizer: Sanitizer,
}

/// What flags, variables and the file ask for, as far as it goes without a ledger and a port.
pub(super) fn asked(args: &ServeArgs) -> Done<Asked> {
    let given = args.proxy.clone();
    let proxy = File::with_preset(given.or(File::read(args.file.config.as_deref())?.proxy))?;
    let settings = Settings::from(proxy.clone());
    if settings.upstream.is_none() {
        return Err(Failure::usage(
            "there is no upstream",
            "give --upstream https://api.openai.com/v1, or `upstream` in [proxy] of cape.toml",
        ));
    }
    let (cape, file) = (args.cape.clone(), args.file.clone());
    let sanitizer = mechanism::sanitizer(&settings::Settings { cape, file, ..Default::default() })?;
    cape_proxy::check(&settings, &sanitizer)?;
    Ok(Asked { proxy, settings, sanitizer })
}

/// The ledger, made where there is none.
pub(super) fn open_ledger(proxy: &ProxySettings, runtime: &Runtime) -> Done<Ledger> {
    let url = ledger::url(&proxy.ledger)?;
    let key = ledger::key(proxy.ledger_key.as_ref())?;
    if proxy.ledger_key.is_none() || !proxy.ledger.is_given() {
        let folder = ledger::data_folder()?;
        let failed =
            |error| io(format!("cannot make the folder {}", folder.path().display()), &error);
        folder.make().map_err(failed)?;
    }
    Ok(runtime.block_on(Ledger::open(&url, Key::open(&key)?))?)
}

/// JSON lines on stderr, of the proxy's own events alone: those of its libraries hold headers.
fn log() {
    let own = Targets::new().with_target("cape_proxy", Level::INFO);
    let lines = fmt::layer().json().flatten_event(true).with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines).with(own).init();
}
