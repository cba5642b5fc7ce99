//! The tests from outside of the crate.
//!
//! One program: each further one would be linked with everything once more.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod server;

mod chat;
mod llm;
mod report;
mod tasks;
