//! `cape check`: what the settings of a proxy mean, and whether it would start.

use std::fmt::Write as _;

use cape::Wanted;
use cape_ledger::{Book, Error as LedgerError, Key, Ledger, Limits, Micros};
use cape_proxy::{Action, Calls, Gate, Memory, Names, Policy, Removal, Results, Settings};

use super::ledger;
use super::serve::{Asked, asked};
use crate::args::ServeArgs;
use crate::failure::{Done, io};
use crate::output;
use crate::settings::ProxySettings;

pub(crate) fn run(args: &ServeArgs) -> Done {
    report(args).map_err(|failure| failure.refused("cape serve would not start"))
}

fn report(args: &ServeArgs) -> Done {
    let asked = asked(args)?;
    let ledger = ledger_state(&asked.proxy)?;
    let Asked { settings, sanitizer, .. } = &asked;
    let guarantee = sanitizer.guarantee();
    let mechanism = format!(
        "{}: ε = {} between any two protected words, {} between any two words",
        sanitizer.about().mechanism,
        hundredths(guarantee.protected),
        hundredths(guarantee.bound)
    );
    let mut lines = vec![
        ("listens on", listening(settings)),
        ("sends to", settings.upstream.clone().unwrap_or_default()),
        ("mechanism", mechanism),
    ];
    lines.extend(policy(&settings.policy));
    lines.push(("limits", limits(&settings.limits)));
    lines.push(("memory", memory(settings).into()));
    lines.push(("answers", answers(settings)));
    lines.push(("ledger", ledger));
    let mut out = String::from("cape serve would start with these settings.\n\n");
    for (name, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
        let _ = writeln!(out, "{name:<11} {text}");
    }
    let risks = risks(settings);
    if !risks.is_empty() {
        let _ = writeln!(out, "\nRisks:");
    }
    for risk in risks {
        let _ = writeln!(out, "- {risk}");
    }
    output::print(&out)
}

/// Rounded up: a bound is not less than it is shown.
fn hundredths(epsilon: f64) -> f64 {
    (epsilon * 100.0).ceil() / 100.0
}

fn listening(settings: &Settings) -> String {
    let reach = if settings.listen.ip().is_loopback() {
        "for every program and user of this machine"
    } else {
        "for other machines, too"
    };
    let tls = if settings.tls_certificate.is_some() { "over TLS" } else { "without TLS" };
    let token = if settings.token_file.is_some() { "with a token" } else { "without a token" };
    format!("{}, {reach}; {tls}, {token}", settings.listen)
}

/// What becomes of each part of a request.
fn policy(policy: &Policy) -> [(&'static str, String); 5] {
    // every field is named: one that is forgotten here would not be shown
    let Policy {
        user,
        assistant,
        system,
        tool_calls,
        tool_results,
        code,
        urls,
        tools,
        response_format,
        stop,
        tool_names,
        identity,
        media,
        models,
        result_keys: _,
        system_lines: _,
        rewritten: _,
    } = policy;
    let results = match tool_results {
        Results::Perturb | Results::Json => Action::Perturb,
        Results::Pass => Action::Pass,
        Results::Block => Action::Block,
    };
    let calls = match tool_calls {
        Calls::Perturb | Calls::Restore => Action::Perturb,
        Calls::Pass => Action::Pass,
        Calls::Block => Action::Block,
    };
    let texts = [
        ("texts of users", user),
        ("earlier answers", assistant),
        ("system prompts", system),
        ("arguments of tool calls", &calls),
        ("results of tools", &results),
        ("code", code),
        ("web addresses", urls),
    ];
    let gates = [
        ("descriptions of tools", tools),
        ("schemas of answers", response_format),
        ("stop sequences with letters", stop),
    ];
    let removals = [("marks of the client", identity), ("images, sound and files", media)];
    let of =
        |action: Action| texts.iter().filter(move |(_, it)| **it == action).map(|(name, _)| *name);
    let gated =
        |gate: Gate| gates.iter().filter(move |(_, it)| **it == gate).map(|(name, _)| *name);
    let removed =
        |removal: Removal| removals.iter().filter(move |(_, it)| **it == removal).map(|(n, _)| *n);
    let names = match tool_names {
        Names::Declared => None,
        Names::Pass => Some("all names of tools and arguments"),
    };
    let models = (!models.is_empty()).then(|| models.join(", "));
    let join = |names: &mut dyn Iterator<Item = &'static str>| names.collect::<Vec<_>>().join(", ");
    [
        ("perturbed", join(&mut of(Action::Perturb))),
        ("passes", join(&mut of(Action::Pass).chain(gated(Gate::Pass)).chain(names))),
        (
            "refused",
            join(&mut of(Action::Block).chain(gated(Gate::Block)).chain(removed(Removal::Block))),
        ),
        ("left out", join(&mut removed(Removal::Strip))),
        ("models", models.unwrap_or_else(|| "any".into())),
    ]
}

fn limits(limits: &Limits) -> String {
    let Limits { key_day, key, day, total, maps } = limits;
    let epsilon = |limit: &Option<Micros>| limit.map(|most| format!("ε = {most}"));
    let maps_of = |limit: Option<u64>| limit.map(|most| format!("{most} maps"));
    let all = [
        ("for a key in a day", epsilon(key_day), maps_of(maps.key_day)),
        ("for a key in total", epsilon(key), maps_of(maps.key)),
        ("for all keys in a day", epsilon(day), maps_of(maps.day)),
        ("for all keys in total", epsilon(total), maps_of(maps.total)),
    ];
    let given = all.into_iter().flat_map(|(whom, epsilon, maps)| {
        [epsilon, maps].into_iter().flatten().map(move |most| format!("{most} {whom}"))
    });
    let given: Vec<String> = given.collect();
    if given.is_empty() { "none".into() } else { given.join(", ") }
}

fn about(wanted: Wanted) -> &'static str {
    match wanted {
        Wanted::Persons => "names of persons",
        Wanted::Identifiers => "identifiers",
        Wanted::OtherNames => "other names",
        Wanted::Values => "numbers, dates and times",
    }
}

