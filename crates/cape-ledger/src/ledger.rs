//! Spending and remembering in one transaction.

use std::fmt;
use std::time::SystemTime;

use sqlx::{AnyConnection, Row};

use crate::conversation::{Conversation, Place};
use crate::day::Day;
use crate::error::{Error, Result};
use crate::key::{Key, Spender};
use crate::limits::{Each, Left, Limits};
use crate::micros::Micros;
use crate::store::{Missing, Store, within};

/// The cost of a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of draws.
    pub draws: u64,
    /// The privacy loss of all of them.
    pub epsilon: Micros,
}

impl Cost {
    /// The cost of some draws, from the proven loss of each (not the ε that was asked for).
    #[must_use]
    pub fn new(draws: u64, per_draw: f64) -> Self {
        Self { draws, epsilon: Micros::at_least(per_draw).times(draws) }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            draws: self.draws.saturating_add(other.draws),
            epsilon: self.epsilon.plus(other.epsilon),
        }
    }
}

/// A message with its new release.
pub struct Fresh {
    /// Its place in the conversation.
    pub place: Place,
    /// The released text.
    pub text: String,
    /// The cost of the release.
    pub cost: Cost,
}

impl fmt::Debug for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fresh").field("cost", &self.cost).finish_non_exhaustive()
    }
}

/// Proof that a release is written down and may be sent.
pub struct Receipt {
    /// The text to send for each message, in order. It is not the one that was drawn where another
    /// proxy has released the same message first.
    pub texts: Vec<String>,
    /// The cost that was charged.
    pub spent: Cost,
    /// The rest of each limit.
    pub left: Left,
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Receipt");
        shown.field("spent", &self.spent).field("left", &self.left).finish_non_exhaustive()
    }
}

/// The ledger and the memory, shared by one or more proxies.
pub struct Ledger {
    store: Store,
    key: Key,
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

    /// The spender with this API key.
    #[must_use]
    pub fn spender(&self, api_key: &[u8]) -> Spender {
        self.key.spender(api_key)
    }

    /// The beginning of a conversation. The settings must name all that a release depends on, such as
    /// the mechanism, ε and the words to keep: under other settings no release is recalled.
    #[must_use]
    pub fn conversation(&self, who: &Spender, settings: &str) -> Conversation {
        Conversation::begin(&self.key, who, settings)
    }

    /// The earlier release of this message, if any. To send it again costs nothing.
    pub async fn recall(&self, place: &Place, now: SystemTime) -> Result<Option<String>> {
        within(async {
            let mut connection = self.store.pool().acquire().await?;
            let Some(text) = self.remembered(&mut connection, place).await? else {
                return Ok(None);
            };
            // a message in use is not forgotten; one update a day is enough
            sqlx::query("UPDATE cape_memory SET used = $2 WHERE place = $1 AND used < $2")
                .bind(place.bytes())
                .bind(Day::of(now).stored())
                .execute(&mut *connection)
                .await?;
            Ok::<_, Error>(Some(text))
        })
        .await
    }

    /// Charges the cost of these messages and remembers them, all or nothing. Only the texts of the
    /// receipt may be sent.
    pub async fn release(
        &self,
        who: &Spender,
        messages: Vec<Fresh>,
        limits: &Limits,
        now: SystemTime,
    ) -> Result<Receipt> {
        within(self.transact(who, Cost::default(), messages, limits, now)).await
    }

    /// Charges a cost without remembering a text: to send the same again costs the same again.
    pub async fn spend(
        &self,
        who: &Spender,
        cost: Cost,
        limits: &Limits,
        now: SystemTime,
    ) -> Result<Receipt> {
        within(self.transact(who, cost, Vec::new(), limits, now)).await
    }

    /// The rest of each limit for this spender.
    pub async fn left(&self, who: &Spender, limits: &Limits, now: SystemTime) -> Result<Left> {
        within(async {
            let mut connection = self.store.pool().acquire().await?;
            Ok::<_, Error>(limits.left(&spent(&mut connection, who, Day::of(now)).await?))
        })
        .await
    }

    /// Forgets the messages that were last sent before that day, and returns their number. To send
    /// one of them again is a new release.
    pub async fn forget(&self, before: Day) -> Result<u64> {
        let query = sqlx::query("DELETE FROM cape_memory WHERE used < $1").bind(before.stored());
        Ok(within(query.execute(self.store.pool())).await?.rows_affected())
    }

