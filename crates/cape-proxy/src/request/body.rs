//! The heart: a request's body read against a table of every field that may leave, and built anew.
//!
//! Nothing of the client's bytes is forwarded. What a table does not name is refused; what it names
//! is a number in its range, one of a few words, or a text that the policy speaks of.

mod outgoing;
pub(crate) mod pattern;
mod refusal;
mod rule;
mod segments;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use outgoing::Said;
pub use refusal::Refusal;
pub(crate) use rule::Rule;
pub(crate) use walk::{read, read_value};
