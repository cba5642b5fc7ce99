//! A file read once from end to end, in blocks: while one is worked on, its checksum is taken and the
//! next is read.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ring::digest::{Context, SHA256};

use super::layout::{Fallible, fault};
use super::progress::Tell;
use crate::checksum;
use crate::error::{Error, Result};

/// How much is read at once.
pub(super) const BLOCK: usize = 8 << 20;

/// Makes something of the bytes of a file.
pub(super) trait Take: Send {
    /// Takes what it can from the beginning of `bytes`, and says how much; the rest comes again with
    /// more behind it, unless these are the last.
    fn take(&mut self, bytes: &[u8], last: bool) -> Fallible<usize>;
}

/// Gives the next `len` bytes of a file to `taker`; returns their running checksum.
pub(super) fn run(
    (path, file): (&Path, &mut File),
    len: u64,
    taker: &mut dyn Take,
    tell: &mut Tell<'_>,
) -> Result<Context> {
    let mut sum = Context::new(&SHA256);
    let mut left = len;
    let (mut held, mut next) = (Vec::new(), Vec::new());
    let io = Error::io(path);
    read(file, &mut left, &mut held).map_err(io)?;
    // what was held before has been summed
    let mut fresh = 0;
    loop {
        let last = left == 0;
        let (sum, new) = (&mut sum, held.len() - fresh);
        let (ahead, ((), taken)) = rayon::join(
            || read(file, &mut left, &mut next),
            || rayon::join(|| sum.update(&held[fresh..]), || taker.take(&held, last)),
        );
        let taken = taken.map_err(|why| fault(path, why))?;
        tell.add(new as u64);
        if last {
            break;
        }
        ahead.map_err(io)?;
        held.drain(..taken);
        fresh = held.len();
        held.extend_from_slice(&next);
    }
    Ok(sum)
}

/// The checksum of a whole file.
pub(super) fn sum(path: &Path, file: &mut File, len: u64, tell: &mut Tell<'_>) -> Result<[u8; 32]> {
    struct Nothing;
    impl Take for Nothing {
        fn take(&mut self, bytes: &[u8], _: bool) -> Fallible<usize> {
            Ok(bytes.len())
        }
    }
    Ok(checksum::finish(run((path, file), len, &mut Nothing, tell)?))
}

/// One block, or what is left.
fn read(file: &mut File, left: &mut u64, into: &mut Vec<u8>) -> std::io::Result<()> {
    let len = (*left).min(BLOCK as u64);
    into.resize(len as usize, 0);
    *left -= len;
    file.read_exact(into)
}
