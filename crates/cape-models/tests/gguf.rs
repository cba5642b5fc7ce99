//! GGUF files (`fixtures/ggufs.py`): their numbers against transformers', and broken and hostile
//! ones, each refused with an error that says what is wrong.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::logits;
use cape::tokens::{Calibration, KeepList, TokenId};
use cape_models::{Device, Error, Files, Precision, pack, save_calibration};
use serde_json::{Value, json};
use tempfile::TempDir;

const MODELS: [&str; 3] = ["llama-tiny-q8_0", "llama-tiny-q4_1", "qwen2-tiny-f16"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// The largest difference of a row to the golden ones, over the texts of a folder.
fn apart(device: &Device, golden: &Path) -> f32 {
    let golden: Value = serde_json::from_slice(&std::fs::read(golden).unwrap()).unwrap();
    let drawn = device.model.vocab().drawable();
    let mut most = 0.0_f32;
    for text in golden["texts"].as_array().unwrap() {
        let ids = |value: &Value| TokenId(value.as_u64().unwrap() as u32);
        let ids: Vec<TokenId> = text["input_ids"].as_array().unwrap().iter().map(ids).collect();
        let tokens =
            device.tokenizer.tokenize(text["text"].as_str().unwrap(), &KeepList::default());
        let own: Vec<TokenId> = tokens.unwrap().as_slice().iter().map(|token| token.id).collect();
        assert!(own == ids[1..], "the tokens are others");
        for row in text["predicted"].as_array().unwrap() {
            let at = row["position"].as_u64().unwrap() as usize - 1;
            let got = logits(&*device.model, &own, &[at]).swap_remove(0);
            assert!(got.len() == drawn.len() && got.len() > 150);
            for (got, id) in got.iter().zip(drawn) {
                let want = row["logits"][id.index()].as_f64().unwrap() as f32;
                assert!(got.is_finite());
                most = most.max((got - want).abs());
            }
        }
    }
    most
}

#[test]
fn tokens_and_logits_agree_with_transformers() {
    for name in MODELS {
        let device = Files::read(&folder(name)).unwrap().load().unwrap();
        assert!(apart(&device, &folder(name).join("golden.json")) < 1e-4, "{name}");
        assert_eq!(device.model.window(), 63);
        assert!(!device.calibrated);
    }
}

/// By hand: `CAPE_GGUF=file CAPE_GOLDEN=golden.json`, numbers as in the fixtures' golden.json.
#[test]
#[ignore = "needs a real model"]
fn a_real_file_agrees_with_transformers() {
    let [file, golden] = ["CAPE_GGUF", "CAPE_GOLDEN"].map(|name| std::env::var(name).unwrap());
    let start = Instant::now();
    let device = cape_models::load(&file).unwrap();
    println!("{}, loaded in {:?}", device.shape, start.elapsed());
    let apart = apart(&device, Path::new(&golden));
    println!("at most {apart} apart");
    assert!(apart < 1e-3);
}

/// A copy of a fixture to break.
struct Broken {
    dir: TempDir,
    bytes: Vec<u8>,
}

/// Texts in a file come after their length.
fn written(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

impl Broken {
    fn new(name: &str) -> Self {
        let bytes = std::fs::read(folder(name).join("model.gguf")).unwrap();
        Self { dir: tempfile::tempdir().unwrap(), bytes }
    }

    /// Where what follows a name begins: a key's type and value, or a tensor's dimensions.
    fn after(&self, name: &str) -> usize {
        let name = written(name);
        let at = self.bytes.windows(name.len()).position(|part| part == name).unwrap();
        at + name.len()
    }

    fn put(&mut self, at: usize, bytes: &[u8]) -> &mut Self {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("model.gguf")
    }

    fn load(&self) -> Result<Device, Error> {
        std::fs::write(self.path(), &self.bytes).unwrap();
        Files::read(&self.path())?.load()
    }

    /// The message of the refusal; it comes at once, so nothing huge was allocated or looped over.
    fn refusal(&self) -> String {
        let start = Instant::now();
        let error = self.load().err().expect("the file is broken");
        assert!(start.elapsed() < Duration::from_secs(2), "{error}");
        assert!(
            matches!(error, Error::Gguf(_) | Error::Dtype { .. } | Error::NotFinite(_)),
            "{error}"
        );
        error.to_string()
    }

    #[track_caller]
    fn says(&self, what: &str) {
        let refusal = self.refusal();
        assert!(refusal.contains(what), "{refusal}, not {what}");
    }
}

#[test]
fn a_file_is_found_by_its_name_and_by_its_folder() {
    let broken = Broken::new("llama-tiny-q8_0");
    broken.load().unwrap();
    for path in [broken.path(), broken.dir.path().into()] {
        assert!(cape_models::load(path.to_str().unwrap()).is_ok());
    }
    std::fs::copy(broken.path(), broken.dir.path().join("other.gguf")).unwrap();
    let error = Files::read(broken.dir.path()).err().unwrap();
    assert!(error.to_string().contains("several"), "{error}");
    assert!(cape_models::load(broken.path().to_str().unwrap()).is_ok());
}

#[test]
fn the_calibration_stands_beside_the_file() {
    let broken = Broken::new("llama-tiny-q8_0");
    broken.load().unwrap();
    let found = Calibration::new(-3.5, 4.25).unwrap();
    for path in [broken.path(), broken.dir.path().into()] {
        let written = save_calibration(&path, found).unwrap();
        assert_eq!(written, broken.dir.path().join("cape.json"));
        let device = broken.load().unwrap();
        assert!(device.calibrated && device.model.calibration() == found);
        std::fs::remove_file(written).unwrap();
    }
}

#[test]
fn a_file_cannot_be_packed() {
    let files = Files::read(&folder("llama-tiny-q8_0")).unwrap();
    let to = tempfile::tempdir().unwrap();
    let error = pack(&files, Precision::Int8, &to.path().join("packed")).unwrap_err();
    assert!(matches!(error, Error::Gguf(_)));
    assert!(!to.path().join("packed").exists());
}

#[test]
fn a_file_that_is_cut_off_is_refused_wherever_it_ends() {
    let whole = Broken::new("llama-tiny-q8_0");
    let ends = (4..100).chain((100..whole.bytes.len()).step_by(211));
    for end in ends.chain([whole.bytes.len() - 1]) {
        let mut broken = Broken::new("llama-tiny-q8_0");
        broken.bytes.truncate(end);
        broken.refusal();
    }
}

#[test]
fn absurd_counts_and_lengths_are_refused_and_not_believed() {
    for count in [1 << 20, 1 << 40, u64::MAX / 8, u64::MAX] {
        // the tensors, the entries, the length of the first key
        for at in [8, 16, 24] {
            let mut broken = Broken::new("llama-tiny-q8_0");
            broken.put(at, &count.to_le_bytes()).refusal();
        }
        // lists of texts and of numbers: type, type of the parts, then their count
        for key in ["tokenizer.ggml.tokens", "tokenizer.ggml.token_type"] {
            let mut broken = Broken::new("llama-tiny-q8_0");
            let at = broken.after(key) + 8;
            broken.put(at, &count.to_le_bytes()).refusal();
        }
        for dimension in 0..2 {
            let mut broken = Broken::new("llama-tiny-q8_0");
            let at = broken.after("blk.0.ffn_up.weight") + 4 + 8 * dimension;
            broken.put(at, &count.to_le_bytes()).refusal();
        }
    }
}

#[test]
fn other_versions_and_alignments_are_refused() {
    for version in [0, 1, 4, 3_u32.swap_bytes()] {
        let mut broken = Broken::new("llama-tiny-q8_0");
        broken.put(4, &version.to_le_bytes()).says("version");
    }
    let mut second = Broken::new("llama-tiny-q8_0");
    second.put(4, &2_u32.to_le_bytes()).load().unwrap();
    for alignment in [0_u32, 3, 48, 1 << 31] {
        let mut broken = Broken::new("llama-tiny-q8_0");
        // a key of its own, in front of the others
        let entry = [&written("general.alignment")[..], &4_u32.to_le_bytes()].concat();
        let entry = [&entry[..], &alignment.to_le_bytes()].concat();
        broken.bytes.splice(24..24, entry);
        let entries = u64::from_le_bytes(broken.bytes[16..24].try_into().unwrap()) + 1;
        broken.put(16, &entries.to_le_bytes()).refusal();
    }
}

#[test]
fn tensors_outside_the_file_or_over_each_other_are_refused() {
    let name = "blk.1.ffn_down.weight";
    for offset in [0, 32, 1 << 20, 1 << 62, u64::MAX - 31] {
        let mut broken = Broken::new("llama-tiny-q8_0");
        let at = broken.after(name) + 4 + 16 + 4;
        let own = u64::from_le_bytes(broken.bytes[at..at + 8].try_into().unwrap());
        assert!(own > 32);
        broken.put(at, &offset.to_le_bytes()).says("outside the file or over another");
    }
    let mut broken = Broken::new("llama-tiny-q8_0");
    // the last one: nothing comes after it
    let at = broken.after("output_norm.weight") + 4 + 8 + 4;
    let own = u64::from_le_bytes(broken.bytes[at..at + 8].try_into().unwrap());
    broken.put(at, &(own - 1).to_le_bytes()).refusal();
}

#[test]
fn tensors_of_wrong_sizes_and_types_are_named() {
    let name = "blk.1.ffn_down.weight";
    let with = |at: usize, bytes: &[u8]| {
        let mut broken = Broken::new("llama-tiny-q8_0");
        let start = broken.after(name);
        broken.put(start + at, bytes);
        broken
    };
    for dims in [0_u32, 5, u32::MAX] {
        with(0, &dims.to_le_bytes()).says(name);
    }
    // as many numbers in another shape, rows that are no whole blocks, no rows
    let shape = |a: u64, b: u64| [a.to_le_bytes(), b.to_le_bytes()].concat();
    with(4, &shape(32, 64)).says("[64, 32]");
    with(4, &shape(16, 128)).says("whole blocks");
    with(4, &shape(0, 32)).says("whole blocks");
    with(4, &shape(32, 0)).says("whole blocks");
    // Q2_K, and types that there are not
    for kind in [10_u32, 4, 99, u32::MAX] {
        with(20, &kind.to_le_bytes()).says(&format!("`{name}` is stored as GGUF type {kind}"));
    }
}

#[test]
fn scales_that_are_not_finite_are_refused() {
    for (model, tensor) in
        [("llama-tiny-q8_0", "token_embd.weight"), ("llama-tiny-q4_1", "blk.0.ffn_up.weight")]
    {
        for bad in [0x7e00_u16, 0x7c00, 0xfc00] {
            let mut broken = Broken::new(model);
            let at = broken.after(tensor) + 4 + 16 + 4;
            let offset = u64::from_le_bytes(broken.bytes[at..at + 8].try_into().unwrap()) as usize;
            // the numbers begin where the largest offset's tensor ends with the file
            let data = broken.data();
            broken.put(data + offset, &bad.to_le_bytes());
            broken.says(&format!("`{tensor}` holds a value that is not finite"));
        }
    }
}

impl Broken {
    /// Where the tensors' numbers begin: after the last header, aligned.
    fn data(&self) -> usize {
        let names = ["output_norm.weight", "token_embd.weight", "output.weight"];
        let layers = (0..2).flat_map(|i| {
            let parts = ["attn_norm", "attn_q", "attn_k", "attn_v", "attn_output"];
            let wide = ["ffn_norm", "ffn_gate", "ffn_up", "ffn_down"];
            parts.into_iter().chain(wide).map(move |part| format!("blk.{i}.{part}.weight"))
        });
        let ends = names.into_iter().map(str::to_owned).chain(layers).filter_map(|name| {
            let written = written(&name);
            let at = self.bytes.windows(written.len()).position(|part| part == written)?;
            let dims = self.bytes[at + written.len()] as usize;
            Some(at + written.len() + 4 + 8 * dims + 4 + 8)
        });
        ends.max().unwrap().next_multiple_of(32)
    }
}

#[test]
fn strange_metadata_is_refused_by_name() {
    let cases: [(&str, u32, &str); 13] = [
        ("llama.block_count", 0, "num_hidden_layers"),
        ("llama.block_count", 3, "blk.2"),
        ("llama.block_count", u32::MAX, "blk.2"),
        ("llama.embedding_length", 0, "hidden_size"),
        ("llama.embedding_length", 64, "token_embd.weight"),
        ("llama.embedding_length", 1 << 31, "head_dim"),
        ("llama.attention.head_count", 0, "head_count"),
        ("llama.attention.head_count", 5, "head_count"),
        ("llama.attention.head_count_kv", 3, "num_key_value_heads"),
        ("llama.feed_forward_length", 128, "ffn_gate"),
        ("llama.feed_forward_length", u32::MAX, "intermediate_size"),
        ("llama.context_length", 1, "max_position_embeddings"),
        ("llama.rope.freq_base", 0, "rope_theta"),
    ];
    for (key, value, what) in cases {
        let mut broken = Broken::new("llama-tiny-q8_0");
        let at = broken.after(key) + 4;
        broken.put(at, &value.to_le_bytes()).says(what);
    }
    // a key of another type, or by another name
    for key in ["llama.block_count", "llama.rope.freq_base"] {
        let mut broken = Broken::new("llama-tiny-q8_0");
        let at = broken.after(key);
        let other = if broken.bytes[at] == 6 { 4_u32 } else { 6 };
        broken.put(at, &other.to_le_bytes()).says(key);
    }
    for (key, what) in [
        ("llama.block_count", "block_count"),
        ("llama.attention.layer_norm_rms_epsilon", "rms_epsilon"),
        ("general.architecture", "architecture"),
        ("tokenizer.ggml.tokens", "tokenizer.ggml.tokens"),
        ("tokenizer.ggml.merges", "tokenizer.ggml.merges"),
        ("tokenizer.ggml.pre", "pre-tokenizer"),
        ("tokenizer.ggml.model", "byte-level BPE"),
    ] {
        let mut broken = Broken::new("llama-tiny-q8_0");
        let at = broken.after(key) - 1;
        broken.put(at, b"?").says(what);
    }
    let mut twice = Broken::new("llama-tiny-q8_0");
    let at = twice.after("llama.attention.head_count_kv");
    assert_eq!(&twice.bytes[at - 3..at], b"_kv");
    let at = twice.after("blk.0.attn_q.weight") - 8;
    twice.put(at, b"k").says("twice");
}

#[test]
fn no_bent_byte_makes_it_panic() {
    let good = Broken::new("qwen2-tiny-f16");
    let mut loaded = 0;
    for at in (0..good.data()).step_by(53) {
        let mut broken = Broken::new("qwen2-tiny-f16");
        broken.bytes[at] ^= 1 << (at % 8);
        if let Ok(device) = broken.load() {
            loaded += 1;
            logits(&*device.model, &[TokenId(5), TokenId(6)], &[1]);
        }
    }
    // most of the header is the vocabulary
    assert!(loaded > 10);
}

#[test]
fn a_window_is_brought_within_what_the_model_can_see() {
    for (window, seen) in [(0, 1), (8, 8), (63, 63), (64, 63), (u64::MAX, 63)] {
        let broken = Broken::new("llama-tiny-q8_0");
        let cape = json!({"lo": -5, "hi": 5, "window": window}).to_string();
        std::fs::write(broken.dir.path().join("cape.json"), cape).unwrap();
        assert_eq!(broken.load().unwrap().model.window(), seen);
    }
}
