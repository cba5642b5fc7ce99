//! The formats of rows: which text is the prompt, and how does a release stand in its place?

use std::borrow::Cow;
use std::fmt::Write as _;

use csv::ByteRecord;
use serde::de::IgnoredAny;

use crate::args::{FileArgs, FileFormat};
use crate::failure::{Done, Failure};

/// Why a row has no release: settings and numbers, and never a word of it.
pub(super) type Reason = Cow<'static, str>;

/// A row as it is read.
pub(super) enum Raw {
    /// Of lines.
    Line(Vec<u8>),
    /// Of a table in text.
    Record(ByteRecord),
    /// Of a column.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "files without columns"))]
    Value(Option<Vec<u8>>),
    /// A row that is longer than what is held in memory.
    TooLong,
}

/// What is left of a row beside its prompt.
pub(super) enum Rest {
    Nothing,
    Object(Fields),
    Record(ByteRecord),
}

/// Fields of an object that pass, as they were written; none where the prompt was.
type Fields = Vec<(String, Option<Box<str>>)>;

/// The format of the rows of a job.
pub(super) struct Form {
    pub(super) format: FileFormat,
    /// The field that holds the prompt; empty where a row is nothing else.
    pub(super) field: String,
    /// The fields that are copied.
    pub(super) pass: Vec<String>,
    columns: Columns,
}

/// Columns of a table in text, by their number.
#[derive(Default)]
struct Columns {
    count: usize,
    prompt: usize,
    kept: Vec<usize>,
}

impl Form {
    pub(super) fn new(args: &FileArgs) -> Done<Self> {
        let named = [&args.input, &args.output].into_iter().flatten();
        let format = args.file_format.or_else(|| named.into_iter().find_map(|path| by_name(path)));
        let format = format.ok_or_else(|| {
            Failure::usage(
                "the format of the file is not known",
                "give --file-format jsonl, or another",
            )
        })?;
        let (field, pass) = (args.field.clone().unwrap_or_default(), args.pass.clone());
        match (format, &args.field) {
            (FileFormat::Txt, Some(_)) => {
                return Err(Failure::usage(
                    "--field has no meaning for lines of text",
                    "every line is a prompt; --file-format names another format",
                ));
            }
            (FileFormat::Txt, None) => {}
            (_, None) => {
                return Err(Failure::usage(
                    "--field is missing",
                    "name the field or column that holds the prompt; --pass names those to copy",
                ));
            }
            (_, Some(field)) if pass.contains(field) => {
                return Err(Failure::usage(
                    "--pass names the field of the prompt",
                    "a field is perturbed or copied, not both",
                ));
            }
            (_, Some(_)) => {}
        }
        Ok(Self { format, field, pass, columns: Columns::default() })
    }

    /// Finds the columns of a table, and gives its new header.
    pub(super) fn head(&mut self, header: &ByteRecord) -> Done<Vec<u8>> {
        let find = |name: &str| {
            let mut found = header.iter().enumerate().filter(|(_, own)| *own == name.as_bytes());
            match (found.next(), found.next()) {
                (Some((column, _)), None) => Ok(column),
                (None, _) => Err(missing(name)),
                (Some(_), Some(_)) => Err(Failure::new(
                    format!("two columns have the name {name}"),
                    "give them different names",
                )),
            }
        };
        let prompt = find(&self.field)?;
        let mut kept: Vec<usize> = self.pass.iter().map(|name| find(name)).collect::<Done<_>>()?;
        kept.push(prompt);
        // in the order of the input
        kept.sort_unstable();
        kept.dedup();
        let head = line(kept.iter().map(|&column| &header[column]));
        self.columns = Columns { count: header.len(), prompt, kept };
        Ok(head)
    }

    /// The prompt of a row, or why there is none, and the rest.
    pub(super) fn parse(&self, raw: Raw) -> (Rest, Result<String, Reason>) {
        match (self.format, raw) {
            (_, Raw::TooLong) => (Rest::Nothing, Err("the row is too long".into())),
            (FileFormat::Jsonl, Raw::Line(line)) => {
                let (fields, prompt) = self.object(&line);
                (Rest::Object(fields), prompt)
            }
            (_, Raw::Line(line)) => (Rest::Nothing, utf8(line)),
            (_, Raw::Record(record)) => {
                let prompt = if record.len() == self.columns.count {
                    utf8(record[self.columns.prompt].to_vec())
                } else {
                    Err("the row has more or fewer fields than the header".into())
                };
                (Rest::Record(record), prompt)
            }
            (_, Raw::Value(value)) => {
                (Rest::Nothing, value.ok_or("the field is null".into()).and_then(utf8))
            }
        }
    }

