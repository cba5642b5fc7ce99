//! Byte-level BPE from `tokenizer.json`, from `vocab.json` and `merges.txt`, and from parts.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use tokenizers::models::bpe::{BPE, Vocab as Ids};
use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    NormalizerWrapper, PreTokenizerWrapper, SplitDelimiterBehavior, Tokenizer as Library,
};

use super::{Algorithm, Tokenizer, bad, by_id};
use crate::Result;
use crate::text::TokenId;
use crate::vocab::Vocab;

/// How a family cuts a text before it is merged into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// GPT-2 and RoBERTa: letters, numbers and the rest.
    Gpt2,
    /// SmolLM and StarCoder: the same, with every digit by itself.
    Digits,
    /// Qwen2: its own pattern, digits by themselves, after normalisation to NFC.
    Qwen2,
    /// Llama 3: its own pattern, up to three digits together.
    Llama3,
}

impl Pattern {
    /// The pattern of a name as GGUF files give it in `tokenizer.ggml.pre`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "gpt-2" | "gpt2" | "roberta-bpe" => Some(Self::Gpt2),
            "smollm" | "starcoder" => Some(Self::Digits),
            "qwen2" => Some(Self::Qwen2),
            "llama-bpe" | "llama3" | "llama-v3" => Some(Self::Llama3),
            _ => None,
        }
    }

    fn pre_tokenizer(self) -> Result<PreTokenizerWrapper> {
        const HEAD: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|";
        const TAIL: &str = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
        let numbers = match self {
            Self::Gpt2 => return Ok(ByteLevel::new(false, true, true).into()),
            Self::Digits => {
                let parts =
                    vec![Digits::new(true).into(), ByteLevel::new(false, true, true).into()];
                return Ok(Sequence::new(parts).into());
            }
            Self::Qwen2 => r"\p{N}",
            Self::Llama3 => r"\p{N}{1,3}",
        };
        let pattern = SplitPattern::Regex([HEAD, numbers, TAIL].concat());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false).map_err(bad)?;
        let parts = vec![split.into(), ByteLevel::new(false, true, false).into()];
        Ok(Sequence::new(parts).into())
    }

    fn normalizer(self) -> Option<NormalizerWrapper> {
        (self == Self::Qwen2).then(|| NFC.into())
    }
}

/// The parts of a byte-level BPE tokenizer, as GGUF files hold them.
#[derive(Clone, Copy)]
pub struct BpeParts<'a> {
    /// The entries in order of their ids.
    pub tokens: &'a [String],
    /// The merges, the first one first: two entries with a space between.
    pub merges: &'a [String],
    /// The ids of entries that stand for no text: those of every type but normal.
    pub special: &'a [TokenId],
    /// How texts are cut.
    pub pattern: Pattern,
}

/// A tokenizer in the making.
struct Draft {
    ids: Ids,
    merges: Vec<(String, String)>,
    /// Entries that the merges do not make.
    added: Vec<(String, u32)>,
    unknown: Option<String>,
    ignore_merges: bool,
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: PreTokenizerWrapper,
}

#[derive(serde::Deserialize)]
struct Json {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    model: ModelJson,
}

#[derive(serde::Deserialize)]
struct Added {
    id: u32,
    content: String,
}

#[derive(serde::Deserialize)]
struct ModelJson {
    vocab: Ids,
    merges: Vec<Merge>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
}

