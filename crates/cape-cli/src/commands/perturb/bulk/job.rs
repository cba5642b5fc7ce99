//! A job that may be killed at any moment: its folder, its checkpoints and its end.
//!
//! All that a job has done lies in a folder beside its output until the last row is done: the secret of its map,
//! the rows released so far, those refused, and a checkpoint that says how far all of them are. Rows
//! are on disk before the checkpoint that counts them; what is beyond the last checkpoint is cut off when the job
//! goes on, and comes out the same again, because draws are functions of the secret.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::failure::{Done, Failure, io};
use crate::memory;
use crate::output::Totals;

/// The version of the checkpoint below.
const VERSION: u32 = 1;

/// The time between two checkpoints, each of which waits for the disk.
const BETWEEN: Duration = Duration::from_millis(250);

/// How much of the beginning of an input tells it from others.
const HEAD: u64 = 1 << 16;

/// How far a job is.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    version: u32,
    /// The job's id in a ledger.
    pub(super) id: String,
    /// A sum of all settings that a row's release depends on.
    settings: String,
    input: Identity,
    /// The number of rows that are done, and where in the input they end.
    pub(super) rows: u64,
    pub(super) at: u64,
    /// The lengths of the two files that hold them.
    released: u64,
    refused_bytes: u64,
    /// The number of rows that were refused.
    pub(super) refused: u64,
    pub(super) totals: Totals,
    /// The number of different draws, where a ledger pays for them.
    pub(super) drawn: u64,
    /// All rows are done.
    pub(super) is_done: bool,
}

/// What tells an input from another.
#[derive(Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Identity {
    bytes: u64,
    /// In nanoseconds since 1970.
    modified: u128,
    /// SHA-256 of its beginning.
    head: String,
}

impl Identity {
    pub(super) fn of(path: &Path) -> Done<Self> {
        let read = || {
            let file = File::open(path)?;
            let about = file.metadata()?;
            let modified = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            let mut head = Vec::new();
            file.take(HEAD).read_to_end(&mut head)?;
            Ok(Self { bytes: about.len(), modified: modified.as_nanos(), head: sum(&head) })
        };
        read().map_err(|error| io(format!("cannot read {}", path.display()), &error))
    }
}

/// SHA-256 in hexadecimal digits.
pub(super) fn sum(bytes: &[u8]) -> String {
    memory::hex(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref())
}

/// The names of the files in the folder of a job.
const STATE: &str = "state.json";
const NEW_STATE: &str = "state.json.new";
const LOCK: &str = "lock";
const SECRET: &str = "secret";
const ROWS: &str = "rows";
const REFUSED: &str = "rejected";
const ASSEMBLED: &str = "assembled";

/// The folder of a job, and the output that it lies beside.
struct Folder {
    path: PathBuf,
    output: PathBuf,
    /// Held as long as this run lasts: two would write to the same files.
    _lock: File,
}

/// A job as it is found.
pub(super) enum Found {
    /// It begins, or goes on.
    Going(Job),
    /// All of its rows are done, but it was killed before it had ended.
    Done(Ended),
}

/// A job with rows to do.
pub(super) struct Job {
    folder: Folder,
    released: File,
    refused: File,
    pub(super) state: State,
    /// Whether it goes on after a kill.
    resumes: bool,
    /// The last checkpoint of this run that counts rows.
    checked: Option<Instant>,
}

/// A job whose rows are all done.
pub(super) struct Ended {
    folder: Folder,
    pub(super) state: State,
}

impl Job {
    /// Begins a job, or goes on with one that was killed. Without an identity the input cannot be read again, and
    /// the job begins anew.
    pub(super) fn open(output: &Path, settings: &str, input: Option<Identity>) -> Done<Found> {
        let folder = Folder::open(output)?;
        let resumes = input.is_some();
        let input = input.unwrap_or_default();
        let Some(state) = folder.state()?.filter(|_| resumes) else {
            folder.refuse_to_overwrite()?;
            // nothing of a job that has no state was ever released
            folder.clear().map_err(|error| folder.failed(&error))?;
            let (id, settings) = (sum(&cape::Secret::bytes()?), settings.to_owned());
            let state = State { version: VERSION, id, settings, input, ..State::default() };
            return Self::going(folder, state, resumes);
        };
        let differs = if state.version != VERSION || state.settings != settings {
            Some("other settings")
        } else if state.input != input {
            Some("another input")
        } else {
            None
        };
        match differs {
            Some(what) => Err(Failure::new(
                format!("{} was begun with {what}", output.display()),
                format!(
                    "run it as it was begun, or remove {} to begin anew, which spends ε again for what was released",
                    folder.path.display()
                ),
            )),
            None if state.is_done => Ok(Found::Done(Ended { folder, state })),
            None => Self::going(folder, state, resumes),
        }
    }