    /// The fields of an object that go to the output, and its prompt.
    fn object(&self, line: &[u8]) -> (Fields, Result<String, Reason>) {
        let Ok(line) = std::str::from_utf8(line) else {
            return (Vec::new(), Err("the row is not UTF-8".into()));
        };
        let Some(all) = fields(line) else {
            return (Vec::new(), Err("the row is not a JSON object".into()));
        };
        let mut prompts = all.iter().filter(|(name, _)| *name == self.field);
        let prompt = match (prompts.next(), prompts.next()) {
            (None, _) => Err("the field is missing".into()),
            (Some(_), Some(_)) => Err("the field is there twice".into()),
            (Some((_, value)), None) => {
                serde_json::from_str(value).map_err(|_| "the field is not a string".into())
            }
        };
        let goes = |(name, value): (String, &str)| {
            let own = name == self.field;
            (own || self.pass.contains(&name)).then(|| (name, (!own).then(|| value.into())))
        };
        (all.into_iter().filter_map(goes).collect(), prompt)
    }

    /// Writes a row with a release, or without one, at the end of `out`.
    pub(super) fn render(&self, rest: &Rest, released: Option<&str>, out: &mut Vec<u8>) {
        match (self.format, rest) {
            (FileFormat::Txt, _) => {
                out.extend_from_slice(released.unwrap_or_default().as_bytes());
                out.push(b'\n');
            }
            (FileFormat::Jsonl, rest) => {
                let none = Vec::new();
                let fields = if let Rest::Object(fields) = rest { fields } else { &none };
                let prompt = || crate::output::json(&released);
                let mut text = String::from("{");
                let mut is_there = false;
                let mut add = |name: &str, value: &str| {
                    let comma = if text.len() > 1 { "," } else { "" };
                    let _ = write!(text, "{comma}{}:{value}", crate::output::json(&name));
                };
                for (name, value) in fields {
                    match value {
                        Some(value) => add(name, value),
                        // a field that was there twice was refused, and stands there once
                        None if is_there => {}
                        None => {
                            add(name, &prompt());
                            is_there = true;
                        }
                    }
                }
                if !is_there {
                    add(&self.field, &prompt());
                }
                out.extend_from_slice(text.as_bytes());
                out.extend_from_slice(b"}\n");
            }
            (FileFormat::Csv, rest) => {
                let Columns { count, prompt, kept } = &self.columns;
                let whole = match rest {
                    Rest::Record(record) if record.len() == *count => Some(record),
                    _ => None,
                };
                let field = |&column: &usize| match whole {
                    _ if column == *prompt => released.unwrap_or_default().as_bytes(),
                    Some(record) => &record[column],
                    None => b"",
                };
                out.extend(line(kept.iter().map(field)));
            }
            (FileFormat::Parquet, _) => write_value(out, released),
        }
    }
}

fn missing(name: &str) -> Failure {
    Failure::new(
        format!("the file has no column {name}"),
        "--field and --pass name columns as the file has them",
    )
}

fn utf8(bytes: Vec<u8>) -> Result<String, Reason> {
    String::from_utf8(bytes).map_err(|_| "the prompt is not UTF-8".into())
}

/// A line of a table in text.
fn line<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // a Vec takes whatever is written
    let _ = writer.write_record(fields);
    writer.into_inner().unwrap_or_default()
}

/// The fields of a JSON object in order, each with its value as it is written: numbers keep all of their digits.
fn fields(line: &str) -> Option<Vec<(String, &str)>> {
    let mut rest = line.trim_ascii().strip_prefix('{')?.trim_ascii_start();
    let mut fields = Vec::new();
    if rest == "}" {
        return Some(fields);
    }
    loop {
        let mut names = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let name = names.next()?.ok()?;
        let after = &rest[names.byte_offset()..];
        let value = after.trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let (value, after) = value.split_at(values.byte_offset());
        fields.push((name, value));
        let after = after.trim_ascii_start();
        if after == "}" {
            return Some(fields);
        }
        rest = after.strip_prefix(',')?.trim_ascii_start();
    }
}

/// A value of a column that is not in its file yet: one byte says whether there is one, four how long it is.
fn write_value(out: &mut Vec<u8>, value: Option<&str>) {
    match value {
        None => out.push(0),
        Some(value) => {
            out.push(1);
            out.extend_from_slice(&(value.len() as u32).to_le_bytes());
            out.extend_from_slice(value.as_bytes());
        }
    }
}

/// Reads what [`write_value`] wrote.
#[cfg(feature = "parquet")]
pub(super) fn read_value(reader: &mut impl std::io::Read) -> std::io::Result<Option<Vec<u8>>> {
    let mut is_there = [0];
    reader.read_exact(&mut is_there)?;
    if is_there == [0] {
        return Ok(None);
    }
    let mut length = [0; 4];
    reader.read_exact(&mut length)?;
    let mut value = vec![0; u32::from_le_bytes(length) as usize];
    reader.read_exact(&mut value)?;
    Ok(Some(value))
}

