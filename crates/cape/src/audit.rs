#![doc = include_str!("audit.md")]

mod extremes;
pub mod keys;
pub mod position;
pub mod prompts;
mod radius;
pub mod sample;
pub mod texts;
pub mod baseline;

pub use extremes::{Extremes, Findings, Span};
