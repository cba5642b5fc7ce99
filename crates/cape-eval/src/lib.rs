//! Evaluation of privacy and utility: any mechanism, model and ε on any prompts.
//!
//! ```text
//! data → grid of methods × ε × seeds × prompts → records → summary → report
//! ```
//!
//! A [`Method`] is a mechanism without its ε, or a [`Reference`] to compare with; [`Tools`] say what attacks it and
//! what measures it. Of each cell of a [`Grid`](grid::Grid) the summary has every [`Measure`] with an interval:
//!
//! ```
//! use cape::{Lexicon, Settings};
//! use cape_eval::data::{Data, Item};
//! use cape_eval::grid::Grid;
//! use cape_eval::{Attack, Measure, Method, Tools, summary};
//!
//! let item = Item { text: "My daughter Alice has asthma.".into(), ..Item::default() };
//! let data = Data { name: "mine".into(), items: vec![item] };
//! let methods = [Method::cape("cape", Lexicon::embedded(), Settings::default())];
//! let (epsilons, seeds, tools) = (&[8.0], &[0, 1, 2], &Tools::default());
//! let grid = Grid { data: &data, methods: &methods, epsilons, seeds, tools };
//!
//! let (records, _) = grid.run_unwritten(&|_| ())?;
//! let points = summary::summarise(&records);
//! let privacy = points[0].measures[&Measure::Privacy(Attack::Knn10)];
//! assert!(privacy.low <= privacy.mean && privacy.mean <= privacy.high);
//! # Ok::<(), cape_eval::Error>(())
//! ```

pub mod asked;
pub mod chat;
pub mod choice;
pub mod cost;
pub mod data;
mod draft;
mod error;
mod evaluate;
pub mod floor;
pub mod grid;
mod guess;
mod listing;
mod meaning;
mod measure;
mod method;
pub mod portrait;
pub mod record;
pub mod report;
pub mod summary;
pub mod tasks;

pub use error::{Error, Result};
pub use evaluate::Tools;
pub use guess::{Attacker, WordGuess};
pub use meaning::Meaning;
pub use measure::{Attack, Measure, Score};
pub use method::{AtEpsilon, Method, Reference, is_reference};
