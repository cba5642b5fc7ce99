//! The files that a tokenizer is made from: one `tokenizer.json`, or a vocabulary in older forms.

use std::borrow::Cow;
use std::path::Path;

use cape::tokenizer::Tokenizer;
use serde::Deserialize;

use crate::files::{LARGEST_JSON, TOKENIZER, read, write};
use crate::{Error, Result};

const VOCAB_TXT: &str = "vocab.txt";
const VOCAB_JSON: &str = "vocab.json";
const MERGES: &str = "merges.txt";
const SETTINGS: &str = "tokenizer_config.json";

type Bytes = Cow<'static, [u8]>;

/// A tokenizer's files as they lie.
pub(crate) enum TokenizerFiles {
    /// `tokenizer.json`.
    Whole(Bytes),
    /// `vocab.txt` of a WordPiece tokenizer, and its settings.
    WordPiece { vocab: Bytes, settings: Option<Bytes> },
    /// `vocab.json` and `merges.txt` of a byte-level tokenizer.
    Bpe { vocab: Bytes, merges: Bytes },
}

impl TokenizerFiles {
    /// Those of a folder, the whole one first.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let has = |name: &str| dir.join(name).exists();
        let file = |name: &str| read(&dir.join(name), LARGEST_JSON).map(Cow::Owned);
        if has(TOKENIZER) {
            return file(TOKENIZER).map(Self::Whole);
        }
        if has(VOCAB_TXT) {
            let settings = has(SETTINGS).then(|| file(SETTINGS)).transpose()?;
            return Ok(Self::WordPiece { vocab: file(VOCAB_TXT)?, settings });
        }
        if has(VOCAB_JSON) {
            return Ok(Self::Bpe { vocab: file(VOCAB_JSON)?, merges: file(MERGES)? });
        }
        // none: the error names the file that is usual today
        file(TOKENIZER).map(Self::Whole)
    }

    pub(crate) fn load(&self) -> Result<Tokenizer> {
        Ok(match self {
            Self::Whole(json) => Tokenizer::from_json(json)?,
            Self::WordPiece { vocab, settings } => {
                #[derive(Deserialize)]
                struct Settings {
                    do_lower_case: Option<bool>,
                }
                let settings: Option<Settings> = settings
                    .as_deref()
                    .map(serde_json::from_slice)
                    .transpose()
                    .map_err(|source| Error::Json { file: SETTINGS, source })?;
                let lower = settings.and_then(|settings| settings.do_lower_case).unwrap_or(true);
                Tokenizer::from_wordpiece_vocab(vocab, lower)?
            }
            Self::Bpe { vocab, merges } => Tokenizer::from_bpe_files(vocab, merges, &[])?,
        })
    }

    /// Writes them to another folder.
    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        let files: Vec<(&str, &Bytes)> = match self {
            Self::Whole(json) => vec![(TOKENIZER, json)],
            Self::WordPiece { vocab, settings } => {
                let settings = settings.iter().map(|settings| (SETTINGS, settings));
                settings.chain([(VOCAB_TXT, vocab)]).collect()
            }
            Self::Bpe { vocab, merges } => vec![(VOCAB_JSON, vocab), (MERGES, merges)],
        };
        files.into_iter().try_for_each(|(name, bytes)| write(&dir.join(name), bytes))
    }
}
