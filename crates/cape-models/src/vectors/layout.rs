//! How the words of a file lie, and the bounds within which its header is believed.

use std::path::Path;

use crate::error::Error;

/// The most words that a file may have.
pub(super) const MOST_WORDS: usize = 16_000_000;
/// The most numbers that a vector may have.
pub(super) const LARGEST_DIM: usize = 4096;
/// No line and no word with its vector is longer than this.
pub(super) const LONGEST: usize = 1 << 20;

/// A result, or the words that say why a file cannot be used.
pub(super) type Fallible<T> = std::result::Result<T, String>;

/// The error of a file that cannot be used.
pub(super) fn fault(path: &Path, why: String) -> Error {
    Error::Vectors { path: path.into(), why }
}

/// How the words of a file lie.
#[derive(Debug, PartialEq)]
pub(super) struct Layout {
    /// Where the first one begins.
    pub(super) start: usize,
    /// How many lines there are before it.
    pub(super) lines: usize,
    /// How many there are, where a header says so.
    pub(super) count: Option<usize>,
    pub(super) dim: usize,
}

/// A count and a dimension that a header speaks of, if they are in bounds.
pub(super) fn bounded(count: usize, dim: usize) -> Fallible<(usize, usize)> {
    if count == 0 || dim == 0 {
        return Err("its header promises no words, or words without numbers".into());
    }
    if count > MOST_WORDS || dim > LARGEST_DIM {
        return Err(format!(
            "its header promises more than {MOST_WORDS} words, or more than {LARGEST_DIM} numbers each"
        ));
    }
    Ok((count, dim))
}
