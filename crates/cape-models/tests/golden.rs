//! Our forward pass against transformers', on tiny seeded models (`fixtures/make.py`).

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use cape::keep::KeepList;
use cape::model::LanguageModel;
use cape::text::TokenId;
use cape_models::{Device, Files};
use serde::Deserialize;

const MODELS: [&str; 3] = ["bert-tiny", "bert-tiny-legacy", "bert-tiny-f16"];

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
                let logits = device.model.logits(&ids, &[masked.position - 1]).unwrap();
                assert_eq!(logits.row(0).len(), masked.logits.len());
                for (got, want) in logits.row(0).iter().zip(&masked.logits) {
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
    let device = device("bert-tiny");
    for text in golden("bert-tiny").texts {
        let ids = content(&text);
        for i in 0..ids.len() {
            let mut other = ids.clone();
            other[i] = TokenId(7 + (other[i].0 + 1) % 100);
            assert!(logits(&device, &ids, &[i]) == logits(&device, &other, &[i]), "bits differ");
        }
    }
}

#[test]
fn a_batch_gives_what_single_rows_give() {
    let device = device("bert-tiny");
    for text in golden("bert-tiny").texts {
        let ids = content(&text);
        let positions: Vec<usize> = (0..ids.len()).collect();
        let batch = logits(&device, &ids, &positions);
        for i in positions {
            for (a, b) in logits(&device, &ids, &[i])[0].iter().zip(&batch[i]) {
                assert!((a - b).abs() < 1e-5, "{a} {b}");
            }
        }
    }
}

fn logits(device: &Device, ids: &[TokenId], positions: &[usize]) -> Vec<Vec<f32>> {
    let logits = device.model.logits(ids, positions).unwrap();
    (0..positions.len()).map(|i| logits.row(i).to_vec()).collect()
}
