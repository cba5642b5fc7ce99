//! The proxy as a server: where clients come in, which paths there are, and the way of one request.

mod connections;
mod forward;
mod guardrail;
mod listen;
mod local;
mod log;
mod metrics;
mod openapi;
mod run;
mod service;

pub use run::run;
pub use service::{Service, router};
