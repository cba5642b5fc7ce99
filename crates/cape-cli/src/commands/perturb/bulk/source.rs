//! Where rows come from: a file or stdin, of which a bounded part is in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use csv::ByteRecord;

use super::form::{Form, Raw};
#[cfg(feature = "parquet")]
use super::parquet::Values;
use crate::args::FileFormat;
use crate::failure::{Done, Failure, io};

/// The longest row, in bytes.
const LONGEST: u64 = 1 << 26;

/// The rows of an input, one after the other.
pub(super) enum Source {
    Lines {
        reader: Box<dyn BufRead + Send>,
        offset: u64,
    },
    Records {
        reader: csv::Reader<Bounded>,
        base: u64,
    },
    #[cfg(feature = "parquet")]
    Values(Box<Values>),
}

/// The beginning of what an output holds, whatever the rows are.
pub(super) struct Opened {
    pub(super) source: Source,
    /// The header of the output.
    pub(super) head: Vec<u8>,
    /// What [`Source::at`] gives at the end, where it is known.
    pub(super) end: Option<u64>,
}

impl Source {
    /// Opens an input; a form learns of its columns.
    pub(super) fn open(path: &Path, form: &mut Form) -> Done<Opened> {
        let failed = |error: io::Error| io_of(path, &error);
        let is_stdin = is_pipe(path);
        if form.format == FileFormat::Parquet {
            if is_stdin {
                return Err(Failure::usage(
                    "Parquet cannot be read from stdin",
                    "its contents are listed at its end: give a file",
                ));
            }
            return parquet(path, form);
        }
        let (input, end): (Box<dyn Read + Send>, _) = if is_stdin {
            let file = std::fs::metadata("/dev/stdin").ok().filter(std::fs::Metadata::is_file);
            (Box::new(io::stdin()), file.map(|file| file.len()))
        } else {
            let file = File::open(path).map_err(failed)?;
            let end = file.metadata().map_err(failed)?.len();
            (Box::new(file), Some(end))
        };
        let mut source = Self::begin(input, form.format);
        let mut head = Vec::new();
        if let Self::Records { reader, .. } = &mut source {
            let mut header = ByteRecord::new();
            if !reader.read_byte_record(&mut header).map_err(|error| table(path, error))? {
                return Err(Failure::new("the file is empty", "a table begins with a header"));
            }
            reader.get_mut().since = 0;
            head = form.head(&header)?;
        }
        Ok(Opened { source, head, end })
    }

    fn begin(input: Box<dyn Read + Send>, format: FileFormat) -> Self {
        match format {
            FileFormat::Csv => Self::Records { reader: records(input), base: 0 },
            _ => Self::Lines {
                reader: Box::new(BufReader::with_capacity(1 << 18, input)),
                offset: 0,
            },
        }
    }

    /// Goes on after so many rows, which end at `at`.
    pub(super) fn skip_to(&mut self, path: &Path, at: u64) -> Done {
        let failed = |error: io::Error| io_of(path, &error);
        let seek = || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(at))?;
            Ok::<_, io::Error>(file)
        };
        match self {
            Self::Lines { reader, offset } => {
                *reader = Box::new(BufReader::with_capacity(1 << 18, seek().map_err(failed)?));
                *offset = at;
            }
            Self::Records { reader, base } => {
                *reader = records(Box::new(seek().map_err(failed)?));
                *base = at;
            }
            #[cfg(feature = "parquet")]
            Self::Values(values) => values.skip_to(at)?,
        }
        Ok(())
    }

    /// How much of the input was read: bytes, or rows of columns.
    pub(super) fn at(&self) -> u64 {
        match self {
            Self::Lines { offset, .. } => *offset,
            Self::Records { reader, base } => base + reader.position().byte(),
            #[cfg(feature = "parquet")]
            Self::Values(values) => values.at(),
        }
    }

    /// The next row.
    pub(super) fn next(&mut self, path: &Path) -> Done<Option<Raw>> {
        match self {
            Self::Lines { reader, offset } => {
                let (raw, read) = next_line(reader).map_err(|error| io_of(path, &error))?;
                *offset += read;
                Ok(raw)
            }
            Self::Records { reader, .. } => {
                let mut record = ByteRecord::new();
                let is_there =
                    reader.read_byte_record(&mut record).map_err(|error| table(path, error))?;
                reader.get_mut().since = 0;
                Ok(is_there.then_some(Raw::Record(record)))
            }
            #[cfg(feature = "parquet")]
            Self::Values(values) => values.next(),
        }
    }
}

impl Raw {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Line(line) => line.len(),
            Self::Record(record) => record.as_slice().len(),
            Self::Value(value) => value.as_ref().map_or(0, Vec::len),
            Self::TooLong => 0,
        }
    }
}

/// Whether a name stands for stdin or stdout.
pub(super) fn is_pipe(path: &Path) -> bool {
    path.as_os_str() == "-"
}

#[cfg(feature = "parquet")]
fn parquet(path: &Path, form: &Form) -> Done<Opened> {
    let values = Values::open(path, form)?;
    let end = Some(values.rows());
    Ok(Opened { source: Source::Values(Box::new(values)), head: Vec::new(), end })
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &Path, _: &Form) -> Done<Opened> {
    Err(Failure::usage(
        "this program was built without Parquet",
        "build it with the feature parquet, which is on by default",
    ))
}

