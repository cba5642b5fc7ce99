//! word2vec's binary format: a word, a space, and its numbers as f32; with a line end or without.

use super::gather::Gather;
use super::layout::{Fallible, LONGEST, Layout};
use super::stream::Take;

/// A binary file that is being read.
pub(super) struct Binary<'g> {
    into: &'g mut Gather,
    /// How many words there are.
    count: usize,
    /// Bytes that come before the first word.
    skip: usize,
    row: Vec<f32>,
}

impl<'g> Binary<'g> {
    pub(super) fn new(layout: &Layout, into: &'g mut Gather) -> Fallible<Self> {
        let count = layout.count.unwrap_or(0);
        // the file is long enough to hold them
        into.reserve(count)?;
        Ok(Self { row: vec![0.0; into.dim], count, skip: layout.start, into })
    }
}

impl Take for Binary<'_> {
    fn take(&mut self, bytes: &[u8], last: bool) -> Fallible<usize> {
        let mut at = std::mem::take(&mut self.skip).min(bytes.len());
        while self.into.seen() < self.count {
            let number = self.into.seen() + 1;
            let ends = bytes[at..].iter().take_while(|&&b| b == b'\n').count();
            let entry = &bytes[at + ends..];
            let Some(space) = entry.iter().take(LONGEST).position(|&b| b == b' ') else {
                if entry.len() >= LONGEST {
                    return Err(format!("word {number} is longer than {LONGEST} bytes"));
                }
                break;
            };
            let Some(numbers) = entry[space + 1..].get(..4 * self.row.len()) else { break };
            for (place, bytes) in self.row.iter_mut().zip(numbers.as_chunks().0) {
                *place = f32::from_le_bytes(*bytes);
            }
            if let Some(place) = self.row.iter().position(|x| !x.is_finite()) {
                return Err(format!(
                    "word {number}: the number at place {} is not finite",
                    place + 1
                ));
            }
            self.into.push(&entry[..space], &self.row)?;
            at += ends + space + 1 + numbers.len();
        }
        if self.into.seen() < self.count {
            return if last {
                Err(format!("it ends within word {} of {}", self.into.seen() + 1, self.count))
            } else {
                Ok(at)
            };
        }
        if bytes[at..].trim_ascii().is_empty() {
            Ok(bytes.len())
        } else {
            Err(format!("its header promises {} words, but there are more", self.count))
        }
    }
}
