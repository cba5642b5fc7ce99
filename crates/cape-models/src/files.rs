//! The files of a model: how they are read and checked, before any network is made of them.

mod disk;
mod folder;
mod gguf;
mod pack;
mod quant;
pub(crate) mod replace;
mod shards;
mod stored;
mod tokenizer;
mod weights;

pub(crate) use self::disk::{LARGEST_JSON, open, read};
pub(crate) use self::folder::{CapeJson, is_gguf};
pub use self::folder::{DEFAULT, Files};
pub(crate) use self::gguf::Gguf;
pub use self::pack::{Precision, pack};
#[cfg(feature = "hub")]
pub(crate) use self::shards::Index;
pub(crate) use self::tokenizer::{TokenizerFiles, gguf_tokenizer};
pub(crate) use self::weights::{Matrix, Weights};
