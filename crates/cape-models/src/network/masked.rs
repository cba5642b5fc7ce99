//! A masked language model: an encoder that is shown a mask in place of the token that is asked for.

use std::sync::Arc;

use cape::tokens::{Calibration, Embeddings, LanguageModel, TokenId, View, Vocab};

use super::bert::{Family, Special};
use super::encoder::{Encoder, Head, Loader};
use super::word_tables::{StoredTables, WordTables};
use crate::error::{Error, Result};
use crate::files::Weights;
use crate::options::{Math, Options};
use crate::profile::{self, Stage};

/// How many positions are drawn in a turn: releases were measured to be as good as with one.
const AT_ONCE: usize = 16;

/// A masked model without its vocabulary.
pub(crate) struct Network {
    pub(crate) family: Family,
    encoder: Encoder,
    head: Head,
    tables: StoredTables,
    pub(crate) math: Math,
}

/// The model.
pub(crate) struct Masked {
    words: WordTables,
    encoder: Encoder,
    head: Head,
    calibration: Calibration,
    window: usize,
    begin: TokenId,
    end: TokenId,
    mask: TokenId,
}

impl Network {
    /// From `config.json` of a model of this type, and its weights.
    pub(crate) fn load(
        model_type: &str,
        config: &[u8],
        file: &Weights<'_>,
        options: Options,
    ) -> Result<Self> {
        let family = Family::parse(model_type, config)?;
        let math = options.math(file.has_integers());
        let load = Loader::new(file, &family.shape, family.names, math);
        let (encoder, (head, tables)) = (load.encoder()?, load.head()?);
        Ok(Self { family, encoder, head, tables, math })
    }

    /// The model with its vocabulary. `window` is how many tokens of a prompt to look at, at most.
    pub(crate) fn with(
        self,
        vocab: Arc<Vocab>,
        calibration: Calibration,
        window: Option<usize>,
    ) -> Result<Masked> {
        let Self { family, encoder, head, tables, math } = self;
        let shape = &family.shape;
        if vocab.len() != shape.vocab {
            return Err(Error::Vocabulary { tokenizer: vocab.len(), model: shape.vocab });
        }
        let id = |token| vocab.id(token).ok_or(Error::SpecialToken(token));
        let Special { begin, end, mask } = family.special(|token| vocab.id(token).is_some());
        let (begin, end, mask) = (id(begin)?, id(end)?, id(mask)?);
        let most = shape.longest() - 2;
        Ok(Masked {
            words: WordTables::new(vocab, tables, shape.hidden, math),
            encoder,
            head,
            calibration,
            window: window.unwrap_or(most).clamp(1, most),
            begin,
            end,
            mask,
        })
    }
}

impl LanguageModel for Masked {
    fn vocab(&self) -> &Vocab {
        self.words.vocab()
    }

    fn embeddings(&self) -> &Embeddings {
        self.words.embeddings()
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

    fn at_once(&self) -> usize {
        AT_ONCE
    }

    fn input(&self, ids: &[TokenId], position: usize) -> (Vec<TokenId>, usize) {
        let mut input = Vec::with_capacity(ids.len() + 2);
        input.push(self.begin);
        input.extend_from_slice(ids);
        input.push(self.end);
        input[position + 1] = self.mask;
        (input, position + 1)
    }

    fn logits(&self, views: &mut [View<'_>]) -> cape::Result<Vec<Vec<f32>>> {
        let (mut inputs, mut rows) = (Vec::new(), Vec::<Vec<usize>>::new());
        for view in views {
            for &position in view.positions {
                let (input, row) = self.input(view.ids, position);
                match rows.last_mut() {
                    // positions that are masked together share a pass
                    Some(rows) if inputs.last() == Some(&input) => rows.push(row),
                    _ => {
                        inputs.push(input);
                        rows.push(vec![row]);
                    }
                }
            }
        }
        if inputs.is_empty() {
            return Ok(Vec::new());
        }
        let x = self.encoder.forward(self.words.embeddings(), &inputs, Some(&rows));
        let x = self.head.forward(&x);
        Ok(profile::timed(Stage::Decoder, || self.words.logits(&x)))
    }

    fn distances(&self, t: TokenId) -> Vec<f32> {
        self.words.distances(t)
    }
}
