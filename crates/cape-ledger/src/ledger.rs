//! Draws are charged in one transaction, and only then are their secrets given out.

use std::collections::HashSet;
use std::fmt;
use std::fmt::Write as _;
use std::time::SystemTime;

use sqlx::{AnyConnection, AssertSqlSafe, Row};

use crate::account::Account;
use crate::conversation::Conversation;
use crate::cost::Cost;
use crate::day::Day;
use crate::error::{Error, Result};
use crate::key::{Key, Spender};
use crate::limits::{Each, Left, Limits};
use crate::map::{Draw, Generations, Lasts, Sorted};
use crate::micros::Micros;
use crate::store::{Missing, Store, within};

/// The most rows that one statement reads or writes.
const AT_ONCE: usize = 500;

/// Proof that draws are paid for: it holds what they are drawn from.
pub struct Receipt {
    /// The secret of each draw, in order.
    pub secrets: Vec<[u8; 32]>,
    /// The cost that was charged: nothing for draws that were paid for before.
    pub spent: Cost,
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipt").field("spent", &self.spent).finish_non_exhaustive()
    }
}

/// The ledger and the memory, shared by one or more proxies.
pub struct Ledger {
    pub(crate) store: Store,
    pub(crate) key: Key,
}

impl Ledger {
    /// Opens the ledger in a SQLite file (a path) or a PostgreSQL database (`postgres://…`). Makes one
    /// where there is none.
    pub async fn open(url: &str, key: Key) -> Result<Self> {
        let store = Store::connect(url, Missing::Make).await?;
        within(store.make(key.check())).await?;
        // proxies with different keys would not see what the others spent
        if within(store.key_check()).await? != key.check() {
            return Err(Error::WrongKey);
        }
        Ok(Self { store, key })
    }

    /// Opens a ledger, which must exist.
    pub async fn open_existing(url: &str, key: Key) -> Result<Self> {
        let found = Store::connect(url, Missing::Refuse).await?;
        within(found.key_check()).await?;
        found.pool().close().await;
        Self::open(url, key).await
    }

    /// The account of a user, of whom nothing but the id that a request names is known, under an API key.
    #[must_use]
    pub fn account(&self, api_key: &[u8], user: &str) -> Account {
        Account::new(&self.key, api_key, user)
    }

    /// The beginning of a conversation.
    #[must_use]
    pub fn conversation(&self, account: &Account) -> Conversation {
        Conversation::begin(&self.key, account)
    }

    /// Charges the draws that were not paid for before and the maps that they open, all or nothing. What
    /// the draws become is decided by the receipt's secrets: nothing can be drawn before it is paid for.
    pub async fn charge(
        &self,
        account: &Account,
        draws: &[Draw],
        per_draw: f64,
        limits: &Limits,
        now: SystemTime,
    ) -> Result<Receipt> {
        within(async {
            let (sorted, new) = {
                let mut connection = self.store.pool().acquire().await?;
                let generations = generations(&mut connection, account).await?;
                let mut sorted = Sorted::new(&self.key, account, draws, &generations)?;
                // most were paid for before: only the others need the lock
                let known = paid(&mut connection, &sorted.draws).await?;
                sorted.draws.retain(|draw| !known.contains(draw));
                let new = !sorted.draws.is_empty() || sorted.passing.0 > 0;
                (sorted, new)
            };
            let spent = if new {
                self.pay(account, draws, &sorted, per_draw, limits, now).await?
            } else {
                Cost::default()
            };
            Ok::<_, Error>(Receipt { secrets: sorted.secrets, spent })
        })
        .await
    }

    async fn pay(
        &self,
        account: &Account,
        draws: &[Draw],
        sorted: &Sorted,
        per_draw: f64,
        limits: &Limits,
        now: SystemTime,
    ) -> Result<Cost> {
        let day = Day::of(now);
        let mut transaction = self.store.begin().await?;
        self.store.lock(&mut transaction).await?;
        let (passing_draws, passing_maps) = sorted.passing;
        let new = insert(&mut transaction, &sorted.draws).await?.saturating_add(passing_draws);
        let opened = insert(&mut transaction, &sorted.maps).await?;
        let cost = Cost { maps: opened.saturating_add(passing_maps), ..Cost::new(new, per_draw) };
        let spent = spent(&mut transaction, account.spender(), day).await?;
        // an error drops the transaction, which undoes all of it
        limits.admit(&spent, cost, now)?;
        if opened > 0 {
            name(&mut transaction, account, draws).await?;
        }
        if cost != Cost::default() {
            write_down(&mut transaction, account.spender(), day, cost).await?;
        }
        self.store.in_place()?;
        transaction.commit().await?;
        Ok(cost)
    }

    /// The rest of each limit for this spender.
    pub async fn left(&self, who: &Spender, limits: &Limits, now: SystemTime) -> Result<Left> {
        within(async {
            let mut connection = self.store.pool().acquire().await?;
            Ok::<_, Error>(limits.left(&spent(&mut connection, who, Day::of(now)).await?))
        })
        .await
    }

    /// Commits a change that changes nothing: whether a release could be written down now.
    pub async fn probe(&self) -> Result<()> {
        within(self.store.probe()).await
    }

    /// Closes the database: a SQLite ledger is then one file again, which may be copied or moved.
    pub async fn close(&self) {
        self.store.pool().close().await;
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ledger")
    }
}

