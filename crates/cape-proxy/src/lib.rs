//! A proxy between clients of LLM services and the services: prompts are perturbed on their way.
//!
//! It is a safeguard, so it fails closed: it refuses what it cannot perturb, and builds every body anew
//! from tables of known fields instead of forwarding it.
//!
//! [`Service::new`] takes the [`Settings`] (with the [`Policy`] on what may leave), a
//! [`Sanitizer`](cape::sanitizer::Sanitizer) and a [`Ledger`](cape_ledger::Ledger). [`router`] gives the
//! service its paths, and is tested without a socket; [`run`] is the whole process, with TLS and signals.
//! A request goes through `server`, `request`, `upstream` and `answer`, as the folders are called.
//!
//! This is `examples/proxy_in_a_test.rs`, a proxy in a test of your own:
//!
//! ```
#![doc = include_str!("../examples/proxy_in_a_test.rs")]
//! ```

mod answer;
mod error;
mod fault;
#[cfg(fuzzing)]
pub mod fuzzed;
mod playground;
mod preset;
mod request;
mod server;
mod settings;
mod upstream;

pub use error::Error;
pub use playground::{
    Attack, Guess, Options as PlaygroundOptions, Paper, Playground, ReadLedger, Save,
    playground_router,
};
pub use preset::Preset;
pub use request::policy::{Action, Calls, Gate, Names, Policy, PolicyChanges, Removal, Results};
pub use request::system::SystemLines;
#[cfg(unix)]
pub use server::serve_on;
pub use server::{Service, check, router, run, run_playground};
pub use settings::{Memory, Reloaded, Settings};
