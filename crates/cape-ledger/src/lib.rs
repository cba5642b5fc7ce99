//! What was spent, and what was said: the budget ledger and the memory of conversations.
//!
//! A release costs ε. Before it leaves the machine, [`Ledger::release`] writes its cost and its text
//! to a database, SQLite or PostgreSQL, in one transaction, or refuses. A message that was released
//! before, in the same place of the same conversation, is [recalled](Ledger::recall) and sent as it
//! was: it costs nothing, and there is nothing to average.
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
