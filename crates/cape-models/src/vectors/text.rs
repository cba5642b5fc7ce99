//! Lines of a word and its numbers: GloVe's, word2vec's, fastText's. Words may have spaces in them, so
//! that the numbers are counted from the right.

use rayon::prelude::*;

use super::gather::Gather;
use super::layout::{Fallible, LONGEST, Layout};
use super::stream::Take;

/// How much one task parses.
const PIECE: usize = 256 << 10;

/// A text that is being read.
pub(super) struct Text<'g> {
    into: &'g mut Gather,
    layout: Layout,
    /// Bytes of the file, and how many of them are done.
    len: u64,
    done: u64,
    /// Lines that are done.
    lines: usize,
}

/// The words and rows of some lines.
struct Parsed<'b> {
    words: Vec<&'b [u8]>,
    rows: Vec<f32>,
    lines: usize,
}

/// Why a line is wrong.
enum Wrong {
    Few,
    Many,
    /// The field at this place is not a number, or not a finite one.
    Number(usize),
    Infinite(usize),
    Long,
}

impl<'g> Text<'g> {
    pub(super) fn new(layout: Layout, len: u64, into: &'g mut Gather) -> Self {
        Self { into, lines: 0, layout, len, done: 0 }
    }

    /// Makes room for the words to come, at the rate of those so far.
    fn reserve(&mut self, new: usize, done: u64) -> Fallible<()> {
        if self.into.has_room(new) {
            return Ok(());
        }
        let words = (self.into.words.len() + new) as u64;
        let all = u128::from(words) * u128::from(self.len) / u128::from(done.max(1));
        let rest = all as usize - (words as usize).min(all as usize);
        self.into.reserve(new + rest + rest / 64)
    }

    fn say(&self, line: usize, wrong: &Wrong) -> String {
        let dim = self.into.dim;
        match wrong {
            Wrong::Few => format!("line {line} has fewer than {dim} numbers"),
            Wrong::Many => format!("line {line} has more than {dim} numbers"),
            Wrong::Number(at) => format!("line {line}: field {at} after the word is not a number"),
            Wrong::Infinite(at) => format!("line {line}: the number at place {at} is not finite"),
            Wrong::Long => format!("line {line} is longer than {LONGEST} bytes"),
        }
    }

    /// Checks the number of words that the header promises.
    fn check(&self, last: bool) -> Fallible<()> {
        let seen = self.into.seen();
        match self.layout.count {
            Some(count) if seen > count => {
                Err(format!("its header promises {count} words, but there are more"))
            }
            Some(count) if last && seen < count => {
                Err(format!("its header promises {count} words, but it ends after {seen}"))
            }
            _ => Ok(()),
        }
    }
}

impl Take for Text<'_> {
    fn take(&mut self, bytes: &[u8], last: bool) -> Fallible<usize> {
        let end = if last {
            bytes.len()
        } else {
            match bytes.iter().rposition(|&b| b == b'\n') {
                Some(at) => at + 1,
                None if bytes.len() > LONGEST => {
                    return Err(self.say(self.lines + 1, &Wrong::Long));
                }
                None => 0,
            }
        };
        let mut start = 0;
        if self.done == 0 {
            (start, self.lines) = (self.layout.start.min(end), self.layout.lines);
        }
        let dim = self.into.dim;
        let pieces = split(&bytes[start..end]);
        let parsed: Vec<_> = pieces.into_par_iter().map(|piece| parse(piece, dim)).collect();
        self.done += end as u64;
        let new = parsed.iter().flatten().map(|parsed| parsed.words.len()).sum();
        self.reserve(new, self.done)?;
        for parsed in parsed {
            let parsed = parsed.map_err(|(line, wrong)| self.say(self.lines + line, &wrong))?;
            for (word, row) in parsed.words.iter().zip(parsed.rows.chunks_exact(dim)) {
                self.into.push(word, row)?;
            }
            self.lines += parsed.lines;
        }
        self.check(last)?;
        Ok(end)
    }
}

