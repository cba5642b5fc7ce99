//! The ledger as its administrator reads it: without the key, and without any text.

use std::fmt;

use sqlx::Row;

use crate::cost::Cost;
use crate::day::Day;
use crate::error::{Error, Result};
use crate::jobs::Job;
use crate::micros::Micros;
use crate::store::{Missing, Store, within};

/// The spending of one API key on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spending {
    /// The keyed hash of the API key.
    pub spender: String,
    /// The day.
    pub day: Day,
    /// The number of requests with at least one new draw.
    pub releases: u64,
    /// The number of draws and of maps opened, and the cost of the draws.
    pub cost: Cost,
}

/// A ledger opened for reading.
pub struct Book {
    store: Store,
}

impl Book {
    /// Opens a ledger, which must exist.
    pub async fn open(url: &str) -> Result<Self> {
        let store = Store::connect(url, Missing::Refuse).await?;
        within(store.key_check()).await?;
        Ok(Self { store })
    }

    /// The spending of each key on each day, ordered by day and spender.
    pub async fn spending(&self) -> Result<Vec<Spending>> {
        let query = sqlx::query(
            "SELECT spender, day, releases, draws, maps, micros FROM cape_account
             WHERE spender <> '' AND day <> -1 ORDER BY day, spender",
        );
        let rows = within(query.fetch_all(self.store.pool())).await?;
        let count = |n: i64| u64::try_from(n).ok();
        let spending = rows.iter().map(|row| {
            let impossible = || Error::Damaged("a sum is impossible");
            Ok(Spending {
                spender: row.try_get(0)?,
                day: Day::from_stored(row.try_get(1)?),
                releases: count(row.try_get(2)?).ok_or_else(impossible)?,
                cost: Cost {
                    draws: count(row.try_get(3)?).ok_or_else(impossible)?,
                    maps: count(row.try_get(4)?).ok_or_else(impossible)?,
                    epsilon: Micros::from_stored(row.try_get(5)?).ok_or_else(impossible)?,
                },
            })
        });
        spending.collect()
    }

    /// The jobs that are not settled, ordered by day and name.
    pub async fn jobs(&self) -> Result<Vec<Job>> {
        let query = sqlx::query(
            "SELECT job, spender, day, draws, micros FROM cape_job WHERE settled = -1 ORDER BY day, job",
        );
        let rows = within(query.fetch_all(self.store.pool())).await?;
        let jobs = rows.iter().map(|row| {
            let impossible = || Error::Damaged("a job's numbers are impossible");
            let draws = u64::try_from(row.try_get::<i64, _>(3)?).map_err(|_| impossible())?;
            let each = Micros::from_stored(row.try_get(4)?).ok_or_else(impossible)?;
            Ok(Job {
                name: row.try_get(0)?,
                spender: row.try_get(1)?,
                day: Day::from_stored(row.try_get(2)?),
                reserved: Cost { draws, maps: 1, epsilon: each.times(draws) },
            })
        });
        jobs.collect()
    }

    /// Fails if the database finds itself corrupted; SQLite reads all of it for that.
    pub async fn check(&self) -> Result<()> {
        self.store.check().await
    }

    /// The number of answers that are remembered.
    pub async fn remembered(&self) -> Result<u64> {
        let query = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM cape_memory");
        let count = within(query.fetch_one(self.store.pool())).await?;
        u64::try_from(count).map_err(|_| Error::Damaged("a count is below zero"))
    }
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Book")
    }
}
