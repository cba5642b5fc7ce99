//! A BERT-shaped masked language model.

use std::sync::Arc;

use cape::model::{Embeddings, LanguageModel, View};
use cape::text::TokenId;
use cape::utility::Calibration;
use cape::vocab::{Candidates, Vocab};
use serde::Deserialize;

use crate::layers::{Attention, LayerNorm, Linear, add, gelu, project};
use crate::weights::Weights;
use crate::{Error, Result};

/// What `config.json` says.
#[derive(Deserialize)]
struct Config {
    model_type: Option<String>,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    #[serde(default = "Config::default_eps")]
    layer_norm_eps: f32,
    hidden_act: String,
    position_embedding_type: Option<String>,
    #[serde(default = "Config::default_tie")]
    tie_word_embeddings: bool,
}

/// The model.
pub(crate) struct Bert {
    vocab: Arc<Vocab>,
    calibration: Calibration,
    window: usize,
    cls: TokenId,
    sep: TokenId,
    mask: TokenId,
    network: Network,
}

/// The weights and what is computed from them.
pub(crate) struct Network {
    heads: usize,
    words: Embeddings,
    positions: Vec<f32>,
    token_type: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
    head: Head,
}

/// One encoder layer.
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    up: Linear,
    down: Linear,
    down_norm: LayerNorm,
}

/// The masked-language-model head.
struct Head {
    transform: Linear,
    norm: LayerNorm,
    /// The decoder's rows, where they are not the word embeddings.
    decoder: Option<Vec<f32>>,
    bias: Vec<f32>,
}

impl Config {
    fn default_eps() -> f32 {
        1e-12
    }

    fn default_tie() -> bool {
        true
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let config: Self = serde_json::from_slice(bytes)
            .map_err(|source| Error::Json { file: "config.json", source })?;
        let refuse = |why: String| Err(Error::Config(why));
        if let Some(other) = config.model_type.as_deref().filter(|&t| t != "bert") {
            return refuse(format!("model_type `{other}` is not supported, only `bert`"));
        }
        if config.hidden_act != "gelu" {
            return refuse(format!("hidden_act `{}` is not supported", config.hidden_act));
        }
        if let Some(other) = config.position_embedding_type.as_deref().filter(|&t| t != "absolute")
        {
            return refuse(format!("position_embedding_type `{other}` is not supported"));
        }
        if config.num_attention_heads == 0
            || config.hidden_size == 0
            || !config.hidden_size.is_multiple_of(config.num_attention_heads)
        {
            return refuse("hidden_size must be a multiple of num_attention_heads".into());
        }
        let sizes = [
            ("num_hidden_layers", config.num_hidden_layers, 1),
            ("intermediate_size", config.intermediate_size, 1),
            ("type_vocab_size", config.type_vocab_size, 1),
            ("max_position_embeddings", config.max_position_embeddings, 3),
        ];
        if let Some((name, _, least)) = sizes.iter().find(|(_, size, least)| size < least) {
            return refuse(format!("{name} must be at least {least}"));
        }
        Ok(config)
    }
}

impl Bert {
    /// A network with the vocabulary that goes with it. `window` is how many tokens of a prompt to
    /// look at, at most.
    pub(crate) fn new(
        network: Network,
        vocab: Arc<Vocab>,
        calibration: Calibration,
        window: Option<usize>,
    ) -> Result<Self> {
        let rows = network.head.bias.len();
        if vocab.len() != rows {
            return Err(Error::Vocabulary { tokenizer: vocab.len(), model: rows });
        }
        let special = |token| vocab.id(token).ok_or(Error::SpecialToken(token));
        let (cls, sep, mask) = (special("[CLS]")?, special("[SEP]")?, special("[MASK]")?);
        let most = network.positions.len() / network.words.dim() - 2;
        let window = window.unwrap_or(most).clamp(1, most);
        Ok(Self { vocab, calibration, window, cls, sep, mask, network })
    }

    /// The model's size in words.
    pub(crate) fn shape(&self) -> String {
        let Network { layers, words, heads, .. } = &self.network;
        format!("{} layers, {} wide, {heads} heads", layers.len(), words.dim())
    }
}

