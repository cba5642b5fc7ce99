//! Parquet: one column of prompts is read and written anew, columns that pass are copied as they are stored.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::form::{Form, Raw, read_value};
use crate::failure::{Done, Failure, io};

/// How many values are read at once.
const AT_ONCE: usize = 1024;

/// The values of the column of prompts, one after the other.
pub(super) struct Values {
    file: SerializedFileReader<File>,
    column: usize,
    /// The row group that is read, and its number.
    group: Option<ColumnReaderImpl<ByteArrayType>>,
    next_group: usize,
    /// Values that were read and not given.
    ready: std::vec::IntoIter<Option<Vec<u8>>>,
    at: u64,
}

impl Values {
    pub(super) fn open(path: &Path, form: &Form) -> Done<Self> {
        let file = open(path)?;
        let column = prompt_column(file.metadata(), &form.field)?;
        for name in &form.pass {
            if !leaves(file.metadata()).any(|(_, root)| root == name) {
                return Err(no_column(name));
            }
        }
        let ready = Vec::new().into_iter();
        Ok(Self { file, column, group: None, next_group: 0, ready, at: 0 })
    }

    pub(super) fn rows(&self) -> u64 {
        self.file.metadata().file_metadata().num_rows().cast_unsigned()
    }

    /// How many values were given.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Goes on with this row.
    pub(super) fn skip_to(&mut self, row: u64) -> Done {
        (self.group, self.next_group, self.ready) = (None, 0, Vec::new().into_iter());
        let mut left = row;
        while left > 0 {
            let Some(group) = self.file.metadata().row_groups().get(self.next_group) else { break };
            let rows = group.num_rows().cast_unsigned();
            if left < rows {
                self.open_group()?;
                if let Some(group) = &mut self.group {
                    group.skip_records(left as usize).map_err(broken)?;
                }
                break;
            }
            self.next_group += 1;
            left -= rows;
        }
        self.at = row;
        Ok(())
    }

    fn open_group(&mut self) -> Done {
        let group = self.file.get_row_group(self.next_group).map_err(broken)?;
        match group.get_column_reader(self.column).map_err(broken)? {
            ColumnReader::ByteArrayColumnReader(reader) => self.group = Some(reader),
            _ => return Err(not_text()),
        }
        self.next_group += 1;
        Ok(())
    }

    /// The next row of the column.
    pub(super) fn next(&mut self) -> Done<Option<Raw>> {
        loop {
            if let Some(value) = self.ready.next() {
                self.at += 1;
                return Ok(Some(Raw::Value(value)));
            }
            let Some(group) = &mut self.group else {
                if self.next_group >= self.file.num_row_groups() {
                    return Ok(None);
                }
                self.open_group()?;
                continue;
            };
            let (mut levels, mut values) = (Vec::new(), Vec::new());
            let read = group.read_records(AT_ONCE, Some(&mut levels), None, &mut values);
            let (records, ..) = read.map_err(broken)?;
            if records == 0 {
                self.group = None;
                continue;
            }
            let mut values = values.into_iter().map(|value: ByteArray| value.data().to_vec());
            // a column that cannot be null has no levels
            levels.resize(records, 1);
            let ready = levels.iter().map(|&level| if level == 1 { values.next() } else { None });
            self.ready = ready.collect::<Vec<_>>().into_iter();
        }
    }
}