/// How long a word becomes the same.
fn memory(settings: &Settings) -> &'static str {
    match settings.memory {
        Memory::Account => {
            "a word becomes the same for the life of an account, and is paid for once"
        }
        Memory::Conversation => {
            "a word becomes the same in a conversation, and is paid for in each"
        }
        Memory::None => "a word is drawn anew, and paid for, in each request",
    }
}

fn answers(settings: &Settings) -> String {
    let names: Vec<&str> = settings.restore.iter().map(|wanted| about(*wanted)).collect();
    let restored = if names.is_empty() {
        "come back as the service gave them".to_owned()
    } else {
        format!("put back in them: {}", names.join(", "))
    };
    match &settings.extractor_url {
        Some(url) => {
            format!("{restored}; rewritten by the model at {url}, which sees the true prompts")
        }
        None => restored,
    }
}

/// The state of the ledger, which is opened if it is there and not made if it is not.
fn ledger_state(proxy: &ProxySettings) -> Done<String> {
    let url = ledger::url(&proxy.ledger)?;
    let key = ledger::key(proxy.ledger_key.as_ref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| io("cannot wait for the database".into(), &error))?;
    // a URL can hold a password
    let shown = if url.contains("://") { "the PostgreSQL database" } else { &url };
    runtime.block_on(async {
        match Book::open(&url).await {
            Ok(book) => book.check().await?,
            Err(LedgerError::NoFile(_) | LedgerError::NoLedger) => {
                return Ok(format!("{shown}, which is made at the first start"));
            }
            Err(error) => return Err(error.into()),
        }
        if !key.exists() {
            return Err(crate::failure::Failure::new(
                "the ledger is there, and its key file is not",
                "give the key file that it was made with: --ledger-key",
            ));
        }
        let ledger = Ledger::open(&url, Key::open(&key)?).await?;
        ledger.probe().await?;
        ledger.close().await;
        Ok(format!("{shown}, whole and writable"))
    })
}

/// What an operator should have decided and not overlooked.
fn risks(settings: &Settings) -> Vec<String> {
    let mut risks = Vec::new();
    let policy = &settings.policy;
    let passes = [
        (policy.user, "texts of users", "user"),
        (policy.assistant, "earlier answers", "assistant"),
        (policy.system, "system prompts", "system"),
        (policy.code, "code", "code"),
        (policy.urls, "web addresses", "urls"),
    ];
    for (_, what, key) in passes.iter().filter(|(action, ..)| *action == Action::Pass) {
        risks.push(format!("{what} are sent as they are, and no ε covers them ({key} = \"pass\")"));
    }
    if policy.tool_calls == Calls::Pass {
        let what = "arguments of tool calls are sent as they are, and no ε covers them";
        risks.push(format!("{what} (tool-calls = \"pass\")"));
    }
    if policy.tool_calls == Calls::Restore {
        let what = "tools get true names, and the service may decide where a tool sends them";
        risks.push(format!("{what} (tool-calls = \"restore\")"));
    }
    if settings.shared_map {
        risks.push("the service can look up what any word becomes (shared-map)".into());
    }
    if policy.tool_results == Results::Pass {
        let what = "results of tools are sent as they are, and no ε covers them";
        risks.push(format!("{what} (tool-results = \"pass\")"));
    }
    if settings.limits == Limits::default() {
        risks.push("there is no limit: a client may spend any ε (limit-key-day and others)".into());
    }
    let is_bare = |url: &Option<String>| {
        settings.plain_http && url.as_ref().is_some_and(|url| url.starts_with("http:"))
    };
    if is_bare(&settings.upstream) {
        risks.push("the network to the upstream can read what is sent (plain-http)".into());
    }
    if settings.extractor_url.is_some() && settings.extractor_elsewhere {
        risks.push("the extractor may be on another machine, and sees the true prompts".into());
    }
    if settings.listen.ip().is_loopback() {
        if settings.token_file.is_none() {
            risks.push("every user of this machine can use the proxy (token-file)".into());
        }
    } else {
        if settings.tls_certificate.is_none() {
            risks.push("the network can read the true prompts of clients (listen-plain)".into());
        }
        if settings.token_file.is_none() {
            risks.push("whoever reaches the address can spend the budget (listen-anyone)".into());
        }
    }
    risks
}
