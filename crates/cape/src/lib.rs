//! Cape: context-aware prompt perturbation under local differential privacy.
//!
//! This crate is the mathematics. Data flows one way:
//!
//! ```text
//! text → tokens → context logits + distances → utility → rank or bucket → draw → text
//! ```
//!
//! What decides privacy is in [`utility`], [`rank`], [`buckets`], [`sample`], [`privacy`], [`rng`]
//! and [`mechanism`]; the proofs are in [`mechanism::cape`].

pub mod attack;
pub mod audit;
pub mod buckets;
pub mod context;
pub mod distance;
mod error;
pub mod exponential;
pub mod keep;
pub mod lexicon;
pub mod mechanism;
pub mod metric;
pub mod model;
pub mod privacy;
pub mod rank;
mod recent;
pub mod rng;
pub mod sample;
pub mod sanitize;
pub mod terms;
pub mod text;
pub mod tokenizer;
pub mod utility;
pub mod vocab;

pub use error::{Error, Result};
