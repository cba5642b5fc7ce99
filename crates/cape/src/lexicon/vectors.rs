//! A vector for any string: stored ones for known words, sums over groups of letters for all others.

use std::borrow::Cow;

use cape_kernels::Kernel;
use zerocopy::{FromBytes, IntoBytes};

use crate::{Error, Result};

/// How often a string's shape counts beside its groups of letters.
const SHAPE: usize = 8;

/// Rows that are multiplied are filled up with zeros to a multiple of this, so that no number is multiplied alone.
const LANES: usize = 32;

/// The column that says how good or bad a word sounds, as `lexicon/vectors.py` lays the columns out, and how often it counts where
/// tone counts more.
const TONE: usize = 105;
const TONE_COUNTS: i16 = 3;

/// How many bytes of a string its vector is made of.
const MOST_BYTES: usize = 64;

/// The vectors of known words, and those of letter groups that all other strings are made of.
#[derive(Clone)]
pub(super) struct Vectors {
    words: Table,
    ngrams: Table,
    /// The vectors of the listed words, filled up with zeros.
    candidates: Table,
    /// How long each of them is.
    lengths: Vec<f32>,
}

/// Rows of small integers.
#[derive(Clone)]
struct Table {
    data: Cow<'static, [i8]>,
    dim: usize,
}

impl Table {
    /// Reads a file: eight letters, the numbers of rows and columns, and the rows.
    fn parse(bytes: Cow<'static, [u8]>, magic: [u8; 8]) -> Result<Self> {
        let bad = || Error::Lexicon("a table of vectors is not whole");
        let header = bytes.first_chunk::<16>().ok_or_else(bad)?;
        let number = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
                as usize
        };
        let (rows, dim) = (number(8), number(12));
        let length = bytes.len() - header.len();
        if header[..8] != magic || dim == 0 || rows.checked_mul(dim) != Some(length) {
            return Err(bad());
        }
        let data = match bytes {
            // the numbers of the program's own files are read where they lie
            Cow::Borrowed(bytes) => {
                Cow::Borrowed(<[i8]>::ref_from_bytes(&bytes[16..]).map_err(|_| bad())?)
            }
            Cow::Owned(bytes) => bytes.into_iter().skip(16).map(u8::cast_signed).collect(),
        };
        Ok(Self { data, dim })
    }

    fn rows(&self) -> usize {
        self.data.len() / self.dim
    }

    fn row(&self, i: usize) -> &[i8] {
        &self.data[i * self.dim..][..self.dim]
    }
}

impl Vectors {
    /// Reads the files of the vectors of words and of letter groups.
    pub(super) fn parse(words: Cow<'static, [u8]>, ngrams: Cow<'static, [u8]>) -> Result<Self> {
        let (words, ngrams) =
            (Table::parse(words, *b"CAPEVEC1")?, Table::parse(ngrams, *b"CAPENGR1")?);
        if words.dim != ngrams.dim || ngrams.rows() == 0 {
            return Err(Error::Lexicon("words and vectors do not fit together"));
        }
        let candidates = Table { data: Cow::default(), dim: words.dim };
        Ok(Self { words, ngrams, candidates, lengths: Vec::new() })
    }

    /// How many words have a vector.
    pub(super) fn rows(&self) -> usize {
        self.words.rows()
    }

    /// Adds a word by its letters, and returns its row.
    pub(super) fn push(&mut self, word: &str) -> usize {
        let vector = small(&self.of_letters(word));
        self.words.data.to_mut().extend(vector);
        self.rows() - 1
    }

    /// Makes the words of these rows the listed ones.
    pub(super) fn list(&mut self, rows: impl ExactSizeIterator<Item = usize>) {
        let dim = self.words.dim.next_multiple_of(LANES);
        let mut data = Vec::with_capacity(rows.len() * dim);
        for row in rows {
            data.extend_from_slice(self.words.row(row));
            data.resize(data.len().next_multiple_of(dim), 0);
        }
        let length = |row: &[i8]| dot(row, row).max(1.0).sqrt() as f32;
        self.lengths = data.chunks_exact(dim).map(length).collect();
        self.candidates = Table { data: Cow::Owned(data), dim };
    }

    /// All stored numbers, for checksums: those of words, then those of letter groups.
    pub(super) fn bytes(&self) -> [&[u8]; 2] {
        [self.words.data.as_bytes(), self.ngrams.data.as_bytes()]
    }

    /// The vector of a row.
    pub(super) fn of_row(&self, row: usize) -> Vec<i16> {
        self.words.row(row).iter().map(|&v| i16::from(v)).collect()
    }

    /// The vector of a row, with more of its tone.
    pub(super) fn of_row_with_tone(&self, row: usize) -> Vec<i16> {
        let mut vector = self.of_row(row);
        if let Some(tone) = vector.get_mut(TONE) {
            *tone *= TONE_COUNTS;
        }
        vector
    }

    /// The cosines of the first `count` listed words' vectors with this one, from exact integers.
    pub(super) fn cosines(&self, query: &[i16], count: usize) -> Vec<f32> {
        let own: i64 = query.iter().map(|&v| i64::from(v).pow(2)).sum();
        let own = (own.max(1) as f64).sqrt() as f32;
        let mut dots = vec![0; count];
        let dim = self.candidates.dim;
        let mut query = query.to_vec();
        query.resize(dim, 0);
        Kernel::best().exact_dots(&query, &self.candidates.data[..count * dim], &mut dots);
        let dots = dots.into_iter().zip(&self.lengths);
        dots.map(|(dot, length)| dot as f32 / (own * length)).collect()
    }

    /// The sum of the vectors of a string's groups of letters and of its shape. It reads 64 bytes: with three
    /// groups for each and the shape that is some 210 rows below 2^7, which fits 16 bits.
    pub(super) fn of_letters(&self, word: &str) -> Vec<i16> {
        let mut sum = vec![0; self.ngrams.dim];
        let mut add = |group: &[u8]| {
            let row = self.ngrams.row(fnv(group) as usize % self.ngrams.rows());
            for (sum, &v) in sum.iter_mut().zip(row) {
                *sum += i16::from(v);
            }
        };
        let word = &word[..word.floor_char_boundary(MOST_BYTES)];
        let marked = format!("<{}>", word.to_lowercase());
        let starts: Vec<usize> =
            marked.char_indices().map(|(at, _)| at).chain([marked.len()]).collect();
        for n in 3..=5 {
            for ends in starts.windows(n + 1) {
                add(&marked.as_bytes()[ends[0]..ends[n]]);
            }
        }
        for _ in 0..SHAPE {
            add(shape(word).as_bytes());
        }
        sum
    }
}

/// The shape of a string that is known by its letters alone.
fn shape(word: &str) -> &'static str {
    let letters = || word.chars().filter(|c| c.is_alphabetic());
    if word.bytes().any(|b| b.is_ascii_digit()) {
        "^0"
    } else if letters().count() >= 2 && letters().all(char::is_uppercase) {
        "^AA"
    } else if word.chars().next().is_some_and(char::is_uppercase) {
        "^Aa"
    } else {
        "^aa"
    }
}

/// FNV-1a of 32 bits.
pub(super) fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn dot(a: &[i8], b: &[i8]) -> f64 {
    let sum: i32 = a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
    f64::from(sum)
}

/// A vector in the range of the stored ones.
fn small(vector: &[i16]) -> Vec<i8> {
    let most = vector.iter().map(|v| v.unsigned_abs()).max().unwrap_or(0).max(1);
    vector.iter().map(|&v| (i32::from(v) * 127 / i32::from(most)) as i8).collect()
}
