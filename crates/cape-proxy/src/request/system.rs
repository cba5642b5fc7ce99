//! Lines of system prompts that the operator lets through: known by their hashes, never by their text.
//!
//! An application's instructions are the same for everybody but for a few lines: the date, the working
//! directory, a user's name. So lines are listed, not prompts, and a line that changes is no longer on
//! the list.

use std::collections::HashSet;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ring::digest::{SHA256, digest};

use crate::error::Error;

type Sum = [u8; 32];

/// The SHA-256 sums of lines that pass.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SystemLines(HashSet<Sum>);

impl SystemLines {
    /// Reads a file that has a sum in hexadecimal digits at the start of each line; white space ends it,
    /// and `#` begins a remark.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::SystemFile { path: path.to_owned(), source })?;
        let mut sums = HashSet::new();
        for (i, line) in text.lines().enumerate() {
            let Some(word) = line.split('#').next().and_then(|l| l.split_whitespace().next())
            else {
                continue;
            };
            let wrong = || Error::SystemSum { path: path.to_owned(), line: i + 1 };
            sums.insert(parse(word).ok_or_else(wrong)?);
        }
        Ok(Self(sums))
    }

    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        Self(text.lines().filter(|line| !line.trim().is_empty()).map(sum).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a line passes. A blank one says nothing.
    pub(crate) fn has(&self, line: &str) -> bool {
        line.trim().is_empty() || self.0.contains(&sum(line))
    }
}

impl fmt::Debug for SystemLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemLines({})", self.0.len())
    }
}

/// A line counts without the white space around it.
fn sum(line: &str) -> Sum {
    let digest = digest(&SHA256, line.trim().as_bytes());
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn parse(hex: &str) -> Option<Sum> {
    let mut sum = Sum::default();
    if hex.len() != 2 * sum.len() || !hex.is_ascii() {
        return None;
    }
    for (i, byte) in sum.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(sum)
}

/// Writes the sums of all lines of the system prompts that are seen.
pub(crate) struct SystemLearner {
    known: Mutex<(HashSet<Sum>, File)>,
}

impl SystemLearner {
    /// Goes on with a file, or makes one that its owner alone can read: whoever has it can test guesses.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let known = if path.exists() { SystemLines::read(path)?.0 } else { HashSet::new() };
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options
            .open(path)
            .map_err(|source| Error::SystemFile { path: path.to_owned(), source })?;
        Ok(Self { known: Mutex::new((known, file)) })
    }

    /// Writes down the lines that are new. Nothing depends on its success: a line that is not written is
    /// not on the list.
    pub(crate) fn learn<'a>(&self, prompts: impl Iterator<Item = &'a str>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (sums, file) = &mut *known;
        let lines = prompts.flat_map(str::lines).filter(|line| !line.trim().is_empty());
        let mut new = String::new();
        for sum in lines.map(sum) {
            if sums.insert(sum) {
                new.extend(sum.iter().map(|byte| format!("{byte:02x}")));
                new.push('\n');
            }
        }
        if new.is_empty() {
            return;
        }
        let lines = new.lines().count();
        if file.write_all(new.as_bytes()).is_ok() {
            tracing::info!(lines, "lines of system prompts learned");
        } else {
            tracing::warn!(lines, "lines of system prompts could not be written");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_learned_passes_and_is_not_written_down() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        let prompt = "You are a zqcanary.\n\n  Be kind.\t\r\nToday is Monday.\n";
        for _ in 0..2 {
            SystemLearner::open(&path).unwrap().learn([prompt, "Be kind."].into_iter());
        }
        let written = std::fs::read_to_string(&path).unwrap();
        assert_eq!((written.lines().count(), written.contains("zqcanary")), (3, false));
        let lines = SystemLines::read(&path).unwrap();
        assert_eq!(lines, SystemLines::of(prompt.trim()));
        for (line, passes) in [
            ("You are a zqcanary.", true),
            ("    Be kind.", true),
            ("", true),
            (" \t\r", true),
            ("Today is Tuesday.", false),
            ("You are a zqcanary. Be kind.", false),
            ("be kind.", false),
        ] {
            assert_eq!(lines.has(line), passes, "{line}");
        }
        assert!(!format!("{lines:?}").contains("zqcanary"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_list_is_read_as_sha256sum_writes_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        // printf %s 'Be kind.' | sha256sum
        let hash = "5499befb38dbf3fcc08107141cb2a9e7f42a6aae403361dc3601b8296d7967ea";
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            SystemLines::read(&path)
        };
        let lines =
            read(&format!("# ours\n\n{hash}  -\n{} # twice\n", hash.to_uppercase())).unwrap();
        assert_eq!((lines.0.len(), lines.has("Be kind.")), (1, true));
        for wrong in ["Be kind.", &hash[1..], &format!("{hash}0"), &hash.replace('5', "g")] {
            let error = read(&format!("{hash}\n{wrong}\n")).unwrap_err().to_string();
            assert!(error.contains("line 2") && !error.contains("kind"), "{error}");
        }
        assert!(SystemLines::read(&dir.path().join("none")).is_err());
    }
}
