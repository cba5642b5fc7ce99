//! Causal models: their numbers against transformers' (`fixtures/make.py`), what a row may see, and
//! what is kept from one call to the next.

use std::path::{Path, PathBuf};

use crate::common::logits;
use cape::tokens::{LanguageModel, Memory, TokenId, View};
use cape_models::{Arithmetic, Device, Files, Options};
use serde::Deserialize;

const MODELS: [&str; 4] = ["gpt2-tiny", "gpt2-tiny-slow", "llama-tiny", "qwen2-tiny"];

#[derive(Deserialize)]
struct Golden {
    texts: Vec<Example>,
}

#[derive(Deserialize)]
struct Example {
    input_ids: Vec<u32>,
    predicted: Vec<Predicted>,
}

#[derive(Deserialize)]
struct Predicted {
    position: usize,
    logits: Vec<f32>,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

fn device(name: &str) -> Device {
    Files::read(&folder(name)).unwrap().load().unwrap()
}

/// The ids after the begin token, with the rows of some positions.
fn golden(name: &str) -> Vec<(Vec<TokenId>, Vec<Predicted>)> {
    let bytes = std::fs::read(folder(name).join("golden.json")).unwrap();
    let golden: Golden = serde_json::from_slice(&bytes).unwrap();
    let ids = |text: &Example| -> Vec<TokenId> {
        text.input_ids[1..].iter().map(|&id| TokenId(id)).collect()
    };
    let texts: Vec<_> = golden.texts.into_iter().map(|t| (ids(&t), t.predicted)).collect();
    assert!(texts.len() > 4 && texts.iter().any(|(ids, _)| ids.len() > 20));
    texts
}

/// The golden numbers of the entries that can be drawn.
fn wanted(model: &dyn LanguageModel, row: &[f32]) -> Vec<f32> {
    let drawn = model.vocab().drawable();
    assert!(drawn.len() > 150);
    drawn.iter().map(|id| row[id.index()]).collect()
}

fn apart(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    // not `max`, which passes over what is not a number
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, |m, d| if d <= m { m } else { d })
}

/// The row of one position, with what is remembered.
fn row(model: &dyn LanguageModel, ids: &[TokenId], at: usize, memory: &mut Memory) -> Vec<f32> {
    let view = View { ids, positions: &[at], memory };
    model.logits(&mut [view]).unwrap().swap_remove(0)
}

#[test]
fn logits_agree_with_transformers() {
    for name in MODELS {
        let model = device(name).model;
        for (ids, predicted) in golden(name) {
            for Predicted { position, logits: want } in &predicted {
                let got = &logits(&*model, &ids, &[position - 1])[0];
                let apart = apart(got, &wanted(&*model, want));
                assert!(apart < 1e-4, "{name} at {position}: {apart}");
            }
        }
    }
}

#[test]
fn a_row_is_blind_to_its_own_token_and_to_all_after_it() {
    for name in MODELS {
        let model = device(name).model;
        let (ids, _) = golden(name).swap_remove(2);
        let all: Vec<usize> = (0..ids.len()).collect();
        let before = logits(&*model, &ids, &all);
        for i in all.clone() {
            let mut other = ids.clone();
            for id in &mut other[i..] {
                *id = TokenId(7 + (id.0 + 1) % 300);
            }
            assert!(logits(&*model, &other, &[i]) == logits(&*model, &ids, &[i]), "{name} {i}");
            // in one pass with the rows that do see them
            let after = logits(&*model, &other, &all);
            assert!(after[..=i] == before[..=i], "{name} {i}: bits differ");
            assert!(i + 1 == ids.len() || after[i + 1] != before[i + 1], "{name} {i}: blind");
        }
    }
}

#[test]
fn what_is_remembered_changes_nothing() {
    for name in MODELS {
        let model = device(name).model;
        let mut memory = Memory::default();
        let mut texts = golden(name);
        // one memory for texts that begin alike and texts that do not, forth and back
        let mut shorter = texts[2].0.clone();
        shorter.truncate(5);
        texts.push((shorter, Vec::new()));
        for (ids, _) in &texts {
            let places = (0..ids.len()).chain((0..ids.len()).rev()).chain([ids.len() / 2]);
            for i in places {
                let with = row(&*model, ids, i, &mut memory);
                let apart = apart(&with, &logits(&*model, ids, &[i])[0]);
                assert!(apart == 0.0, "{name} {i}: {apart}");
            }
        }
    }
}

