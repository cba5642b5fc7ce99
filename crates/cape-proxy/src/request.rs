//! A request on its way to upstream: which fields may leave, and what is sent in place of its texts.

pub(crate) mod body;
mod encoding;
pub(crate) mod headers;
pub(crate) mod notice;
mod perturber;
pub(crate) mod policy;
pub(crate) mod receive;
pub(crate) mod releaser;
pub(crate) mod route;
pub(crate) mod system;
pub(crate) mod user;
