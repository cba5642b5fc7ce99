//! Where tensors are: in memory, or in safetensors files that are read a tensor at a time, so that no
//! weight is held twice while a model is loaded.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use safetensors::tensor::{Metadata, TensorInfo};
use safetensors::{SafeTensorError, SafeTensors};

use super::disk::{self, LARGEST_JSON, LARGEST_WEIGHTS};
use crate::error::{Error, Result};

/// The length field in front of a header.
const LENGTH: u64 = 8;

/// Where a model's tensors are.
pub(crate) enum Stored {
    /// A whole file in memory: safetensors or GGUF.
    Bytes(Cow<'static, [u8]>),
    /// Safetensors files.
    Files(Vec<TensorFile>),
}

/// One part of the tensors: a safetensors file, in memory or on disk.
pub(crate) enum Part<'a> {
    /// Its header, and the bytes after it.
    Bytes(Metadata, &'a [u8]),
    File(&'a TensorFile),
}

/// A safetensors file whose header was read and fits its length.
pub(crate) struct TensorFile {
    path: PathBuf,
    file: Mutex<File>,
    header: Metadata,
    /// Where the header ends.
    start: u64,
}

impl Stored {
    /// The parts, with their headers read.
    pub(crate) fn parts(&self) -> Result<Vec<Part<'_>>> {
        match self {
            Self::Bytes(bytes) => {
                let (length, header) = SafeTensors::read_metadata(bytes).map_err(Error::Weights)?;
                Ok(vec![Part::Bytes(header, &bytes[LENGTH as usize + length..])])
            }
            Self::Files(files) => Ok(files.iter().map(Part::File).collect()),
        }
    }
}

impl Part<'_> {
    pub(crate) fn header(&self) -> &Metadata {
        match self {
            Self::Bytes(header, _) => header,
            Self::File(file) => &file.header,
        }
    }

    /// The bytes of a tensor of this part.
    pub(crate) fn read(&self, name: &str, info: &TensorInfo) -> Result<Cow<'_, [u8]>> {
        let invalid = || Error::Weights(SafeTensorError::InvalidOffset(name.to_owned()));
        let (start, end) = info.data_offsets;
        let wanted = info
            .shape
            .iter()
            .try_fold(info.dtype.bitsize(), |bits, &n| bits.checked_mul(n))
            .ok_or_else(invalid)?;
        if end.checked_sub(start).and_then(|len| len.checked_mul(8)) != Some(wanted) {
            return Err(invalid());
        }
        match self {
            Self::Bytes(_, bytes) => bytes.get(start..end).map(Cow::Borrowed).ok_or_else(invalid),
            Self::File(file) => file.read(start as u64, end - start).map(Cow::Owned),
        }
    }
}

impl TensorFile {
    /// Opens a file and reads its header; `broken` makes the error where it is no such file.
    pub(crate) fn open(path: &Path, broken: impl Fn(SafeTensorError) -> Error) -> Result<Self> {
        let (mut file, size) = disk::open(path, LARGEST_WEIGHTS)?;
        let mut length = [0; LENGTH as usize];
        if size < LENGTH {
            return Err(broken(SafeTensorError::HeaderTooSmall));
        }
        let io = Error::io(path);
        file.read_exact(&mut length).map_err(io)?;
        // the header is believed only as far as the file reaches
        let length = u64::from_le_bytes(length);
        if length > LARGEST_JSON {
            return Err(broken(SafeTensorError::HeaderTooLarge));
        }
        let Some(data) = (size - LENGTH).checked_sub(length) else {
            return Err(broken(SafeTensorError::InvalidHeaderLength));
        };
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(io)?;
        let header: Metadata = serde_json::from_slice(&header)
            .map_err(|source| broken(SafeTensorError::InvalidHeaderDeserialization(source)))?;
        if header.data_len() as u64 != data {
            return Err(broken(SafeTensorError::MetadataIncompleteBuffer));
        }
        let (path, start) = (path.to_owned(), LENGTH + length);
        Ok(Self { path, file: Mutex::new(file), header, start })
    }

    pub(crate) fn header(&self) -> &Metadata {
        &self.header
    }

    fn read(&self, start: u64, len: usize) -> Result<Vec<u8>> {
        // a panic elsewhere may leave another place in the file, but it is set here each time
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let io = Error::io(&self.path);
        file.seek(SeekFrom::Start(self.start + start)).map_err(io)?;
        let mut bytes = disk::buffer(&self.path, len as u64)?;
        bytes.resize(len, 0);
        file.read_exact(&mut bytes).map_err(io)?;
        Ok(bytes)
    }
}