/// Makes a Parquet file of the released values, which were written by [`Form::render`], and of the columns that
/// pass, which are copied byte for byte. Nothing else of the input comes along: its metadata may hold anything.
pub(super) fn assemble(input: &Path, form: &Form, rows: &Path, output: &Path) -> Done {
    let reader = open(input)?;
    let stored = File::open(input).map_err(|error| cannot_read(input, &error))?;
    let metadata = reader.metadata();
    let prompt = prompt_column(metadata, &form.field)?;
    let goes = |root: &str| root == form.field || form.pass.iter().any(|name| name == root);
    let schema = schema(metadata, form)?;
    let properties =
        WriterProperties::builder().set_compression(compression(metadata, prompt)).build();
    let values = File::open(rows).map_err(|error| cannot_read(rows, &error))?;
    let mut values = BufReader::with_capacity(1 << 18, values);
    let file = File::create(output).map_err(|error| cannot_read(output, &error))?;
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(broken)?;
    for group in metadata.row_groups() {
        let mut out = writer.next_row_group().map_err(broken)?;
        let count = group.num_rows().cast_unsigned() as usize;
        for (column, root) in leaves(metadata) {
            if column == prompt {
                write_values(&mut out, &mut values, count, rows)?;
            } else if goes(root) {
                let chunk = group.column(column);
                let close = ColumnCloseResult {
                    bytes_written: chunk.compressed_size().cast_unsigned(),
                    rows_written: group.num_rows().cast_unsigned(),
                    metadata: chunk.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                out.append_column(&stored, close).map_err(broken)?;
            }
        }
        out.close().map_err(broken)?;
    }
    writer.close().map_err(broken)?;
    Ok(())
}

/// Writes the released values of a row group.
fn write_values(
    out: &mut SerializedRowGroupWriter<'_, File>,
    values: &mut BufReader<File>,
    count: usize,
    rows: &Path,
) -> Done {
    let mut column = out.next_column().map_err(broken)?.ok_or_else(not_text)?;
    let mut left = count;
    while left > 0 {
        let (mut levels, mut batch) = (Vec::new(), Vec::new());
        for _ in 0..left.min(AT_ONCE) {
            let value = read_value(values).map_err(|error| cannot_read(rows, &error))?;
            levels.push(i16::from(value.is_some()));
            batch.extend(value.map(ByteArray::from));
        }
        left -= levels.len();
        let typed = column.typed::<ByteArrayType>();
        typed.write_batch(&batch, Some(&levels), None).map_err(broken)?;
    }
    column.close().map_err(broken)
}

fn open(path: &Path) -> Done<SerializedFileReader<File>> {
    let file = File::open(path).map_err(|error| cannot_read(path, &error))?;
    SerializedFileReader::new(file).map_err(broken)
}

/// The columns as they are stored, each with the name of the field that it belongs to.
fn leaves(metadata: &ParquetMetaData) -> impl Iterator<Item = (usize, &str)> {
    let columns = metadata.file_metadata().schema_descr().columns().iter().enumerate();
    columns.map(|(i, column)| (i, column.path().parts()[0].as_str()))
}

/// The number of the column of prompts, which must be text at the top.
fn prompt_column(metadata: &ParquetMetaData, field: &str) -> Done<usize> {
    let (column, _) =
        leaves(metadata).find(|(_, root)| *root == field).ok_or_else(|| no_column(field))?;
    let about = metadata.file_metadata().schema_descr().column(column);
    let is_readable = |compression| {
        matches!(
            compression,
            Compression::UNCOMPRESSED
                | Compression::SNAPPY
                | Compression::GZIP(_)
                | Compression::LZ4
                | Compression::LZ4_RAW
        )
    };
    if !metadata.row_groups().iter().all(|group| is_readable(group.column(column).compression())) {
        return Err(Failure::new(
            "the column of prompts is compressed in a way that cape does not read",
            "write the file with Snappy, GZIP or LZ4; columns that pass may be compressed in any way",
        ));
    }
    let is_plain = about.path().parts().len() == 1
        && about.max_rep_level() == 0
        && about.max_def_level() <= 1
        && about.physical_type() == Physical::BYTE_ARRAY;
    if is_plain { Ok(column) } else { Err(not_text()) }
}

/// The fields of the output, in the order of the input. Prompts may be null, since rows may be refused.
fn schema(metadata: &ParquetMetaData, form: &Form) -> Done<TypePtr> {
    let root = metadata.file_metadata().schema();
    let text = Type::primitive_type_builder(&form.field, Physical::BYTE_ARRAY)
        .with_logical_type(Some(LogicalType::String))
        .with_repetition(Repetition::OPTIONAL)
        .build();
    let text = Arc::new(text.map_err(broken)?);
    let fields = root.get_fields().iter().filter_map(|field| {
        if field.name() == form.field {
            Some(Arc::clone(&text))
        } else {
            form.pass.iter().any(|name| name == field.name()).then(|| Arc::clone(field))
        }
    });
    let schema = Type::group_type_builder("schema").with_fields(fields.collect()).build();
    Ok(Arc::new(schema.map_err(broken)?))
}

/// The compression of the column of prompts in the input, so far as it can be written.
fn compression(metadata: &ParquetMetaData, prompt: usize) -> Compression {
    let first = metadata.row_groups().first().map(|group| group.column(prompt).compression());
    match first {
        Some(other @ (Compression::UNCOMPRESSED | Compression::LZ4_RAW)) => other,
        _ => Compression::SNAPPY,
    }
}

/// An error of the library, which may quote what it read.
#[expect(clippy::needless_pass_by_value, reason = "it is what a result holds")]
fn broken(error: ParquetError) -> Failure {
    let what = match error {
        ParquetError::NYI(_) => "the Parquet file has something that cape does not read",
        _ => "the Parquet file cannot be read or written",
    };
    Failure::new(what, "check it with another program; what is encrypted cannot be read")
}

fn not_text() -> Failure {
    Failure::new(
        "the column is not one of strings",
        "--field takes a column of strings at the top level",
    )
}

fn no_column(name: &str) -> Failure {
    Failure::new(
        format!("the file has no column {name}"),
        "--field and --pass name columns as the file has them",
    )
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    io(format!("cannot use {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use parquet::data_type::Int64Type;
    use parquet::schema::parser::parse_message_type;
    use proptest::prelude::*;

    use super::*;
    use crate::args::FileFormat;

    const SCHEMA: &str = "message schema {
        REQUIRED INT64 id;
        OPTIONAL BYTE_ARRAY prompt (STRING);
        OPTIONAL BYTE_ARRAY canary (STRING);
        OPTIONAL GROUP tags (LIST) { REPEATED GROUP list { OPTIONAL INT64 element; } }
    }";

    type Row = (i64, Option<String>);

    /// A file with these row groups; a list of as many numbers as the id has ones, and a column that must not pass.
    fn write(path: &Path, groups: &[Vec<Row>], compression: Compression) {
        let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let file = File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
        for rows in groups {
            let mut group = writer.next_row_group().unwrap();
            let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
            column.close().unwrap();
            for canary in [false, true] {
                let text = |text: &String| ByteArray::from(if canary { "canary" } else { text });
                let texts: Vec<ByteArray> =
                    rows.iter().filter_map(|(_, t)| t.as_ref().map(text)).collect();
                let levels: Vec<i16> = rows.iter().map(|(_, t)| i16::from(t.is_some())).collect();
                let mut column = group.next_column().unwrap().unwrap();
                column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None).unwrap();
                column.close().unwrap();
            }
            let (mut values, mut definitions, mut repetitions) = (vec![], vec![], vec![]);
            for id in &ids {
                let count = id.count_ones() as usize % 4;
                definitions.extend(if count == 0 { vec![1] } else { vec![3; count] });
                repetitions.extend((0..count.max(1)).map(|i| i16::from(i > 0)));
                values.extend(vec![*id; count]);
            }
            let mut column = group.next_column().unwrap().unwrap();
            let typed = column.typed::<Int64Type>();
            typed.write_batch(&values, Some(&definitions), Some(&repetitions)).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        writer.close().unwrap();
    }

    fn form(pass: &[&str]) -> Form {
        Form::of(FileFormat::Parquet, "prompt", pass)
    }

    /// All rows as the library itself shows them.
    fn shown(path: &Path) -> Vec<String> {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
    }

    fn groups() -> impl Strategy<Value = Vec<Vec<Row>>> {
        let row = (any::<i64>(), proptest::option::of("[a-zé]{0,9}"));
        proptest::collection::vec(proptest::collection::vec(row, 1..9), 0..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn a_column_is_replaced_and_the_others_pass_or_are_gone(
            groups in groups(), codec in 0..4_usize, start in 0..30_u64,
        ) {
            let codec = [
                Compression::UNCOMPRESSED,
                Compression::SNAPPY,
                Compression::LZ4_RAW,
                Compression::GZIP(parquet::basic::GzipLevel::default()),
            ][codec];
            let dir = tempfile::tempdir().unwrap();
            let [input, rows, output] = ["in", "rows", "out"].map(|name| dir.path().join(name));
            write(&input, &groups, codec);
            let all: Vec<Row> = groups.concat();
            let form = form(&["id", "tags"]);
            // all values are read, from any row on
            let mut values = Values::open(&input, &form).unwrap();
            prop_assert_eq!(values.rows(), all.len() as u64);
            let start = start.min(all.len() as u64);
            values.skip_to(start).unwrap();
            for (_, text) in &all[start as usize..] {
                let Some(Raw::Value(read)) = values.next().unwrap() else { panic!() };
                prop_assert_eq!(read, text.clone().map(String::into_bytes));
            }
            prop_assert!(values.next().unwrap().is_none() && values.at() == all.len() as u64);
            // and written in the place of others
            let mut bytes = Vec::new();
            for (_, text) in &all {
                let (rest, text) = form.parse(Raw::Value(text.clone().map(String::into_bytes)));
                let text = text.ok().filter(|text| !text.starts_with('a')).map(|text| text + "!");
                form.render(&rest, text.as_deref(), &mut bytes);
            }
            std::fs::write(&rows, bytes).unwrap();
            assemble(&input, &form, &rows, &output).unwrap();
            let wanted = dir.path().join("wanted");
            let changed = |(id, text): &Row| {
                (*id, text.clone().filter(|text| !text.starts_with('a')).map(|text| text + "!"))
            };
            let groups: Vec<Vec<Row>> =
                groups.iter().map(|rows| rows.iter().map(changed).collect()).collect();
            write(&wanted, &groups, codec);
            let without = |row: &String| {
                row.replace(", canary: \"canary\"", "").replace(", canary: null", "")
            };
            let wanted: Vec<String> = shown(&wanted).iter().map(without).collect();
            prop_assert_eq!(shown(&output), wanted);
            let whole = std::fs::read(&output).unwrap();
            prop_assert!(!whole.windows(6).any(|part| part == b"canary"));
        }
    }

    #[test]
    fn what_is_no_column_of_strings_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in");
        write(&path, &[vec![(1, None)]], Compression::SNAPPY);
        for field in ["id", "tags", "element", "nowhere"] {
            assert!(Values::open(&path, &Form::of(FileFormat::Parquet, field, &[])).is_err());
        }
        assert!(Values::open(&path, &form(&["nowhere"])).is_err());
        let bytes = std::fs::read(&path).unwrap();
        for length in [0, 4, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(Values::open(&path, &form(&[])).is_err(), "{length}");
        }
    }
}
