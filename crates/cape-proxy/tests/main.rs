//! The tests from outside of the crate.
//!
//! One program: each further one would be linked with everything once more.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../cape-ledger/tests/common/mod.rs"]
mod ledgers;
mod recorder;
#[path = "../../cape-ledger/tests/relay/mod.rs"]
mod relay;
mod served;

mod answers;
mod budget;
mod by_word;
mod database;
mod extractor;
mod faults;
mod own;
mod playground;
mod restored;
mod routes;
