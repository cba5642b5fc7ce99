//! The compact file beside a source: the rows, the words, and a footer that says what they were made of
//! and how to tell that they are whole.
//!
//! ```text
//! magic | rows: f32, little endian | words: one a line | footer
//! ```

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cape::tokens::Embeddings;
use ring::digest::{Context, SHA256};

use super::gather::{CompactFile, Gather, SkippedWords, Vectors, fit, reserve};
use super::layout::{Fallible, LONGEST, bounded, fault};
use super::progress::{LoadPhase, LoadProgress, Tell};
use super::source::{Source, Stamp};
use super::stream::{self, BLOCK, Take};
use super::word_list::WordList;
use crate::error::{Error, Result};
use crate::{checksum, files};

/// The first bytes of the file; the last of them is the version.
pub(super) const MAGIC: &[u8; 8] = b"CAPEVEC\x01";

/// The most files that vectors are made of: an array and its words.
const SOURCES: usize = 2;
const STAMP: usize = 8 + 8 + 32;
const FOOTER: usize = 7 * 8 + SOURCES * STAMP + 32 + 32;

/// The end of the file.
#[derive(Debug, PartialEq)]
struct Footer {
    count: usize,
    dim: usize,
    /// Bytes of the words.
    text: u64,
    skipped: SkippedWords,
    stamps: Vec<Stamp>,
    /// The checksum of all before it.
    sum: [u8; 32],
}

/// The compact file that belongs to a source.
pub(super) fn beside(source: &Path) -> PathBuf {
    let mut name = source.as_os_str().to_owned();
    name.push(".cape");
    name.into()
}

/// Reads a compact file without its source.
pub(super) fn read(path: &Path, progress: &mut dyn FnMut(LoadProgress)) -> Result<Vectors> {
    let (mut file, len) = files::open(path, u64::MAX)?;
    let footer = footer(path, &mut file, len)?;
    content(path, &mut file, &footer, progress)
}

/// Reads the compact file of these sources, if it is theirs.
pub(super) fn reuse(
    path: &Path,
    sources: &[Source],
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<Vectors> {
    let (mut file, len) = files::open(path, u64::MAX)?;
    if let Ok(writable) = OpenOptions::new().read(true).write(true).open(path) {
        file = writable;
    }
    let mut footer = footer(path, &mut file, len)?;
    let changed = || fault(path, "its source has changed".into());
    if footer.stamps.len() != sources.len() {
        return Err(changed());
    }
    let mut stamps = Vec::with_capacity(sources.len());
    for (source, stamp) in sources.iter().zip(&footer.stamps) {
        stamps.push(source.is(stamp, progress)?.ok_or_else(changed)?);
    }
    let vectors = content(path, &mut file, &footer, progress)?;
    if stamps != footer.stamps {
        footer.stamps = stamps;
        // if this fails, the source's bytes are compared again next time
        let _ = restamp(&mut file, &footer);
    }
    Ok(vectors)
}

/// Writes the gathered words and rows; returns the checksum of words and rows.
pub(super) fn write(
    gathered: &Gather,
    stamps: &[Stamp],
    out: &mut (impl Write + Send),
    progress: &mut dyn FnMut(LoadProgress),
) -> std::io::Result<[u8; 32]> {
    let (count, dim) = (gathered.words.len(), gathered.dim);
    let mut tell = Tell::new(LoadPhase::Writing, 4 * gathered.rows.len() as u64, progress);
    let mut sum = Context::new(&SHA256);
    out.write_all(MAGIC)?;
    let mut bytes = Vec::with_capacity(BLOCK);
    for block in gathered.rows.chunks(BLOCK / 4) {
        bytes.clear();
        bytes.extend(block.iter().flat_map(|x| x.to_le_bytes()));
        rayon::join(|| sum.update(&bytes), || out.write_all(&bytes)).1?;
        tell.add(bytes.len() as u64);
    }
    let mut text = Vec::new();
    for word in gathered.words.iter() {
        text.extend_from_slice(word.as_bytes());
        text.push(b'\n');
    }
    sum.update(&text);
    out.write_all(&text)?;
    let footer = Footer {
        count,
        dim,
        text: text.len() as u64,
        skipped: gathered.skipped,
        stamps: stamps.to_vec(),
        sum: finish(sum, count, dim),
    };
    out.write_all(&footer.encode())?;
    Ok(footer.sum)
}

/// The checksum of rows and words, closed by their numbers, so that no other rows and words run into the
/// same bytes.
fn finish(mut sum: Context, count: usize, dim: usize) -> [u8; 32] {
    sum.update(&(count as u64).to_le_bytes());
    sum.update(&(dim as u64).to_le_bytes());
    checksum::finish(sum)
}

/// The footer, if it fits the length of the file.
fn footer(path: &Path, file: &mut File, len: u64) -> Result<Footer> {
    let io = Error::io(path);
    let damaged = || fault(path, "it is damaged or truncated".into());
    let least = (MAGIC.len() + FOOTER) as u64;
    let body = len.checked_sub(least).ok_or_else(damaged)?;
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).map_err(io)?;
    if magic != *MAGIC {
        return Err(fault(path, "it is of another version, or something else".into()));
    }
    let mut bytes = [0; FOOTER];
    file.seek(SeekFrom::Start(len - FOOTER as u64)).map_err(io)?;
    file.read_exact(&mut bytes).map_err(io)?;
    let footer = Footer::decode(&bytes).ok_or_else(damaged)?;
    let rows = 4 * footer.count as u64 * footer.dim as u64;
    if rows.checked_add(footer.text) == Some(body) { Ok(footer) } else { Err(damaged()) }
}

