//! The part that causal models share: the keys and values they keep of a prompt, attention to these, and
//! how they answer.
//!
//! Row i of a prompt is what the model expects after the begin token and the i tokens before
//! position i; neither position i nor anything after it is given to the network for that row.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cape::tokens::{Calibration, Embeddings, LanguageModel, TokenId, View, Vocab};
use cape_kernels::{Kernel, LastRow};
use rayon::prelude::*;
use serde::Deserialize;

use super::layers::gather;
use super::word_tables::{StoredTables, WordTables};
use crate::error::{Error, Result};
use crate::options::Math;
use crate::profile::{self, Stage};

/// How many tokens of a prompt are looked at where `cape.json` does not say: enough for a prompt, and few
/// enough that its keys and values stay small.
const WINDOW: usize = 1024;

/// The next model's number.
static NUMBER: AtomicU64 = AtomicU64::new(1);

/// A causal network: GPT-2's or Llama's, without the tables that belong to its vocabulary.
pub(crate) trait Network: Send + Sync {
    /// The state of each new row after the last layer.
    fn forward(&self, words: &Embeddings, rows: &mut Rows<'_>) -> Vec<f32>;

    /// The normalisation of some of these states before logits are made of them.
    fn norm(&self, x: &mut [f32]);
}

/// A network without its vocabulary.
pub(crate) struct Loaded {
    pub(crate) network: Box<dyn Network>,
    pub(crate) tables: StoredTables,
    /// The width of the tables.
    pub(crate) hidden: usize,
    /// How many positions the network has.
    pub(crate) positions: usize,
    pub(crate) ends: Ends,
    /// Its size in words.
    pub(crate) shape: String,
    pub(crate) math: Math,
}

/// The ids of the tokens that begin and end a text, where the model says.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ends {
    pub(crate) begin: Option<u32>,
    pub(crate) end: Option<u32>,
}

/// A token in `config.json`: an id, or several of which the first counts.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Ids {
    One(u32),
    Several(Vec<u32>),
}

impl Ends {
    pub(crate) fn new(begin: Option<&Ids>, end: Option<&Ids>) -> Self {
        let first = |ids: &Ids| match ids {
            Ids::One(id) => Some(*id),
            Ids::Several(ids) => ids.first().copied(),
        };
        Self { begin: begin.and_then(first), end: end.and_then(first) }
    }
}

/// A causal language model.
pub(crate) struct Causal {
    words: WordTables,
    calibration: Calibration,
    window: usize,
    begin: TokenId,
    end: TokenId,
    network: Box<dyn Network>,
    /// Tells this model's memory of a prompt from another model's.
    number: u64,
}

impl Loaded {
    /// The model with its vocabulary. `window` is how many tokens of a prompt to look at, at most.
    pub(crate) fn with(
        self,
        vocab: Arc<Vocab>,
        calibration: Calibration,
        window: Option<usize>,
    ) -> Result<Causal> {
        let Self { network, tables, hidden, positions, ends: Ends { begin, end }, math, .. } = self;
        // there may be rows that no token uses: tables are padded to round sizes
        if vocab.len() > tables.bias.len() {
            return Err(Error::Vocabulary { tokenizer: vocab.len(), model: tables.bias.len() });
        }
        let known = |id: Option<u32>| id.map(TokenId).filter(|id| id.index() < vocab.len());
        let end = known(end).or_else(|| vocab.id("<|endoftext|>"));
        let begin =
            known(begin).or(end).ok_or(Error::SpecialToken("bos_token_id or <|endoftext|>"))?;
        Ok(Causal {
            words: WordTables::new(vocab, tables, hidden, math),
            calibration,
            window: window.unwrap_or(WINDOW).clamp(1, positions - 1),
            begin,
            end: end.unwrap_or(begin),
            network,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        })
    }
}

impl LanguageModel for Causal {
    fn vocab(&self) -> &Vocab {
        self.words.vocab()
    }

    fn embeddings(&self) -> &Embeddings {
        self.words.embeddings()
    }

    fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// There is no mask: the token that ends a text stands for an unknown token.
    fn mask(&self) -> TokenId {
        self.end
    }

    fn window(&self) -> usize {
        self.window
    }

    fn input(&self, ids: &[TokenId], position: usize) -> (Vec<TokenId>, usize) {
        let before = ids[..position].iter().copied();
        (std::iter::once(self.begin).chain(before).collect(), position + 1)
    }

