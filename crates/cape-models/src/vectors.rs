//! Word vectors: GloVe's, word2vec's, fastText's, or an array of NumPy's with a list of words.
//!
//! The first time, a file is read in blocks and made into a compact one beside it, `FILE.cape`, which
//! later runs read in its place: a text of 5.6 GB becomes 2.7 GB that need no parsing. It is only used
//! while its source is the same, and may stand alone where the source is gone.
//!
//! | format | told by |
//! |---|---|
//! | word2vec and fastText text | a first line of two integers, then lines |
//! | word2vec binary | a first line of two integers, then bytes that no text has |
//! | NumPy, f16, f32 or f64, in C order | its magic; the words are in the file of the same name ending in `.txt`, one a line |
//! | GloVe text | anything else |

mod binary;
mod cache;
mod format;
mod gather;
mod npy;
mod source;
mod stream;
mod text;
mod words;

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::Path;

use cape::model::Embeddings;

use self::format::{Format, HEAD};
use self::gather::Gather;
use self::source::{Source, Stamp};
use self::stream::Take;
use crate::files;
use crate::replace;
use crate::{Error, Result};

pub use self::gather::Skipped;
pub use self::words::Words;

/// The most words that a file may have.
pub const MOST_WORDS: usize = 16_000_000;
/// The most numbers that a vector may have.
pub const LARGEST_DIM: usize = 4096;

/// No list of [`MOST_WORDS`] words comes near this.
const LARGEST_LIST: u64 = 1 << 30;

/// Words with a vector each, in the order of the file.
pub struct Vectors {
    /// The words: each once, and none with white space or control characters in it.
    pub words: Words,
    /// Their vectors, all finite.
    pub rows: Embeddings,
    /// The SHA-256 of words and rows: what is computed from them can be kept under it.
    pub checksum: [u8; 32],
    /// What the file had beyond them.
    pub skipped: Skipped,
    /// What became of the compact file.
    pub cache: Cache,
}

/// What became of the compact file beside a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cache {
    /// It was there, and was read.
    Read,
    /// It was not there, and is now.
    Made,
    /// It could not be used, for this reason, and was made anew.
    Remade(String),
    /// It could not be written, for this reason: the source will be read again next time.
    NotWritten(String),
}

/// How far a load has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done; a load may go through several phases.
    pub phase: Phase,
    /// Bytes done of this phase.
    pub done: u64,
    /// Bytes that it has.
    pub total: u64,
}

/// What a load is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Comparing a source, whose time has changed, with what the compact file was made of.
    Comparing,
    /// Reading the compact file.
    Checking,
    /// Reading the source.
    Reading,
    /// Writing the compact file, or at least its checksum.
    Writing,
}

/// What is wrong with a file.
type Fallible<T> = std::result::Result<T, String>;

/// Loads the vectors of a file, from what was made of it if that is there, and makes that if not.
pub fn load(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Vectors> {
    let kept = cache::beside(path);
    if !path.exists() && kept.is_file() {
        return cache::read(&kept, progress);
    }
    // looked at before it is opened, and again when it was read: it may be replaced meanwhile
    let mut sources = vec![Source::of(path)?];
    let (mut file, len) = files::open(path, u64::MAX)?;
    let io = |source| Error::Io { path: path.into(), source };
    let mut head = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut head).map_err(io)?;
    let format = Format::of(&head, len).map_err(|why| fault(path, why))?;
    drop(head);
    if format == Format::Cache {
        return cache::read(path, progress);
    }
    file.rewind().map_err(io)?;
    if let Format::Npy(_) = format {
        sources.push(list(path)?);
    }
    replace::clear(&kept);
    // something of this name that is no file is met with again when it is to be replaced
    let spoilt = if kept.is_file() {
        match cache::reuse(&kept, &sources, progress) {
            Ok(vectors) => return Ok(vectors),
            Err(error) => Some(reason(&error)),
        }
    } else {
        None
    };
    let (gathered, stamps) = convert(file, format, &sources, progress)?;
    let written = replace::with(&kept, |file| cache::write(&gathered, &stamps, file, progress));
    let (checksum, cache) = match (written, spoilt) {
        (Ok(checksum), None) => (checksum, Cache::Made),
        (Ok(checksum), Some(why)) => (checksum, Cache::Remade(why)),
        (Err(error), _) => {
            let sum = cache::write(&gathered, &stamps, &mut std::io::sink(), progress);
            (sum.map_err(io)?, Cache::NotWritten(error.to_string()))
        }
    };
    let Gather { words, rows, dim, skipped, .. } = gathered;
    Ok(Vectors { words, rows: Embeddings::new(rows, dim), checksum, skipped, cache })
}

/// The list of words that belongs to an array.
fn list(path: &Path) -> Result<Source> {
    let list = path.with_extension("txt");
    match Source::of(&list) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            let name = list.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Err(fault(path, format!("its words should be in {name} beside it, one a line")))
        }
        other => other,
    }
}

/// Reads a source from end to end.
fn convert(
    mut file: File,
    format: Format,
    sources: &[Source],
    progress: &mut dyn FnMut(Progress),
) -> Result<(Gather, Vec<Stamp>)> {
    let source = &sources[0];
    let (path, len) = (source.path(), source.len());
    let wrong = |why| fault(path, why);
    let mut tell = Tell::new(Phase::Reading, len, progress);
    let mut run = |taker: &mut dyn Take| {
        stream::run((path, &mut file), len, taker, &mut tell).map(stream::digest)
    };
    let mut sums = Vec::new();
    let mut gathered = match format {
        Format::Text(layout) => {
            let mut gather = Gather::new(layout.dim).map_err(wrong)?;
            sums.push(run(&mut text::Text::new(layout, len, &mut gather))?);
            gather
        }
        Format::Binary(layout) => {
            let mut gather = Gather::new(layout.dim).map_err(wrong)?;
            sums.push(run(&mut binary::Binary::new(&layout, &mut gather).map_err(wrong)?)?);
            gather
        }
        Format::Npy(header) => {
            let words = files::read(sources[1].path(), LARGEST_LIST)?;
            let mut gather = Gather::new(header.dim).map_err(wrong)?;
            sums.push(run(&mut npy::Npy::new(&header, &words, &mut gather).map_err(wrong)?)?);
            let mut sum = ring::digest::Context::new(&ring::digest::SHA256);
            sum.update(&words);
            sums.push(stream::digest(sum));
            gather
        }
        Format::Cache => return Err(wrong("it was made of another file".into())),
    };
    if gathered.words.is_empty() {
        return Err(wrong("it has no word that could be used".into()));
    }
    gathered.rows.shrink_to_fit();
    let stamps = sources.iter().zip(sums).map(|(source, sum)| source.stamp(sum));
    Ok((gathered, stamps.collect::<Result<_>>()?))
}

fn fault(path: &Path, why: String) -> Error {
    Error::Vectors { path: path.into(), why }
}

/// What an error says of a compact file.
fn reason(error: &Error) -> String {
    match error {
        Error::Vectors { why, .. } => why.clone(),
        Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// Someone to be told how far a phase has come.
struct Tell<'p> {
    to: &'p mut dyn FnMut(Progress),
    progress: Progress,
}

impl<'p> Tell<'p> {
    fn new(phase: Phase, total: u64, to: &'p mut dyn FnMut(Progress)) -> Self {
        Self { to, progress: Progress { phase, done: 0, total } }
    }

    fn add(&mut self, bytes: u64) {
        self.progress.done += bytes;
        (self.to)(self.progress);
    }
}
