//! The adversary who knows the mechanism: the most probable word given what was released.

pub mod baseline;
pub mod cape;
pub mod cape_paper;