    fn logits(&self, views: &mut [View<'_>]) -> cape::Result<Vec<Vec<f32>>> {
        let (mut rows, mut asked) = (Rows::default(), Vec::new());
        for view in views {
            let places = || view.positions.iter().copied();
            let (Some(first), Some(last)) = (places().min(), places().max()) else {
                continue;
            };
            let (input, _) = self.input(view.ids, last);
            let cache: &mut Cache = view.memory.get();
            let from = cache.keep(self.number, &input, first);
            asked.extend(places().map(|at| rows.ids.len() + at - from));
            rows.add(cache, from, &input);
        }
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let x = self.network.forward(self.embeddings(), &mut rows);
        rows.finish();
        let mut x = gather(&x, self.embeddings().dim(), &asked);
        self.network.norm(&mut x);
        Ok(profile::timed(Stage::Decoder, || self.words.logits(&x)))
    }

    fn distances(&self, t: TokenId) -> Vec<f32> {
        self.words.distances(t)
    }
}

/// The keys and values of one prompt.
#[derive(Default)]
pub(crate) struct Cache {
    model: u64,
    ids: Vec<TokenId>,
    layers: Vec<KeyValues>,
    /// Of a row of keys, and of values.
    width: usize,
}

/// The keys and values of one layer, a row for each token.
#[derive(Default)]
struct KeyValues {
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Cache {
    /// Keeps the rows that `wanted` begins with, at most `most` of them, and returns their number.
    fn keep(&mut self, model: u64, wanted: &[TokenId], most: usize) -> usize {
        if self.model != model {
            *self = Self { model, ..Self::default() };
        }
        let same = self.ids.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        self.ids.truncate(same.min(most));
        self.ids.len()
    }

    /// A cache of the rows that `wanted` begins with, at most `most` of them.
    pub(crate) fn fork(&self, wanted: &[TokenId], most: usize) -> Self {
        let same = self.ids.iter().zip(wanted).take(most).take_while(|(a, b)| a == b).count();
        let part = |x: &[f32]| x[..self.width * same].to_vec();
        let layer = |of: &KeyValues| KeyValues { keys: part(&of.keys), values: part(&of.values) };
        Self {
            model: self.model,
            ids: self.ids[..same].to_vec(),
            layers: self.layers.iter().map(layer).collect(),
            width: self.width,
        }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Puts the rows of a layer after the `from` that are kept.
    fn put(&mut self, layer: usize, from: usize, width: usize, keys: &[f32], values: &[f32]) {
        self.width = width;
        if self.layers.len() <= layer {
            self.layers.resize_with(layer + 1, KeyValues::default);
        }
        let KeyValues { keys: all_keys, values: all_values } = &mut self.layers[layer];
        for (all, new) in [(all_keys, keys), (all_values, values)] {
            all.truncate(from * width);
            all.extend_from_slice(new);
        }
    }
}

/// The new rows of several prompts, one prompt after the other.
#[derive(Default)]
pub(crate) struct Rows<'a> {
    /// The token of each row.
    pub(crate) ids: Vec<TokenId>,
    /// The place of each row in its prompt.
    pub(crate) places: Vec<usize>,
    prompts: Vec<Prompt<'a>>,
}

/// The new rows of one prompt: those from `from` on, which come after the cached ones.
struct Prompt<'a> {
    cache: &'a mut Cache,
    from: usize,
    rows: usize,
}

impl<'a> Rows<'a> {
    pub(crate) fn add(&mut self, cache: &'a mut Cache, from: usize, input: &[TokenId]) {
        self.ids.extend_from_slice(&input[from..]);
        self.places.extend(from..input.len());
        self.prompts.push(Prompt { cache, from, rows: input.len() - from });
    }

    /// Notes in the caches that they hold the new rows.
    pub(crate) fn finish(self) {
        let mut ids = &self.ids[..];
        for prompt in self.prompts {
            let (new, rest) = ids.split_at(prompt.rows);
            prompt.cache.ids.extend_from_slice(new);
            ids = rest;
        }
    }

