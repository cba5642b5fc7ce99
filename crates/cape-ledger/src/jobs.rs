//! Jobs: the draws of a whole job are reserved before it starts, and settled at its end.

use std::fmt;
use std::time::SystemTime;

use sqlx::{AnyConnection, Row};

use crate::account::Account;
use crate::cost::Cost;
use crate::day::Day;
use crate::error::{Error, Result};
use crate::key::{Spender, hex};
use crate::ledger::{Ledger, spent, write_down};
use crate::limits::Limits;
use crate::micros::Micros;
use crate::store::within;

/// What stands in the place of the number of draws while a job is open.
const OPEN: i64 = -1;

/// Proof that the draws of a job are reserved: it holds what they are drawn from.
pub struct Reservation {
    /// The secret of the job's map. It cannot be had again once the job is settled.
    pub secret: [u8; 32],
    /// The cost that was charged: nothing if the job was reserved before.
    pub spent: Cost,
    /// The job's name in the ledger: a keyed hash of its id, in hexadecimal digits.
    pub name: String,
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { secret: _, spent, name } = self;
        f.debug_struct("Reservation").field("name", name).field("spent", spent).finish()
    }
}

/// A job that is not settled: all that it reserved counts as spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its name: a keyed hash of its id.
    pub name: String,
    /// The keyed hash of the API key, or of the name, that pays.
    pub spender: String,
    /// The day on which it was reserved, to which its cost belongs.
    pub day: Day,
    /// What it reserved.
    pub reserved: Cost,
}

impl Ledger {
    /// Reserves the draws of a job, and its map, before it starts. All of them count as spent from here on,
    /// on this day, whether they are made or not; over a limit, nothing is reserved. The job draws from the
    /// secret of the reservation, and from nothing else.
    ///
    /// The id is told from that of every other job of the ledger. Reserving again what is reserved costs nothing
    /// and gives the same secret, so that a job can go on after a crash. A job that was settled, or that was
    /// reserved by another account, for another number of draws or at another loss, is refused.
    pub async fn reserve(
        &self,
        account: &Account,
        job: &str,
        draws: u64,
        per_draw: f64,
        limits: &Limits,
        now: SystemTime,
    ) -> Result<Reservation> {
        let name = self.job_name(job);
        let each = Micros::at_least(per_draw);
        let day = Day::of(now);
        within(async {
            let mut transaction = self.store.begin().await?;
            self.store.lock(&mut transaction).await?;
            if let Some(known) = find(&mut transaction, &name).await? {
                if known.settled.is_some() {
                    return Err(Error::Settled);
                }
                let same = (known.account.as_str(), known.draws, known.each)
                    == (account.name(), draws, each);
                if !same {
                    return Err(Error::OtherJob);
                }
                let secret = self.key.secret(&known.map()?);
                return Ok(Reservation { secret, spent: Cost::default(), name });
            }
            let cost = Cost { maps: 1, ..Cost::new(draws, per_draw) };
            let had = spent(&mut transaction, account.spender(), day).await?;
            // an error drops the transaction, which undoes all of it
            limits.admit(&had, cost, now)?;
            let map = self.key.fresh()?;
            sqlx::query(
                "INSERT INTO cape_job (job, account, spender, day, draws, micros, map, settled)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, -1)",
            )
            .bind(name.as_str())
            .bind(account.name())
            .bind(account.spender().as_str())
            .bind(day.stored())
            .bind(i64::try_from(draws).map_err(|_| Error::Overdrawn)?)
            .bind(each.stored())
            .bind(map.to_vec())
            .execute(&mut *transaction)
            .await?;
            write_down(&mut transaction, account.spender(), day, cost).await?;
            self.store.in_place()?;
            transaction.commit().await?;
            Ok(Reservation { secret: self.key.secret(&map), spent: cost, name })
        })
        .await
    }

    /// Settles a job once it has ended: nobody may draw from its secret any more, which the ledger
    /// forgets. It made `draws` different draws, at most those that it reserved; the others were never made,
    /// and are given back. Returns what was given back: nothing if the job was settled before,
    /// with the same number.
    pub async fn settle(&self, job: &str, draws: u64) -> Result<Cost> {
        let name = self.job_name(job);
        self.settle_one(&name, Some(draws)).await
    }

