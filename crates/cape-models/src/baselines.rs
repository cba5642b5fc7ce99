//! The mechanisms that Cape is compared with, made ready: from words with vectors to a tokenizer and a
//! mechanism.

mod groups;

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cape::Epsilon;
use cape::mechanism::custext::Custext;
use cape::mechanism::inferdpt::Inferdpt;
use cape::mechanism::santext::{Plus, Santext};
use cape::mechanism::{Baseline, Unknown};
use cape::tokens::{Embeddings, KeepList, Piece, Split, TokenId, Tokenizer, Vocab, WordVectors};
use ring::digest::{Context, SHA256};

pub use self::groups::word_groups;
use self::groups::{GroupsFrom, load_or_make};
use crate::checksum;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::vectors::Vectors;

/// How many entries InferDPT's vocabulary has.
const INFERDPT_ENTRIES: usize = 11_000;

/// A mechanism that Cape is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaselineKind {
    /// SANTEXT: any word, the nearer the more probable.
    Santext,
    /// SANTEXT+: the same for rare words, and now and then for frequent ones.
    SantextPlus,
    /// CUSTEXT: a word of the same short list.
    Custext,
    /// CUSTEXT+: the same with stopwords kept.
    CustextPlus,
    /// InferDPT: a token within a random radius.
    Inferdpt,
}

impl BaselineKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Santext, Self::SantextPlus, Self::Custext, Self::CustextPlus, Self::Inferdpt];

    /// Its name on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Santext => "santext",
            Self::SantextPlus => "santext+",
            Self::Custext => "custext",
            Self::CustextPlus => "custext+",
            Self::Inferdpt => "inferdpt",
        }
    }

    /// Its own way with unknown words.
    fn unknown(self) -> Unknown {
        match self {
            Self::Santext | Self::SantextPlus | Self::Inferdpt => Unknown::Replace,
            Self::Custext | Self::CustextPlus => Unknown::Keep,
        }
    }
}

/// The settings of a baseline beside its words and its ε.
#[derive(Clone, Debug)]
pub struct BaselineSettings {
    /// The baseline.
    pub kind: BaselineKind,
    /// The way with unknown words; the mechanism's own without it.
    pub unknown: Option<Unknown>,
    /// How text is cut into words.
    pub split: Split,
    /// Public text to count words in; without it their order stands for frequency.
    pub corpus: Option<PathBuf>,
    /// K, the length of CUSTEXT's lists.
    pub list_size: usize,
    /// w, the share of SANTEXT+'s words that are sensitive.
    pub sensitive_share: f64,
    /// p, the probability with which SANTEXT+ draws for the others.
    pub frequent_drawn: f64,
}

impl BaselineSettings {
    /// The papers' defaults.
    #[must_use]
    pub fn new(kind: BaselineKind) -> Self {
        Self {
            kind,
            unknown: None,
            split: Split::Punctuation,
            corpus: None,
            list_size: 20,
            sensitive_share: 0.5,
            frequent_drawn: 0.2,
        }
    }
}

