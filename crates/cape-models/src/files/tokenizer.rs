//! The files that a tokenizer is made from: one `tokenizer.json`, or a vocabulary in older forms.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use cape::tokens::{BpeParts, Pattern, TokenId, Tokenizer};
use serde::Deserialize;
use serde_json::{Value, json};
use tokenizers::Tokenizer as Library;

use super::disk::{LARGEST_JSON, read, write};
use super::gguf::Gguf;
use crate::error::{Error, Result};
use crate::names::{MERGES, TOKENIZER, TOKENIZER_CONFIG, VOCAB_JSON, VOCAB_TXT};

type Bytes = Cow<'static, [u8]>;
type Ids = HashMap<String, u32>;

/// A tokenizer's files, unparsed.
pub(crate) enum TokenizerFiles {
    /// `tokenizer.json`.
    Whole(Bytes),
    /// `vocab.txt` of a WordPiece tokenizer, and its settings.
    WordPiece { vocab: Bytes, settings: Option<Bytes> },
    /// `vocab.json` and `merges.txt` of a byte-level tokenizer.
    Bpe { vocab: Bytes, merges: Bytes },
}

impl TokenizerFiles {
    /// Those of a folder; `tokenizer.json` comes first.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let has = |name: &str| dir.join(name).exists();
        let file = |name: &str| read(&dir.join(name), LARGEST_JSON).map(Cow::Owned);
        if has(TOKENIZER) {
            return file(TOKENIZER).map(Self::Whole);
        }
        if has(VOCAB_TXT) {
            let settings = has(TOKENIZER_CONFIG).then(|| file(TOKENIZER_CONFIG)).transpose()?;
            return Ok(Self::WordPiece { vocab: file(VOCAB_TXT)?, settings });
        }
        if has(VOCAB_JSON) {
            return Ok(Self::Bpe { vocab: file(VOCAB_JSON)?, merges: file(MERGES)? });
        }
        // there is none: the error names the usual file
        file(TOKENIZER).map(Self::Whole)
    }

    pub(crate) fn load(&self) -> Result<Tokenizer> {
        Ok(match self {
            Self::Whole(json) => Tokenizer::from_json(json)?,
            Self::WordPiece { vocab, settings } => {
                Tokenizer::from_wordpiece_vocab(vocab, lowers(settings.as_deref())?)?
            }
            Self::Bpe { vocab, merges } => Tokenizer::from_bpe_files(vocab, merges, &[])?,
        })
    }

    /// The library's own tokenizer, as others use it: special tokens in a text are themselves, and
    /// characters may be dropped. It neither cuts nor pads.
    pub(crate) fn library(&self) -> Result<Library> {
        let json = self.json()?;
        // a file that this refuses could make the library panic
        Tokenizer::from_json(&json)?;
        let bad = |why: tokenizers::Error| cape::Error::Tokenizer(why.to_string());
        let text = std::str::from_utf8(&json).map_err(|why| bad(why.into()))?;
        // not `from_bytes`, which is generic: all that reads a tokenizer would be compiled here once more
        let mut library: Library = text.parse().map_err(bad)?;
        library.with_truncation(None).map_err(bad)?;
        library.with_padding(None);
        Ok(library)
    }

    /// All of it as a `tokenizer.json`.
    fn json(&self) -> Result<Cow<'_, [u8]>> {
        let json = match self {
            Self::Whole(json) => return Ok(Cow::Borrowed(json)),
            Self::WordPiece { vocab, settings } => {
                let vocab = String::from_utf8_lossy(vocab);
                let entries = vocab.strip_suffix('\n').unwrap_or(&vocab).split('\n');
                let entries = entries.map(|entry| entry.trim_end_matches('\r').to_owned());
                let ids: Ids = entries.zip(0..).collect();
                json!({
                    "added_tokens": special(&["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], &ids),
                    "normalizer": {
                        "type": "BertNormalizer",
                        "clean_text": true,
                        "handle_chinese_chars": true,
                        "strip_accents": null,
                        "lowercase": lowers(settings.as_deref())?,
                    },
                    "pre_tokenizer": {"type": "BertPreTokenizer"},
                    "model": {
                        "type": "WordPiece",
                        "unk_token": "[UNK]",
                        "continuing_subword_prefix": "##",
                        "max_input_chars_per_word": 100,
                        "vocab": ids,
                    },
                })
            }
            Self::Bpe { vocab, merges } => {
                let ids: Ids = serde_json::from_slice(vocab).map_err(Error::json(VOCAB_JSON))?;
                let merges = String::from_utf8_lossy(merges);
                let merges = merges.lines().filter(|line| !line.starts_with("#version"));
                let merges: Vec<&str> = merges.filter(|line| !line.is_empty()).collect();
                json!({
                    "added_tokens": special(&["<s>", "<pad>", "</s>", "<unk>", "<mask>"], &ids),
                    "pre_tokenizer": {
                        "type": "ByteLevel",
                        "add_prefix_space": false,
                        "trim_offsets": true,
                        "use_regex": true,
                    },
                    "model": {"type": "BPE", "vocab": ids, "merges": merges},
                })
            }
        };
        Ok(json.to_string().into_bytes().into())
    }

    /// Writes them to another folder.
    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        let files: Vec<(&str, &Bytes)> = match self {
            Self::Whole(json) => vec![(TOKENIZER, json)],
            Self::WordPiece { vocab, settings } => {
                let settings = settings.iter().map(|settings| (TOKENIZER_CONFIG, settings));
                settings.chain([(VOCAB_TXT, vocab)]).collect()
            }
            Self::Bpe { vocab, merges } => vec![(VOCAB_JSON, vocab), (MERGES, merges)],
        };
        files.into_iter().try_for_each(|(name, bytes)| write(&dir.join(name), bytes))
    }
}

