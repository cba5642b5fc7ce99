//! Writing a file so that it appears whole or not at all: under another name beside its own, and then
//! renamed. A lock tells a file that is being written from one that a killed run left.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

const END: &str = ".part";
/// On file systems without locks, a file older than this is not being written any more.
const OLD: Duration = Duration::from_hours(24);

/// Writes a file by way of another name; on failure nothing is left of it.
pub(crate) fn with<T>(path: &Path, write: impl FnOnce(&mut File) -> Result<T>) -> Result<T> {
    // asked first, not after gigabytes were written
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Error::new(ErrorKind::IsADirectory, "a folder is in its place"));
    }
    let (mut file, part) = create(path)?;
    let written = write(&mut file)
        .and_then(|value| file.sync_all().map(|()| value))
        .and_then(|value| std::fs::rename(&part, path).map(|()| value));
    if written.is_err() {
        // the error that counts is the one above
        let _ = std::fs::remove_file(&part);
    }
    #[cfg(unix)]
    if let Ok(folder) = File::open(folder(path)) {
        // a name that is lost in a power failure costs another conversion, no more
        let _ = folder.sync_all();
    }
    written
}

/// Removes unfinished files that killed runs left beside this one.
pub(crate) fn clear(path: &Path) {
    let Ok(entries) = folder(path).read_dir() else { return };
    let start = name(path, ".");
    for entry in entries.flatten() {
        let found = entry.file_name();
        let found = found.as_encoded_bytes();
        if !found.starts_with(start.as_encoded_bytes()) || !found.ends_with(END.as_bytes()) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Some(lock) = left(&entry.path())
        {
            // a file that may not be removed could not have been replaced either
            let _ = std::fs::remove_file(entry.path());
            // not before: `create` may have made it this moment
            drop(lock);
        }
    }
}

/// A file that nobody is writing any more, locked.
fn left(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    let left = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => {
            let modified = file.metadata().and_then(|metadata| metadata.modified());
            modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > OLD))
        }
    };
    left.then_some(file)
}

/// A new file under a name that no other run has, locked.
fn create(path: &Path) -> Result<(File, PathBuf)> {
    let process = std::process::id();
    for number in 0..100 {
        let part = path.with_file_name(name(path, &format!(".{process}-{number}{END}")));
        match OpenOptions::new().write(true).create_new(true).open(&part) {
            Ok(file) => match file.try_lock() {
                // another run may have taken it for a leftover before it was locked
                Err(TryLockError::WouldBlock) => {}
                Ok(()) if !part.exists() => {}
                // some file systems have no locks: `left` goes by the time there
                Ok(()) | Err(TryLockError::Error(_)) => return Ok((file, part)),
            },
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn name(path: &Path, end: &str) -> OsString {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(end);
    name
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
