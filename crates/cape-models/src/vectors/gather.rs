//! The words that are kept of a file: each once, if it could be written into a text.

use cape::tokens::Embeddings;

use super::layout::{Fallible, LARGEST_DIM, MOST_WORDS};
use super::word_list::WordList;

/// Words with a vector each, in the order of the file.
pub struct Vectors {
    /// The words: each once, and none with white space or control characters in it.
    pub words: WordList,
    /// Their vectors, all finite.
    pub rows: Embeddings,
    /// The SHA-256 of words and rows, under which things computed from them can be kept.
    pub checksum: [u8; 32],
    /// The words that were left out.
    pub skipped: SkippedWords,
    /// The fate of the compact file.
    pub compact: CompactFile,
}

/// The fate of the compact file beside a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactFile {
    /// It was there, and was read.
    Read,
    /// It was not there, and is now.
    Made,
    /// It could not be used, for this reason, and was made anew.
    Remade(String),
    /// It could not be written, for this reason: the source will be read again next time.
    NotWritten(String),
}

/// How many words of a file were left out, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedWords {
    /// They occurred before.
    pub duplicates: usize,
    /// They are empty, or have white space or control characters in them.
    pub unfit: usize,
    /// They are not UTF-8.
    pub not_utf8: usize,
}

/// The words and rows of a file, as they are read.
pub(super) struct Gather {
    pub(super) words: WordList,
    pub(super) rows: Vec<f32>,
    pub(super) dim: usize,
    pub(super) skipped: SkippedWords,
    /// Words that were seen, whether kept or not.
    seen: usize,
}

impl Gather {
    pub(super) fn new(dim: usize) -> Fallible<Self> {
        match dim {
            0 => Err("its vectors have no numbers".into()),
            1..=LARGEST_DIM => Ok(Self {
                words: WordList::default(),
                rows: Vec::new(),
                dim,
                skipped: SkippedWords::default(),
                seen: 0,
            }),
            _ => Err(format!("its vectors have {dim} numbers, and {LARGEST_DIM} are the most")),
        }
    }

    /// Makes room for so many more rows and no more: doubling would take too much memory.
    pub(super) fn reserve(&mut self, rows: usize) -> Fallible<()> {
        reserve(&mut self.rows, rows.saturating_mul(self.dim))
    }

    /// Whether there is room for so many more rows.
    pub(super) fn has_room(&self, rows: usize) -> bool {
        self.rows.capacity() - self.rows.len() >= rows * self.dim
    }

    pub(super) fn seen(&self) -> usize {
        self.seen
    }

    pub(super) fn push(&mut self, word: &[u8], row: &[f32]) -> Fallible<()> {
        debug_assert_eq!(row.len(), self.dim);
        self.seen += 1;
        if self.seen > MOST_WORDS {
            return Err(format!("it has more than {MOST_WORDS} words"));
        }
        match str::from_utf8(word) {
            Err(_) => self.skipped.not_utf8 += 1,
            Ok(word) if !fit(word) => self.skipped.unfit += 1,
            Ok(word) if !self.words.insert(word) => self.skipped.duplicates += 1,
            Ok(_) => self.rows.extend_from_slice(row),
        }
        Ok(())
    }
}

/// Whether a word could be drawn: `cape::vocab` has the same rule.
pub(super) fn fit(word: &str) -> bool {
    !word.is_empty() && !word.chars().any(|c| c.is_control() || c.is_whitespace())
}

/// Room for exactly so many more numbers.
pub(super) fn reserve(rows: &mut Vec<f32>, numbers: usize) -> Fallible<()> {
    rows.try_reserve_exact(numbers).map_err(|_| "there is not enough memory for them".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_most_words_and_a_largest_dimension() {
        assert!(Gather::new(0).is_err() && Gather::new(LARGEST_DIM + 1).is_err());
        let mut gather = Gather::new(1).unwrap();
        gather.seen = MOST_WORDS - 1;
        assert_eq!(gather.push(b"last", &[1.0]), Ok(()));
        assert!(gather.push(b"last", &[1.0]).is_err());
    }
}
