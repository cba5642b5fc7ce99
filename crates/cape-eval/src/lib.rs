//! What is given up and what is gained: any mechanism, model and ε on any prompts.
//!
//! ```text
//! data → grid of mechanisms × ε × seeds × prompts → records → summary → report
//! ```

pub mod asked;
pub mod chat;
pub mod choice;
pub mod cost;
pub mod data;
mod draft;
mod error;
pub mod floor;
pub mod grid;
mod listing;
pub mod measure;
pub mod portrait;
pub mod record;
pub mod report;
pub mod subject;
pub mod summary;
pub mod tasks;

pub use error::{Error, Result};
