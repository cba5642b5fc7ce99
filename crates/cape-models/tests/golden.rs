//! Our forward pass against transformers', on tiny seeded models (`fixtures/make.py`).

use std::path::{Path, PathBuf};

use crate::common::logits;
use cape::tokens::{KeepList, TokenId};
use cape_models::{Device, Files};
use serde::Deserialize;

/// The families of masked models, and the ways in which their files come.
const MODELS: [&str; 7] = [
    "bert-tiny",
    "bert-tiny-legacy",
    "bert-tiny-f16",
    "bert-tiny-sharded",
    "distilbert-tiny",
    "mpnet-tiny",
    "roberta-tiny",
];

#[derive(Deserialize)]
struct Golden {
    texts: Vec<Example>,
}

#[derive(Deserialize)]
struct Example {
    text: String,
    input_ids: Vec<u32>,
    masked: Vec<Masked>,
}

#[derive(Deserialize)]
struct Masked {
    position: usize,
    logits: Vec<f32>,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

fn device(name: &str) -> Device {
    Files::read(&folder(name)).unwrap().load().unwrap()
}

fn golden(name: &str) -> Golden {
    let bytes = std::fs::read(folder(name).join("golden.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// The ids between [CLS] and [SEP].
fn content(text: &Example) -> Vec<TokenId> {
    text.input_ids[1..text.input_ids.len() - 1].iter().map(|&id| TokenId(id)).collect()
}

#[test]
fn logits_agree_with_transformers() {
    for name in MODELS {
        let device = device(name);
        for text in golden(name).texts {
            let ids = content(&text);
            for masked in &text.masked {
                let row = &logits(&*device.model, &ids, &[masked.position - 1])[0];
                let drawn = device.model.vocab().drawable();
                assert_eq!(row.len(), drawn.len());
                for (got, id) in row.iter().zip(drawn) {
                    let want = masked.logits[id.index()];
                    assert!((got - want).abs() < 1e-4, "{name}: {got} for {want}");
                }
            }
        }
    }
}

#[test]
fn tokens_agree_with_transformers() {
    for name in MODELS {
        let device = device(name);
        for text in golden(name).texts {
            let tokens = device.tokenizer.tokenize(&text.text, &KeepList::default()).unwrap();
            let ids: Vec<TokenId> = tokens.as_slice().iter().map(|token| token.id).collect();
            assert!(ids == content(&text), "{name}");
        }
    }
}

#[test]
fn a_row_is_blind_to_its_own_token() {
    for name in MODELS {
        let device = device(name);
        for text in golden(name).texts {
            let ids = content(&text);
            for i in 0..ids.len() {
                let mut other = ids.clone();
                other[i] = TokenId(7 + (other[i].0 + 1) % 100);
                assert!(
                    logits(&*device.model, &ids, &[i]) == logits(&*device.model, &other, &[i]),
                    "{name}: bits differ"
                );
            }
        }
    }
}

#[test]
fn a_batch_gives_what_single_rows_give() {
    for name in MODELS {
        let device = device(name);
        for text in golden(name).texts {
            let ids = content(&text);
            let positions: Vec<usize> = (0..ids.len()).collect();
            let batch = logits(&*device.model, &ids, &positions);
            for i in positions {
                for (a, b) in logits(&*device.model, &ids, &[i])[0].iter().zip(&batch[i]) {
                    assert!((a - b).abs() < 1e-5, "{name}: {a} {b}");
                }
            }
        }
    }
}
