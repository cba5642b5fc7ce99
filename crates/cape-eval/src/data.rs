//! Prompts to evaluate on: GLUE's tables, WikiText, and any table or JSON lines with named columns.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::tasks::Case;
use crate::tasks::labels::{Entailed, Sentiment};
use crate::tasks::rules::Rules;
use crate::{Error, Result};

/// One prompt, with what is known of it.
#[derive(Clone, Default, PartialEq)]
pub struct Item {
    /// The text that is perturbed. Of a question and a sentence, two lines.
    pub text: String,
    /// The answer of a classification.
    pub label: Option<String>,
    /// The private parts of the text, by label.
    pub spans: Vec<Span>,
    /// The rules for an answer to it.
    pub rules: Option<Rules>,
    /// The part that says what is to be done, and is not private.
    pub instruction: Option<String>,
}

impl Item {
    /// The classification that this prompt is of, as it stands in a release; none where its label is
    /// not one of SST-2's or QNLI's.
    pub(crate) fn case<'a>(&self, released: &'a str) -> Option<Case<'a>> {
        let sst2 = |is| Some(Case::Sst2 { content: released, is });
        let qnli = |is| {
            let (question, sentence) = released.split_once('\n')?;
            Some(Case::Qnli { question, sentence, is })
        };
        match self.label.as_deref()? {
            "1" | "positive" => sst2(Sentiment::Positive),
            "0" | "negative" => sst2(Sentiment::Negative),
            "entailment" => qnli(Entailed::Yes),
            "not_entailment" => qnli(Entailed::No),
            _ => None,
        }
    }
}

/// A part of a text that says something about a person, in bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Span {
    /// The label: PERSON, LOCATION, …
    pub label: String,
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// Prompts under a name.
pub struct Data {
    /// Their name in tables.
    pub name: String,
    /// The prompts.
    pub items: Vec<Item>,
}

/// Which columns hold what; the usual names are tried without.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// The text; or the first of two that belong together.
    pub text: Option<String>,
    /// The second.
    pub second: Option<String>,
    /// The label.
    pub label: Option<String>,
}

/// Names that data sets give to the column of the text, or of its first part.
const TEXT: [&str; 5] = ["text", "sentence", "prompt", "question", "content"];

/// The shortest paragraph of WikiText that is a prompt, in words.
const WIKITEXT_WORDS: usize = 20;

impl Data {
    /// Reads a file by how its name ends: `.tsv` (fields without quotes, as GLUE has them), `.csv`,
    /// `.jsonl`, and anything else as one prompt a line, without WikiText's headings.
    pub fn read(path: &Path, columns: &Columns) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::Io { path: path.to_owned(), source })?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let bad = |why: String| Error::Data { path: path.to_owned(), why };
        let items = match path.extension().and_then(|end| end.to_str()) {
            Some("tsv") => table(&text, b'\t', columns).map_err(bad)?,
            Some("csv") => table(&text, b',', columns).map_err(bad)?,
            Some("jsonl" | "json" | "ndjson") => lines(&text, columns).map_err(bad)?,
            _ => paragraphs(&text),
        };
        let items: Vec<Item> =
            items.into_iter().filter(|item| !item.text.trim().is_empty()).collect();
        if items.is_empty() {
            return Err(bad("it has no prompts".into()));
        }
        Ok(Self { name: stem, items })
    }
}

impl Data {
    /// Cuts every prompt down to its first words.
    pub fn shorten(&mut self, words: usize) {
        for item in &mut self.items {
            let end =
                item.text.split_inclusive(char::is_whitespace).take(words).map(str::len).sum();
            item.text.truncate(end);
            item.spans.retain(|span| span.end <= end);
            // what is left asks for nothing
            item.rules = None;
        }
    }
}