/// The rows and words before a footer.
fn content(
    path: &Path,
    file: &mut File,
    footer: &Footer,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<Vectors> {
    let numbers = footer.count * footer.dim;
    let mut content = Content { rows: Vec::new(), numbers, words: WordList::default() };
    // the file is long enough to hold them
    reserve(&mut content.rows, numbers).map_err(|why| fault(path, why))?;
    file.seek(SeekFrom::Start(MAGIC.len() as u64)).map_err(Error::io(path))?;
    let len = 4 * numbers as u64 + footer.text;
    let mut tell = Tell::new(LoadPhase::Checking, len, progress);
    let sum = stream::run((path, file), len, &mut content, &mut tell)?;
    let checksum = finish(sum, footer.count, footer.dim);
    if checksum != footer.sum || content.words.len() != footer.count {
        return Err(fault(path, DAMAGED.into()));
    }
    Ok(Vectors {
        words: content.words,
        rows: Embeddings::new(content.rows, footer.dim),
        checksum,
        skipped: footer.skipped,
        compact: CompactFile::Read,
    })
}

const DAMAGED: &str = "it is damaged: its checksum is wrong";

/// Replaces the footer in place. If this is interrupted, the checksum is wrong and the file is made anew.
fn restamp(file: &mut File, footer: &Footer) -> std::io::Result<()> {
    let end = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(end.saturating_sub(FOOTER as u64)))?;
    file.write_all(&footer.encode())
}

/// Rows and words as they are read. They are checked even where the checksum is right, since anyone can
/// make a checksum.
struct Content {
    rows: Vec<f32>,
    /// How many there will be.
    numbers: usize,
    words: WordList,
}

impl Take for Content {
    fn take(&mut self, bytes: &[u8], last: bool) -> Fallible<usize> {
        let new = bytes.as_chunks().0;
        let new = &new[..new.len().min(self.numbers - self.rows.len())];
        self.rows.extend(new.iter().map(|&x| f32::from_le_bytes(x)));
        if !self.rows[self.rows.len() - new.len()..].iter().all(|x| x.is_finite()) {
            return Err(DAMAGED.into());
        }
        let mut taken = 4 * new.len();
        if self.rows.len() < self.numbers {
            return Ok(taken);
        }
        while let Some(end) = bytes[taken..].iter().position(|&b| b == b'\n') {
            let word = str::from_utf8(&bytes[taken..taken + end]).map_err(|_| DAMAGED)?;
            if !fit(word) || !self.words.insert(word) {
                return Err(DAMAGED.into());
            }
            taken += end + 1;
        }
        let rest = bytes.len() - taken;
        if rest > LONGEST || last && rest > 0 { Err(DAMAGED.into()) } else { Ok(taken) }
    }
}

impl Footer {
    fn encode(&self) -> Vec<u8> {
        let Self { count, dim, text, skipped, stamps, sum } = self;
        let SkippedWords { duplicates, unfit, not_utf8 } = *skipped;
        let mut bytes = Vec::with_capacity(FOOTER);
        let sizes = [*count, *dim, *text as usize, duplicates, unfit, not_utf8, stamps.len()];
        bytes.extend(sizes.iter().flat_map(|&size| (size as u64).to_le_bytes()));
        for stamp in stamps {
            bytes.extend_from_slice(&stamp.len.to_le_bytes());
            bytes.extend_from_slice(&stamp.modified.to_le_bytes());
            bytes.extend_from_slice(&stamp.sum);
        }
        bytes.resize(FOOTER - 64, 0);
        bytes.extend_from_slice(sum);
        let own = ring::digest::digest(&SHA256, &bytes);
        bytes.extend_from_slice(own.as_ref());
        bytes
    }

    fn decode(bytes: &[u8; FOOTER]) -> Option<Self> {
        let (stated, own) = bytes.split_at(FOOTER - 32);
        if ring::digest::digest(&SHA256, stated).as_ref() != own {
            return None;
        }
        let mut rest = stated;
        let mut sizes = [0; 7];
        for size in &mut sizes {
            *size = usize::try_from(u64::from_le_bytes(next(&mut rest)?)).ok()?;
        }
        let [count, dim, text, duplicates, unfit, not_utf8, sources] = sizes;
        let (count, dim) = bounded(count, dim).ok()?;
        let skipped = SkippedWords { duplicates, unfit, not_utf8 };
        let mut stamps = Vec::with_capacity(SOURCES);
        for _ in 0..SOURCES {
            let len = u64::from_le_bytes(next(&mut rest)?);
            let modified = u64::from_le_bytes(next(&mut rest)?);
            stamps.push(Stamp { len, modified, sum: next(&mut rest)? });
        }
        stamps.truncate(sources);
        Some(Self { count, dim, text: text as u64, skipped, stamps, sum: next(&mut rest)? })
    }
}

/// The next bytes of a footer.
fn next<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_is_read_as_written_and_every_bit_counts() {
        let stamp = Stamp { len: 7, modified: 8, sum: [9; 32] };
        for stamps in [vec![stamp.clone()], vec![stamp.clone(), stamp]] {
            let skipped = SkippedWords { duplicates: 4, unfit: 5, not_utf8: 6 };
            let footer = Footer { count: 1, dim: 2, text: 3, skipped, stamps, sum: [10; 32] };
            let mut bytes: [u8; FOOTER] = footer.encode().try_into().unwrap();
            assert_eq!(Footer::decode(&bytes), Some(footer));
            for at in 0..FOOTER {
                bytes[at] ^= 1;
                assert_eq!(Footer::decode(&bytes), None);
                bytes[at] ^= 1;
            }
        }
    }
}
