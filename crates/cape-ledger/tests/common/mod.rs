//! Ledgers to test with: a SQLite file, and a PostgreSQL database where `CAPE_TEST_POSTGRES` has the
//! URL of a server (`scripts/postgres` starts one).

#![allow(dead_code, clippy::unwrap_used, unreachable_pub, missing_docs, reason = "shared by tests")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cape_ledger::{
    Account, Book, Cost, Draw, Error, Key, Lasts, Ledger, Limits, Map, Micros, Place, Whose,
};
use sqlx::{AnyConnection, Connection, Row};
use tempfile::TempDir;

/// Ledger and key file of a test.
pub struct Trial {
    pub dir: TempDir,
    pub url: String,
}

/// A server for tests, if there is one.
pub fn server() -> Option<String> {
    let url = std::env::var("CAPE_TEST_POSTGRES").ok();
    if url.is_none() {
        eprintln!("PostgreSQL skipped: CAPE_TEST_POSTGRES is not set (see scripts/postgres)");
    }
    url
}

/// A new database of this server's.
pub async fn database(server: &str) -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let name = format!("t{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    execute(server, &format!("CREATE DATABASE {name}")).await;
    server.rsplit_once('/').unwrap().0.to_owned() + "/" + &name
}

/// One trial on each database.
pub async fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::sqlite()];
    if let Some(server) = server() {
        let url = database(&server).await;
        trials.push(Trial { dir: tempfile::tempdir().unwrap(), url });
    }
    trials
}

impl Trial {
    pub fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = dir.path().join("ledger.db").to_str().unwrap().to_owned();
        Self { dir, url }
    }

    pub fn is_sqlite(&self) -> bool {
        !self.url.starts_with("postgres")
    }

    pub fn key(&self) -> Key {
        Key::open(&self.dir.path().join("key")).unwrap()
    }

    pub async fn open(&self) -> Ledger {
        Ledger::open(&self.url, self.key()).await.unwrap()
    }

    pub async fn book(&self) -> Book {
        Book::open(&self.url).await.unwrap()
    }

    /// Behind the ledger's back.
    pub async fn tamper(&self, sql: &str) {
        let url = if self.is_sqlite() { format!("sqlite:{}", self.url) } else { self.url.clone() };
        execute(&url, sql).await;
    }

    /// One number, in one look.
    pub async fn number(&self, sql: &str) -> i64 {
        sqlx::any::install_default_drivers();
        let url = if self.is_sqlite() { format!("sqlite:{}", self.url) } else { self.url.clone() };
        let mut connection = AnyConnection::connect(&url).await.unwrap();
        let row = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
        row.get(0)
    }

    /// The sum of all accounts, in millionths.
    pub async fn recorded(&self) -> i64 {
        let sums: Vec<i64> = vec![
            self.recorded_by_all().await,
            self.sum("spender = '' AND day <> -1").await,
            self.sum("spender <> '' AND day = -1").await,
            self.sum("spender <> '' AND day <> -1").await,
        ];
        assert!(sums.iter().all(|sum| *sum == sums[0]), "accounts disagree: {sums:?}");
        sums[0]
    }

    /// The balance of the account of all keys and days.
    pub async fn recorded_by_all(&self) -> i64 {
        self.number("SELECT micros FROM cape_account WHERE spender = '' AND day = -1").await
    }

    async fn sum(&self, accounts: &str) -> i64 {
        let sum = "SELECT CAST(coalesce(sum(micros), 0) AS BIGINT) FROM cape_account WHERE ";
        self.number(&format!("{sum}{accounts}")).await
    }
}

async fn execute(url: &str, sql: &str) {
    sqlx::any::install_default_drivers();
    let mut connection = AnyConnection::connect(url).await.unwrap();
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
}

/// Noon of a day.
pub fn day(n: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(24 * n + 12)
}

pub fn epsilon(epsilon: f64) -> Micros {
    Micros::at_least(epsilon)
}

pub fn in_total(limit: f64) -> Limits {
    Limits { total: Some(epsilon(limit)), ..Limits::default() }
}

/// The loss of a draw, in tests.
pub const EACH: f64 = 1.5;

/// The map of the user's words that lasts for the account.
pub const LASTING: Map = Map { whose: Whose::User, lasts: Lasts::Account };

/// Draws for these words.
pub fn draws(map: Map, words: &[&str]) -> Vec<Draw> {
    let draw =
        |word: &&str| Draw { map, from: word.as_bytes().into(), word: word.as_bytes().into() };
    words.iter().map(draw).collect()
}

/// Pays for the draws of some words at [`EACH`], and says what that cost.
pub async fn pay(
    ledger: &Ledger,
    account: &Account,
    words: &[&str],
    limits: &Limits,
    now: SystemTime,
) -> Result<Cost, Error> {
    let receipt = ledger.charge(account, &draws(LASTING, words), EACH, limits, now).await?;
    assert_eq!(receipt.secrets.len(), words.len());
    Ok(receipt.spent)
}

/// The place of one message that is said first.
pub fn place(ledger: &Ledger, who: &str, text: &str) -> Place {
    ledger.conversation(&ledger.account(who.as_bytes(), "")).next("assistant", text)
}
