//! `cape ledger` on a ledger that a proxy could have written.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::common::{self, Home, Ran, parse, refusals, transcript};
use cape_ledger::{Draw, Key, Lasts, Ledger, Limits, Map, Whose};

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
        for (who, days, count, epsilon) in spends {
            let now = UNIX_EPOCH + Duration::from_hours(24 * days);
            say(&ledger, who, count, epsilon, now).await;
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

/// Pays for words that nobody has said before.
async fn say(ledger: &Ledger, who: &str, count: u64, per_draw: f64, now: SystemTime) {
    let map = Map { whose: Whose::User, lasts: Lasts::Account };
    let draw = |n: u64| Draw {
        map,
        from: format!("canary {n} {per_draw} {now:?}").into(),
        word: cape_word("canary"),
    };
    let draws: Vec<Draw> = (0..count).map(draw).collect();
    let account = ledger.account(who.as_bytes(), "");
    ledger.charge(&account, &draws, per_draw, &Limits::default(), now).await.unwrap();
}

/// A word as the ledger is told of it.
fn cape_word(word: &str) -> Vec<u8> {
    let settings = cape::mechanism::cape::Settings::default();
    let lexicon = cape::lexicon::Lexicon::embedded();
    let cape = cape::mechanism::cape::Cape::new(lexicon, settings).unwrap();
    cape.plan(word).unwrap().keys[0].word()
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
    let runs: [&[&str]; 7] = [
        &["ledger", "show"],
        &[
            "ledger",
            "show",
            "--limit-maps-key",
            "5",
            "--limit-maps-key-day",
            "1",
            "--limit-maps-total",
            "2",
        ],
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
        say(&open(&home).await, "alice", 2, 12.0, SystemTime::now()).await;
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
    assert_eq!(csv, "key,day,releases,draws,maps,epsilon\n");
}

#[test]
fn what_is_forgotten_opens_another_map() {
    let home = home();
    let shown = |home: &Home| parse(&home.run(&["ledger", "show", "--json"]).out);
    let (before, spent) = (shown(&home)["all"].clone(), 40 + 7 + 3);
    assert_eq!((&before["draws"], &before["maps"]), (&spent.into(), &2.into()));
    let key = shown(&home)["keys"][0]["key"].as_str().unwrap()[..12].to_owned();
    let forget = |args: &[&str], stdin: &str| {
        let args = [&["ledger", "forget", "--ledger-key", "key"], args].concat();
        let ran = home.pipe(stdin, &args);
        assert!(!ran.out.contains("canary") && !ran.err.contains("canary"), "{}", ran.err);
        ran
    };
    // a forget alone counts nothing
    assert_eq!((forget(&[&key], "").code, shown(&home)["all"].clone()), (0, before));
    let day = UNIX_EPOCH + Duration::from_hours(24 * 20_001);
    let again = || block_on(async { say(&open(&home).await, "bob", 40, 12.0, day).await });
    again();
    let bob = |home: &Home| {
        let shown = shown(home);
        let keys = shown["keys"].as_array().unwrap().clone();
        keys.iter().map(|key| (key["draws"].as_u64().unwrap(), key["maps"].as_u64().unwrap())).max()
    };
    let (draws, maps) = bob(&home).unwrap();
    // alice's were forgotten, or bob's, whichever hash comes first
    assert!([(40, 1), (80, 2)].contains(&(draws, maps)), "{draws} {maps}");
    // a word, in any case, of all keys in turn
    for key in shown(&home)["keys"].as_array().unwrap() {
        let key = &key["key"].as_str().unwrap()[..12];
        assert_eq!(forget(&[key, "--word"], "CANARY\n").code, 0);
    }
    again();
    assert_eq!(bob(&home), Some((draws + 40, maps + 1)));
    let wrong: [&[&str]; 4] =
        [&["0123456789ab"], &["canary"], &[&key, "--conversation", "00000000"], &[&key, "--word"]];
    let refused: Vec<String> = wrong
        .iter()
        .map(|args| {
            let ran = forget(args, "");
            assert_ne!(ran.code, 0);
            ran.err
        })
        .collect();
    insta::assert_snapshot!(refused.concat());
}

#[test]
fn jobs_are_listed_and_settled() {
    let home = home();
    assert_eq!(home.run(&["ledger", "jobs"]).out, "all jobs are settled\n");
    let day = UNIX_EPOCH + Duration::from_hours(24 * 20_002);
    block_on(async {
        let ledger = open(&home).await;
        let account = ledger.account(b"alice", "");
        for (job, draws) in [("canary 1", 5), ("canary 2", 7), ("canary 3", 9)] {
            ledger.reserve(&account, job, draws, 12.0, &Limits::default(), day).await.unwrap();
        }
        ledger.close().await;
    });
    let mut all = transcript(&["ledger", "jobs"], &home.run(&["ledger", "jobs"]));
    let jobs = parse(&home.run(&["ledger", "jobs", "--json"]).out);
    let name = |draws: u64| {
        let jobs = jobs.as_array().unwrap();
        let job = jobs.iter().find(|job| job["draws"] == draws).unwrap();
        job["job"].as_str().unwrap()[..12].to_owned()
    };
    let settle = |args: &[&str]| {
        let args = [&["ledger", "settle", "--ledger-key", "key"], args].concat();
        transcript(&args, &home.run(&args))
    };
    all += &settle(&[&name(5)]);
    all += &settle(&[&name(7), "--draws", "3"]);
    all += &settle(&[&name(9), "--draws", "10"]);
    all += &settle(&[&name(5)]);
    all += &settle(&["canary 3"]);
    all += &transcript(&["ledger", "jobs"], &home.run(&["ledger", "jobs"]));
    assert!(
        !all.replace("\"canary 3\"", "").replace("key canary 3", "").contains("canary"),
        "{all}"
    );
    // two were settled: 5 and 3 draws; 9 are still reserved
    let shown = parse(&home.run(&["ledger", "show", "--json"]).out);
    assert_eq!(shown["all"]["draws"], 7 + 3 + 40 + 5 + 3 + 9);
    insta::assert_snapshot!(all);
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
