//! A request on its way to upstream: what of it may leave, and what is sent in the place of its texts.

pub(crate) mod body;
pub(crate) mod headers;
pub(crate) mod perturber;
pub(crate) mod policy;
pub(crate) mod release;
