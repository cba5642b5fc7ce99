//! Parts of the mechanisms on tokens: the paper's and those that Cape is compared with.
//!
//! A [`Tokenizer`] cuts a text into tokens of its [`Vocab`] and marks what a [`KeepList`] keeps. A
//! [`LanguageModel`] or [`WordVectors`] say how well a candidate fits, [`EqualWidth`] sorts utilities into the
//! paper's buckets, and [`assemble`] writes the text of a release.

pub use crate::assemble::{assemble, recover};
pub use crate::buckets::{Bucketed, EqualWidth};
pub use crate::context::Context;
pub use crate::embeddings::Embeddings;
pub use crate::keep::{KeepList, is_stopword};
pub use crate::model::{LanguageModel, Memory, View};
pub use crate::text::{Outcome, Piece, ReleasedToken, Token, TokenId, Tokens};
pub use crate::tokenizer::{BpeParts, Pattern, Split, Tokenizer};
pub use crate::utility::{Calibration, Utility};
pub use crate::vectors::WordVectors;
pub use crate::vocab::Vocab;
