//! The tests of the command.
//!
//! One program: each further one would be linked with everything once more.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
#[path = "../../cape-models/tests/mirror/mod.rs"]
mod mirror;
#[cfg(unix)]
mod proxied;
#[path = "../../cape-eval/tests/server/mod.rs"]
mod server;

mod audit;
mod audit_sample;
mod baselines;
mod bulk;
mod cli;
mod daily;
mod eval;
mod hub;
mod leak;
mod ledger;
mod operations;
mod paper;
mod serve;
mod words;
