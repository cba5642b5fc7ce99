//! The memory of upstream's answers: sent back by a client, they go to upstream as they came.

use std::fmt;
use std::time::SystemTime;

use sqlx::Row;

use crate::conversation::Place;
use crate::day::Day;
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::store::within;

/// A part of an answer, at the place where it will come back.
pub struct Answer {
    /// The place, told by the words that the client was given.
    pub place: Place,
    /// The words of the service.
    pub text: String,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer")
    }
}

impl Ledger {
    /// What the service itself said at this place, if the client was given these very words there.
    pub async fn recall(&self, place: &Place, now: SystemTime) -> Result<Option<String>> {
        within(async {
            let mut connection = self.store.pool().acquire().await?;
            let row = sqlx::query("SELECT sealed FROM cape_memory WHERE place = $1")
                .bind(place.bytes())
                .fetch_optional(&mut *connection)
                .await?;
            let Some(row) = row else { return Ok(None) };
            let text = self.key.unseal(place.bytes(), &row.try_get::<Vec<u8>, _>(0)?)?;
            // an answer in use is not forgotten; one update a day is enough
            sqlx::query("UPDATE cape_memory SET used = $2 WHERE place = $1 AND used < $2")
                .bind(place.bytes())
                .bind(Day::of(now).stored())
                .execute(&mut *connection)
                .await?;
            Ok::<_, Error>(Some(text))
        })
        .await
    }

    /// Remembers answers, which cost nothing. One that is there stays.
    pub async fn remember(&self, answers: &[Answer], now: SystemTime) -> Result<()> {
        within(async {
            let mut transaction = self.store.begin().await?;
            for answer in answers {
                sqlx::query(
                    "INSERT INTO cape_memory (place, sealed, used) VALUES ($1, $2, $3)
                     ON CONFLICT (place) DO NOTHING",
                )
                .bind(answer.place.bytes())
                .bind(self.key.seal(answer.place.bytes(), &answer.text)?)
                .bind(Day::of(now).stored())
                .execute(&mut *transaction)
                .await?;
            }
            self.store.in_place()?;
            Ok::<_, Error>(transaction.commit().await?)
        })
        .await
    }

    /// Forgets the answers that were last sent before that day, and returns their number. One that comes
    /// back after that is perturbed like any other text.
    pub async fn forget_answers(&self, before: Day) -> Result<u64> {
        let query = sqlx::query("DELETE FROM cape_memory WHERE used < $1").bind(before.stored());
        Ok(within(query.execute(self.store.pool())).await?.rows_affected())
    }
}
