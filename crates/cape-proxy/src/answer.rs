//! Upstream's answer on its way to the client: as it came, with names or rewritten, whole or in pieces.

pub(crate) mod extractor;
mod from_events;
mod links;
pub(crate) mod names;
pub(crate) mod pass;
pub(crate) mod remember;
mod restored_events;
pub(crate) mod rewrite;
pub(crate) mod sse;
mod to_events;