/// The normalisers that a text may go through before it is cut up. Of the others some panic on a broken file, and
/// none is known from a byte-level tokenizer.
const NORMALIZERS: [&str; 7] =
    ["Sequence", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"];
const PRE_TOKENIZERS: [&str; 5] = ["Sequence", "ByteLevel", "Split", "Digits", "Punctuation"];

impl Tokenizer {
    /// Reads the bytes of a `vocab.json` and a `merges.txt`, as GPT-2 and RoBERTa have them.
    /// `special` are the entries that stand for no text; the usual ones need not be named.
    pub fn from_bpe_files(vocab: &[u8], merges: &[u8], special: &[&str]) -> Result<Self> {
        let ids: Ids = serde_json::from_slice(vocab).map_err(bad)?;
        let merges = std::str::from_utf8(merges).map_err(bad)?.lines();
        let merges =
            merges.filter(|line| !line.is_empty()).filter_map(merge).collect::<Result<_>>()?;
        let added = special.iter().filter_map(|&name| Some((name.to_owned(), *ids.get(name)?)));
        let added = added.collect();
        Draft {
            ids,
            merges,
            added,
            unknown: None,
            ignore_merges: false,
            normalizer: Pattern::Gpt2.normalizer(),
            pre_tokenizer: Pattern::Gpt2.pre_tokenizer()?,
        }
        .finish()
    }

    /// Takes the parts that GGUF files hold.
    pub fn from_bpe_parts(parts: &BpeParts<'_>) -> Result<Self> {
        let BpeParts { tokens, merges, special, pattern } = *parts;
        let added = special.iter().map(|&id| {
            let token = tokens.get(id.index()).ok_or_else(|| bad("a special id is too large"))?;
            Ok((token.clone(), id.0))
        });
        let ids: Ids = tokens.iter().cloned().zip(0..).collect();
        if ids.len() != tokens.len() {
            return Err(bad("an entry occurs twice"));
        }
        Draft {
            added: added.collect::<Result<_>>()?,
            ids,
            merges: merges.iter().filter_map(|line| merge(line)).collect::<Result<_>>()?,
            unknown: None,
            ignore_merges: pattern == Pattern::Llama3,
            normalizer: pattern.normalizer(),
            pre_tokenizer: pattern.pre_tokenizer()?,
        }
        .finish()
    }

    pub(super) fn bpe_from_json(json: &[u8]) -> Result<Self> {
        let Json { added_tokens, normalizer, pre_tokenizer, model } =
            serde_json::from_slice(json).map_err(bad)?;
        let some = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        if model.byte_fallback {
            return Err(bad(
                "it is of SentencePiece's kind (with byte fallback), not byte-level BPE",
            ));
        }
        if some(&model.continuing_subword_prefix) || some(&model.end_of_word_suffix) {
            return Err(bad("it marks pieces by a prefix or suffix: it is not byte-level BPE"));
        }
        let pre_tokenizer = pre_tokenizer.unwrap_or_default();
        let kinds = kinds(&pre_tokenizer, "pretokenizers", &PRE_TOKENIZERS)?;
        if kinds.iter().filter(|&&kind| kind == "ByteLevel").count() != 1 {
            return Err(bad("it does not cut texts into bytes once: it is not byte-level BPE"));
        }
        let pre_tokenizer = serde_json::from_value(pre_tokenizer).map_err(bad)?;
        let normalizer = normalizer.filter(|value| !value.is_null());
        let normalizer = normalizer.map(|value| {
            self::kinds(&value, "normalizers", &NORMALIZERS)?;
            serde_json::from_value(value).map_err(bad)
        });
        Draft {
            ids: model.vocab,
            merges: model.merges.into_iter().filter_map(|merge| merge.0).collect(),
            added: added_tokens.into_iter().map(|added| (added.content, added.id)).collect(),
            unknown: model.unk_token,
            ignore_merges: model.ignore_merges,
            normalizer: normalizer.transpose()?,
            pre_tokenizer,
        }
        .finish()
    }
}

impl Draft {
    fn finish(mut self) -> Result<Tokenizer> {
        self.unknown = self.unknown.filter(|token| self.ids.contains_key(token));
        let vocab = Arc::new(self.vocab()?);
        // the library copies each merge into a buffer as long as the longest entry
        let longest = self.ids.keys().map(String::len).max().unwrap_or(0);
        if self.merges.iter().any(|(a, b)| a.len() + b.len() > longest) {
            return Err(bad("a merge makes something longer than every entry"));
        }
        let mut model = BPE::builder()
            .vocab_and_merges(self.ids, self.merges)
            .ignore_merges(self.ignore_merges)
            // nothing of a prompt stays behind
            .cache_capacity(0);
        if let Some(unknown) = self.unknown {
            model = model.unk_token(unknown);
        }
        // without the added tokens: what looks like one in a prompt is text like any other
        let mut inner = Library::new(model.build().map_err(bad)?);
        inner.with_normalizer(self.normalizer).map_err(bad)?;
        inner.with_pre_tokenizer(Some(self.pre_tokenizer));
        Ok(Tokenizer { algorithm: Algorithm::ByteLevel(Box::new(inner)), vocab })
    }

    fn vocab(&self) -> Result<Vocab> {
        let own = self.ids.iter().map(|(token, &id)| (token.as_str(), id));
        let added = self.added.iter().map(|(token, id)| (token.as_str(), *id));
        let tokens = by_id(own.clone().chain(added.clone()))?;
        // else the order of a hash map would decide what an id stands for
        if own.chain(added.clone()).any(|(token, id)| tokens[id as usize] != token) {
            return Err(bad("an id is given to two entries"));
        }
        let unknown = self
            .unknown
            .as_deref()
            .into_iter()
            .chain(["<unk>", "[UNK]", "<|endoftext|>", "<|end_of_text|>", "</s>"])
            .find(|name| !name.is_empty() && tokens.contains(name))
            .ok_or_else(|| bad("it has neither an unknown token nor one for the end of a text"))?;
        let named = (0..).zip(&tokens).filter(|(_, token)| **token == unknown || is_special(token));
        let special: Vec<TokenId> =
            added.map(|(_, id)| id).chain(named.map(|(id, _)| id)).map(TokenId).collect();
        Vocab::byte_level(&tokens, &special, unknown).ok_or_else(|| bad("it has no unknown token"))
    }
}

/// Whether an entry is special by its name, flagged or not.
fn is_special(token: &str) -> bool {
    matches!(token, "<s>" | "</s>" | "<pad>" | "<unk>" | "<mask>" | "[UNK]" | "[PAD]" | "[MASK]")
        || token.strip_prefix("<|").is_some_and(|rest| rest.ends_with("|>"))
        // what fills RoBERTa's vocabulary up
        || token.starts_with("madeupword")
}

/// The kinds of the steps of a pipeline, all of which must be among the known.
fn kinds<'a>(step: &'a Value, inner: &str, known: &[&str]) -> Result<Vec<&'a str>> {
    let kind = step.get("type").and_then(Value::as_str).unwrap_or("none");
    if !known.contains(&kind) {
        return Err(bad(format!(
            "it has a step that byte-level BPE is not known to have ({kind})"
        )));
    }
    let mut kinds = vec![kind];
    for step in step.get(inner).and_then(Value::as_array).into_iter().flatten() {
        kinds.extend(self::kinds(step, inner, known)?);
    }
    Ok(kinds)
}

/// A line of `merges.txt`; none for its header.
fn merge(line: &str) -> Option<Result<(String, String)>> {
    if line.starts_with("#version") {
        return None;
    }
    let pair = line.split_once(' ').filter(|(_, b)| !b.contains(' '));
    Some(match pair {
        Some((a, b)) => Ok((a.to_owned(), b.to_owned())),
        None => Err(bad("a merge is not two entries")),
    })
}

/// A merge in `tokenizer.json`: a line, or a pair since 2024.
struct Merge(Option<(String, String)>);

impl<'de> Deserialize<'de> for Merge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Merge;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a merge of two entries")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> std::result::Result<Merge, E> {
                merge(line).transpose().map(Merge).map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut pair: A,
            ) -> std::result::Result<Merge, A::Error> {
                let a = pair.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
                let b = pair.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
                Ok(Merge(Some((a, b))))
            }
        }
        deserializer.deserialize_any(Either)
    }
}