/// A table with a line of names.
fn table(text: &str, delimiter: u8, columns: &Columns) -> std::result::Result<Vec<Item>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .quoting(delimiter != b'\t')
        .flexible(true)
        .from_reader(text.as_bytes());
    let names: Vec<String> =
        reader.headers().map_err(|error| error.to_string())?.iter().map(str::to_owned).collect();
    let (first, second, label) = choose(&names, columns)?;
    let mut items = Vec::new();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|_| format!("row {} cannot be read", row + 1))?;
        let field = |at: usize| record.get(at).ok_or(format!("row {} is short", row + 1));
        items.push(Item {
            text: match second {
                Some(second) => format!("{}\n{}", field(first)?, field(second)?),
                None => field(first)?.to_owned(),
            },
            label: label.map(|label| field(label).map(str::to_owned)).transpose()?,
            ..Item::default()
        });
    }
    Ok(items)
}

/// Where the text, its second part and its label are among these names.
type Chosen = (usize, Option<usize>, Option<usize>);

fn choose(names: &[String], columns: &Columns) -> std::result::Result<Chosen, String> {
    let find = |name: &str| names.iter().position(|known| known.trim() == name);
    let named = |name: &Option<String>| match name {
        Some(name) => find(name)
            .map(Some)
            .ok_or(format!("it has no column `{name}`; its columns are {}", names.join(", "))),
        None => Ok(None),
    };
    let text = named(&columns.text)?;
    let first = text
        // QNLI's sentence belongs to its question
        .or_else(|| find("question"))
        .or_else(|| TEXT.iter().find_map(|name| find(name)))
        .ok_or(format!("none of its columns ({}) is called text", names.join(", ")))?;
    let pair = text.is_none() && names[first].trim() == "question";
    let second = named(&columns.second)?.or_else(|| find("sentence").filter(|_| pair));
    Ok((first, second, named(&columns.label)?.or_else(|| find("label"))))
}

#[derive(Deserialize)]
struct JsonSpan {
    label: String,
    start: usize,
    end: usize,
}

/// JSON objects, one a line; `spans` count characters.
fn lines(text: &str, columns: &Columns) -> std::result::Result<Vec<Item>, String> {
    let mut items = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = number + 1;
        let object: serde_json::Map<String, Value> =
            serde_json::from_str(line).map_err(|_| format!("line {number} is no JSON object"))?;
        let names: Vec<String> = object.keys().cloned().collect();
        let (first, second, label) =
            choose(&names, columns).map_err(|why| format!("line {number}: {why}"))?;
        let field = |at: usize| match &object[&names[at]] {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(format!("line {number}: `{}` is no text", names[at])),
        };
        let text = match second {
            Some(second) => format!("{}\n{}", field(first)?, field(second)?),
            None => field(first)?,
        };
        let spans = match object.get("spans") {
            Some(spans) if second.is_none() => {
                serde_json::from_value::<Vec<JsonSpan>>(spans.clone())
                    .map_err(|_| format!("line {number}: its spans are not label, start and end"))?
                    .into_iter()
                    .map(|span| in_bytes(&text, span))
                    .collect::<Option<Vec<Span>>>()
                    .ok_or(format!("line {number}: a span is outside its text"))?
            }
            _ => Vec::new(),
        };
        let rules = object
            .contains_key("facts")
            .then(|| serde_json::from_value(Value::Object(object.clone())))
            .transpose()
            .map_err(|_| format!("line {number}: its facts, details or format cannot be read"))?;
        let instruction = object.get("instruction").and_then(Value::as_str).map(str::to_owned);
        let label = label.map(field).transpose()?;
        items.push(Item { text, label, spans, rules, instruction });
    }
    Ok(items)
}

fn in_bytes(text: &str, span: JsonSpan) -> Option<Span> {
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let start = places.nth(span.start)?;
    let end = match span.end.checked_sub(span.start)? {
        0 => start,
        more => places.nth(more - 1)?,
    };
    Some(Span { label: span.label, start, end })
}

