//! Reading files of bounded size, and writing them.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::error::{Error, Result};

/// No JSON file of a model comes near this size: a larger one is not read.
pub(crate) const LARGEST_JSON: u64 = 100 << 20;
/// Nor do weights that a device could run.
pub(crate) const LARGEST_WEIGHTS: u64 = 64 << 30;

/// Opens a plain file of at most so many bytes, and says how long it is.
pub(crate) fn open(path: &Path, most: u64) -> Result<(File, u64)> {
    // asked before it is opened, because opening a pipe would wait for a writer
    let metadata = std::fs::metadata(path).map_err(Error::io(path))?;
    if !metadata.is_file() {
        let not_a_file = std::io::Error::new(ErrorKind::InvalidInput, "it is not a file");
        return Err(Error::io(path)(not_a_file));
    }
    if metadata.len() > most {
        return Err(Error::TooLarge { path: path.into(), most });
    }
    Ok((File::open(path).map_err(Error::io(path))?, metadata.len()))
}

/// An empty buffer with room for so many bytes of a file.
pub(crate) fn buffer(path: &Path, len: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let len = usize::try_from(len).map_err(|_| Error::TooLarge { path: path.into(), most: len })?;
    let reserved = bytes.try_reserve_exact(len).map_err(|_| ErrorKind::OutOfMemory.into());
    reserved.map_err(Error::io(path))?;
    Ok(bytes)
}

/// Reads a plain file of at most so many bytes.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, len) = open(path, most)?;
    let mut bytes = buffer(path, len)?;
    // a file that grows meanwhile is not followed
    file.take(len).read_to_end(&mut bytes).map_err(Error::io(path))?;
    Ok(bytes)
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(Error::io(path))
}