/// Whether a WordPiece tokenizer with these settings puts text in lower case.
fn lowers(settings: Option<&[u8]>) -> Result<bool> {
    #[derive(Deserialize)]
    struct TokenizerConfig {
        do_lower_case: Option<bool>,
    }
    let settings = settings.map(serde_json::from_slice::<TokenizerConfig>).transpose();
    let settings = settings.map_err(Error::json(TOKENIZER_CONFIG))?;
    Ok(settings.and_then(|settings| settings.do_lower_case).unwrap_or(true))
}

/// Those of the special tokens that a vocabulary has, as `tokenizer.json` lists them.
fn special(tokens: &[&str], ids: &Ids) -> Vec<Value> {
    let added = |token: &&str| {
        // RoBERTa's mask stands for the space before it as well
        let lstrip = *token == "<mask>";
        let id = ids.get(*token)?;
        Some(json!({
            "id": id, "content": token, "special": true, "normalized": false,
            "single_word": false, "lstrip": lstrip, "rstrip": false,
        }))
    };
    tokens.iter().filter_map(added).collect()
}

/// The type of tokens that stand for text: others are control tokens, unused, or a user's.
const NORMAL: i32 = 1;

/// The tokenizer in a GGUF file.
pub(crate) fn gguf_tokenizer(file: &Gguf<'_>) -> Result<Tokenizer> {
    let bad = |why: String| Error::Gguf(why);
    let missing = |key: &str| bad(format!("`{key}` is missing"));
    let kind = file.text("tokenizer.ggml.model")?.unwrap_or_default();
    if kind != "gpt2" {
        return Err(bad(format!("its tokenizer `{kind}` is not byte-level BPE")));
    }
    let pattern = file.text("tokenizer.ggml.pre")?.unwrap_or_default();
    let pattern = Pattern::named(pattern)
        .ok_or_else(|| bad(format!("its pre-tokenizer `{pattern}` is not supported")))?;
    let list = |key: &str| -> Result<Vec<String>> {
        let texts = file.texts(key)?.ok_or_else(|| missing(key))?;
        Ok(texts.into_iter().map(str::to_owned).collect())
    };
    let (tokens, merges) = (list("tokenizer.ggml.tokens")?, list("tokenizer.ggml.merges")?);
    let kinds = file.numbers("tokenizer.ggml.token_type")?.unwrap_or_default();
    let special: Vec<TokenId> =
        (0..).zip(&kinds).filter(|&(_, &kind)| kind != NORMAL).map(|(id, _)| TokenId(id)).collect();
    let parts = BpeParts { tokens: &tokens, merges: &merges, special: &special, pattern };
    Ok(Tokenizer::from_bpe_parts(&parts)?)
}
