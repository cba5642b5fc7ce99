//! The database: SQLite in a file or PostgreSQL by URL, with the same SQL.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{Any, AnyConnection, AnyPool, ConnectOptions, Connection, Executor, Row, Transaction};

use crate::error::{Error, Result};

/// The version of the tables below.
const VERSION: i64 = 3;

/// The longest time that one call of the database may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The pause before SQLite is asked again.
const PAUSE: Duration = Duration::from_millis(10);

/// The tables, for both databases: SQLite stores bytes as bytes whatever the column's type is called.
///
/// Spending is by a spender, or by all of them (''), on a day, or on all (-1). The sum of all and all is there
/// from the beginning: whoever spends locks it first.
const SCHEMA: [&str; 8] = [
    "CREATE TABLE cape_ledger (version BIGINT NOT NULL, key_check BYTEA NOT NULL)",
    "CREATE TABLE cape_account (spender TEXT NOT NULL, day BIGINT NOT NULL,
        releases BIGINT NOT NULL, draws BIGINT NOT NULL CHECK (draws >= 0),
        maps BIGINT NOT NULL CHECK (maps >= 0), micros BIGINT NOT NULL CHECK (micros >= 0),
        PRIMARY KEY (spender, day))",
    "CREATE TABLE cape_draw (draw BYTEA PRIMARY KEY)",
    "CREATE TABLE cape_generation (name TEXT PRIMARY KEY, kind TEXT NOT NULL, account TEXT NOT NULL,
        spender TEXT NOT NULL, generation BIGINT NOT NULL CHECK (generation >= 0))",
    "CREATE INDEX cape_generation_account ON cape_generation (account)",
    "CREATE TABLE cape_memory (place BYTEA PRIMARY KEY, sealed BYTEA NOT NULL, used BIGINT NOT NULL)",
    "CREATE INDEX cape_memory_used ON cape_memory (used)",
    // draws are those reserved, micros the cost of one; settled is -1 while the job is open, and then the
    // number of draws that were made
    "CREATE TABLE cape_job (job TEXT PRIMARY KEY, account TEXT NOT NULL, spender TEXT NOT NULL,
        day BIGINT NOT NULL, draws BIGINT NOT NULL CHECK (draws >= 0),
        micros BIGINT NOT NULL CHECK (micros >= 0), map BYTEA NOT NULL,
        settled BIGINT NOT NULL CHECK (settled BETWEEN -1 AND draws))",
];

/// Room for one long message, which [`Store::probe`] takes and gives back.
const ROOM: [&str; 2] = [
    "INSERT INTO cape_memory (place, sealed, used) VALUES (zeroblob(0), zeroblob(65536), -1)",
    "DELETE FROM cape_memory WHERE place = zeroblob(0)",
];

/// A commit must survive a crash, even of the machine.
const DURABLE_SQLITE: [&str; 3] =
    ["PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA secure_delete = ON"];
const DURABLE_POSTGRES: &str = "SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') IN ('off', 'local')";

#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    Sqlite,
    Postgres,
}

/// A database that may hold a ledger.
pub(crate) struct Store {
    pool: AnyPool,
    dialect: Dialect,
    /// SQLite's file, with its identity when it was opened.
    file: Option<(PathBuf, Identity)>,
}