/// How many numbers the line has after its word; zero where it is another kind of line.
pub(super) fn dim(line: &[u8]) -> usize {
    let fields: Vec<&[u8]> = line.trim_ascii_end().split(|&b| is_gap(b)).collect();
    // the word may be a number itself
    let behind = fields.get(1..).unwrap_or_default();
    let numbers = behind.iter().rev().filter(|field| !field.is_empty());
    numbers.take_while(|field| number(field).is_some()).count()
}

/// Pieces that end with a line.
fn split(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::with_capacity(bytes.len() / PIECE + 1);
    while bytes.len() > PIECE {
        let end = bytes[PIECE..].iter().position(|&b| b == b'\n');
        let (piece, rest) = bytes.split_at(end.map_or(bytes.len(), |end| PIECE + end + 1));
        pieces.push(piece);
        bytes = rest;
    }
    if !bytes.is_empty() {
        pieces.push(bytes);
    }
    pieces
}

/// The words and numbers of some lines; or which line is wrong, from 1.
fn parse(piece: &[u8], dim: usize) -> Result<Parsed<'_>, (usize, Wrong)> {
    let mut parsed = Parsed { words: Vec::new(), rows: Vec::new(), lines: 0 };
    for line in piece.strip_suffix(b"\n").unwrap_or(piece).split(|&b| b == b'\n') {
        parsed.lines += 1;
        let line = line.trim_ascii_end();
        if line.is_empty() {
            continue;
        }
        let start = parsed.rows.len();
        parsed.rows.resize(start + dim, 0.0);
        let word = parse_line(line, &mut parsed.rows[start..]);
        parsed.words.push(word.map_err(|wrong| (parsed.lines, wrong))?);
    }
    Ok(parsed)
}

/// The word of a line, whose numbers are put into `row`.
fn parse_line<'b>(line: &'b [u8], row: &mut [f32]) -> Result<&'b [u8], Wrong> {
    if line.len() > LONGEST {
        return Err(Wrong::Long);
    }
    let mut rest = line;
    for (at, place) in row.iter_mut().enumerate().rev() {
        rest = rest.trim_ascii_end();
        let gap = rest.iter().rposition(|&b| is_gap(b)).ok_or(Wrong::Few)?;
        *place = number(&rest[gap + 1..]).ok_or(Wrong::Number(at + 1))?;
        if !place.is_finite() {
            return Err(Wrong::Infinite(at + 1));
        }
        rest = &rest[..gap];
    }
    let word = rest.trim_ascii_end();
    // no word of the public vectors has a number after a space: this is one number too many
    let tail = word.iter().rposition(|&b| is_gap(b)).map(|gap| &word[gap + 1..]);
    if tail.is_some_and(|tail| tail.iter().any(u8::is_ascii_digit) && number(tail).is_some()) {
        return Err(Wrong::Many);
    }
    Ok(word)
}

fn is_gap(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn number(field: &[u8]) -> Option<f32> {
    str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_counted_behind_the_word() {
        for (line, wanted) in [
            (&b"the 0.1 -2 3e-1"[..], 3),
            (b". . . 0.1 0.2", 2),
            (b"7 0.1 0.2 \r", 2),
            (b"\t0.1\t0.2", 2),
            (b"word", 0),
            (b"", 0),
            (b"two words", 0),
        ] {
            assert_eq!(dim(line), wanted);
        }
    }

    #[test]
    fn pieces_end_with_a_line_and_lose_nothing() {
        let line = [b'x'; 1000];
        let mut bytes = Vec::new();
        for _ in 0..1000 {
            bytes.extend_from_slice(&line);
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(b"last");
        let pieces = split(&bytes);
        assert!(pieces.len() > 3);
        assert!(pieces[..pieces.len() - 1].iter().all(|piece| piece.ends_with(b"\n")));
        assert_eq!(pieces.concat(), bytes);
    }
}
