//! `cape serve`

use std::io::IsTerminal;

use cape_eval::tasks::prompts::extraction;
use cape_ledger::{Key, Ledger};
use cape_proxy::{Service, Settings};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::{self, ServeArgs};
use crate::failure::{Done, Failure, io};
use crate::output;
use crate::mechanism::{self, Ready};

pub(crate) fn run(args: &ServeArgs) -> Done {
    let settings = settings(args)?;
    let Some(upstream) = settings.upstream.clone() else {
        return Err(Failure::usage(
            "there is no upstream",
            "give --upstream https://api.openai.com/v1, or `upstream` in [proxy] of cape.toml",
        ));
    };
    let ready = Ready::new(&args.mechanism)?;
    let runtime = Runtime::new();
    let runtime = runtime.map_err(|error| io("the server cannot be started".into(), &error))?;
    let ledger = ledger(args, &settings, &runtime)?;
    let service = Service::new(&settings, ready.into_sanitizer(), ledger, ask)?;
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
    let config = args.mechanism.config.clone();
    let reload = move || match mechanism::proxy(config.as_deref()) {
        Ok(settings) => Some(settings.policy),
        Err(failure) => {
            output::note(&failure.during("the policy stays as it was"));
            None
        }
    };
    Ok(cape_proxy::run(runtime, &settings, &service, listening, reload)?)
}

/// The ledger, made where there is none.
fn ledger(args: &ServeArgs, settings: &Settings, runtime: &Runtime) -> Done<Ledger> {
    let url = args.at.url(settings)?;
    let key = match &settings.ledger_key {
        Some(key) => key.clone(),
        None => args::data("ledger.key")?,
    };
    if settings.ledger_key.is_none() || (args.at.ledger.is_none() && settings.ledger.is_none()) {
        args::make_data_folder()?;
    }
    Ok(runtime.block_on(Ledger::open(&url, Key::open(&key)?))?)
}

/// What the extractor is asked: the paper's prompt.
fn ask(prompt: &str, noisy: &str) -> Value {
    let messages = extraction(prompt, noisy);
    messages.iter().map(|said| json!({"role": said.role.as_str(), "content": said.text})).collect()
}

/// The file's settings, and the flags before them.
fn settings(args: &ServeArgs) -> Done<Settings> {
    let file = mechanism::proxy(args.mechanism.config.as_deref())?;
    Ok(Settings {
        upstream: args.upstream.clone().or(file.upstream),
        listen: args.listen.unwrap_or(file.listen),
        tls_certificate: args.tls_certificate.clone().or(file.tls_certificate),
        tls_key: args.tls_key.clone().or(file.tls_key),
        extractor_url: args.extractor_url.clone().or(file.extractor_url),
        extractor_model: args.extractor_model.clone().or(file.extractor_model),
        extractor_elsewhere: args.extractor_elsewhere || file.extractor_elsewhere,
        ledger_key: args.ledger_key.clone().or(file.ledger_key),
        limits: args.limits.limits(&file.limits),
        ..file
    })
}

/// JSON lines on stderr, of the proxy's own events alone: those of its libraries hold headers.
fn log() {
    let own = Targets::new().with_target("cape_proxy", Level::INFO);
    let lines = fmt::layer().json().flatten_event(true).with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines).with(own).init();
}