/// Device and inode, where they exist: they tell a file from another one at the same path.
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(path: &Path) -> std::io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    let file = path.metadata()?;
    Ok((file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> std::io::Result<Identity> {
    path.metadata().map(|_| (0, 0))
}

/// Whether a ledger is made where there is none.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Missing {
    Make,
    Refuse,
}

impl Store {
    /// Connects to `postgres://…`, or to the SQLite file of this path.
    pub(crate) async fn connect(url: &str, missing: Missing) -> Result<Self> {
        sqlx::any::install_default_drivers();
        let file = url.strip_prefix("sqlite://").or(url.strip_prefix("sqlite:"));
        let path = Path::new(file.unwrap_or(url));
        let (dialect, connections, url) = match (url.split_once("://"), file) {
            (Some(("postgres" | "postgresql", _)), _) if cfg!(not(feature = "postgres")) => {
                return Err(Error::NoPostgres);
            }
            (Some(("postgres" | "postgresql", _)), _) => (Dialect::Postgres, 8, url.to_owned()),
            // an error that named it as a file could show a password
            (Some(_), None) => return Err(Error::Scheme),
            // SQLite has one writer at a time, and the pool keeps the order of those who wait
            _ => (Dialect::Sqlite, 1, sqlite(path, missing)?),
        };
        let options = AnyConnectOptions::from_str(&url)?.disable_statement_logging();
        // a pool would hide why it cannot connect
        let mut first = within(options.connect()).await?;
        let prepared: &'static [&str] = match (missing, dialect) {
            // a reader changes nothing: the database may be somebody else's
            (Missing::Refuse, _) => &[],
            (Missing::Make, Dialect::Sqlite) => &DURABLE_SQLITE,
            (Missing::Make, Dialect::Postgres) => &[DURABLE_POSTGRES],
        };
        within(prepare(&mut first, prepared)).await?;
        within(first.close()).await?;
        let pool = AnyPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(PATIENCE)
            .after_connect(move |connection, _| Box::pin(prepare(connection, prepared)))
            .after_release(move |connection, _| {
                Box::pin(
                    async move { Ok(dialect == Dialect::Postgres || is_idle(connection).await) },
                )
            })
            .connect_lazy_with(options);
        let file = match dialect {
            Dialect::Postgres => None,
            Dialect::Sqlite => {
                let failed = |source| Error::File { path: path.to_owned(), source };
                let full = path.canonicalize().map_err(failed)?;
                let own = identity(&full).map_err(failed)?;
                Some((full, own))
            }
        };
        Ok(Self { pool, dialect, file })
    }

    /// Begins a transaction. SQLite admits one writer at a time from here on; PostgreSQL does once a row
    /// is locked, and shows each statement what was committed by then.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Any>> {
        Ok(self
            .pool
            .begin_with(match self.dialect {
                Dialect::Sqlite => "BEGIN IMMEDIATE",
                Dialect::Postgres => "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
            })
            .await?)
    }

    /// Waits for all others who spend: what is spent cannot change before the end of the transaction.
    pub(crate) async fn lock(&self, connection: &mut AnyConnection) -> Result<()> {
        let lock = "UPDATE cape_account SET micros = micros WHERE spender = '' AND day = -1";
        if connection.execute(lock).await?.rows_affected() == 1 {
            Ok(())
        } else {
            Err(Error::Damaged("the account of all keys is gone"))
        }
    }

    /// Fails if SQLite's file was removed or replaced: whatever is written to it would be lost.
    pub(crate) fn in_place(&self) -> Result<()> {
        match &self.file {
            Some((path, own)) if !identity(path).is_ok_and(|there| there == *own) => {
                Err(Error::Damaged("its file is not the one that was opened"))
            }
            _ => Ok(()),
        }
    }

    /// Commits a change, as a release would: it fails where a release would for want of room, of a
    /// permission or of a database.
    pub(crate) async fn probe(&self) -> Result<()> {
        let mut transaction = self.begin().await?;
        self.lock(&mut transaction).await?;
        // no row, but the permission to write one is asked for
        let draw = "INSERT INTO cape_draw (draw) SELECT draw FROM cape_draw WHERE 1 = 0";
        transaction.execute(draw).await?;
        if self.dialect == Dialect::Sqlite {
            // the pages are erased and not just marked free (secure_delete), so they are written;
            // PostgreSQL writes ahead of every change and would keep what is deleted for a while
            for statement in ROOM {
                transaction.execute(statement).await?;
            }
        }
        self.in_place()?;
        Ok(transaction.commit().await?)
    }

    /// Fails if SQLite's own check of the file finds a fault. PostgreSQL checks its pages as it reads them.
    pub(crate) async fn check(&self) -> Result<()> {
        if self.dialect == Dialect::Sqlite {
            let found: String =
                sqlx::query_scalar("PRAGMA integrity_check(1)").fetch_one(&self.pool).await?;
            if found != "ok" {
                return Err(Error::Damaged("SQLite's check of its file finds it corrupted"));
            }
        }
        Ok(())
    }

    pub(crate) fn pool(&self) -> &AnyPool {
        &self.pool
    }

    /// Makes the tables where there are none.
    pub(crate) async fn make(&self, key_check: Vec<u8>) -> Result<()> {
        let mut transaction = self.begin().await?;
        if self.dialect == Dialect::Postgres {
            // two proxies that start together would both find no table; the number is arbitrary
            transaction.execute("SELECT pg_advisory_xact_lock(1667331173)").await?;
        }
        if self.version(&mut transaction).await?.is_none() {
            for statement in SCHEMA {
                transaction.execute(statement).await?;
            }
            sqlx::query("INSERT INTO cape_ledger (version, key_check) VALUES ($1, $2)")
                .bind(VERSION)
                .bind(key_check)
                .execute(&mut *transaction)
                .await?;
            transaction.execute("INSERT INTO cape_account VALUES ('', -1, 0, 0, 0, 0)").await?;
        }
        Ok(transaction.commit().await?)
    }

    /// The stored value that shows which key this ledger belongs to.
    pub(crate) async fn key_check(&self) -> Result<Vec<u8>> {
        let mut connection = self.pool.acquire().await?;
        match self.version(&mut connection).await? {
            None => Err(Error::NoLedger),
            Some(VERSION) => {
                let row = connection.fetch_one("SELECT key_check FROM cape_ledger").await?;
                Ok(row.try_get(0)?)
            }
            Some(older) if older < VERSION => Err(Error::Older(older)),
            Some(newer) => Err(Error::Newer(newer)),
        }
    }

    /// The version of the ledger, if there is one.
    async fn version(&self, connection: &mut AnyConnection) -> Result<Option<i64>> {
        let tables = match self.dialect {
            Dialect::Sqlite => "SELECT name FROM sqlite_schema WHERE name = 'cape_ledger'",
            Dialect::Postgres => "SELECT CAST(to_regclass('cape_ledger') AS TEXT)",
        };
        let table = sqlx::query_scalar::<_, Option<String>>(tables);
        if table.fetch_optional(&mut *connection).await?.flatten().is_none() {
            return Ok(None);
        }
        let row = connection.fetch_one("SELECT version FROM cape_ledger").await?;
        Ok(Some(row.try_get(0)?))
    }
}

