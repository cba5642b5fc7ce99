//! What is given up and what is gained: any mechanism, model and ε on any prompts.
//!
//! ```text
//! data → grid of mechanisms × ε × seeds × prompts → records → summary → report
//! ```

pub mod record;
pub mod report;
pub mod summary;
