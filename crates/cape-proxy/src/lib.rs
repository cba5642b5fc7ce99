//! A proxy between clients of LLM services and the services: prompts are perturbed on their way.
//!
//! It is a safeguard, so it fails closed: it refuses what it cannot perturb, and builds every body anew
//! from tables of known fields instead of forwarding it.

mod answer;
mod error;
mod fault;
mod request;
mod server;
mod settings;
mod upstream;

pub use error::Error;
pub use request::policy::{Action, Gate, Names, Policy, Removal};
pub use server::{Service, router, run};
pub use settings::Settings;
