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
mod compact;
mod format;
mod gather;
mod layout;
mod npy;
mod progress;
mod source;
mod stream;
mod text;
mod word_list;

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::Path;

use cape::tokens::Embeddings;
use ring::digest::{Context, SHA256};

use self::format::{Format, HEAD};
use self::gather::Gather;
use self::layout::{LARGEST_DIM, fault};
use self::progress::Tell;
use self::source::{Source, Stamp};
use self::stream::Take;
use crate::checksum;
use crate::error::{Error, Result};
use crate::files::{self, replace};

pub use self::gather::{CompactFile, SkippedWords, Vectors};
pub use self::progress::{LoadPhase, LoadProgress};
pub use self::word_list::WordList;

/// No list of as many words as a file may have comes near this size.
const LARGEST_LIST: u64 = 1 << 30;

impl Vectors {
    /// The most numbers that a vector may have.
    pub const LARGEST_DIM: usize = LARGEST_DIM;

    /// Loads the vectors of a file: from its compact file where there is one that fits, which is made
    /// where not.
    pub fn load(path: &Path, progress: &mut dyn FnMut(LoadProgress)) -> Result<Self> {
        let kept = compact::beside(path);
        if !path.exists() && kept.is_file() {
            return compact::read(&kept, progress);
        }
        // looked at before it is opened, and again when it was read: it may be replaced meanwhile
        let mut sources = vec![Source::of(path)?];
        let (mut file, len) = files::open(path, u64::MAX)?;
        let io = Error::io(path);
        let mut head = Vec::new();
        (&mut file).take(HEAD).read_to_end(&mut head).map_err(io)?;
        let format = Format::of(&head, len).map_err(|why| fault(path, why))?;
        drop(head);
        if format == Format::Compact {
            return compact::read(path, progress);
        }
        file.rewind().map_err(io)?;
        if let Format::Npy(_) = format {
            sources.push(list(path)?);
        }
        replace::clear(&kept);
        // something of this name that is no file is met with again when it is to be replaced
        let spoilt = if kept.is_file() {
            match compact::reuse(&kept, &sources, progress) {
                Ok(vectors) => return Ok(vectors),
                Err(error) => Some(reason(&error)),
            }
        } else {
            None
        };
        let (gathered, stamps) = convert(file, format, &sources, progress)?;
        let written =
            replace::with(&kept, |file| compact::write(&gathered, &stamps, file, progress));
        let (checksum, compact) = match (written, spoilt) {
            (Ok(checksum), None) => (checksum, CompactFile::Made),
            (Ok(checksum), Some(why)) => (checksum, CompactFile::Remade(why)),
            (Err(error), _) => {
                let sum = compact::write(&gathered, &stamps, &mut std::io::sink(), progress);
                (sum.map_err(io)?, CompactFile::NotWritten(error.to_string()))
            }
        };
        let Gather { words, rows, dim, skipped, .. } = gathered;
        Ok(Self { words, rows: Embeddings::new(rows, dim), checksum, skipped, compact })
    }
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
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<(Gather, Vec<Stamp>)> {
    let source = &sources[0];
    let (path, len) = (source.path(), source.len());
    let wrong = |why| fault(path, why);
    let mut tell = Tell::new(LoadPhase::Reading, len, progress);
    let mut run = |taker: &mut dyn Take| {
        stream::run((path, &mut file), len, taker, &mut tell).map(checksum::finish)
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
            let mut sum = Context::new(&SHA256);
            sum.update(&words);
            sums.push(checksum::finish(sum));
            gather
        }
        Format::Compact => return Err(wrong("it was made of another file".into())),
    };
    if gathered.words.is_empty() {
        return Err(wrong("it has no word that could be used".into()));
    }
    gathered.rows.shrink_to_fit();
    let stamps = sources.iter().zip(sums).map(|(source, sum)| source.stamp(sum));
    Ok((gathered, stamps.collect::<Result<_>>()?))
}

/// The reason why a compact file cannot be used.
fn reason(error: &Error) -> String {
    match error {
        Error::Vectors { why, .. } => why.clone(),
        Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}
