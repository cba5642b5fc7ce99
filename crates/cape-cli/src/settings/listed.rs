//! Words and phrases that are given one by one, or as files with one a line.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};

use crate::failure::{Done, Failure, io};

/// A word or a phrase, or the name of a file of them.
#[derive(Clone, Deserialize)]
#[serde(from = "String")]
pub(crate) struct WordOrFile {
    given: String,
    /// Where the file would be.
    pub(super) folder: PathBuf,
}

impl From<String> for WordOrFile {
    fn from(given: String) -> Self {
        Self { given, folder: PathBuf::new() }
    }
}

/// One, or a list. The error shows none of the words.
pub(super) fn one_or_several<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<WordOrFile>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a word or a file is missing: write \"…\" or [\"…\", \"…\"]")]
    enum OneOrSeveral {
        One(WordOrFile),
        Several(Vec<WordOrFile>),
    }
    Ok(match OneOrSeveral::deserialize(deserializer)? {
        OneOrSeveral::One(one) => vec![one],
        OneOrSeveral::Several(several) => several,
    })
}

/// The words and phrases themselves.
pub(crate) fn words(given: &[WordOrFile]) -> Done<Vec<String>> {
    let mut words = Vec::new();
    for WordOrFile { given, folder } in given {
        let path = folder.join(given);
        if path.is_file() {
            let text = std::fs::read_to_string(&path)
                .map_err(|error| io(format!("cannot read {}", path.display()), &error))?;
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            words.extend(lines.map(str::to_owned));
        } else if looks_like_a_file(given) {
            return Err(Failure::usage(
                // its name may be a word that is not to be shown
                "a file of words that was given does not exist",
                "to give words themselves, write each of them without a path or an extension",
            ));
        } else {
            words.push(given.trim().to_owned());
        }
    }
    Ok(words)
}

/// Whether a word can only be meant as the name of a file: taken as a word, it would protect nothing.
fn looks_like_a_file(word: &str) -> bool {
    let extension = Path::new(word).extension().and_then(|extension| extension.to_str());
    ["/", "./", "../", "~/"].iter().any(|start| word.starts_with(start))
        || extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

/// Extensions of files with words.
const EXTENSIONS: [&str; 6] = ["txt", "csv", "tsv", "list", "lst", "words"];