/// The paragraphs of a text: WikiText's headings are set between equals signs.
fn paragraphs(text: &str) -> Vec<Item> {
    let wikitext = text.lines().any(|line| line.starts_with(" = "));
    text.lines()
        .filter(|line| {
            let line = line.trim();
            !wikitext || (!line.starts_with('=') && line.split(' ').count() >= WIKITEXT_WORDS)
        })
        .map(|line| Item { text: line.trim().to_owned(), ..Item::default() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str, columns: &Columns) -> Result<Data> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        Data::read(&path, columns)
    }

    fn texts(data: &Data) -> Vec<&str> {
        data.items.iter().map(|item| item.text.as_str()).collect()
    }

    #[test]
    fn glue_tables_have_sentences_or_questions() {
        let none = Columns::default();
        assert_eq!(read("sst2_dev.tsv", "sentence\ngood\n", &none).unwrap().name, "sst2_dev");
        assert!(read("x.tsv", "sentence\tlabel\nshort\n", &none).is_err());
        let sst2 = read("x.tsv", "text\tlabel\nit 's \"a\t1\ngood \t0\n", &none).unwrap();
        assert_eq!(texts(&sst2), ["it 's \"a", "good "]);
        assert_eq!(sst2.items[0].label.as_deref(), Some("1"));
        let qnli = "index\tquestion\tsentence\tlabel\n0\tWho?\tHe did.\tentailment\n";
        let qnli = read("x.tsv", qnli, &none).unwrap();
        assert_eq!(texts(&qnli), ["Who?\nHe did."]);
        assert_eq!(qnli.items[0].label.as_deref(), Some("entailment"));
        let case = qnli.items[0].case("Where?\nHe was.").unwrap();
        assert_eq!((case.task(), case.correct("Yes")), ("qnli", Some(true)));
        assert!(sst2.items[1].case("bad").unwrap().correct("negative") == Some(true));
    }

    #[test]
    fn columns_can_be_named() {
        let csv = "id,body,kind\n1,\"a, b\",x\n";
        let named = |text: &str| Columns { text: Some(text.into()), ..Columns::default() };
        assert_eq!(texts(&read("x.csv", csv, &named("body")).unwrap()), ["a, b"]);
        let error = read("x.csv", csv, &named("bodies")).err().unwrap().to_string();
        assert!(error.contains("no column `bodies`") && error.contains("id, body, kind"));
        assert!(read("x.csv", csv, &Columns::default()).is_err());
        assert!(read("x.csv", "text\n", &Columns::default()).is_err());
    }

    #[test]
    fn spans_count_characters() {
        let line =
            r#"{"text": "Zoë Ünal lives", "spans": [{"label": "PERSON", "start": 0, "end": 8}]}"#;
        let data = read("x.jsonl", line, &Columns::default()).unwrap();
        let span = &data.items[0].spans[0];
        assert_eq!(&data.items[0].text[span.start..span.end], "Zoë Ünal");
        assert!(data.items[0].rules.is_none());
        let asked = line.replace("{\"text", "{\"facts\": [[\"yes\"]], \"text");
        let data = read("x.jsonl", &asked, &Columns::default()).unwrap();
        assert!(data.items[0].rules.as_ref().unwrap().pass("Yes."));
        let bad = asked.replace("[[\"yes\"]]", "[3]");
        assert!(read("x.jsonl", &bad, &Columns::default()).is_err());
        let outside = line.replace("\"end\": 8", "\"end\": 99");
        assert!(read("x.jsonl", &outside, &Columns::default()).is_err());
        assert!(read("x.jsonl", "{\"text\": 1.5}\n\nnothing", &Columns::default()).is_err());
    }

    #[test]
    fn wikitext_has_headings_and_other_texts_do_not() {
        let long = "word ".repeat(WIKITEXT_WORDS);
        let text = format!(" \n = Title = \n \n {long}\n short one \n");
        let data = read("wiki.txt", &text, &Columns::default()).unwrap();
        assert_eq!(texts(&data), [long.trim()]);
        let mut short = data;
        short.shorten(3);
        assert_eq!(texts(&short), ["word word word "]);
        let plain = read("plain.txt", "a\n\nb\n", &Columns::default()).unwrap();
        assert_eq!(texts(&plain), ["a", "b"]);
    }
}
