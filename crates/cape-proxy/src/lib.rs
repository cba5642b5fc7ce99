//! A proxy between clients of LLM services and the services: prompts are perturbed on their way.
//!
//! It is a safeguard, so it fails closed: what it cannot perturb it refuses, and a body is built anew
//! from tables of known fields, never forwarded.

mod answer;
mod error;
mod request;
mod server;
mod settings;
mod upstream;

pub use answer::extractor::Ask;
pub use error::Error;
pub use request::body::Refusal;
pub use request::policy::{Action, Gate, Names, Policy, Removal};
pub use server::{Service, router, run};
pub use settings::Settings;
