//! Sentence encoders: the meaning of a text as a vector, so that texts can be compared by their angle.
//!
//! A folder in the layout of sentence-transformers, or of plain transformers as SimCSE has it, is
//! computed as these do. Here a text is data to be measured, not to be protected: it is cut into tokens
//! by the `tokenizers` crate alone, which may drop characters.

mod layout;
mod texts;

use cape::tokens::{Embeddings, TokenId};
use rayon::prelude::*;

use self::layout::{Layout, Pooling};
use self::texts::Texts;
use crate::device::folder;
use crate::error::{Error, Result};
use crate::files::Files;
use crate::network::{Encoder, Family, Input, Linear, Loader};
use crate::options::Options;

/// How many tokens go through the network at once, but for a longer text: enough to keep every core
/// busy, and few enough that the memory does not grow with the number of texts.
const BATCH: usize = 1024;

/// A model that gives each text a vector of length one.
pub struct SentenceEncoder {
    texts: Texts,
    words: Embeddings,
    encoder: Encoder,
    pool: Pool,
}

/// How the rows of a text become one.
enum Pool {
    /// Their mean, special tokens included.
    Mean,
    /// The row of the begin token, through the pooler where there is one.
    First(Option<Linear>),
}

impl SentenceEncoder {
    /// Loads a model from a folder, or from the hub's cache by its name there. Nothing is fetched.
    ///
    /// `modules.json` and the pooling's `config.json` say how rows become a vector. Without them it is
    /// the begin token's row that counts, after the pooler where the weights have one.
    pub fn load(name_or_dir: &str, options: Options) -> Result<Self> {
        let layout = Layout::read(&folder(name_or_dir)?)?;
        let files = Files::read(&layout.dir)?;
        if files.gguf().is_some() {
            return Err(Error::Sentence("it must be a folder, not a GGUF file".into()));
        }
        let family = Family::parse(&files.model_type()?, files.config())?;
        let weights = files.weights()?;
        let shape = &family.shape;
        if let Some(width) = layout.width.filter(|&width| width != shape.hidden) {
            let hidden = shape.hidden;
            let why = format!("the pooling is of rows {width} wide, the model's are {hidden}");
            return Err(Error::Sentence(why));
        }
        let longest = layout.longest.map_or(shape.longest(), |most| most.min(shape.longest()));
        let load = Loader::new(&weights, shape, family.names, options.math(weights.has_integers()));
        let pool = match layout.pooling {
            Some(Pooling::Mean) => Pool::Mean,
            Some(Pooling::First) => Pool::First(None),
            None => Pool::First(load.pooler()?),
        };
        Ok(Self {
            texts: Texts::new(files.tokenizer(), &family, longest, layout.lower)?,
            words: Embeddings::new(load.words()?.into_floats(shape.hidden), shape.hidden),
            encoder: load.encoder()?,
            pool,
        })
    }

    /// How many numbers a vector has.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.words.dim()
    }

    /// A vector of length one for each text. Of a text longer than the model can see, the beginning
    /// counts.
    pub fn encode(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let inputs: Vec<Vec<TokenId>> =
            texts.par_iter().map(|text| self.texts.ids(text)).collect::<Result<_>>()?;
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = &inputs[..];
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(fitting(rest));
            vectors.extend(self.pooled(batch));
            rest = after;
        }
        vectors.into_iter().map(unit).collect()
    }

    fn pooled(&self, inputs: &[Vec<TokenId>]) -> Vec<Vec<f32>> {
        let dim = self.dim();
        match &self.pool {
            Pool::Mean => {
                let x = self.encoder.forward(&self.words, inputs, None);
                let mut rows = x.chunks_exact(dim);
                inputs.iter().map(|input| mean(rows.by_ref().take(input.len()), dim)).collect()
            }
            Pool::First(pooler) => {
                let first = vec![vec![0]; inputs.len()];
                let mut x = self.encoder.forward(&self.words, inputs, Some(&first));
                if let Some(pooler) = pooler {
                    let tanh = |y: &mut [f32]| y.iter_mut().for_each(|y| *y = y.tanh());
                    x = pooler.forward_then(&Input::new(&x), tanh);
                }
                x.chunks_exact(dim).map(<[f32]>::to_vec).collect()
            }
        }
    }
}

/// How many of these go through the network together: as many as have few enough tokens, and one at
/// least.
fn fitting(inputs: &[Vec<TokenId>]) -> usize {
    let ends = inputs.iter().scan(0, |end, input| {
        *end += input.len();
        Some(*end)
    });
    ends.take_while(|&end| end <= BATCH).count().max(1)
}

fn mean<'a>(rows: impl ExactSizeIterator<Item = &'a [f32]>, dim: usize) -> Vec<f32> {
    let count = rows.len() as f64;
    let mut sum = vec![0.0_f64; dim];
    for row in rows {
        for (sum, &x) in sum.iter_mut().zip(row) {
            *sum += f64::from(x);
        }
    }
    sum.iter().map(|sum| (sum / count) as f32).collect()
}

fn unit(mut vector: Vec<f32>) -> Result<Vec<f32>> {
    let length = length(&vector);
    if !length.is_normal() {
        return Err(Error::Sentence("the vector of a text has no direction".into()));
    }
    for x in &mut vector {
        *x = (f64::from(*x) / length) as f32;
    }
    Ok(vector)
}

fn length(vector: &[f32]) -> f64 {
    vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}

/// The cosine of the angle between two vectors; zero where one of them has no length.
///
/// # Panics
/// If one has more numbers than the other.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len(), "vectors of one space");
    let dot: f64 = a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
    let lengths = length(a) * length(b);
    if lengths == 0.0 { 0.0 } else { (dot / lengths).clamp(-1.0, 1.0) }
}
