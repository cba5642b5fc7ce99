//! The heart of the proxy: a body is read against the table of every field that may leave, and built anew.
//!
//! None of the client's bytes is forwarded. A field that the table does not name is refused; one that it
//! names is a number in its range, one of a few words, or a text that the policy decides about.

mod outgoing;
pub(crate) mod pattern;
mod rule;
pub(crate) mod segments;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use outgoing::{BodyText, Outgoing};
pub(crate) use rule::Rule;
pub(crate) use walk::{read, read_value};
