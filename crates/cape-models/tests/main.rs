//! The tests from outside of the crate.
//!
//! One program: each further one would be linked with everything once more.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
#[cfg(feature = "hub")]
mod mirror;

mod arithmetic;
mod causal;
mod causal_hostile;
mod fidelity;
mod gguf;
mod golden;
mod hostile;
mod hub;
#[cfg(feature = "hub")]
mod pull;
mod sentence;
mod shards;
mod vectors;
mod vectors_cache;
