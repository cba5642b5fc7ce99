//! A lost connection, or a lost server, lets nothing out that is not written down. On PostgreSQL, where
//! `CAPE_TEST_POSTGRES` has the URL of a server.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::common::{Trial, database, day, in_total, pay, server};
use crate::relay::{Fault, Relay};
use cape_ledger::{Error, Ledger};

const EACH: i64 = 3_000_000;

/// Pays for the draws of the n-th message, if they are not paid for: whether it may be sent.
async fn send(ledger: &Ledger, n: i64) -> Result<(), Error> {
    let account = ledger.account(b"alice", "");
    let words = [format!("hello {n}"), format!("you {n}")];
    let words = words.each_ref().map(String::as_str);
    pay(ledger, &account, &words, &in_total(1e6), day(1)).await.map(drop)
}

/// A trial on the server, and the same by way of a relay.
async fn wired(server: &str, fault: Fault) -> (Trial, Relay, Ledger) {
    let trial = Trial { dir: tempfile::tempdir().unwrap(), url: database(server).await };
    let (user, place) = trial.url.split_once('@').unwrap();
    let (address, name) = place.split_once('/').unwrap();
    let relay = Relay::to(address.to_owned(), fault).await;
    let url = format!("{user}@127.0.0.1:{}/{name}?sslmode=disable", relay.port);
    let ledger = Ledger::open(&url, trial.key()).await.unwrap();
    (trial, relay, ledger)
}

#[tokio::test]
async fn a_connection_may_be_lost_at_any_packet() {
    let Some(server) = server() else { return };
    for fault in [Fault::Before, Fault::After] {
        let (trial, relay, ledger) = wired(&server, fault).await;
        let (mut messages, mut failed, mut kept) = (0, 0, 0);
        for packets in 0.. {
            relay.fail_after(packets);
            let before = trial.recorded().await;
            let sent = send(&ledger, messages).await;
            // whatever was not needed for this message is there for the next
            relay.fail_after(i64::MAX);
            let spent = trial.recorded().await - before;
            match sent {
                Ok(()) => assert_eq!(spent, EACH),
                Err(Error::Database(_)) => {
                    failed += 1;
                    assert!(spent == 0 || spent == EACH, "{spent}");
                    kept += spent / EACH;
                    // the second try sends it, and no message is paid for twice
                    send(&ledger, messages).await.unwrap();
                    assert_eq!(trial.recorded().await - before, EACH);
                }
                Err(other) => panic!("{other:?}"),
            }
            messages += 1;
            if sent.is_ok() {
                break;
            }
        }
        // a release is a dozen packets, of which one commits
        assert!(failed >= 6, "{failed}");
        assert_eq!(kept, i64::from(fault == Fault::After), "{fault:?}");
        assert_eq!(trial.recorded().await, messages * EACH);
    }
}

#[tokio::test]
async fn a_server_that_keeps_silent_is_not_waited_for() {
    let Some(server) = server() else { return };
    let (trial, relay, ledger) = wired(&server, Fault::Silence).await;
    send(&ledger, 1).await.unwrap();
    relay.fail_after(4);
    assert!(matches!(send(&ledger, 2).await, Err(Error::TimedOut)));
    assert_eq!(trial.recorded().await, EACH);
}

/// A server of our own, which may be stopped.
fn start(data: &Path) -> (Child, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres");
    let mut child = Command::new(script)
        .arg("--data")
        .arg(data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    (child, url.trim().to_owned())
}

fn signal(child: &mut Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_may_be_stopped_at_once_and_started_again() {
    if server().is_none() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let data_dir: PathBuf = data.path().to_owned();
    let (mut postgres, url) = start(&data_dir);
    let trial = Trial { dir: tempfile::tempdir().unwrap(), url };
    let ledger = Arc::new(trial.open().await);
    let sent = Arc::new(AtomicI64::new(0));
    let tasks: Vec<_> = (0..4)
        .map(|task| {
            let (ledger, sent) = (Arc::clone(&ledger), Arc::clone(&sent));
            tokio::spawn(async move {
                for n in 0.. {
                    match send(&ledger, task * 1_000_000 + n).await {
                        Ok(()) => sent.fetch_add(1, Ordering::SeqCst),
                        Err(error) => return error,
                    };
                }
                unreachable!("it goes on until it fails")
            })
        })
        .collect();
    while sent.load(Ordering::SeqCst) < 50 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // a crash, as far as the server's memory is concerned
    signal(&mut postgres, "-QUIT");
    for task in tasks {
        let error = task.await.unwrap();
        assert!(matches!(error, Error::Database(_) | Error::TimedOut), "{error:?}");
    }
    let sent = sent.load(Ordering::SeqCst);
    assert!(send(&ledger, -1).await.is_err());

    let (mut postgres, url) = start(&data_dir);
    let trial = Trial { url, ..trial };
    let recorded = trial.recorded().await;
    assert!((sent * EACH..=(sent + 4) * EACH).contains(&recorded), "{recorded}, {sent} sent");
    // one row is that of the map
    let written = trial.number("SELECT count(*) FROM cape_draw").await - 1;
    assert_eq!(recorded, written * EACH / 2);
    signal(&mut postgres, "-TERM");
}
