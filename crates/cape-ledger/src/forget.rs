//! Forgetting: the next use of a map opens another one.

use sqlx::{AnyConnection, Row};

use crate::account::Account;
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::map::word_name;
use crate::store::within;

/// The fewest digits that name an account, a key or a conversation.
const FEWEST: usize = 8;

/// What of an account is forgotten.
#[derive(Clone, Copy)]
pub enum Forget<'a> {
    /// All of its maps.
    Maps,
    /// The maps of the conversation whose name begins like this.
    Conversation(&'a str),
    /// These words, in all of its maps.
    Words(&'a [Vec<u8>]),
}

impl std::fmt::Debug for Forget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Forget")
    }
}

impl Ledger {
    /// Forgets maps, or words in them, of one account or of all accounts of a key, which is named by the
    /// first digits of its hash. Returns the number of accounts.
    ///
    /// What was forgotten is drawn, and paid for, anew when it is used again, from another map, which is
    /// counted. What was spent stays spent.
    pub async fn forget(&self, name: &str, what: Forget<'_>) -> Result<u64> {
        let name = digits(name)?;
        within(async {
            let mut transaction = self.store.begin().await?;
            let accounts = accounts(&mut transaction, &name).await?;
            for (account, spender) in &accounts {
                match what {
                    Forget::Maps => {
                        raise(&mut transaction, account, "account", &digits(account)?).await?;
                    }
                    Forget::Conversation(beginning) => {
                        let beginning = digits(beginning)?;
                        raise(&mut transaction, account, "conversation", &beginning).await?;
                    }
                    Forget::Words(words) => {
                        let account = Account::stored(account, spender);
                        for word in words {
                            let name = word_name(&self.key, &account, word);
                            self.forget_word(&mut transaction, &account, name).await?;
                        }
                    }
                }
            }
            self.store.in_place()?;
            transaction.commit().await?;
            Ok::<_, Error>(accounts.len() as u64)
        })
        .await
    }

    async fn forget_word(
        &self,
        connection: &mut AnyConnection,
        account: &Account,
        name: String,
    ) -> Result<()> {
        sqlx::query(
            "INSERT INTO cape_generation (name, kind, account, spender, generation)
             VALUES ($1, 'word', $2, $3, 1)
             ON CONFLICT (name) DO UPDATE SET generation = cape_generation.generation + 1",
        )
        .bind(name)
        .bind(account.name())
        .bind(account.spender().as_str())
        .execute(connection)
        .await?;
        Ok(())
    }
}

/// The one account, or the accounts of the one key, whose name begins like this.
async fn accounts(connection: &mut AnyConnection, name: &str) -> Result<Vec<(String, String)>> {
    let rows = sqlx::query(
        "SELECT account, spender FROM cape_generation
         WHERE kind = 'account' AND (account LIKE $1 OR spender LIKE $1) ORDER BY account",
    )
    .bind(name)
    .fetch_all(connection)
    .await?;
    let accounts: Vec<(String, String)> = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<_, sqlx::Error>>()?;
    let Some((_, first)) = accounts.first() else {
        return Err(Error::NotFound("account or key"));
    };
    let by_key = accounts
        .iter()
        .all(|(_, spender)| spender == first && spender.starts_with(name.trim_end_matches('%')));
    if accounts.len() > 1 && !by_key {
        return Err(Error::Ambiguous);
    }
    Ok(accounts)
}

/// Raises the generation of what is named like this.
async fn raise(
    connection: &mut AnyConnection,
    account: &str,
    kind: &'static str,
    name: &str,
) -> Result<()> {
    let raised = sqlx::query(
        "UPDATE cape_generation SET generation = generation + 1
         WHERE account = $1 AND kind = $2 AND name LIKE $3",
    )
    .bind(account)
    .bind(kind)
    .bind(name)
    .execute(connection)
    .await?;
    match raised.rows_affected() {
        0 => Err(Error::NotFound(kind)),
        1 => Ok(()),
        _ => Err(Error::Ambiguous),
    }
}

/// The first digits of a name, as a pattern of SQL.
pub(crate) fn digits(name: &str) -> Result<String> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let fits = (FEWEST..=64).contains(&name.len()) && name.bytes().all(is_digit);
    fits.then(|| format!("{name}%")).ok_or(Error::Name)
}
