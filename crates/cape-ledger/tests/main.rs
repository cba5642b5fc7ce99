//! The tests from outside of the crate.
//!
//! One program: each further one would be linked with everything once more.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
#[cfg(unix)]
mod relay;

mod accounts;
mod jobs;
mod killed;
mod lost;
mod maps;
mod memory;
