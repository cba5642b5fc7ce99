//! Upstream's answer on its way to the client: as it came or rewritten, whole or in pieces.

pub(crate) mod extractor;
pub(crate) mod from_events;
pub(crate) mod pass;
pub(crate) mod remember;
pub(crate) mod rewrite;
pub(crate) mod sse;
pub(crate) mod to_events;
