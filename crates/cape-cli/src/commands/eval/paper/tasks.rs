//! The paper's tasks, as their data lies in a folder.

use std::path::{Path, PathBuf};

use cape_eval::data::{Columns, Data};

use crate::commands::eval::shorten;
use crate::failure::{Done, Failure, io};

/// A task of the paper, and what its files are called: as they are when unpacked, or all in one folder.
struct Known {
    name: &'static str,
    files: &'static [&'static str],
    /// Where more words of the same kind are.
    train: &'static [&'static str],
    /// How many words of each prompt there are, to be continued.
    prefix: Option<usize>,
    from: &'static str,
}

const KNOWN: [Known; 3] = [
    Known {
        name: "SST-2",
        files: &["SST-2/dev.tsv", "sst2_dev.tsv"],
        train: &["SST-2/train.tsv", "sst2_train.tsv"],
        prefix: None,
        from: "https://dl.fbaipublicfiles.com/glue/data/SST-2.zip",
    },
    Known {
        name: "QNLI",
        files: &["QNLI/dev.tsv", "qnli_dev.tsv"],
        train: &["QNLI/train.tsv", "qnli_train.tsv"],
        prefix: None,
        from: "https://dl.fbaipublicfiles.com/glue/data/QNLIv2.zip",
    },
    Known {
        name: "WikiText",
        files: &[
            "wikitext-103-raw/wiki.test.raw",
            "wikitext-103/wiki.test.tokens",
            "wikitext-2-raw/wiki.test.raw",
            "wikitext-2/wiki.test.tokens",
            "wikitext2_test.txt",
        ],
        train: &[],
        prefix: Some(50),
        from: "https://wikitext.smerity.com/wikitext-103-raw-v1.zip",
    },
];

/// A task that can be run.
pub(super) struct Task {
    pub(super) data: Data,
    /// Whether its prompts are continued.
    pub(super) generation: bool,
    /// Its text, which says which words there are and how frequent.
    corpus: String,
}

/// The tasks that are there, and in words those that are missing. It is an error if there is none.
pub(super) fn find(folder: &Path, limit: Option<usize>) -> Done<(Vec<Task>, Vec<String>)> {
    let (mut tasks, mut missing) = (Vec::new(), Vec::new());
    for known in &KNOWN {
        match first(folder, known.files) {
            Some(path) => tasks.push(Task::read(known, &path, folder, limit)?),
            None => missing.push(format!(
                "{} was left out: {} is not there (nor {}). Unpack {} in {}",
                known.name,
                folder.join(known.files[0]).display(),
                known.files[1..].join(", "),
                known.from,
                folder.display()
            )),
        }
    }
    if tasks.is_empty() {
        let get: Vec<&str> = KNOWN.iter().map(|known| known.from).collect();
        return Err(Failure::usage(
            format!(
                "{} holds none of {}",
                folder.display(),
                KNOWN.map(|known| known.files[0]).join(", ")
            ),
            format!("unpack these there: {}", get.join(" ")),
        ));
    }
    Ok((tasks, missing))
}

fn first(folder: &Path, files: &[&str]) -> Option<PathBuf> {
    files.iter().map(|file| folder.join(file)).find(|path| path.is_file())
}

impl Task {
    fn read(known: &Known, path: &Path, folder: &Path, limit: Option<usize>) -> Done<Self> {
        let columns = Columns::default();
        let mut data = Data::read(path, &columns)?;
        known.name.clone_into(&mut data.name);
        let mut corpus = lines(&data);
        if let Some(path) = first(folder, known.train) {
            corpus += &lines(&Data::read(&path, &columns)?);
        }
        shorten(&mut data, limit)?;
        if let Some(words) = known.prefix {
            data.shorten(words);
        }
        Ok(Self { data, generation: known.prefix.is_some(), corpus })
    }

    /// Where its records and its corpus lie.
    pub(super) fn folder(&self, out: &Path) -> PathBuf {
        out.join(&self.data.name)
    }

    /// Stores its text where the mechanisms can read it.
    pub(super) fn store_corpus(&self, out: &Path) -> Done<PathBuf> {
        let path = self.folder(out).join("corpus.txt");
        std::fs::write(&path, &self.corpus)
            .map_err(|error| io(format!("cannot write {}", path.display()), &error))?;
        Ok(path)
    }
}

/// One prompt a line.
fn lines(data: &Data) -> String {
    data.items.iter().map(|item| item.text.replace('\n', " ") + "\n").collect()
}
