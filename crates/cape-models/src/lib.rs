//! Device models for Cape, and the words of the mechanisms that it is compared with.
//!
//! - [`load`] gives a [`Device`], a model with its tokenizer: a masked one (BERT, DistilBERT, RoBERTa,
//!   MPNet) or a causal one (GPT-2, Llama, Qwen2), from a folder in the Hugging Face layout, a GGUF file,
//!   the hub's cache, or the binary itself ([`DEFAULT`]).
//! - [`calibrate`] finds a model's range of logits; [`pack`] stores a model in fewer bits.
//! - [`Vectors`] are words with vectors, from GloVe's files and others; [`PreparedBaseline`] makes
//!   SANTEXT, CUSTEXT or InferDPT of them.
//! - [`SentenceEncoder`] compares texts by their meaning; [`Chat`] is a chat model in a GGUF file.
//!
//! Loading never touches the network. Fetching does, on request: `pull`, with the feature `hub`.
//!
//! The paper's mechanism asks a device model; Cape's own needs none (see [`cape`]).
//!
//! ```
//! use cape::mechanism::cape_paper::{CapePaper, Settings};
//! use cape::tokens::KeepList;
//! use cape::{About, Epsilon, Sanitizer, Secret};
//!
//! let device = cape_models::load(cape_models::DEFAULT)?;
//! let settings = Settings::new(Epsilon::new(6.0)?);
//! let mechanism = CapePaper::new(device.model.clone(), settings)?;
//! let about = About { mechanism: "cape-paper", words: None, fingerprint: device.shape };
//! let (keep, mechanism) = (KeepList::default(), Box::new(mechanism));
//! let sanitizer = Sanitizer::tokens(device.tokenizer, keep, mechanism, about);
//! let release = sanitizer.release("a good book", &Secret::fresh()?)?;
//! assert!(release.text.starts_with("a "));
//! assert_eq!(release.privacy.draws, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod baselines;
mod calibrate;
mod chat;
mod checksum;
mod device;
mod error;
mod files;
mod hub;
mod names;
mod network;
mod on_tokens;
mod options;
mod profile;
mod sentence;
mod vectors;

pub use baselines::{BaselineKind, BaselineSettings, PreparedBaseline, WordSource, word_groups};
pub use calibrate::{calibrate, save_calibration};
pub use cape_kernels::Kernel;
pub use chat::{Chat, Completion, Said};
pub use checksum::short;
pub use device::{Device, folder, load, load_with};
pub use error::{Error, HubError, Result};
pub use files::{DEFAULT, Files, Precision, pack};
pub use hub::{Hub, HubName, Pulled};
#[cfg(feature = "hub")]
pub use hub::{PullProgress, Remote, pull};
pub use on_tokens::{Chosen, OnTokens};
pub use options::{Arithmetic, Options};
pub use profile::{Spent, Stage, profiled};
pub use sentence::{SentenceEncoder, cosine};
pub use vectors::{CompactFile, LoadPhase, LoadProgress, SkippedWords, Vectors, WordList};