/// How often what belongs to an account was forgotten.
async fn generations(connection: &mut AnyConnection, account: &Account) -> Result<Generations> {
    let query =
        "SELECT name, generation FROM cape_generation WHERE account = $1 AND generation > 0";
    let rows = sqlx::query(query).bind(account.name()).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Which of these draws are paid for.
async fn paid(
    connection: &mut AnyConnection,
    draws: &HashSet<[u8; 32]>,
) -> Result<HashSet<[u8; 32]>> {
    let all: Vec<&[u8; 32]> = draws.iter().collect();
    let mut known = HashSet::new();
    for some in all.chunks(AT_ONCE) {
        let sql = listed("SELECT draw FROM cape_draw WHERE draw IN (", some.len(), ["", ""]) + ")";
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for draw in some {
            query = query.bind(draw.as_slice());
        }
        for row in query.fetch_all(&mut *connection).await? {
            let draw: Vec<u8> = row.try_get(0)?;
            known.insert(draw.try_into().map_err(|_| Error::Damaged("a draw has another length"))?);
        }
    }
    Ok(known)
}

/// Writes these draws or maps down, and says how many of them were not there.
async fn insert(connection: &mut AnyConnection, names: &HashSet<[u8; 32]>) -> Result<u64> {
    let all: Vec<&[u8; 32]> = names.iter().collect();
    let mut new = 0;
    for some in all.chunks(AT_ONCE) {
        let sql = listed("INSERT INTO cape_draw (draw) VALUES ", some.len(), ["(", ")"])
            + " ON CONFLICT (draw) DO NOTHING";
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for name in some {
            query = query.bind(name.as_slice());
        }
        new += query.execute(&mut *connection).await?.rows_affected();
    }
    Ok(new)
}

/// A statement with so many numbered values, each between two marks.
fn listed(begin: &str, count: usize, [before, after]: [&str; 2]) -> String {
    let mut sql = begin.to_owned();
    for i in 1..=count {
        let comma = if i == 1 { "" } else { ", " };
        let _ = write!(sql, "{comma}{before}${i}{after}");
    }
    sql
}

/// Writes down the names of the account and of the conversations that maps were opened for, by which they
/// can be forgotten.
async fn name(connection: &mut AnyConnection, account: &Account, draws: &[Draw]) -> Result<()> {
    let conversations = draws.iter().filter_map(|draw| match draw.map.lasts {
        Lasts::Conversation(place) => Some(place.name()),
        Lasts::Account | Lasts::Request => None,
    });
    let conversations: HashSet<String> = conversations.collect();
    let conversations = conversations.into_iter().map(|name| (name, "conversation"));
    for (name, kind) in [(account.name().to_owned(), "account")].into_iter().chain(conversations) {
        sqlx::query(
            "INSERT INTO cape_generation (name, kind, account, spender, generation)
             VALUES ($1, $2, $3, $4, 0) ON CONFLICT (name) DO NOTHING",
        )
        .bind(name)
        .bind(kind)
        .bind(account.name())
        .bind(account.spender().as_str())
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

pub(crate) async fn spent(
    connection: &mut AnyConnection,
    who: &Spender,
    day: Day,
) -> Result<Each<Cost>> {
    const IMPOSSIBLE: Error = Error::Damaged("a sum is impossible");
    let rows = sqlx::query(
        "SELECT spender, day, draws, maps, micros FROM cape_account
         WHERE spender IN ($1, '') AND day IN ($2, -1)",
    )
    .bind(who.as_str())
    .bind(day.stored())
    .fetch_all(connection)
    .await?;
    let mut spent = Each::default();
    for row in rows {
        let (all_keys, all_days) =
            (row.try_get::<String, _>(0)?.is_empty(), row.try_get::<i64, _>(1)? == -1);
        let sum = match (all_keys, all_days) {
            (false, false) => &mut spent.key_day,
            (false, true) => &mut spent.key,
            (true, false) => &mut spent.day,
            (true, true) => &mut spent.total,
        };
        let count = |column| u64::try_from(row.try_get::<i64, _>(column)?).map_err(|_| IMPOSSIBLE);
        *sum = Cost {
            draws: count(2)?,
            maps: count(3)?,
            epsilon: Micros::from_stored(row.try_get(4)?).ok_or(IMPOSSIBLE)?,
        };
    }
    Ok(spent)
}

pub(crate) async fn write_down(
    connection: &mut AnyConnection,
    who: &Spender,
    day: Day,
    cost: Cost,
) -> Result<()> {
    let stored = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    sqlx::query(
        "INSERT INTO cape_account (spender, day, releases, draws, maps, micros)
         VALUES ($1, $2, 1, $3, $4, $5), ($1, -1, 1, $3, $4, $5),
                ('', $2, 1, $3, $4, $5), ('', -1, 1, $3, $4, $5)
         ON CONFLICT (spender, day) DO UPDATE SET
             releases = cape_account.releases + excluded.releases,
             draws = cape_account.draws + excluded.draws,
             maps = cape_account.maps + excluded.maps,
             micros = cape_account.micros + excluded.micros",
    )
    .bind(who.as_str())
    .bind(day.stored())
    .bind(stored(cost.draws))
    .bind(stored(cost.maps))
    .bind(cost.epsilon.stored())
    .execute(connection)
    .await?;
    Ok(())
}
