//! The adversary who knows the mechanism: the most probable word given what was released.

mod baseline;
mod cape;
mod cape_paper;

pub use baseline::BaselineBayes;
pub use cape::{CapeBayes, CapeGuess, Suspects};
pub use cape_paper::{PaperBayes, TokenGuess};
