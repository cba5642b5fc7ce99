//! `cape ledger` on a ledger that a proxy could have written.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cape_ledger::{Cost, Fresh, Key, Ledger, Limits};
use common::{Home, Ran, parse, refusals, transcript};

const LEDGER: &str = "data/cape/ledger.db";

/// A ledger in the data folder: two keys on two days, long ago. The key file is no secret here, so
/// that the keys have the same names in every run.
fn home() -> Home {
    let home = Home::new();
    home.write("key", [7; 32]);
    std::fs::set_permissions(home.path("key"), PermissionsExt::from_mode(0o600)).unwrap();
    let spends = [("alice", 20_000, 7, 12.0), ("alice", 20_001, 3, 0.1), ("bob", 20_001, 40, 12.0)];
    block_on(async {
        let ledger = open(&home).await;
        for (who, days, tokens, epsilon) in spends {
            let now = UNIX_EPOCH + Duration::from_hours(24 * days);
            say(&ledger, who, Cost::new(tokens, epsilon), now).await;
        }
        ledger.close().await;
    });
    home
}

async fn open(home: &Home) -> Ledger {
    let key = Key::open(&home.path("key")).unwrap();
    std::fs::create_dir_all(home.path("data/cape")).unwrap();
    Ledger::open(home.path(LEDGER).to_str().unwrap(), key).await.unwrap()
}

async fn say(ledger: &Ledger, who: &str, cost: Cost, now: SystemTime) {
    let who = ledger.spender(who.as_bytes());
    let place = ledger.conversation(&who, "settings").next("user", &format!("{cost:?}"));
    let said = Fresh { place, text: "canary".into(), cost };
    ledger.release(&who, vec![said], &Limits::default(), now).await.unwrap();
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// A run without the date of today.
fn dated(home: &Home, args: &[&str]) -> String {
    let ran = home.run(args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let today = cape_ledger::Day::of(SystemTime::now()).to_string();
    assert!(ran.out.contains(&today) || args[1] == "export", "{}", ran.out);
    transcript(args, &Ran { out: ran.out.replace(&today, "TODAY"), ..ran })
}

#[test]
fn what_was_spent_is_shown_and_exported() {
    let home = home();
    let limits = ["--limit-key-day", "100", "--limit-key", "500", "--limit-day", "150.5"];
    let runs: [&[&str]; 6] = [
        &["ledger", "show"],
        &[&["ledger", "show", "--limit-total", "600"], &limits[..]].concat(),
        &["ledger", "show", "--days", "30"],
        &["ledger", "show", "--json", "--limit-total", "600", "--limit-key-day", "100"],
        &["ledger", "export"],
        &["ledger", "export", "--format", "csv"],
    ];
    let all: String = runs.iter().map(|args| dated(&home, args)).collect();
    assert!(!all.contains("canary"));
    insta::assert_snapshot!(all);
}

#[test]
fn what_is_spent_today_is_not_left() {
    let home = home();
    let before = cape_ledger::Day::of(SystemTime::now());
    block_on(async {
        say(&open(&home).await, "alice", Cost::new(2, 12.0), SystemTime::now()).await;
    });
    let args = ["ledger", "show", "--json", "--limit-key-day", "100", "--limit-day", "30"];
    let shown = parse(&home.run(&args).out);
    // unless midnight was in between
    if cape_ledger::Day::of(SystemTime::now()) == before {
        let left: Vec<_> =
            shown["keys"].as_array().unwrap().iter().map(|key| &key["left_today"]).collect();
        assert!(left.contains(&&76.0.into()) && left.contains(&&100.0.into()), "{left:?}");
        assert_eq!(shown["left_today"], 6.0);
    }
    let recent = parse(&home.run(&["ledger", "show", "--json", "--days", "2"]).out);
    assert_eq!(recent["days"].as_array().unwrap().len(), 1);
}

#[test]
fn the_ledger_and_the_limits_may_come_from_the_environment() {
    let home = home();
    std::fs::rename(home.path(LEDGER), home.path("other.db")).unwrap();
    let mut command = home.cape(&["ledger", "show", "--json"]);
    command.env("CAPE_LEDGER", "other.db").env("CAPE_LIMIT_TOTAL", "1000");
    let ran = common::finish(&mut command);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(parse(&ran.out)["left"], 435.699_997);
    // or from the file of settings, after them
    let section = "[proxy]\nledger = \"other.db\"\n[proxy.limits]\ntotal = 565.300003\n";
    home.write("cape.toml", section);
    let left =
        |args: &[&str]| parse(&home.run(&[&["ledger", "show", "--json"], args].concat()).out);
    assert_eq!(left(&[])["left"], 1.0);
    assert_eq!(left(&["--limit-total", "600"])["left"], 35.699_997);
}

#[test]
fn a_ledger_without_a_spend_is_empty() {
    let home = Home::new();
    block_on(async { drop(open(&home).await) });
    assert_eq!(home.run(&["ledger", "show"]).out, "nothing was spent yet\n");
    assert_eq!(home.run(&["ledger", "export"]).out, "");
    let csv = home.run(&["ledger", "export", "--format", "csv"]).out;
    assert_eq!(csv, "key,day,releases,draws,epsilon\n");
}

#[test]
fn what_is_no_ledger_is_refused_without_a_word_of_its_password() {
    let home = Home::new();
    home.write("empty.db", "");
    home.write("text.db", "not a database, but long enough to be looked at as one".repeat(20));
    let refused: [&[&str]; 4] = [
        &["ledger", "show", "--ledger", "cape-ledger.db"],
        &["ledger", "export", "--ledger", "empty.db"],
        &["ledger", "show", "--ledger", "text.db"],
        &["ledger", "show", "--ledger", "."],
    ];
    let mut all = refusals(&home, 1, &refused);
    all += &refusals(
        &home,
        2,
        &[
            &["ledger", "show", "--limit-key", "-1"],
            &["ledger", "show", "--limit-day", "1e3"],
            &["ledger"],
        ],
    );
    let elsewhere = home.run(&["ledger", "show", "--ledger", "mysql://me:canary@127.0.0.1/x"]);
    assert_eq!((elsewhere.code, elsewhere.out.as_str()), (2, ""));
    // nobody listens on port 1
    let closed =
        home.run(&["ledger", "show", "--ledger", "postgres://me:canary@127.0.0.1:1/ledger"]);
    assert_eq!((closed.code, closed.out.as_str()), (1, ""));
    for ran in [elsewhere, closed] {
        assert!(!ran.err.contains("canary"), "{}", ran.err);
        // the words of the system are its own
        all += ran.err.lines().next().unwrap();
        all += "\n";
    }
    insta::assert_snapshot!(all);
}
