//! NumPy's format for one array, with the words in a text file beside it.

use half::f16;

use super::gather::{Gather, reserve};
use super::layout::{Fallible, bounded};
use super::stream::Take;

const MAGIC: &[u8] = b"\x93NUMPY";

/// How an array's numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FloatType {
    F16,
    F32,
    F64,
}

/// The header before the numbers.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    kind: FloatType,
    /// Column by column in place of row by row.
    fortran: bool,
    count: usize,
    pub(super) dim: usize,
    /// Where the numbers begin.
    start: usize,
}

/// An array that is being read.
pub(super) struct Npy<'g> {
    into: &'g mut Gather,
    kind: FloatType,
    /// Bytes that come before the first row.
    skip: usize,
    /// The words of the rows to come, one a line.
    words: &'g [u8],
    /// How many numbers are read in one piece: a row; or, of an array that lies column by column, all.
    piece: usize,
    /// How many columns such an array has.
    columns: usize,
    numbers: Vec<f32>,
}

impl FloatType {
    fn size(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

impl Header {
    /// Nothing where it is another format.
    pub(super) fn parse(head: &[u8]) -> Option<Fallible<Self>> {
        let rest = head.strip_prefix(MAGIC)?;
        let dict = match *rest {
            [1, _, a, b, ref rest @ ..] => (rest, usize::from(u16::from_le_bytes([a, b])), 10),
            [2 | 3, _, a, b, c, d, ref rest @ ..] => {
                (rest, u32::from_le_bytes([a, b, c, d]) as usize, 12)
            }
            _ => return Some(Err("it is no array of version 1, 2 or 3 of NumPy's format".into())),
        };
        let (rest, len, before) = dict;
        Some(match rest.get(..len).and_then(|dict| str::from_utf8(dict).ok()) {
            Some(dict) => Self::of(dict, before + len),
            None => Err("its header is broken".into()),
        })
    }

    /// A header that the length of the file agrees with.
    pub(super) fn fits(self, len: u64) -> Fallible<Self> {
        let wanted = self.start as u64 + (self.count as u64) * (self.dim * self.kind.size()) as u64;
        if len == wanted {
            return Ok(self);
        }
        Err(format!("it should have {wanted} bytes by its header, and it has {len}"))
    }

    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (400000, 50), }`
    fn of(dict: &str, start: usize) -> Fallible<Self> {
        let field = |name: &str| {
            let at = dict.find(name).ok_or_else(|| format!("its header has no `{name}`"))?;
            let rest = dict[at + name.len()..].trim_start_matches(['\'', '"']).trim_start();
            Ok::<_, String>(rest.strip_prefix(':').unwrap_or_default().trim_start())
        };
        let descr = field("descr")?.trim_start_matches(['\'', '"']);
        let kind = match descr.get(..3) {
            Some("<f2") => FloatType::F16,
            Some("<f4") => FloatType::F32,
            Some("<f8") => FloatType::F64,
            _ => return Err("its numbers are none of <f2, <f4 and <f8".into()),
        };
        let fortran = match field("fortran_order")? {
            order if order.starts_with("False") => false,
            order if order.starts_with("True") => true,
            _ => return Err("its header is broken".into()),
        };
        let shape = field("shape")?;
        let shape = shape.strip_prefix('(').and_then(|shape| shape.split_once(')'));
        let shape: Vec<&str> = shape
            .unwrap_or_default()
            .0
            .split(',')
            .map(str::trim)
            .filter(|n| !n.is_empty())
            .collect();
        let [count, dim] = shape[..] else {
            return Err("it is not an array of rows and columns".into());
        };
        let number = |field: &str| {
            let digits = field.bytes().all(|b| b.is_ascii_digit());
            // a number too large for an integer is too large for the bounds
            digits.then(|| field.parse().unwrap_or(usize::MAX)).ok_or("its header is broken")
        };
        let (count, dim) = bounded(number(count)?, number(dim)?)?;
        Ok(Self { kind, fortran, count, dim, start })
    }
}

impl<'g> Npy<'g> {
    /// With the list of its words.
    pub(super) fn new(header: &Header, words: &'g [u8], into: &'g mut Gather) -> Fallible<Self> {
        let words = words.strip_suffix(b"\n").unwrap_or(words);
        let lines = words.split(|&b| b == b'\n').count();
        if lines != header.count {
            return Err(format!("it has {} rows, but its list has {lines} words", header.count));
        }
        // the file is long enough to hold them
        into.reserve(header.count)?;
        let dim = into.dim;
        let (piece, columns) =
            if header.fortran && dim > 1 { (header.count * dim, dim) } else { (dim, 1) };
        let mut numbers = Vec::new();
        reserve(&mut numbers, piece)?;
        Ok(Self { into, kind: header.kind, skip: header.start, words, piece, columns, numbers })
    }

    /// The rows of a whole piece.
    fn rows(&mut self) -> Fallible<()> {
        let rows = self.piece / self.into.dim;
        let numbers = std::mem::take(&mut self.numbers);
        let mut row = Vec::with_capacity(self.into.dim);
        for i in 0..rows {
            row.clear();
            match self.columns {
                1 => row.extend_from_slice(&numbers),
                columns => row.extend((0..columns).map(|column| numbers[column * rows + i])),
            }
            if let Some(at) = row.iter().position(|x| !x.is_finite()) {
                let row = self.into.seen() + 1;
                return Err(format!("row {row}: the number at place {} is not finite", at + 1));
            }
            let end = self.words.iter().position(|&b| b == b'\n').unwrap_or(self.words.len());
            let (word, left) = self.words.split_at(end);
            self.words = left.get(1..).unwrap_or_default();
            self.into.push(word.strip_suffix(b"\r").unwrap_or(word), &row)?;
        }
        self.numbers = numbers;
        self.numbers.clear();
        Ok(())
    }
}

impl Take for Npy<'_> {
    fn take(&mut self, bytes: &[u8], _: bool) -> Fallible<usize> {
        let start = std::mem::take(&mut self.skip).min(bytes.len());
        let size = self.kind.size();
        let mut rest = &bytes[start..];
        while rest.len() >= size {
            let wanted = (self.piece - self.numbers.len()) * size;
            let whole = rest.len() - rest.len() % size;
            let (now, later) = rest.split_at(wanted.min(whole));
            rest = later;
            match self.kind {
                FloatType::F16 => {
                    let numbers = now.as_chunks().0;
                    self.numbers.extend(numbers.iter().map(|&x| f16::from_le_bytes(x).to_f32()));
                }
                FloatType::F32 => {
                    self.numbers.extend(now.as_chunks().0.iter().map(|&x| f32::from_le_bytes(x)));
                }
                FloatType::F64 => {
                    let numbers = now.as_chunks().0;
                    self.numbers.extend(numbers.iter().map(|&x| f64::from_le_bytes(x) as f32));
                }
            }
            if self.numbers.len() == self.piece {
                self.rows()?;
            }
        }
        Ok(bytes.len() - rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dict: &str) -> Fallible<Header> {
        Header::of(dict, 0)
    }

    #[test]
    fn headers_say_what_they_should() {
        let wanted = Header { kind: FloatType::F32, fortran: false, count: 4, dim: 2, start: 0 };
        assert_eq!(
            of("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }  \n"),
            Ok(wanted)
        );
        for (dict, why) in [
            ("{'descr': '>f4', 'fortran_order': False, 'shape': (4, 2), }", "none of"),
            ("{'descr': '<i4', 'fortran_order': False, 'shape': (4, 2), }", "none of"),
            ("{'descr': '<f4', 'fortran_order': 7, 'shape': (4, 2), }", "broken"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", "rows and columns"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2, 1), }", "rows and columns"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (4, -2), }", "broken"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2), }", "no words"),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 99999999999999999999), }",
                "more",
            ),
            ("{'descr': '<f4', 'fortran_order': False}", "has no `shape`"),
            ("", "has no `descr`"),
        ] {
            assert!(of(dict).is_err_and(|error| error.contains(why)), "{dict}");
        }
    }
}