/// Waits for the database, but not longer than [`PATIENCE`].
pub(crate) async fn within<T, E>(work: impl Future<Output = Result<T, E>>) -> Result<T>
where
    Error: From<E>,
{
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Error::TimedOut),
    }
}

/// Whether a connection has no transaction open. Where there is no room, SQLite undoes a transaction by
/// itself; SQLx does not learn of it, fails to undo it again, and would refuse to begin another one on this
/// connection for ever. Such a connection is closed, and the pool opens another.
async fn is_idle(connection: &mut AnyConnection) -> bool {
    match connection.begin_with("BEGIN").await {
        Ok(transaction) => transaction.rollback().await.is_ok(),
        Err(_) => false,
    }
}

/// Runs the statements. SQLite does not wait by itself while another connection opens or closes the
/// same log, so this tries again; the caller limits the time.
async fn prepare(connection: &mut AnyConnection, statements: &'static [&str]) -> sqlx::Result<()> {
    for statement in statements {
        while let Err(error) = connection.execute(*statement).await {
            if !is_busy(&error) {
                return Err(error);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// SQLite's code for a database that another connection has locked; PostgreSQL's codes have five letters.
fn is_busy(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code)
        .is_some_and(|code| code == "5")
}

/// The file as a URL for SQLx; a file that is made here is readable by its owner alone.
fn sqlite(path: &Path, missing: Missing) -> Result<String> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    if missing == Missing::Make {
        let mut options = std::fs::OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).map_err(failed)?;
    } else if !path.is_file() {
        return Err(Error::NoFile(path.to_owned()));
    }
    let full = path.canonicalize().map_err(failed)?;
    let escaped = full.to_string_lossy().bytes().fold(String::new(), |url, byte| match byte {
        b'/' | b'.' | b'-' | b'_' => url + std::str::from_utf8(&[byte]).unwrap_or_default(),
        byte if byte.is_ascii_alphanumeric() => url + &char::from(byte).to_string(),
        byte => url + &format!("%{byte:02X}"),
    });
    Ok(format!("sqlite:{escaped}?mode=rw"))
}