#[test]
fn a_memory_of_another_model_is_not_used() {
    let (one, other) = (device("llama-tiny").model, device("llama-tiny").model);
    let qwen2 = device("qwen2-tiny").model;
    let ids: Vec<TokenId> = (20..30).map(TokenId).collect();
    let mut memory = Memory::default();
    for model in [&one, &qwen2, &other, &one] {
        assert!(row(&**model, &ids, 9, &mut memory) == logits(&**model, &ids, &[9])[0]);
    }
}

#[test]
fn prompts_side_by_side_get_what_each_gets_alone() {
    for name in MODELS {
        let model = device(name).model;
        let texts = golden(name);
        let mut memories: Vec<Memory> = texts.iter().map(|_| Memory::default()).collect();
        for step in 0..3 {
            // several positions, in no order, one of them twice; none of a prompt that is too short
            let positions: Vec<Vec<usize>> = texts
                .iter()
                .map(|(ids, _)| {
                    let places = [3 + step, step, 3 + step, 1];
                    places.into_iter().filter(|&at| at < ids.len()).collect()
                })
                .collect();
            let mut views: Vec<View<'_>> = texts
                .iter()
                .zip(&positions)
                .zip(&mut memories)
                .map(|(((ids, _), positions), memory)| View { ids, positions, memory })
                .collect();
            let mut rows = model.logits(&mut views).unwrap().into_iter();
            for ((ids, _), positions) in texts.iter().zip(&positions) {
                for &at in positions {
                    let alone = &logits(&*model, ids, &[at])[0];
                    let apart = apart(&rows.next().unwrap(), alone);
                    assert!(apart < 1e-5, "{name} {at}: {apart}");
                }
            }
            assert!(rows.next().is_none());
        }
    }
}

#[test]
fn nothing_asked_is_nothing_answered() {
    let model = device("gpt2-tiny").model;
    assert!(model.logits(&mut []).unwrap().is_empty());
    let ids = [TokenId(5)];
    let view = View { ids: &ids, positions: &[], memory: &mut Memory::default() };
    assert!(model.logits(&mut [view]).unwrap().is_empty());
}

#[test]
fn the_input_is_what_stands_before_the_position() {
    for (name, begin) in [("gpt2-tiny", 366), ("llama-tiny", 0), ("qwen2-tiny", 366)] {
        let model = device(name).model;
        let ids = [7, 8, 9].map(TokenId);
        assert!(model.input(&ids, 0) == (vec![TokenId(begin)], 1));
        assert!(model.input(&ids, 2) == ([begin, 7, 8].map(TokenId).to_vec(), 3));
        assert!(model.mask() == TokenId(begin));
        // 64 places, one of them for the begin token
        assert_eq!(model.window(), 63);
    }
}

#[test]
fn the_last_place_of_the_window_can_be_asked() {
    for name in MODELS {
        let model = device(name).model;
        let ids: Vec<TokenId> = (0..63).map(|i| TokenId(100 + i)).collect();
        assert!(logits(&*model, &ids, &[62])[0].iter().all(|x| x.is_finite()));
    }
}

#[test]
fn integers_agree_with_floats_and_give_the_same_bits_however_rows_are_asked_for() {
    for name in MODELS {
        let files = Files::read(&folder(name)).unwrap();
        let with = |arithmetic| {
            files.load_with(Options { arithmetic, ..Options::default() }).unwrap().model
        };
        let floats = with(Arithmetic::F32);
        for (arithmetic, most) in [(Arithmetic::Int16, 0.5), (Arithmetic::Int8, 1.0)] {
            let model = with(arithmetic);
            let (ids, _) = golden(name).swap_remove(2);
            let all: Vec<usize> = (0..ids.len()).collect();
            let (got, wanted) = (logits(&*model, &ids, &all), logits(&*floats, &ids, &all));
            let mut memory = Memory::default();
            for i in all {
                let apart = apart(&got[i], &wanted[i]);
                // not equal either: else these were floats
                assert!(apart > 0.0 && apart < most, "{name} {arithmetic:?} {i}: {apart}");
                assert!(row(&*model, &ids, i, &mut memory) == got[i], "{name} {i}: bits differ");
            }
        }
    }
}
