//! The place of a ledger and its key that nobody named.

use std::io;
use std::path::{Path, PathBuf};

/// The folder of Cape in the user's data folder, where the ledger and its key are unless others are named.
pub struct DataFolder(PathBuf);

impl DataFolder {
    /// There is none where the system knows no home.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        dirs::data_dir().map(|data| Self(data.join("cape")))
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The ledger, a SQLite file.
    #[must_use]
    pub fn ledger(&self) -> String {
        self.0.join("ledger.db").to_string_lossy().into_owned()
    }

    /// The key file.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.0.join("ledger.key")
    }

    /// Makes the folder, for its owner alone, where there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses.
    pub fn make(&self) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.0)
    }
}