/// Where words and their vectors come from.
pub enum WordSource<'a> {
    /// From a file.
    Vectors(Box<Vectors>, &'a Path),
    /// From the embeddings of a device model: its whole words; for InferDPT its pieces.
    Device(&'a Device),
}

/// A baseline that is ready for any ε.
pub struct PreparedBaseline {
    /// Which baseline it is.
    pub kind: BaselineKind,
    /// Its tokenizer.
    pub tokenizer: Arc<Tokenizer>,
    /// The words that it keeps.
    pub keep: KeepList,
    /// The words that it draws from, with their vectors.
    pub words: Arc<WordVectors>,
    /// How many words or pieces it can draw from, and where they come from.
    pub about: String,
    /// The reason why the lists could not be stored for the next time.
    pub not_stored: Option<std::io::Error>,
    unknown: Unknown,
    setup: Setup,
}

/// The public tables of a mechanism.
enum Setup {
    Santext(Option<Plus>),
    Custext(Arc<[Vec<u32>]>),
    Inferdpt,
}

impl PreparedBaseline {
    /// Makes the vocabulary, and the lists where there are any; `progress` is told how many words are
    /// done, and of how many.
    pub fn new(
        settings: &BaselineSettings,
        source: WordSource<'_>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self> {
        let kind = settings.kind;
        let ready = |tokenizer, words, setup, about, not_stored| Self {
            kind,
            tokenizer,
            keep: match kind {
                BaselineKind::CustextPlus => KeepList::stopwords(),
                _ => KeepList::none(),
            },
            words: Arc::new(words),
            about,
            not_stored,
            unknown: settings.unknown.unwrap_or(kind.unknown()),
            setup,
        };
        if let (BaselineKind::Inferdpt, WordSource::Device(device)) = (kind, &source) {
            let (tokenizer, vocab) = (&device.tokenizer, device.model.vocab());
            let all = vocab.drawable().iter().copied();
            let ids: Vec<TokenId> =
                all.filter(|&id| is_english(vocab.surface(id))).take(INFERDPT_ENTRIES).collect();
            let about = format!("{} pieces of the device model", ids.len());
            let words = WordVectors::new(ids.clone(), gather(device.model.embeddings(), &ids))?;
            return Ok(ready(Arc::clone(tokenizer), words, Setup::Inferdpt, about, None));
        }
        let (mut words, of) = WordRows::from(source);
        let tokenizer = |vocab: &Arc<Vocab>| Tokenizer::words(Arc::clone(vocab), settings.split);
        let mut by_frequency: Vec<u32> = (0..words.vocab.len() as u32 - EXTRA).collect();
        if let Some(corpus) = &settings.corpus {
            by_frequency = count(corpus, &tokenizer(&words.vocab))?;
        }
        match kind {
            // only words of the corpus count
            BaselineKind::Santext | BaselineKind::SantextPlus if settings.corpus.is_some() => {
                by_frequency = words.select(by_frequency);
            }
            BaselineKind::Inferdpt => {
                let english = |&row: &u32| is_english(words.vocab.surface(TokenId(row)));
                let first: Vec<u32> =
                    by_frequency.iter().copied().filter(english).take(INFERDPT_ENTRIES).collect();
                words.select(first);
            }
            BaselineKind::Custext | BaselineKind::CustextPlus => words.rows = words.rows.unit(),
            BaselineKind::Santext | BaselineKind::SantextPlus => {}
        }
        let mut not_stored = None;
        let setup = match kind {
            BaselineKind::Santext => Setup::Santext(None),
            BaselineKind::SantextPlus => {
                let (w, p) = (settings.sensitive_share, settings.frequent_drawn);
                Setup::Santext(Some(Plus::rarest(&by_frequency, w, p)?))
            }
            BaselineKind::Custext | BaselineKind::CustextPlus => {
                let (lists, source) = words.lists(&by_frequency, settings.list_size, progress)?;
                if let Some(GroupsFrom::NotStored(why)) = source {
                    not_stored = Some(why);
                }
                Setup::Custext(lists.into())
            }
            BaselineKind::Inferdpt => Setup::Inferdpt,
        };
        let n = words.vocab.len() as u32 - EXTRA;
        let lists = matches!(kind, BaselineKind::Custext | BaselineKind::CustextPlus);
        let about = match &setup {
            Setup::Santext(Some(plus)) => format!("the {} rarest of {n} words of {of}", plus.len()),
            _ if settings.corpus.is_some() && !lists => {
                format!("the {n} words of {of} that the corpus has")
            }
            _ => format!("{n} words of {of}"),
        };
        let tokenizer = Arc::new(tokenizer(&words.vocab));
        let words = WordVectors::new((0..n).map(TokenId).collect(), words.rows)?;
        Ok(ready(tokenizer, words, setup, about, not_stored))
    }

    /// The mechanism at this ε.
    pub fn mechanism(&self, epsilon: Epsilon) -> Result<Baseline> {
        let (words, vocab) = (Arc::clone(&self.words), Arc::clone(self.tokenizer.vocab()));
        Ok(match &self.setup {
            Setup::Santext(plus) => {
                Baseline::Santext(Santext::new(words, epsilon, self.unknown, plus.clone())?)
            }
            Setup::Custext(lists) => {
                let lists = Arc::clone(lists);
                Baseline::Custext(Custext::new(words, lists, vocab, epsilon, self.unknown)?)
            }
            Setup::Inferdpt => {
                Baseline::Inferdpt(Inferdpt::new(words, vocab, epsilon, self.unknown)?)
            }
        })
    }
}

/// The entries that a vocabulary of words has beyond the words.
const EXTRA: u32 = 2;

/// Words with a row each.
struct WordRows {
    vocab: Arc<Vocab>,
    rows: Embeddings,
    /// The file beside which lists made from them can be kept, and the checksum they are known by.
    cache: Option<(PathBuf, [u8; 32])>,
}

impl WordRows {
    /// The words, and the name of their source.
    fn from(source: WordSource<'_>) -> (Self, String) {
        match source {
            WordSource::Vectors(vectors, path) => {
                let words: Vec<&str> = vectors.words.iter().collect();
                let of = path.file_name().map_or_else(String::new, |n| n.display().to_string());
                let vocab = Arc::new(Vocab::words(&words));
                let cache = Some((path.to_owned(), vectors.checksum));
                (Self { vocab, rows: vectors.rows, cache }, of)
            }
            WordSource::Device(device) => {
                let vocab = device.model.vocab();
                let ids = vocab.of_kind(Piece::Start);
                let words: Vec<&str> = ids.iter().map(|&id| vocab.surface(id)).collect();
                let rows = gather(device.model.embeddings(), ids);
                let vocab = Arc::new(Vocab::words(&words));
                (Self { vocab, rows, cache: None }, "the device model".into())
            }
        }
    }

    /// Keeps some of the words, in their order, and returns the new places of those given.
    fn select(&mut self, mut some: Vec<u32>) -> Vec<u32> {
        let mut ids: Vec<TokenId> = some.iter().map(|&row| TokenId(row)).collect();
        ids.sort_unstable();
        let words: Vec<&str> = ids.iter().map(|&id| self.vocab.surface(id)).collect();
        let vocab = Arc::new(Vocab::words(&words));
        self.rows = gather(&self.rows, &ids);
        self.vocab = vocab;
        for row in &mut some {
            *row = ids.partition_point(|id| id.0 < *row) as u32;
        }
        some
    }

    /// CUSTEXT's lists: read from beside the vectors where they were made before. Those of a model are
    /// made each time.
    fn lists(
        &self,
        by_frequency: &[u32],
        k: usize,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(Vec<Vec<u32>>, Option<GroupsFrom>)> {
        if k < 2 {
            let (name, range) = ("list-size", "2 or more");
            return Err(cape::Error::Setting { name, range, value: k as f64 }.into());
        }
        let mut make = || word_groups(&self.rows, by_frequency, k, progress);
        let Some((path, checksum)) = &self.cache else { return Ok((make(), None)) };
        let mut key = Context::new(&SHA256);
        key.update(checksum);
        key.update(&(k as u64).to_le_bytes());
        for row in by_frequency {
            key.update(&row.to_le_bytes());
        }
        let sum = checksum::finish(key);
        let short = u32::from_be_bytes([sum[0], sum[1], sum[2], sum[3]]);
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".lists-{short:08x}.cape"));
        let (lists, source) = load_or_make(Path::new(&name), &sum, make);
        Ok((lists, Some(source)))
    }
}

