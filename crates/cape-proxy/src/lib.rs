//! A proxy between clients of LLM services and the services: prompts are perturbed on their way.
//!
//! It is a safeguard, so it fails closed: what it cannot perturb it refuses, and a body is built anew
//! from tables of known fields, never forwarded.

mod answers;
mod body;
mod connections;
mod denoise;
mod error;
mod exchange;
mod extractor;
mod gather;
mod guardrail;
mod headers;
mod listen;
mod metrics;
mod openapi;
mod own;
mod perturber;
mod policy;
mod release;
mod replay;
mod run;
mod service;
mod settings;
mod sse;
mod stream;
mod upstream;
mod watch;

pub use body::Refusal;
pub use error::Error;
pub use extractor::Ask;
pub use policy::{Action, Gate, Names, Policy, Removal};
pub use run::run;
pub use service::{Service, router};
pub use settings::Settings;
