//! Cape: context-aware prompt perturbation under local differential privacy.
//!
//! This crate is the mathematics. Data flows one way:
//!
//! ```text
//! text → units, each with its level and kind → order of the listed words → law → draw → text
//! ```
//!
//! A [`Sanitizer`] wires the stages. A release with the embedded lexicon and the default settings:
//!
//! ```
//! use cape::{Cape, Level, Lexicon, Sanitizer, Secret, Settings};
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
//! Most users need the names at the root alone:
//!
//! - a release: [`Sanitizer`], [`Cape`] with its [`Settings`] and [`Lexicon`], a [`Secret`], or a [`JobMap`] for many texts;
//! - its parts: [`Release`], [`ReleasedWord`], [`Level`], [`Kind`], and [`ReleaseJson`] for machines;
//! - its statement: [`Privacy`], [`Guarantee`], [`Epsilon`];
//! - the way back: [`Restorer`].
//!
//! The modules are for those who look inside. Privacy is decided in [`units`], [`kinds`], [`lexicon`],
//! [`levels`], [`law`], [`sample`], [`privacy`], [`rng`] and [`mechanism`]; the proofs are in
//! [`mechanism::cape`]. [`audit`] tests them, [`attack`] shows what adversaries find. The mechanisms that Cape is
//! compared with work on [`tokens`].

mod assemble;
pub mod attack;
pub mod audit;
mod buckets;
mod candidates;
mod context;
mod embeddings;
mod error;
mod exponential;
mod job;
mod json;
mod keep;
pub mod kinds;
pub mod law;
pub mod levels;
pub mod lexicon;
pub mod mechanism;
pub mod metric;
mod model;
pub mod privacy;
mod rank;
mod recent;
mod restore;
pub mod rng;
pub mod sample;
pub mod sanitizer;
pub mod text;
mod tokenizer;
pub mod tokens;
pub mod units;
mod utility;
mod vectors;
mod vocab;
mod writing;

pub use candidates::{Candidate, Candidates};
pub use error::{Error, Result};
pub use job::JobMap;
pub use json::ReleaseJson;
#[doc(inline)]
pub use kinds::Kind;
#[doc(inline)]
pub use law::Shape;
#[doc(inline)]
pub use levels::Profile;
#[doc(inline)]
pub use lexicon::Lexicon;
#[doc(inline)]
pub use mechanism::cape::{Cape, Settings};
#[doc(inline)]
pub use privacy::{Epsilon, Evidence, Guarantee, Notion, Privacy, Reach};
pub use restore::{Restorer, Restoring, Wanted};
#[doc(inline)]
pub use rng::Secret;
#[doc(inline)]
pub use sanitizer::{About, Sanitizer};
#[doc(inline)]
pub use text::{Level, Release, ReleasedWord, Why};