impl Network {
    /// From the bytes of `config.json` and `model.safetensors`.
    pub(crate) fn new(config: &[u8], weights: &[u8]) -> Result<Self> {
        let config = Config::parse(config)?;
        let file = Weights::new(weights)?;
        let load = Loader { file: &file, config: &config };
        let hidden = config.hidden_size;
        let table = |name: &str, rows: usize| load.get(name, &[rows, hidden]);
        let words = table("embeddings.word_embeddings.weight", config.vocab_size)?;
        let positions =
            table("embeddings.position_embeddings.weight", config.max_position_embeddings)?;
        let types = table("embeddings.token_type_embeddings.weight", config.type_vocab_size)?;
        let layers = (0..config.num_hidden_layers).map(|i| load.layer(i));
        Ok(Self {
            heads: config.num_attention_heads,
            words: Embeddings::new(words, hidden),
            positions,
            token_type: types[..hidden].to_vec(),
            norm: load.norm("embeddings.LayerNorm")?,
            layers: layers.collect::<Result<_>>()?,
            head: load.head()?,
        })
    }

    /// The logits at one row of each sequence.
    fn logits(&self, inputs: &[Vec<TokenId>], rows: &[usize]) -> Vec<f32> {
        let lens: Vec<usize> = inputs.iter().map(Vec::len).collect();
        let mut x = self.embed(inputs);
        for (i, layer) in self.layers.iter().enumerate() {
            // the last layer is needed at one row of each sequence only
            let only = (i + 1 == self.layers.len()).then_some(rows);
            x = layer.forward(&x, &lens, self.heads, only);
        }
        let mut x = self.head.transform.forward(&x);
        gelu(&mut x);
        self.head.norm.forward(&mut x);
        let decoder = self.head.decoder.as_deref().unwrap_or(self.words.data());
        project(&x, decoder, &self.head.bias)
    }

    fn embed(&self, inputs: &[Vec<TokenId>]) -> Vec<f32> {
        let hidden = self.words.dim();
        let mut x = Vec::with_capacity(inputs.iter().map(Vec::len).sum::<usize>() * hidden);
        for input in inputs {
            for (&id, position) in input.iter().zip(self.positions.chunks_exact(hidden)) {
                let word = self.words.row(id).iter();
                x.extend(word.zip(&self.token_type).zip(position).map(|((w, t), p)| w + t + p));
            }
        }
        self.norm.forward(&mut x);
        x
    }
}

impl LanguageModel for Bert {
    fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    fn embeddings(&self) -> &Embeddings {
        &self.network.words
    }

    fn calibration(&self) -> Calibration {
        self.calibration
    }

    fn mask(&self) -> TokenId {
        self.mask
    }

    fn window(&self) -> usize {
        self.window
    }

    fn input(&self, ids: &[TokenId], position: usize) -> (Vec<TokenId>, usize) {
        let mut input = Vec::with_capacity(ids.len() + 2);
        input.push(self.cls);
        input.extend_from_slice(ids);
        input.push(self.sep);
        input[position + 1] = self.mask;
        (input, position + 1)
    }

    fn logits(
        &self,
        views: &mut [View<'_>],
        candidates: Candidates,
    ) -> cape::Result<Vec<Vec<f32>>> {
        let asked: Vec<_> = views
            .iter()
            .flat_map(|view| view.positions.iter().map(|&(at, piece)| (view.ids, at, piece)))
            .collect();
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let (inputs, rows): (Vec<_>, Vec<_>) =
            asked.iter().map(|&(ids, at, _)| self.input(ids, at)).unzip();
        let logits = self.network.logits(&inputs, &rows);
        let rows = logits.chunks_exact(self.vocab.len()).zip(asked).map(|(row, (.., piece))| {
            self.vocab.candidates(piece, candidates).iter().map(|id| row[id.index()]).collect()
        });
        Ok(rows.collect())
    }
}

impl Layer {
    /// All rows, or one row of each sequence only.
    fn forward(&self, x: &[f32], lens: &[usize], heads: usize, only: Option<&[usize]>) -> Vec<f32> {
        let hidden = self.attended_norm.weight.len();
        let (mut y, queries): (Vec<f32>, Vec<usize>) = match only {
            None => (x.to_vec(), lens.to_vec()),
            Some(rows) => {
                let starts = lens.iter().scan(0, |at, len| Some(std::mem::replace(at, *at + len)));
                let row = |(start, row)| &x[(start + row) * hidden..][..hidden];
                (starts.zip(rows).flat_map(row).copied().collect(), vec![1; lens.len()])
            }
        };
        let attention = Attention { queries: &queries, lens, heads, width: hidden / heads };
        let attended = attention.forward(
            &self.query.forward(&y),
            &self.key.forward(x),
            &self.value.forward(x),
        );
        add(&mut y, &self.attended.forward(&attended));
        self.attended_norm.forward(&mut y);
        let mut up = self.up.forward(&y);
        gelu(&mut up);
        add(&mut y, &self.down.forward(&up));
        self.down_norm.forward(&mut y);
        y
    }
}

/// Finds tensors under the names that BERT checkpoints use.
struct Loader<'a> {
    file: &'a Weights<'a>,
    config: &'a Config,
}

