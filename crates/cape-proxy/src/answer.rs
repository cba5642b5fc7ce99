//! Upstream's answer on its way to the client: as it came or rewritten, whole or in pieces.

pub(crate) mod extractor;
mod from_events;
pub(crate) mod pass;
pub(crate) mod remember;
pub(crate) mod rewrite;
pub(crate) mod sse;
mod to_events;
