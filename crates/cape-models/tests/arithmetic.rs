//! Integers in the place of floats: how near they come, and that kernels and batches do not matter.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::common::logits;
use cape::tokens::{KeepList, Memory, TokenId, View};
use cape_models::{Arithmetic, Device, Files, Kernel, Options, Precision, pack};
use tempfile::TempDir;

const TEXTS: [&str; 3] = [
    "good book",
    "the doctor's letter was slow, and it is a secret.",
    "walking slowly to a readable story",
];

/// The masked models that are tried: the default has the shape of MPNet.
const MODELS: [&str; 2] = ["bert-tiny", "mpnet-tiny"];

/// They, stored as integers.
static PACKED: LazyLock<TempDir> = LazyLock::new(|| {
    let dir = TempDir::new().unwrap();
    for name in MODELS {
        let files = Files::read(&fixture(name)).unwrap();
        pack(&files, Precision::Int8, &dir.path().join(name)).unwrap();
    }
    dir
});

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

fn packed(name: &str, arithmetic: Arithmetic, kernel: Kernel) -> Device {
    let options = Options { arithmetic, kernel };
    Files::read(&PACKED.path().join(name)).unwrap().load_with(options).unwrap()
}

fn ids(device: &Device, text: &str) -> Vec<TokenId> {
    let tokens = device.tokenizer.tokenize(text, &KeepList::default()).unwrap();
    tokens.as_slice().iter().map(|token| token.id).collect()
}

/// The rows of every position of every text.
fn rows(device: &Device) -> Vec<Vec<f32>> {
    let rows = TEXTS.iter().flat_map(|text| {
        let ids = ids(device, text);
        logits(&*device.model, &ids, &(0..ids.len()).collect::<Vec<_>>())
    });
    rows.collect()
}

/// The largest difference, and the largest number.
fn apart(a: &[Vec<f32>], b: &[Vec<f32>]) -> (f32, f32) {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.fold((0.0, 0.0), |(most, large), (a, b)| (most.max((a - b).abs()), large.max(a.abs())))
}

#[test]
fn sixteen_bits_are_as_good_as_floats_and_eight_are_near() {
    for name in MODELS {
        let computed = |arithmetic| rows(&packed(name, arithmetic, Kernel::best()));
        let floats = computed(Arithmetic::F32);
        let (sixteen, large) = apart(&floats, &computed(Arithmetic::Int16));
        let (eight, _) = apart(&floats, &computed(Arithmetic::Int8));
        assert!(sixteen < 1e-3 * large, "{name}: {sixteen} of {large}");
        assert!(eight > sixteen && eight < 0.15 * large, "{name}: {eight} of {large}");
    }
}

#[test]
fn all_kernels_give_the_same_bits() {
    for name in MODELS {
        for arithmetic in [Arithmetic::Int16, Arithmetic::Int8] {
            let computed = |kernel| rows(&packed(name, arithmetic, kernel));
            let portable = computed(Kernel::PORTABLE);
            for kernel in Kernel::available() {
                assert!(computed(kernel) == portable, "{name} {kernel:?} {arithmetic:?}");
            }
        }
    }
}

#[test]
fn a_prompt_gives_the_same_bits_in_every_batch() {
    for arithmetic in [Arithmetic::F32, Arithmetic::Int16, Arithmetic::Int8] {
        for name in MODELS {
            same_bits_in_every_batch(&packed(name, arithmetic, Kernel::best()));
        }
    }
    for name in ["gpt2-tiny", "llama-tiny", "qwen2-tiny", "roberta-tiny"] {
        same_bits_in_every_batch(&Files::read(&fixture(name)).unwrap().load().unwrap());
    }
}

fn same_bits_in_every_batch(device: &Device) {
    let all: Vec<Vec<TokenId>> = TEXTS.iter().map(|text| ids(device, text)).collect();
    let ask = |texts: &[Vec<TokenId>]| {
        let positions: Vec<Vec<usize>> = texts.iter().map(|ids| (0..ids.len()).collect()).collect();
        let mut memories: Vec<Memory> = texts.iter().map(|_| Memory::default()).collect();
        let mut views: Vec<View<'_>> = texts
            .iter()
            .zip(&positions)
            .zip(&mut memories)
            .map(|((ids, positions), memory)| View { ids, positions, memory })
            .collect();
        device.model.logits(&mut views).unwrap()
    };
    let together = ask(&all);
    let alone: Vec<Vec<f32>> = all.chunks(1).flat_map(ask).collect();
    assert!(together == alone);
}

/// Positions that are masked together need one pass, and get what each of them gets alone.
#[test]
fn masks_that_share_a_pass_give_the_same_bits() {
    let arithmetics = [Arithmetic::F32, Arithmetic::Int16, Arithmetic::Int8];
    for (name, arithmetic) in MODELS.iter().flat_map(|name| arithmetics.map(|a| (name, a))) {
        let device = packed(name, arithmetic, Kernel::best());
        let mut ids = ids(&device, TEXTS[1]);
        ids[1..4].fill(device.model.mask());
        let ask = |positions: &[usize]| {
            let view = View { ids: &ids, positions, memory: &mut Memory::default() };
            device.model.logits(&mut [view]).unwrap()
        };
        // the last one is not masked: it has a pass of its own
        let all = [1, 2, 3, 4];
        let alone: Vec<Vec<f32>> = all.chunks(1).flat_map(ask).collect();
        assert!(ask(&all) == alone);
    }
}

#[test]
fn only_drawable_entries_are_computed_and_in_order() {
    let device = packed("bert-tiny", Arithmetic::Int16, Kernel::best());
    let floats = packed("bert-tiny", Arithmetic::F32, Kernel::best());
    let (ids, drawable) = (ids(&device, TEXTS[1]), device.model.vocab().drawable());
    let ask = |device: &Device| {
        let view = View { ids: &ids, positions: &[3], memory: &mut Memory::default() };
        device.model.logits(&mut [view]).unwrap().swap_remove(0)
    };
    let (logits, want) = (ask(&device), ask(&floats));
    assert_eq!((logits.len(), want.len()), (drawable.len(), drawable.len()));
    let large = want.iter().fold(0.0_f32, |large, logit| large.max(logit.abs()));
    for (got, want) in logits.iter().zip(&want) {
        assert!((got - want).abs() < 0.01 * large, "{got} {want}");
    }
}

#[test]
fn distances_are_those_of_the_stored_embeddings() {
    let device = packed("bert-tiny", Arithmetic::Int16, Kernel::best());
    let vocab = device.model.vocab();
    let candidates = vocab.drawable();
    for t in [0, 1, 30, 60, 90].map(TokenId) {
        let got = device.model.distances(t);
        let want = device.model.embeddings().distances(t, candidates);
        for ((got, want), r) in got.iter().zip(&want).zip(candidates) {
            assert!((got - want).abs() < 1e-4 * want.max(1.0), "{got} {want}");
            assert!(*r != t || *got == 0.0);
        }
    }
}

#[test]
fn models_stored_as_floats_compute_in_floats_unless_told() {
    let load = |arithmetic| {
        let options = Options { arithmetic, ..Options::default() };
        Files::read(&fixture("bert-tiny")).unwrap().load_with(options).unwrap()
    };
    let floats = rows(&load(Arithmetic::F32));
    assert!(rows(&load(Arithmetic::Auto)) == floats);
    let (apart, large) = apart(&floats, &rows(&load(Arithmetic::Int16)));
    assert!(apart > 0.0 && apart < 0.1 * large, "{apart} of {large}");
}