    fn going(folder: Folder, state: State, resumes: bool) -> Done<Found> {
        let open = |name, length| {
            let mut options = private();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(folder.path.join(name))?;
            if file.metadata()?.len() < length {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            // rows beyond the checkpoint may be there in part
            file.set_len(length)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let files = open(ROWS, state.released)
            .and_then(|released| Ok((released, open(REFUSED, state.refused_bytes)?)));
        let (released, refused) = files.map_err(|error| folder.failed(&error))?;
        Ok(Found::Going(Self { folder, released, refused, state, resumes, checked: None }))
    }

    /// The file for the secret of the job's own map.
    pub(super) fn secret(&self) -> PathBuf {
        self.folder.path.join(SECRET)
    }

    /// Writes down that the job exists, before anything is drawn.
    pub(super) fn begin(&mut self, head: &[u8]) -> Done {
        if self.state.rows == 0 && self.state.released == 0 {
            self.append(head, b"")?;
            self.checkpoint()?;
        }
        Ok(())
    }

    /// Appends rows. They count from the next checkpoint on.
    pub(super) fn append(&mut self, released: &[u8], refused: &[u8]) -> Done {
        let written =
            self.released.write_all(released).and_then(|()| self.refused.write_all(refused));
        written.map_err(|error| self.folder.failed(&error))?;
        self.state.released += released.len() as u64;
        self.state.refused_bytes += refused.len() as u64;
        Ok(())
    }

    /// A checkpoint, if there is none of this run's rows or the last one is some time ago.
    pub(super) fn tick(&mut self) -> Done {
        if self.checked.is_some_and(|last| last.elapsed() < BETWEEN) {
            return Ok(());
        }
        self.checkpoint()?;
        self.checked = Some(Instant::now());
        Ok(())
    }

    fn checkpoint(&mut self) -> Done {
        let sync = || {
            self.released.sync_data()?;
            self.refused.sync_data()?;
            if self.resumes {
                self.folder.write(&self.state)?;
            }
            Ok(())
        };
        sync().map_err(|error| self.folder.failed(&error))
    }

    /// Writes down that all rows are done.
    pub(super) fn end(mut self) -> Done<Ended> {
        self.state.is_done = true;
        self.checkpoint()?;
        Ok(Ended { folder: self.folder, state: self.state })
    }
}

/// Makes an output, whose path comes second, of rows.
pub(super) type Assemble<'a> = &'a dyn Fn(&Path, &Path) -> Done;

impl Ended {
    /// Puts the files in their places. Where the output is not the rows themselves, `assemble` makes the second file
    /// of the first. May be done again after a kill.
    pub(super) fn publish(&self, assemble: Option<Assemble<'_>>) -> Done {
        let Folder { path, output, .. } = &self.folder;
        let failed = |error: io::Error| self.folder.failed(&error);
        let (rows, refused, assembled) =
            (path.join(ROWS), path.join(REFUSED), path.join(ASSEMBLED));
        if self.state.refused > 0 && refused.exists() {
            std::fs::rename(&refused, rejected(output)).map_err(failed)?;
        }
        if rows.exists() {
            match assemble {
                None => std::fs::rename(&rows, output).map_err(failed)?,
                Some(assemble) => {
                    assemble(&rows, &assembled)?;
                    let place = || {
                        File::open(&assembled)?.sync_all()?;
                        std::fs::rename(&assembled, output)
                    };
                    place().map_err(failed)?;
                }
            }
        }
        sync_folder(output).map_err(failed)
    }

    /// Removes what the job no longer needs, its secret first.
    pub(super) fn clear(self) -> Done<State> {
        let remove = || {
            self.folder.clear()?;
            std::fs::remove_dir_all(&self.folder.path)?;
            sync_folder(&self.folder.output)
        };
        remove().map_err(|error| self.folder.failed(&error))?;
        Ok(self.state)
    }

    pub(super) fn output(&self) -> &Path {
        &self.folder.output
    }
}

impl Folder {
    fn open(output: &Path) -> Done<Self> {
        let path = output.with_added_extension("cape-job");
        let open = || {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&path)?;
            private().write(true).create(true).truncate(false).open(path.join(LOCK))
        };
        let lock = open().map_err(|error| cannot_write(&path, &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, output: output.to_owned(), _lock: lock }),
            Err(std::fs::TryLockError::WouldBlock) => Err(Failure::new(
                format!("another run is making {}", output.display()),
                "wait for it, or stop it; then run this again",
            )),
            Err(std::fs::TryLockError::Error(error)) => Err(cannot_write(&path, &error)),
        }
    }

    /// The last checkpoint, if there is one.
    fn state(&self) -> Done<Option<State>> {
        let bytes = match std::fs::read(self.path.join(STATE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed(&error)),
        };
        let state = serde_json::from_slice(&bytes).map_err(|_| {
            Failure::new(
                format!("{} cannot be read", self.path.join(STATE).display()),
                "another version of cape may have written it; remove the folder to begin anew",
            )
        })?;
        Ok(Some(state))
    }

    /// Writes a checkpoint, whole or not at all.
    fn write(&self, state: &State) -> io::Result<()> {
        let (new, path) = (self.path.join(NEW_STATE), self.path.join(STATE));
        let mut file = private().write(true).create(true).truncate(true).open(&new)?;
        file.write_all(crate::output::json(state).as_bytes())?;
        file.sync_all()?;
        std::fs::rename(new, &path)?;
        sync_folder(&path)
    }

    fn refuse_to_overwrite(&self) -> Done {
        let taken = [self.output.clone(), rejected(&self.output)];
        let Some(taken) = taken.iter().find(|path| path.exists()) else { return Ok(()) };
        let _ = std::fs::remove_dir_all(&self.path);
        Err(Failure::new(
            format!("{} exists already", taken.display()),
            "name another file, or remove this one; the same prompts perturbed again spend ε again",
        ))
    }

    /// Removes all files but the lock: the secret first, and the state, which says what they mean, last.
    fn clear(&self) -> io::Result<()> {
        for name in [SECRET, ROWS, REFUSED, ASSEMBLED, NEW_STATE, STATE] {
            match std::fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Failure {
        cannot_write(&self.path, error)
    }
}

fn cannot_write(folder: &Path, error: &io::Error) -> Failure {
    io(format!("cannot write to {}", folder.display()), error)
}

/// The file that lists the rows that were refused.
pub(super) fn rejected(output: &Path) -> PathBuf {
    output.with_added_extension("rejected.jsonl")
}

/// A file that its owner alone can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Has the disk keep the names in the folder of a file.
fn sync_folder(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}
