//! The tests from outside of the crate.
//!
//! One program: each further one would be linked with everything once more.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
#[path = "common/faults.rs"]
mod faults;
#[path = "common/tokenizers.rs"]
mod tokenizers;
mod words;

mod attacks;
mod audit;
mod audit_sample;
mod baselines;
mod byte_level;
mod byte_level_text;
mod composition;
mod exact;
mod timing;
mod word_attacks;
mod words_attack;
mod words_audit;
mod words_audit_sample;
mod words_exact;
mod words_maps;
mod words_stated;