impl Loader<'_> {
    /// A tensor of the encoder, whose names may lack the `bert.` in front.
    fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let full = format!("bert.{name}");
        let plain = !self.file.has(&full) && self.file.has(name);
        self.file.get(if plain { name } else { &full }, shape)
    }

    fn linear(&self, name: &str, outputs: usize, inputs: usize) -> Result<Linear> {
        let weights = self.get(&format!("{name}.weight"), &[outputs, inputs])?;
        Ok(Linear::new(&weights, self.get(&format!("{name}.bias"), &[outputs])?, inputs))
    }

    /// A layer normalisation of the encoder, by its present names or by TensorFlow's.
    fn norm(&self, name: &str) -> Result<LayerNorm> {
        self.norm_by(name, |name, shape| self.get(name, shape))
    }

    fn norm_by(
        &self,
        name: &str,
        get: impl Fn(&str, &[usize]) -> Result<Vec<f32>>,
    ) -> Result<LayerNorm> {
        let shape = [self.config.hidden_size];
        let either = |new: &str, old: &str| {
            let new = get(&format!("{name}.{new}"), &shape);
            match new {
                Err(missing @ Error::Missing(_)) => {
                    get(&format!("{name}.{old}"), &shape).map_err(|error| match error {
                        Error::Missing(_) => missing,
                        other => other,
                    })
                }
                other => other,
            }
        };
        Ok(LayerNorm {
            weight: either("weight", "gamma")?,
            bias: either("bias", "beta")?,
            eps: self.config.layer_norm_eps,
        })
    }

    fn layer(&self, i: usize) -> Result<Layer> {
        let (hidden, wide) = (self.config.hidden_size, self.config.intermediate_size);
        let at = |part: &str| format!("encoder.layer.{i}.{part}");
        Ok(Layer {
            query: self.linear(&at("attention.self.query"), hidden, hidden)?,
            key: self.linear(&at("attention.self.key"), hidden, hidden)?,
            value: self.linear(&at("attention.self.value"), hidden, hidden)?,
            attended: self.linear(&at("attention.output.dense"), hidden, hidden)?,
            attended_norm: self.norm(&at("attention.output.LayerNorm"))?,
            up: self.linear(&at("intermediate.dense"), wide, hidden)?,
            down: self.linear(&at("output.dense"), hidden, wide)?,
            down_norm: self.norm(&at("output.LayerNorm"))?,
        })
    }

    fn head(&self) -> Result<Head> {
        let (hidden, vocab) = (self.config.hidden_size, self.config.vocab_size);
        let at = |part: &str| format!("cls.predictions.{part}");
        let transform = Linear::new(
            &self.file.get(&at("transform.dense.weight"), &[hidden, hidden])?,
            self.file.get(&at("transform.dense.bias"), &[hidden])?,
            hidden,
        );
        let norm =
            self.norm_by(&at("transform.LayerNorm"), |name, shape| self.file.get(name, shape))?;
        let decoder = if self.config.tie_word_embeddings {
            None
        } else {
            Some(self.file.get(&at("decoder.weight"), &[vocab, hidden])?)
        };
        let only_decoder = !self.file.has(&at("bias")) && self.file.has(&at("decoder.bias"));
        let bias = if only_decoder { "decoder.bias" } else { "bias" };
        Ok(Head { transform, norm, decoder, bias: self.file.get(&at(bias), &[vocab])? })
    }
}
