//! The server: where clients come in, the paths that they ask for, and the way of one request.

mod admit;
mod connections;
mod forward;
mod guardrail;
mod lent;
mod listen;
mod live;
mod local;
mod log;
mod metrics;
mod openapi;
mod router;
mod run;
mod service;
mod token;

pub use live::check;
pub use router::router;
#[cfg(unix)]
pub use run::serve_on;
pub use run::{run, run_playground};
pub use service::Service;
