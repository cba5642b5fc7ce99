//! The names of the files that a model's folder may have.

pub(crate) const CONFIG: &str = "config.json";
pub(crate) const TOKENIZER: &str = "tokenizer.json";
pub(crate) const WEIGHTS: &str = "model.safetensors";
/// Stands in for [`WEIGHTS`] where these are in several files.
pub(crate) const INDEX: &str = "model.safetensors.index.json";
/// Cape's own addition to a model: its calibration.
pub(crate) const CAPE_JSON: &str = "cape.json";

/// The older forms of a tokenizer.
pub(crate) const VOCAB_TXT: &str = "vocab.txt";
pub(crate) const VOCAB_JSON: &str = "vocab.json";
pub(crate) const MERGES: &str = "merges.txt";
/// Says how a vocabulary is read, and how long a text may be.
pub(crate) const TOKENIZER_CONFIG: &str = "tokenizer_config.json";

/// The files of sentence-transformers: the list of modules,
pub(crate) const MODULES: &str = "modules.json";
/// the settings of the transformer itself,
pub(crate) const SENTENCE_CONFIG: &str = "sentence_bert_config.json";
/// those of the whole encoder, its prompts among them,
pub(crate) const ENCODER_CONFIG: &str = "config_sentence_transformers.json";
/// and, at its usual place, the pooling's.
pub(crate) const POOLING: &str = "1_Pooling/config.json";
