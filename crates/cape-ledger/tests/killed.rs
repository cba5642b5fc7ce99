//! A proxy that is killed, at any moment, has sent no more than is written down.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{day, in_total, pay, trials};
use cape_ledger::{Key, Ledger};

const CHILD: &str = "killed::the_child_releases_until_it_is_killed";
const EACH: i64 = 3_000_000;
const LIMIT: f64 = 1e6;

/// Not a test of its own: it is started, and killed, by the one below.
#[tokio::test]
#[ignore = "the other half of a test"]
async fn the_child_releases_until_it_is_killed() {
    let (url, key) = (std::env::var("LEDGER").unwrap(), std::env::var("KEY").unwrap());
    let ledger = Ledger::open(&url, Key::open(Path::new(&key)).unwrap()).await.unwrap();
    let account = ledger.account(b"alice", "");
    let round = std::env::var("ROUND").unwrap();
    for n in 0.. {
        let words = [format!("hello {round} {n}"), format!("you {round} {n}")];
        let words = words.each_ref().map(String::as_str);
        pay(&ledger, &account, &words, &in_total(LIMIT), day(1)).await.unwrap();
        // it is out
        println!("sent");
    }
}

/// Lets a child release for a while, kills it, and says how much it sent.
fn kill_one(url: &str, key: &Path, round: u32) -> i64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", CHILD, "--nocapture"])
        .env("LEDGER", url)
        .env("KEY", key)
        .env("ROUND", round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // from the first that it sent on, at another moment each time
    lines.find(|line| line.ends_with("sent")).expect("the child lives");
    std::thread::sleep(Duration::from_micros(u64::from(round * 7919 % 40) * 977));
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    lines.filter(|line| line.ends_with("sent")).fold(1, |sent, _| sent + 1)
}

#[tokio::test]
async fn what_was_sent_before_a_kill_is_written_down() {
    for trial in trials().await {
        trial.open().await;
        let mut sent = 0;
        for round in 1..=12 {
            sent += kill_one(&trial.url, &trial.dir.path().join("key"), round);
            // in one look: a server may still be finishing what the dead asked for
            // one row is that of the map
            let apart = "SELECT micros - 1500000 * ((SELECT count(*) FROM cape_draw) - maps)
                         FROM cape_account WHERE spender = '' AND day = -1";
            assert_eq!(trial.number(apart).await, 0, "spent and written down together");
            let recorded = trial.recorded_by_all().await;
            // each child may have been killed between writing down and sending
            let unsent = recorded - sent * EACH;
            assert!((0..=EACH * i64::from(round)).contains(&unsent), "{recorded}, {sent} sent");
        }
        // and the ledger goes on
        let ledger = trial.open().await;
        let account = ledger.account(b"alice", "");
        let again = async |words| pay(&ledger, &account, words, &in_total(LIMIT), day(1)).await;
        assert_eq!(again(&["after"]).await.unwrap().draws, 1);
        // what was paid for before a kill is not paid for again
        assert_eq!(again(&["hello 1 0", "you 1 0"]).await.unwrap().draws, 0);
        trial.recorded().await;
    }
}
