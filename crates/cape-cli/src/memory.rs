//! The file of `--memory`: the secret of a map that lasts.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use cape::Secret;

use crate::failure::{Done, Failure, io};

/// The first line of the file.
const FORMAT: &str = "cape memory 1";

/// The secret in a file, which is made where there is none.
pub(crate) fn open(path: &Path) -> Done<Secret> {
    match File::open(path) {
        Ok(file) => read(path, file),
        Err(error) if error.kind() == ErrorKind::NotFound => make(path),
        Err(error) => Err(io(format!("cannot read {}", path.display()), &error)),
    }
}

fn read(path: &Path, file: File) -> Done<Secret> {
    let mut text = String::new();
    let read = file.take(256).read_to_string(&mut text);
    read.map_err(|error| io(format!("cannot read {}", path.display()), &error))?;
    let mut lines = text.lines();
    let secret = (lines.next() == Some(FORMAT)).then(|| lines.next().and_then(bytes)).flatten();
    let secret = secret.filter(|_| lines.next().is_none());
    secret.map(|bytes| Secret::from_bytes(&bytes)).ok_or_else(|| {
        Failure::new(
            format!("{} is not a file of --memory", path.display()),
            "name a file that does not exist yet, or one that --memory made",
        )
    })
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

fn make(path: &Path) -> Done<Secret> {
    let bytes = Secret::bytes()?;
    let hex = hex(&bytes);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // whole or not at all: whoever is killed in between must not leave a file that nobody can read
    let draft = path.with_added_extension(format!("{}.new", std::process::id()));
    let write = || {
        let mut file = options.open(&draft)?;
        write!(file, "{FORMAT}\n{hex}\n")?;
        file.sync_all()?;
        std::fs::hard_link(&draft, path)
    };
    let written = write();
    let _ = std::fs::remove_file(&draft);
    match written {
        Ok(()) => Ok(Secret::from_bytes(&bytes)),
        // another process made it in this moment: its secret counts
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let file = File::open(path);
            read(path, file.map_err(|error| io(format!("cannot read {}", path.display()), &error))?)
        }
        Err(error) => Err(io(format!("cannot write {}", path.display()), &error)),
    }
}

fn bytes(hex: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if hex.len() != 64 || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_made_once_and_kept_to_oneself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory");
        let number = |secret: &Secret| {
            let mut generator = secret.generator(b"a");
            cape::sample::below(u64::MAX, &mut generator)
        };
        let made = number(&open(&path).unwrap());
        assert_eq!(number(&open(&path).unwrap()), made);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        let signs = format!("cape memory 1\n{}\n", "+a".repeat(32));
        for broken in
            ["", "cape memory 1\n", "cape memory 2\n00", "cape memory 1\nzz\n", &signs, "é"]
        {
            std::fs::write(&path, broken).unwrap();
            assert!(open(&path).is_err());
        }
    }
}
