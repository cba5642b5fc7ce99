//! Attacks: what an adversary who sees a release makes of its sensitive positions.

pub mod bayes;
pub mod knn;
pub mod mask;
pub mod nearest;
