//! How sentences become vectors, by the files that sentence-transformers adds to a model's folder.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::files::{LARGEST_JSON, read};
use crate::names::{CONFIG, ENCODER_CONFIG, MODULES, POOLING, SENTENCE_CONFIG, TOKENIZER_CONFIG};

/// The prefix of a flag in the pooling's older form.
const FLAG: &str = "pooling_mode_";

/// The settings in these files.
pub(super) struct Layout {
    /// Where the transformer's own files are.
    pub(super) dir: PathBuf,
    /// How rows become a vector, where the files say it.
    pub(super) pooling: Option<Pooling>,
    /// The width of rows that the pooling expects.
    pub(super) width: Option<usize>,
    /// How many tokens of a text count, special ones included.
    pub(super) longest: Option<usize>,
    /// Whether texts are put in lower case first.
    pub(super) lower: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    Mean,
    First,
}

#[derive(Deserialize)]
struct Module {
    r#type: String,
    path: String,
}

/// The newer form names a mode, or several; the older one has a flag for each.
#[derive(Deserialize)]
struct PoolingJson {
    #[serde(alias = "word_embedding_dimension")]
    embedding_dimension: Option<usize>,
    pooling_mode: Option<Modes>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Modes {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize, Default)]
struct TransformerJson {
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

#[derive(Deserialize, Default)]
struct TokenizerJson {
    /// A float because some say 1e30, for no limit.
    model_max_length: Option<f64>,
}

#[derive(Deserialize, Default)]
struct EncoderJson {
    default_prompt_name: Option<String>,
}

impl Layout {
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let (mut transformer, mut pooling) = (dir.to_owned(), None);
        if let Some(modules) = json::<Vec<Module>>(dir, MODULES)? {
            let [first, second, rest @ ..] = &modules[..] else {
                return refuse(format!("{MODULES} names no two modules"));
            };
            first.expect("Transformer")?;
            second.expect("Pooling")?;
            // a vector gets length one here in any case
            rest.iter().try_for_each(|module| module.expect("Normalize"))?;
            transformer = first.place(dir)?;
            pooling = Some(second.place(dir)?.join(CONFIG));
        } else if dir.join(POOLING).exists() {
            pooling = Some(dir.join(POOLING));
        }
        let pooling = pooling.map(|path| parse::<PoolingJson>(&path, POOLING)).transpose()?;
        let width = pooling.as_ref().and_then(|pooling| pooling.embedding_dimension);
        let whole: EncoderJson = json(dir, ENCODER_CONFIG)?.unwrap_or_default();
        if whole.default_prompt_name.is_some() {
            return refuse(format!("{ENCODER_CONFIG}: a default prompt is not supported"));
        }
        let settings: TransformerJson = json(&transformer, SENTENCE_CONFIG)?.unwrap_or_default();
        let tokenizer: TokenizerJson = json(&transformer, TOKENIZER_CONFIG)?.unwrap_or_default();
        // a value that is no number of tokens becomes the least or the largest one
        let longest = || tokenizer.model_max_length.map(|most| most as usize);
        Ok(Self {
            dir: transformer,
            pooling: pooling.map(PoolingJson::mode).transpose()?,
            width,
            longest: settings.max_seq_length.or_else(longest),
            lower: settings.do_lower_case,
        })
    }
}

impl Module {
    /// Refuses a module of another kind. Its type is a path in Python, which differs between versions.
    fn expect(&self, kind: &str) -> Result<()> {
        if self.r#type.rsplit('.').next() == Some(kind) {
            return Ok(());
        }
        let found = &self.r#type;
        refuse(format!("{MODULES}: module `{found}` is not supported where {kind} is"))
    }

    /// Its folder, which lies in that of the model.
    fn place(&self, dir: &Path) -> Result<PathBuf> {
        let path = Path::new(&self.path);
        if path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Ok(dir.join(path));
        }
        refuse(format!("{MODULES}: {:?} is no folder of the model", self.path))
    }
}

impl PoolingJson {
    fn mode(self) -> Result<Pooling> {
        let modes = match self.pooling_mode {
            Some(Modes::One(mode)) => vec![mode],
            Some(Modes::Several(modes)) => modes,
            None => {
                let set = self.others.into_iter().filter(|(_, value)| value == &Value::Bool(true));
                set.filter_map(|(flag, _)| Some(flag.strip_prefix(FLAG)?.to_owned())).collect()
            }
        };
        let modes: Vec<&str> = modes.iter().map(String::as_str).collect();
        match modes[..] {
            ["mean" | "mean_tokens"] => Ok(Pooling::Mean),
            ["cls" | "cls_token"] => Ok(Pooling::First),
            _ => refuse(format!("{POOLING}: pooling mode `{}` is not supported", modes.join("+"))),
        }
    }
}

fn refuse<T>(why: String) -> Result<T> {
    Err(Error::Sentence(why))
}

/// The contents of a file in a folder, where it is there.
fn json<T: for<'de> Deserialize<'de>>(dir: &Path, file: &'static str) -> Result<Option<T>> {
    let path = dir.join(file);
    path.exists().then(|| parse(&path, file)).transpose()
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path, file: &'static str) -> Result<T> {
    serde_json::from_slice(&read(path, LARGEST_JSON)?).map_err(Error::json(file))
}