/// Some rows of many.
fn gather(rows: &Embeddings, ids: &[TokenId]) -> Embeddings {
    let mut data = Vec::with_capacity(ids.len() * rows.dim());
    for &id in ids {
        data.extend_from_slice(rows.row(id));
    }
    Embeddings::new(data, rows.dim())
}

/// Whether InferDPT's vocabulary of English may hold an entry.
fn is_english(entry: &str) -> bool {
    entry.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The words of a corpus, one passage a line, by falling frequency.
fn count(corpus: &Path, tokenizer: &Tokenizer) -> Result<Vec<u32>> {
    let io = Error::io(corpus);
    let reader = std::io::BufReader::new(std::fs::File::open(corpus).map_err(io)?);
    let mut counts = vec![0_u64; tokenizer.vocab().len()];
    let keep = KeepList::none();
    for line in reader.split(b'\n') {
        let line = line.map_err(io)?;
        let line = String::from_utf8_lossy(&line).replace(char::is_control, " ");
        for token in tokenizer.tokenize(&line, &keep)?.as_slice() {
            counts[token.id.index()] += 1;
        }
    }
    let words = (0..counts.len() as u32 - EXTRA).filter(|&row| counts[row as usize] > 0);
    let mut words: Vec<u32> = words.collect();
    words.sort_by_key(|&row| std::cmp::Reverse(counts[row as usize]));
    if words.len() < 2 {
        return Err(Error::Corpus(corpus.to_owned()));
    }
    Ok(words)
}
