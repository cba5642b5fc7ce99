#![doc = include_str!("audit.md")]

pub mod baseline;
mod extremes;
pub mod keys;
pub mod position;
pub mod prompts;
mod radius;
pub mod sample;
pub mod texts;

pub use extremes::{Extreme, Extremes, Findings, Span};
