//! Texts that go on by their most likely token, several at a time.

use cape::tokens::{Embeddings, TokenId};

use super::causal::{Cache, Loaded, Network, Rows};
use super::layers::{Input, Linear, gather};
use super::llama_gguf;
use crate::error::Result;
use crate::files::Gguf;
use crate::options::Options;

/// A causal network with a logit for every token.
pub(crate) struct Generator {
    network: Box<dyn Network>,
    words: Embeddings,
    head: Linear,
    /// How long a text can be.
    pub(crate) positions: usize,
}

/// A text that goes on.
pub(crate) struct Sequence {
    ids: Vec<TokenId>,
    cache: Cache,
    /// Tokens whose logits are wanted where it goes on first, and the logits once they are known.
    weighed: Vec<(TokenId, Option<f32>)>,
}

impl Generator {
    /// The network of a GGUF file.
    pub(crate) fn new(file: &Gguf<'_>, options: Options) -> Result<Self> {
        let (loaded, head) = llama_gguf::load_coded(file, options)?;
        let Loaded { network, tables, hidden, positions, .. } = loaded;
        let words = Embeddings::new(tables.words.into_floats(hidden), hidden);
        Ok(Self { network, words, head, positions })
    }

    /// Computes what is new of each text, and puts its most likely next token after it, one of the first `vocab`. A token is the same whatever is
    /// computed beside it.
    pub(crate) fn step(&self, sequences: &mut [Sequence], vocab: usize) {
        let mut rows = Rows::default();
        let mut last = Vec::new();
        for Sequence { ids, cache, .. } in sequences.iter_mut() {
            let from = cache.len();
            rows.add(cache, from, ids);
            last.push(rows.ids.len() - 1);
        }
        let x = self.network.forward(&self.words, &mut rows);
        rows.finish();
        let mut x = gather(&x, self.words.dim(), &last);
        self.network.norm(&mut x);
        let logits = self.head.forward(&Input::new(&x));
        for (sequence, logits) in sequences.iter_mut().zip(logits.chunks(self.vocab())) {
            for (id, logit) in &mut sequence.weighed {
                logit.get_or_insert(logits[id.0 as usize]);
            }
            sequence.push(most_likely(&logits[..vocab]));
        }
    }

    /// How many rows the table of its tokens has.
    pub(crate) fn vocab(&self) -> usize {
        self.words.data().len() / self.words.dim()
    }
}

impl Sequence {
    /// A text that goes on after these tokens. What `like` has computed of the same beginning is not computed again.
    pub(crate) fn new(ids: Vec<TokenId>, like: Option<&Cache>) -> Self {
        // the last one is computed in any case, for what comes after it
        let most = ids.len().saturating_sub(1);
        let cache = like.map(|like| like.fork(&ids, most)).unwrap_or_default();
        Self { ids, cache, weighed: Vec::new() }
    }

    /// The same text, with the logits of these tokens kept where it goes on first.
    pub(crate) fn weighing(mut self, tokens: &[TokenId]) -> Self {
        self.weighed = tokens.iter().map(|&token| (token, None)).collect();
        self
    }

    /// The logits of the tokens that were weighed; none before it went on.
    pub(crate) fn weighed(&self) -> Vec<f32> {
        self.weighed.iter().filter_map(|&(_, logit)| logit).collect()
    }

    /// All of its tokens.
    pub(crate) fn ids(&self) -> &[TokenId] {
        &self.ids
    }

    /// Puts a token after it.
    pub(crate) fn push(&mut self, id: TokenId) {
        self.ids.push(id);
    }

    /// What it has computed, for another text that begins in the same way.
    pub(crate) fn computed(&self) -> Cache {
        self.cache.fork(&self.ids, usize::MAX)
    }

    /// How many tokens are to be computed.
    pub(crate) fn new_rows(&self) -> usize {
        self.ids.len() - self.cache.len()
    }
}

/// The first of the most likely tokens.
fn most_likely(logits: &[f32]) -> TokenId {
    let numbers = (0..).zip(logits).filter(|(_, logit)| !logit.is_nan());
    let best = numbers.reduce(|best, next| if next.1 > best.1 { next } else { best });
    TokenId(best.map_or(0, |(id, _)| id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::made;

    fn ids(text: &str) -> Vec<TokenId> {
        text.bytes().map(|byte| TokenId(byte.into())).collect()
    }

    /// The states of the rows of a text after the last layer.
    fn states(network: &dyn Network, words: &Embeddings, text: &str) -> Vec<f32> {
        let (mut cache, mut rows) = (Cache::default(), Rows::default());
        rows.add(&mut cache, 0, &ids(text));
        network.forward(words, &mut rows)
    }

    #[test]
    fn codes_give_nearly_what_floats_give() {
        // in files of `llama`, the rows of queries and keys stand in another order
        for architecture in ["qwen2", "llama"] {
            codes_are_near(&made::gguf(architecture, None));
        }
    }

    fn codes_are_near(bytes: &[u8]) {
        let file = Gguf::new(bytes).unwrap();
        let coded = Generator::new(&file, Options::default()).unwrap();
        let floats = llama_gguf::load(&file, Options::default()).unwrap();
        let text = "a text of some length, with numbers: 1, 2, 3";
        let got = states(&*coded.network, &coded.words, text);
        let want = states(&*floats.network, &coded.words, text);
        let square = |x: &mut dyn Iterator<Item = f32>| x.map(|v| f64::from(v * v)).sum::<f64>();
        let error = square(&mut got.iter().zip(&want).map(|(got, want)| got - want));
        let error = (error / square(&mut want.iter().copied())).sqrt();
        // activations of 8 bits
        assert!(error < 0.1, "{error}");
        assert!(error > 0.0, "the codes were not used");
    }

    #[test]
    fn a_shared_beginning_is_not_computed_again_and_changes_nothing() {
        let bytes = made::gguf("qwen2", None);
        let generator = Generator::new(&Gguf::new(&bytes).unwrap(), Options::default()).unwrap();
        let mut first = [Sequence::new(ids("to be or not"), None)];
        generator.step(&mut first, 256);
        let computed = first[0].computed();
        let mut like = [
            Sequence::new(ids("to be or what"), Some(&computed)),
            Sequence::new(ids("to be or not"), Some(&computed)),
            Sequence::new(ids("else"), Some(&computed)),
        ];
        assert_eq!(like.each_ref().map(Sequence::new_rows), [4, 1, 4]);
        for _ in 0..5 {
            generator.step(&mut like, 256);
        }
        for (text, like) in ["to be or what", "to be or not", "else"].iter().zip(&like) {
            let mut alone = [Sequence::new(ids(text), None)];
            for _ in 0..5 {
                generator.step(&mut alone, 256);
            }
            assert_eq!(alone[0].ids(), like.ids());
        }
        assert_eq!(first[0].ids(), &like[1].ids()[..13]);
    }

    #[test]
    fn the_first_of_equals_is_taken() {
        assert_eq!(most_likely(&[f32::NAN, 1.0, 3.0, 3.0, f32::NAN]), TokenId(2));
        assert_eq!(most_likely(&[]), TokenId(0));
    }
}
