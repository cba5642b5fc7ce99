//! Whether a source is still the one that the compact file was made of.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::layout::fault;
use super::progress::{LoadPhase, LoadProgress, Tell};
use super::stream;
use crate::error::Result;
use crate::files;

/// A file may change twice within one tick of the file system's clock, so that its time is trusted only
/// when it is this old.
const SETTLED: Duration = Duration::from_secs(2);

/// A file as it was found.
pub(super) struct Source {
    path: PathBuf,
    len: u64,
    modified: Option<SystemTime>,
}

/// The marks by which a source is known again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stamp {
    pub(super) len: u64,
    /// Nanoseconds since 1970; zero where the time cannot be trusted.
    pub(super) modified: u64,
    pub(super) sum: [u8; 32],
}

impl Source {
    pub(super) fn of(path: &Path) -> Result<Self> {
        let (file, len) = files::open(path, u64::MAX)?;
        let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
        Ok(Self { path: path.into(), len, modified })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The stamp of a source that was read since it was found.
    pub(super) fn stamp(&self, sum: [u8; 32]) -> Result<Stamp> {
        let now = Self::of(&self.path)?;
        if (now.len, now.modified) != (self.len, self.modified) {
            return Err(fault(&self.path, "it changed while it was read".into()));
        }
        Ok(Stamp { len: self.len, modified: self.time(), sum })
    }

    /// The stamp, if it is this source's; a newer one where the bytes had to be compared.
    pub(super) fn is(
        &self,
        stamp: &Stamp,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Option<Stamp>> {
        if self.len != stamp.len {
            return Ok(None);
        }
        let time = self.time();
        if time != 0 && time == stamp.modified {
            return Ok(Some(stamp.clone()));
        }
        let mut tell = Tell::new(LoadPhase::Comparing, self.len, progress);
        let (mut file, len) = files::open(&self.path, u64::MAX)?;
        let sum = stream::sum(&self.path, &mut file, len, &mut tell)?;
        if sum == stamp.sum { self.stamp(sum).map(Some) } else { Ok(None) }
    }

    fn time(&self) -> u64 {
        let Some(modified) = self.modified else { return 0 };
        let settled = modified.elapsed().is_ok_and(|age| age >= SETTLED);
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        if settled { u64::try_from(since.as_nanos()).unwrap_or(0) } else { 0 }
    }
}