fn io_of(path: &Path, error: &io::Error) -> Failure {
    let name = if is_pipe(path) { "stdin".into() } else { path.display().to_string() };
    io(format!("cannot read {name}"), error)
}

/// An error of the reader of tables, which could quote the row.
fn table(path: &Path, error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => Failure::new(
            format!("a row of the table is longer than {LONGEST} bytes"),
            "perhaps a quotation mark is not closed",
        ),
        csv::ErrorKind::Io(error) => io_of(path, &error),
        _ => Failure::new("the table cannot be read", "it takes comma-separated values"),
    }
}

/// The next line without its end, and how many bytes were read.
fn next_line(reader: &mut impl BufRead) -> io::Result<(Option<Raw>, u64)> {
    let mut line = Vec::new();
    let mut read = reader.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line)? as u64;
    if read == 0 {
        return Ok((None, 0));
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if read > LONGEST {
        read += skip_line(reader)?;
        return Ok((Some(Raw::TooLong), read));
    }
    Ok((Some(Raw::Line(line)), read))
}

/// Reads to the end of a line, and keeps nothing of it.
fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let part = reader.fill_buf()?;
        let end = part.iter().position(|&byte| byte == b'\n');
        let length = end.map_or(part.len(), |end| end + 1);
        reader.consume(length);
        skipped += length as u64;
        if end.is_some() || length == 0 {
            return Ok(skipped);
        }
    }
}

fn records(input: Box<dyn Read + Send>) -> csv::Reader<Bounded> {
    // rows of another length than the header's are told one by one
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(1 << 18)
        .from_reader(Bounded { input, since: 0 })
}

/// An input that ends with an error where a row does not end: the rest of a file would be held in memory.
pub(super) struct Bounded {
    input: Box<dyn Read + Send>,
    /// The number of bytes read since the last row ended.
    since: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since > LONGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let read = self.input.read(buffer)?;
        self.since += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::FileArgs;

    fn args(input: &Path, field: Option<&str>) -> FileArgs {
        FileArgs {
            input: Some(input.to_owned()),
            output: None,
            field: field.map(str::to_owned),
            pass: Vec::new(),
            file_format: None,
            separate: false,
        }
    }

    fn bytes(raw: Raw) -> Vec<u8> {
        match raw {
            Raw::Line(line) => line,
            Raw::Record(record) => record.iter().collect::<Vec<_>>().join(&b'|'),
            Raw::Value(_) | Raw::TooLong => Vec::new(),
        }
    }

    /// Whatever row a reader begins with, it reads the rest as one does that began at the beginning.
    #[test]
    fn reading_goes_on_at_any_row() {
        let dir = tempfile::tempdir().unwrap();
        for (name, field, content) in [
            ("a.txt", None, "one\n\ntwo\r\n three\nlast".as_bytes()),
            ("b.txt", None, b"one\nlast\n\n"),
            ("a.csv", Some("p"), b"\xef\xbb\xbfp,q\n1,\"a\n\"\"b\"\r\n\r\n2,\n3\n\"x,y\",4"),
        ] {
            let path = dir.path().join(name);
            std::fs::write(&path, content).unwrap();
            let open = || {
                let mut form = Form::new(&args(&path, field)).unwrap();
                let opened = Source::open(&path, &mut form).unwrap();
                assert_eq!(opened.end, Some(content.len() as u64));
                opened.source
            };
            let mut source = open();
            let (mut rows, mut ends) = (Vec::new(), Vec::new());
            while let Some(raw) = source.next(&path).unwrap() {
                rows.push(bytes(raw));
                ends.push(source.at());
            }
            assert!(rows.len() >= 3 && ends.last() == Some(&(content.len() as u64)), "{name}");
            for (i, &end) in ends.iter().enumerate() {
                let mut source = open();
                source.skip_to(&path, end).unwrap();
                for (row, &end) in rows.iter().zip(&ends).skip(i + 1) {
                    assert_eq!(&bytes(source.next(&path).unwrap().unwrap()), row, "{name} {i}");
                    assert_eq!(source.at(), end, "{name} {i}");
                }
                assert!(source.next(&path).unwrap().is_none());
            }
        }
    }

    #[test]
    fn a_row_without_an_end_is_not_held_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let long = vec![b'a'; LONGEST as usize + (1 << 20)];
        let path = dir.path().join("a.txt");
        std::fs::write(&path, [&long[..], b"\nnext\n"].concat()).unwrap();
        let mut form = Form::new(&args(&path, None)).unwrap();
        let mut source = Source::open(&path, &mut form).unwrap().source;
        assert!(matches!(source.next(&path).unwrap(), Some(Raw::TooLong)));
        assert!(matches!(source.next(&path).unwrap(), Some(Raw::Line(line)) if line == b"next"));
        let path = dir.path().join("a.csv");
        std::fs::write(&path, [b"p,q\n1,\"", &long[..]].concat()).unwrap();
        let mut form = Form::new(&args(&path, Some("p"))).unwrap();
        let mut source = Source::open(&path, &mut form).unwrap().source;
        assert!(source.next(&path).is_err());
    }
}
