//! Audits: does what is stated hold?

pub mod sample;
