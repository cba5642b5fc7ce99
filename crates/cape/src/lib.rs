//! Cape: context-aware prompt perturbation under local differential privacy.
//!
//! This crate is the mathematics. Data flows one way:
//!
//! ```text
//! text → units, each with its level and kind → order of the listed words → law → draw → text
//! ```
//!
//! A release with the lexicon that is embedded and the default settings:
//!
//! ```
//! use cape::lexicon::Lexicon;
//! use cape::mechanism::cape::{Cape, Settings};
//! use cape::rng::Secret;
//! use cape::sanitizer::Sanitizer;
//! use cape::text::Level;
//!
//! let cape = Cape::new(Lexicon::embedded(), Settings::default())?;
//! let sanitizer = Sanitizer::words(cape);
//! let release = sanitizer.release("My daughter Alice has asthma.", &Secret::fresh()?)?;
//!
//! // five words, two of them protected: whatever became of them, the full stop is where it was
//! assert!(release.text.ends_with('.'));
//! let is_protected = release.words.iter().map(|word| word.level == Level::Protected);
//! assert!(is_protected.eq([false, false, true, false, true]));
//! // every draw spends ε of any two words, and nothing else does
//! let privacy = release.privacy;
//! assert_eq!(privacy.draws, 5);
//! assert_eq!(privacy.epsilon_prompt(), 5.0 * privacy.guarantee.bound);
//! # Ok::<(), cape::Error>(())
//! ```
//!
//! What decides privacy is in [`units`], [`kinds`], [`lexicon`], [`levels`], [`law`], [`sample`],
//! [`privacy`], [`rng`] and [`mechanism`]; the proofs are in [`mechanism::cape`].

pub mod assemble;
pub mod attack;
pub mod audit;
pub mod buckets;
pub mod context;
pub mod embeddings;
mod error;
pub mod exponential;
pub mod json;
pub mod keep;
pub mod kinds;
pub mod law;
pub mod levels;
pub mod lexicon;
pub mod mechanism;
pub mod metric;
pub mod model;
pub mod privacy;
pub mod rank;
mod recent;
pub mod restore;
pub mod rng;
pub mod sample;
pub mod sanitizer;
pub mod text;
pub mod tokenizer;
pub mod units;
pub mod utility;
pub mod vectors;
pub mod vocab;
mod writing;

pub use error::{Error, Result};
