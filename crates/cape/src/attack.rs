//! Attacks: what an adversary who sees a release makes of its sensitive positions.

pub mod bayes;
mod knn;
pub mod mask;
mod nearest;

pub use knn::{Knn, Space};
pub use nearest::Nearest;
