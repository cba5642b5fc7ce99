//! Which format a file has: its first bytes tell, whatever its name.

use super::layout::{Fallible, LONGEST, Layout, bounded};
use super::npy::Header;
use super::{compact, text};

/// As much of a file's beginning as it takes to tell: a header, and a line.
pub(super) const HEAD: u64 = 2 * LONGEST as u64;

const MARK: &[u8] = b"\xef\xbb\xbf";
/// How much of a file is searched for bytes that no text has.
const SAMPLE: usize = 4096;

/// A format, with the promises of its beginning.
#[derive(Debug, PartialEq)]
pub(super) enum Format {
    /// The compact form of another file.
    Compact,
    /// Lines of a word and its numbers.
    Text(Layout),
    /// A word, a space, and the numbers as f32.
    Binary(Layout),
    /// An array of NumPy's, with the words elsewhere.
    Npy(Header),
}

impl Format {
    /// Tells the format from the beginning of a file of `len` bytes.
    pub(super) fn of(head: &[u8], len: u64) -> Fallible<Self> {
        if head.is_empty() {
            return Err("it is empty".into());
        }
        for (magic, name) in PACKED {
            if head.starts_with(magic) {
                return Err(format!("it is packed ({name}): unpack it first"));
            }
        }
        if head.starts_with(compact::MAGIC) {
            return Ok(Self::Compact);
        }
        if let Some(header) = Header::parse(head) {
            return header?.fits(len).map(Self::Npy);
        }
        let mark = if head.starts_with(MARK) { MARK.len() } else { 0 };
        let (first, end) = line(head, mark);
        let Some(header) = header(first) else {
            return plain(head, mark);
        };
        let (count, dim) = header?;
        let rest = &head[end..];
        let binary = is_binary(rest, dim);
        // the least that a word takes: in a text, a digit and a separator for each number
        let least = if binary { 4 * dim + 1 } else { 2 * dim };
        if (count as u64) * (least as u64) > len - end as u64 + 1 {
            return Err(format!(
                "its header promises {count} words of {dim} numbers, and {len} bytes cannot hold these"
            ));
        }
        let layout = Layout { start: end, lines: 1, count: Some(count), dim };
        Ok(if binary { Self::Binary(layout) } else { Self::Text(layout) })
    }
}

const PACKED: [(&[u8], &str); 5] = [
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
];

/// The line that begins here, and where the next one does.
fn line(bytes: &[u8], start: usize) -> (&[u8], usize) {
    let rest = &bytes[start..];
    match rest.iter().position(|&b| b == b'\n') {
        Some(end) => (&rest[..end], start + end + 1),
        None => (rest, bytes.len()),
    }
}

/// The two numbers that a first line consists of, where it is a header.
fn header(first: &[u8]) -> Option<Fallible<(usize, usize)>> {
    let first = str::from_utf8(first).ok()?;
    let mut fields = first.split_ascii_whitespace();
    let (Some(count), Some(dim), None) = (fields.next(), fields.next(), fields.next()) else {
        return None;
    };
    let digits = |field: &str| field.bytes().all(|b| b.is_ascii_digit());
    (digits(count) && digits(dim)).then(|| {
        // a number too large for an integer is too large for the bounds
        let number = |field: &str| field.parse().unwrap_or(usize::MAX);
        bounded(number(count), number(dim))
    })
}

/// Lines without a header: the first one tells how many numbers there are.
fn plain(head: &[u8], mark: usize) -> Fallible<Format> {
    let (mut end, mut lines) = (mark, 0);
    while end < head.len() {
        let first;
        (first, end) = line(head, end);
        lines += 1;
        if !first.trim_ascii().is_empty() {
            let dim = text::dim(first);
            return if dim == 0 {
                Err(format!("line {lines} is not a word with numbers behind it"))
            } else {
                Ok(Format::Text(Layout { start: mark, lines: 0, count: None, dim }))
            };
        }
    }
    Err("it has no words".into())
}

/// Whether what follows a header is binary. A text that is right never counts as such, and one with a
/// mistake in its first line does not either.
fn is_binary(rest: &[u8], dim: usize) -> bool {
    if text::dim(line(rest, 0).0) == dim {
        return false;
    }
    let sample = &rest[..rest.len().min(SAMPLE)];
    let controls = sample.iter().any(|b| b.is_ascii_control() && !b"\t\n\r".contains(b));
    // a character that the end of the sample cuts in two is no mistake
    controls || str::from_utf8(sample).is_err_and(|error| error.error_len().is_some())
}