fn by_name(path: &std::path::Path) -> Option<FileFormat> {
    match path.extension()?.to_str()? {
        "txt" => Some(FileFormat::Txt),
        "jsonl" | "ndjson" => Some(FileFormat::Jsonl),
        "csv" => Some(FileFormat::Csv),
        "parquet" => Some(FileFormat::Parquet),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    impl Form {
        pub(crate) fn of(format: FileFormat, field: &str, pass: &[&str]) -> Self {
            let pass = pass.iter().map(|&name| name.to_owned()).collect();
            Self { format, field: field.into(), pass, columns: Columns::default() }
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            // others are not read again to the last bit
            any::<i32>().prop_map(|n| Value::from(f64::from(n) / 8.0)),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map(".{0,3}", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn an_object_keeps_what_passes_and_nothing_else(
            fields in proptest::collection::btree_map("a|b|c|pro|prompt|[\"\\\\é]", values(), 0..6),
            pretty in any::<bool>(),
            released in proptest::option::of(".*"),
        ) {
            let object: Map<String, Value> = fields.into_iter().collect();
            let text = Value::Object(object.clone());
            // spaces anywhere, but no end of line
            let line = if pretty {
                serde_json::to_string_pretty(&text).unwrap().replace('\n', " ")
            } else {
                text.to_string()
            };
            let form = Form::of(FileFormat::Jsonl, "prompt", &["a", "c", "é"]);
            let (rest, prompt) = form.parse(Raw::Line(line.into_bytes()));
            let wanted = object.get("prompt").and_then(Value::as_str);
            prop_assert_eq!(prompt.as_deref().ok(), wanted);
            let mut out = Vec::new();
            form.render(&rest, released.as_deref(), &mut out);
            prop_assert_eq!(out.iter().position(|&byte| byte == b'\n'), Some(out.len() - 1));
            let read: Map<String, Value> = serde_json::from_slice(&out).unwrap();
            let mut wanted = object;
            wanted.retain(|name, _| ["a", "c", "é"].contains(&name.as_str()));
            wanted.insert("prompt".into(), released.into());
            prop_assert_eq!(read, wanted);
        }

        #[test]
        fn whatever_is_no_object_is_refused(line in proptest::collection::vec(any::<u8>(), 0..40)) {
            let form = Form::of(FileFormat::Jsonl, "prompt", &["a"]);
            let is_object = serde_json::from_slice::<Map<String, Value>>(&line).is_ok();
            let (rest, prompt) = form.parse(Raw::Line(line));
            prop_assert!(is_object || prompt.is_err());
            let mut out = Vec::new();
            form.render(&rest, None, &mut out);
            serde_json::from_slice::<Value>(&out).unwrap();
        }

        #[test]
        fn a_table_keeps_the_columns_that_pass(
            rows in proptest::collection::vec(
                proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..5), 4), 0..5),
            released in "[a-z,\"\n ]*",
        ) {
            let mut form = Form::of(FileFormat::Csv, "prompt", &["d", "a"]);
            let head = form.head(&ByteRecord::from(vec!["a", "b", "prompt", "d"])).unwrap();
            let mut out = head;
            for row in &rows {
                let (rest, prompt) = form.parse(Raw::Record(ByteRecord::from(row.clone())));
                prop_assert_eq!(prompt.ok(), String::from_utf8(row[2].clone()).ok());
                form.render(&rest, Some(&released), &mut out);
            }
            let mut reader = csv::Reader::from_reader(out.as_slice());
            prop_assert_eq!(reader.byte_headers().unwrap(), &ByteRecord::from(vec!["a", "prompt", "d"]));
            let read: Vec<ByteRecord> = reader.byte_records().map(Result::unwrap).collect();
            let wanted: Vec<ByteRecord> = rows
                .iter()
                .map(|row| ByteRecord::from(vec![&row[0][..], released.as_bytes(), &row[3]]))
                .collect();
            prop_assert_eq!(read, wanted);
        }
    }

    #[test]
    fn numbers_keep_all_of_their_digits() {
        let line = br#"{"a": 123456789012345678901234567890.10, "prompt": "x", "a": -0.0e5 }"#;
        let form = Form::of(FileFormat::Jsonl, "prompt", &["a"]);
        let (rest, _) = form.parse(Raw::Line(line.to_vec()));
        let mut out = Vec::new();
        form.render(&rest, Some("y"), &mut out);
        let wanted = "{\"a\":123456789012345678901234567890.10,\"prompt\":\"y\",\"a\":-0.0e5}\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }
}