    /// Commits a change that changes nothing: whether a release could be written down now.
    pub async fn probe(&self) -> Result<()> {
        within(self.store.probe()).await
    }

    /// Closes the database: a SQLite ledger is then one file again, which may be copied or moved.
    pub async fn close(&self) {
        self.store.pool().close().await;
    }

    async fn transact(
        &self,
        who: &Spender,
        mut cost: Cost,
        messages: Vec<Fresh>,
        limits: &Limits,
        now: SystemTime,
    ) -> Result<Receipt> {
        let day = Day::of(now);
        let mut transaction = self.store.begin().await?;
        // all spenders wait for this lock: the accounts cannot change before the end
        let lock = "UPDATE cape_account SET micros = micros WHERE spender = '' AND day = -1";
        if sqlx::query(lock).execute(&mut *transaction).await?.rows_affected() != 1 {
            return Err(Error::Damaged("the account of all keys is gone"));
        }
        let mut texts = Vec::with_capacity(messages.len());
        for message in messages {
            let new = sqlx::query(
                "INSERT INTO cape_memory (place, sealed, used) VALUES ($1, $2, $3)
                 ON CONFLICT (place) DO NOTHING",
            )
            .bind(message.place.bytes())
            .bind(self.key.seal(message.place.bytes(), &message.text)?)
            .bind(day.stored())
            .execute(&mut *transaction)
            .await?;
            if new.rows_affected() == 1 {
                cost = cost.plus(message.cost);
                texts.push(message.text);
            } else {
                // another proxy was first: two draws for one message would be two releases
                let text = self.remembered(&mut transaction, &message.place).await?;
                texts.push(text.ok_or(Error::Damaged("a message is there and not there"))?);
            }
        }
        let spent = spent(&mut transaction, who, day).await?;
        // an error drops the transaction, which undoes all of it
        let left = limits.admit(&spent, cost.epsilon, now)?;
        if cost != Cost::default() {
            write_down(&mut transaction, who, day, cost).await?;
        }
        self.store.in_place()?;
        transaction.commit().await?;
        Ok(Receipt { texts, spent: cost, left })
    }

    async fn remembered(
        &self,
        connection: &mut AnyConnection,
        place: &Place,
    ) -> Result<Option<String>> {
        let row = sqlx::query("SELECT sealed FROM cape_memory WHERE place = $1")
            .bind(place.bytes())
            .fetch_optional(connection)
            .await?;
        let sealed = row.map(|row| row.try_get::<Vec<u8>, _>(0)).transpose()?;
        sealed.map(|sealed| self.key.unseal(place.bytes(), &sealed)).transpose()
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ledger")
    }
}

async fn spent(connection: &mut AnyConnection, who: &Spender, day: Day) -> Result<Each<Micros>> {
    let rows = sqlx::query(
        "SELECT spender, day, micros FROM cape_account
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
        let account = match (all_keys, all_days) {
            (false, false) => &mut spent.key_day,
            (false, true) => &mut spent.key,
            (true, false) => &mut spent.day,
            (true, true) => &mut spent.total,
        };
        *account = Micros::from_stored(row.try_get(2)?)
            .ok_or(Error::Damaged("an account holds an impossible sum"))?;
    }
    Ok(spent)
}

async fn write_down(
    connection: &mut AnyConnection,
    who: &Spender,
    day: Day,
    cost: Cost,
) -> Result<()> {
    let draws = i64::try_from(cost.draws).unwrap_or(i64::MAX);
    sqlx::query(
        "INSERT INTO cape_account (spender, day, releases, tokens, micros)
         VALUES ($1, $2, 1, $3, $4), ($1, -1, 1, $3, $4), ('', $2, 1, $3, $4), ('', -1, 1, $3, $4)
         ON CONFLICT (spender, day) DO UPDATE SET
             releases = cape_account.releases + excluded.releases,
             tokens = cape_account.tokens + excluded.tokens,
             micros = cape_account.micros + excluded.micros",
    )
    .bind(who.as_str())
    .bind(day.stored())
    .bind(draws)
    .bind(cost.epsilon.stored())
    .execute(connection)
    .await?;
    Ok(())
}