    /// Attention of every new row to itself and the rows before it in its prompt.
    pub(crate) fn attend(
        &mut self,
        layer: usize,
        heads: Heads,
        [q, k, v]: [&[f32]; 3],
        out: &mut Vec<f32>,
    ) {
        let (width, shared) = (heads.count * heads.width, heads.shared * heads.width);
        let mut at = 0;
        for Prompt { cache, from, rows } in &mut self.prompts {
            let new = at * shared..(at + *rows) * shared;
            cache.put(layer, *from, shared, &k[new.clone()], &v[new]);
            at += *rows;
        }
        let seen: Vec<(&KeyValues, usize)> = self
            .prompts
            .iter()
            .flat_map(|Prompt { cache, from, rows }| {
                (1..=*rows).map(|n| (&cache.layers[layer], *from + n))
            })
            .collect();
        out.resize(q.len(), 0.0);
        out.par_chunks_mut(width)
            .zip(q.par_chunks(width))
            .zip(seen)
            .for_each(|((out, q), (cache, seen))| heads.row(out, q, cache, seen));
    }
}

/// Heads of attention; `count / shared` of them in a row use the same keys and values.
#[derive(Clone, Copy)]
pub(crate) struct Heads {
    pub(crate) count: usize,
    pub(crate) shared: usize,
    pub(crate) width: usize,
}

impl Heads {
    /// One row, which sees the first `seen` rows of the cache.
    fn row(self, out: &mut [f32], q: &[f32], cache: &KeyValues, seen: usize) {
        let Self { shared, width, .. } = self;
        let part = seen * shared * width;
        let (keys, values) = (&cache.keys[..part], &cache.values[..part]);
        LastRow { q, keys, values, shared, width, out }.attend(Kernel::best());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use cape::tokens::Memory;

    use super::*;
    use crate::files::Matrix;
    use crate::options::Options;

    /// A network that notes which rows it is asked to compute.
    struct Noted(Arc<Mutex<Vec<Vec<usize>>>>);

    impl Network for Noted {
        fn forward(&self, _: &Embeddings, rows: &mut Rows<'_>) -> Vec<f32> {
            self.0.lock().unwrap().push(rows.places.clone());
            vec![0.0; rows.ids.len()]
        }

        fn norm(&self, _: &mut [f32]) {}
    }

    fn noted() -> (Causal, Arc<Mutex<Vec<Vec<usize>>>>) {
        let log = Arc::new(Mutex::new(Vec::new()));
        let loaded = Loaded {
            network: Box::new(Noted(Arc::clone(&log))),
            tables: StoredTables {
                words: Matrix::Floats(vec![0.0; 4]),
                decoder: None,
                bias: vec![0.0; 4],
            },
            hidden: 1,
            positions: usize::MAX,
            ends: Ends { begin: Some(9), end: None },
            shape: String::new(),
            math: Options::default().math(false),
        };
        let tokens = ["a", "b", "c", "<|endoftext|>"].map(str::to_owned);
        let vocab = Arc::new(Vocab::new(&tokens, &[TokenId(3)], "<|endoftext|>").unwrap());
        (loaded.with(vocab, Calibration::DEFAULT, None).unwrap(), log)
    }

    #[test]
    fn only_rows_that_are_new_are_computed() {
        let (model, log) = noted();
        let (mut memory, mut other) = (Memory::default(), Memory::default());
        let ask = |ids: &[u32], places: &[usize], memory: &mut Memory| {
            let ids: Vec<TokenId> = ids.iter().map(|&id| TokenId(id)).collect();
            let view = View { ids: &ids, positions: places, memory };
            model.logits(&mut [view]).unwrap();
            std::mem::take(&mut *log.lock().unwrap())
        };
        assert_eq!(ask(&[0, 1, 2, 0, 1], &[1], &mut memory), [[0, 1]]);
        // one step for the next token
        assert_eq!(ask(&[0, 1, 2, 0, 1], &[2], &mut memory), [[2]]);
        // all rows between are needed, those after are not
        assert_eq!(ask(&[0, 1, 2, 0, 1], &[4, 3], &mut memory), [[3, 4]]);
        // only keys and values are kept, so an old row is computed again
        assert_eq!(ask(&[0, 1, 2, 0, 1], &[2], &mut memory), [[2]]);
        // another token at place 1 is the input of row 2
        assert_eq!(ask(&[0, 2, 2, 0, 1], &[4], &mut memory), [[2, 3, 4]]);
        assert_eq!(ask(&[0, 2, 2, 0, 1], &[4], &mut other), [[0, 1, 2, 3, 4]]);
    }

    #[test]
    fn an_unknown_begin_gives_way_to_the_end_of_text_and_windows_are_bounded() {
        let (model, _) = noted();
        assert_eq!(model.input(&[], 0), (vec![TokenId(3)], 1));
        assert_eq!(model.mask(), TokenId(3));
        assert_eq!(model.window(), WINDOW);
    }
}
