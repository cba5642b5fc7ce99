//! The budget ledger: draws are paid for before they are drawn, and once.
//!
//! What a word becomes is drawn from the secret of a map. [`Ledger::charge`] gives such secrets out, once the
//! draws are written to a database, SQLite or PostgreSQL, in one transaction; or it refuses. A draw that
//! was paid for before costs nothing, and comes out the same. A job that is spread over workers
//! [reserves](Ledger::reserve) its draws as a whole, and [settles](Ledger::settle) at its end. The database also remembers what upstream
//! [answered](Ledger::remember). [`Book`] reads what was spent without the key.
//!
//! ```
//! use std::time::SystemTime;
//!
//! use cape_ledger::{Draw, Error, Key, Lasts, Ledger, Limits, Map, Whose};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let key = Key::open(&dir.path().join("ledger.key"))?;
//! let ledger = Ledger::open(&dir.path().join("ledger.db").to_string_lossy(), key).await?;
//! let (account, now) = (ledger.account(b"an API key", "a user"), SystemTime::now());
//! let limits = Limits { key_day: Some("20".parse()?), ..Limits::default() };
//!
//! // two words are new: two draws at ε = 8 are charged before there is anything to draw from
//! let map = Map { whose: Whose::User, lasts: Lasts::Account };
//! let draw = |word: &[u8]| Draw { map, from: word.to_vec(), word: word.to_vec() };
//! let words = [draw(b"Alice"), draw(b"asthma")];
//! let receipt = ledger.charge(&account, &words, 8.0, &limits, now).await?;
//! assert_eq!((receipt.spent.draws, receipt.spent.maps), (2, 1));
//! assert_eq!(ledger.left(account.spender(), &limits, now).await?.key_day, Some("4".parse()?));
//!
//! // the same words again come from the same secret, and cost nothing
//! let again = ledger.charge(&account, &words, 8.0, &limits, now).await?;
//! assert_eq!((again.secrets, again.spent.draws), (receipt.secrets, 0));
//!
//! // a draw beyond the limit is refused
//! let refused = ledger.charge(&account, &[draw(b"London")], 8.0, &limits, now).await;
//! assert!(matches!(refused, Err(Error::Refused(_))));
//! # Ok(())
//! # }
//! ```
//!
#![doc = include_str!("ledger.md")]

mod account;
mod answers;
mod book;
mod conversation;
mod cost;
mod day;
mod error;
mod forget;
mod home;
mod jobs;
mod key;
mod ledger;
mod limits;
mod map;
mod micros;
mod store;

pub use account::Account;
pub use answers::Answer;
pub use book::{Book, Spending};
pub use conversation::{Conversation, Place};
pub use cost::Cost;
pub use day::Day;
pub use error::{Error, KeyError, Result};
pub use forget::Forget;
pub use home::DataFolder;
pub use jobs::{Job, Reservation};
pub use key::{Key, Spender};
pub use ledger::{Ledger, Receipt};
pub use limits::{Each, Left, Limit, Limits, Over, Refusal};
pub use map::{Draw, Lasts, Map, Whose};
pub use micros::{Micros, ParseMicrosError};