    /// Settles the one open job whose name begins like this, as [`Ledger::settle`] does. Without a number of draws
    /// all that it reserved stays spent: who does not know how far a job came has to assume that it made them all.
    pub async fn settle_named(&self, name: &str, draws: Option<u64>) -> Result<Cost> {
        let beginning = crate::forget::digits(name)?;
        let found = sqlx::query("SELECT job FROM cape_job WHERE settled = -1 AND job LIKE $1")
            .bind(beginning)
            .fetch_all(self.store.pool());
        let found = within(found).await?;
        match found.as_slice() {
            [one] => self.settle_one(one.try_get(0)?, draws).await,
            [] => Err(Error::NotFound("open job")),
            _ => Err(Error::Ambiguous),
        }
    }

    async fn settle_one(&self, name: &str, draws: Option<u64>) -> Result<Cost> {
        within(async {
            let mut transaction = self.store.begin().await?;
            self.store.lock(&mut transaction).await?;
            let job = find(&mut transaction, name).await?.ok_or(Error::NotFound("job"))?;
            let made = draws.unwrap_or(job.draws);
            match job.settled {
                Some(before) if before == made => return Ok(Cost::default()),
                Some(_) => return Err(Error::Settled),
                None if made > job.draws => return Err(Error::Overdrawn),
                None => {}
            }
            let unmade = job.draws - made;
            let back = Cost { draws: unmade, maps: 0, epsilon: job.each.times(unmade) };
            let stored = |count: u64| i64::try_from(count).map_err(|_| Error::Overdrawn);
            let given = sqlx::query(
                "UPDATE cape_account SET draws = draws - $1, micros = micros - $2
                 WHERE spender IN ($3, '') AND day IN ($4, -1)",
            )
            .bind(stored(back.draws)?)
            .bind(back.epsilon.stored())
            .bind(job.spender.as_str())
            .bind(job.day.stored())
            .execute(&mut *transaction)
            .await?;
            if given.rows_affected() != 4 {
                return Err(Error::Damaged("an account that reserved is gone"));
            }
            // without the name of the map nobody can have its secret again
            sqlx::query("UPDATE cape_job SET settled = $1, map = $2 WHERE job = $3")
                .bind(stored(made)?)
                .bind(Vec::new())
                .bind(name)
                .execute(&mut *transaction)
                .await?;
            self.store.in_place()?;
            transaction.commit().await?;
            Ok(back)
        })
        .await
    }

    fn job_name(&self, job: &str) -> String {
        hex(&self.key.hash("job", &[job.as_bytes()]))
    }
}

/// A job as it stands in the database.
struct Stored {
    account: String,
    spender: Spender,
    day: Day,
    draws: u64,
    /// The cost of one draw.
    each: Micros,
    map: Vec<u8>,
    settled: Option<u64>,
}

impl Stored {
    fn map(&self) -> Result<[u8; 32]> {
        self.map.as_slice().try_into().map_err(|_| Error::Damaged("a job's map has another length"))
    }
}

async fn find(connection: &mut AnyConnection, name: &str) -> Result<Option<Stored>> {
    const IMPOSSIBLE: Error = Error::Damaged("a job's numbers are impossible");
    let row = sqlx::query(
        "SELECT account, spender, day, draws, micros, map, settled FROM cape_job WHERE job = $1",
    )
    .bind(name)
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let count = |n: i64| u64::try_from(n).map_err(|_| IMPOSSIBLE);
    let settled = match row.try_get(6)? {
        OPEN => None,
        made => Some(count(made)?),
    };
    Ok(Some(Stored {
        account: row.try_get(0)?,
        spender: Spender::stored(row.try_get(1)?),
        day: Day::from_stored(row.try_get(2)?),
        draws: count(row.try_get(3)?)?,
        each: Micros::from_stored(row.try_get(4)?).ok_or(IMPOSSIBLE)?,
        map: row.try_get(5)?,
        settled,
    }))
}
