//! The budget ledger and the memory of conversations.
//!
//! A release costs ε. Before it leaves the machine, [`Ledger::release`] writes its cost and its text to
//! a database, SQLite or PostgreSQL, in one transaction, or refuses. A message that was released before,
//! at the same place of the same conversation, is [recalled](Ledger::recall) and sent as it was: it
//! costs nothing, and there is nothing to average. [`Book`] reads the accounts without the key.
//!
//! ```
//! use std::time::SystemTime;
//!
//! use cape_ledger::{Cost, Error, Fresh, Key, Ledger, Limits};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let key = Key::open(&dir.path().join("ledger.key"))?;
//! let ledger = Ledger::open(&dir.path().join("ledger.db").to_string_lossy(), key).await?;
//! let (who, now) = (ledger.spender(b"an API key"), SystemTime::now());
//! let limits = Limits { key_day: Some("20".parse()?), ..Limits::default() };
//!
//! // a message is new: two draws at ε = 8 are charged before its release may be sent
//! let place = ledger.conversation(&who, "settings").next("user", "Alice has asthma");
//! assert_eq!(ledger.recall(&place, now).await?, None);
//! let text = "Emma has diabetes".to_owned();
//! let message = Fresh { place, text: text.clone(), cost: Cost::new(2, 8.0) };
//! let receipt = ledger.release(&who, vec![message], &limits, now).await?;
//! assert_eq!((receipt.texts, receipt.left.key_day), (vec![text.clone()], Some("4".parse()?)));
//!
//! // the same message again is sent in the same words, and costs nothing
//! assert_eq!(ledger.recall(&place, now).await?, Some(text));
//!
//! // a release beyond the limit is refused
//! let refused = ledger.spend(&who, Cost::new(1, 8.0), &limits, now).await;
//! assert!(matches!(refused, Err(Error::Refused(_))));
//! # Ok(())
//! # }
//! ```
//!
#![doc = include_str!("ledger.md")]

mod book;
mod conversation;
mod day;
mod error;
mod key;
mod ledger;
mod limits;
mod micros;
mod store;

pub use book::{Account, Book};
pub use conversation::{Conversation, Place};
pub use day::Day;
pub use error::{Error, KeyError, Result};
pub use key::{Key, Spender};
pub use ledger::{Cost, Fresh, Ledger, Receipt};
pub use limits::{Each, Left, Limit, Limits, Refusal};
pub use micros::{Micros, ParseMicrosError};
