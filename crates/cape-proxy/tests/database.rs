//! A PostgreSQL server that goes away and comes back, takes a permission away, or is reached over TLS: where
//! `CAPE_TEST_POSTGRES` says that there is one to test with. The servers are the tests' own.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::ledgers::{Trial, server};
use crate::recorder::{Recorder, json as reply};
use crate::served::{CANARY, chat, get, post, router_on, send, settings};
use axum::Router;
use cape_ledger::{Book, Error, Ledger};
use serde_json::json;

const CHAT: &str = "/v1/chat/completions";

/// A server of our own: it is stopped in order when it is dropped.
struct Postgres {
    child: Child,
    url: String,
}

impl Postgres {
    fn start(data: &Path, more: &[&str]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres");
        let mut command = Command::new(script);
        command.arg("--data").arg(data).args(more).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned() }
    }

    fn port(&self) -> String {
        self.url.rsplit_once(':').unwrap().1.split('/').next().unwrap().to_owned()
    }

    fn trial(&self) -> Trial {
        Trial { dir: tempfile::tempdir().unwrap(), url: self.url.clone() }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

/// The status of a new message, and of /ready.
async fn both(router: &Router, text: &str) -> (u16, u16) {
    // longer than a probe holds
    tokio::time::sleep(Duration::from_millis(300)).await;
    let ready = send(router, get("/ready")).await.status;
    (send(router, post(CHAT, &chat(text))).await.status, ready)
}

/// Waits until both are 200 again, without a restart.
async fn goes_on(router: &Router) {
    let until = Instant::now() + Duration::from_secs(30);
    for n in 0.. {
        if both(router, &format!("{CANARY} {n}")).await == (200, 200) {
            return;
        }
        assert!(Instant::now() < until, "it does not go on");
    }
}

#[tokio::test]
async fn a_database_that_was_away_is_used_again() {
    if server().is_none() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let postgres = Postgres::start(data.path(), &[]);
    let (trial, port) = (postgres.trial(), postgres.port());
    let upstream = Recorder::new(reply(&json!({})));
    let router = router_on(&settings(&upstream.url), trial.open().await);
    assert_eq!(both(&router, "one").await, (200, 200));
    drop(postgres);
    assert_eq!(both(&router, "two").await, (503, 503));
    assert_eq!(send(&router, get("/health")).await.status, 200);
    assert_eq!(upstream.count(), 1);
    let _postgres = Postgres::start(data.path(), &["--port", &port]);
    goes_on(&router).await;
    assert!(upstream.count() > 1);
}

#[tokio::test]
async fn a_permission_that_was_revoked_is_missed_and_used_again() {
    if server().is_none() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let postgres = Postgres::start(data.path(), &[]);
    let owner = postgres.trial();
    owner.open().await;
    owner.tamper("CREATE ROLE clerk LOGIN PASSWORD 'clerk'").await;
    let all = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk";
    owner.tamper(all).await;
    let address = owner.url.split_once('@').unwrap().1;
    let ledger = Ledger::open(&format!("postgres://clerk:clerk@{address}"), owner.key()).await;
    let upstream = Recorder::new(reply(&json!({})));
    let router = router_on(&settings(&upstream.url), ledger.unwrap());
    assert_eq!(both(&router, "one").await, (200, 200));
    for revoked in ["UPDATE ON cape_account", "INSERT ON cape_draw"] {
        owner.tamper(&format!("REVOKE {revoked} FROM clerk")).await;
        let sent = upstream.count();
        assert_eq!(both(&router, revoked).await, (503, 503), "{revoked}");
        assert_eq!(upstream.count(), sent);
        owner.tamper(all).await;
        goes_on(&router).await;
    }
}

#[tokio::test]
async fn a_ledger_over_tls_checks_its_server() {
    if server().is_none() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let file = |name: &str| data.path().join(name).to_str().unwrap().to_owned();
    let made = || rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (own, other) = (made(), made());
    std::fs::write(file("own.pem"), own.cert.pem()).unwrap();
    std::fs::write(file("key.pem"), own.signing_key.serialize_pem()).unwrap();
    std::fs::write(file("other.pem"), other.cert.pem()).unwrap();
    let home = tempfile::tempdir().unwrap();
    let tls = ["--tls", &file("own.pem"), &file("key.pem")];
    let postgres = Postgres::start(home.path(), &tls);
    let checked = |root: &str| format!("{}?sslmode=verify-full&sslrootcert={root}", postgres.url);
    let trial = Trial { url: checked(&file("own.pem")), ..postgres.trial() };
    let upstream = Recorder::new(reply(&json!({})));
    let router = router_on(&settings(&upstream.url), trial.open().await);
    assert_eq!(both(&router, "one").await, (200, 200));
    let plain = "SELECT count(*) FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)
                 WHERE usename = 'cape' AND NOT ssl";
    assert_eq!(trial.number(plain).await, 0, "no connection is in the clear");
    // a server that shows another certificate is not talked to
    let wrong = Book::open(&checked(&file("other.pem"))).await;
    assert!(matches!(wrong, Err(Error::Database(_))));
}
