//! Broken, hostile and repacked model folders: each is refused with the error that names what is
//! wrong, and none makes the loader panic or allocate what a file merely claims to hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common;
use cape::tokens::{Calibration, KeepList, TokenId, Utility};
use cape_models::{Device, Error, Files, Precision, calibrate, pack, save_calibration};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::{Value, json};
use tempfile::TempDir;

const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const WEIGHTS: &str = "model.safetensors";
const CAPE: &str = "cape.json";

const WORDS: &str = "bert.embeddings.word_embeddings.weight";
const TEXTS: [&str; 4] = [
    "good book",
    "The doctor's letter was SLOW, and it is a secret.",
    "walking slowly to a readable story",
    "the old 中書 house: 7 Ωmega & 42",
];

/// A copy of a model of `fixtures` to break.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self::of("bert-tiny")
    }

    fn of(fixture: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(fixture);
        for name in [CONFIG, TOKENIZER, WEIGHTS] {
            std::fs::copy(from.join(name), dir.path().join(name)).unwrap();
        }
        Self(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path().join(name)).unwrap()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), bytes).unwrap();
    }

    /// Changes a JSON file.
    fn json(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_slice(&self.read(name)).unwrap();
        edit(&mut value);
        self.write(name, serde_json::to_vec(&value).unwrap());
    }

    fn config(&self, key: &str, value: Value) {
        self.json(CONFIG, |config| config[key] = value);
    }

    /// Changes the tensors of the weights file.
    fn tensors(&self, edit: impl FnOnce(&mut Tensors)) {
        let mut tensors = tensors(&self.read(WEIGHTS));
        edit(&mut tensors);
        self.write(WEIGHTS, serialize(&tensors));
    }

    fn load(&self) -> Result<Device, Error> {
        Files::read(self.path())?.load()
    }

    /// The error of loading; that it comes at once shows that nothing huge was allocated or
    /// looped over first.
    fn refusal(&self) -> Error {
        let start = Instant::now();
        let error = self.load().err().expect("the folder is broken");
        assert!(start.elapsed() < Duration::from_secs(5), "{error}");
        error
    }
}

type Tensors = BTreeMap<String, Tensor>;

#[derive(Clone)]
struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

fn tensors(bytes: &[u8]) -> Tensors {
    let file = SafeTensors::deserialize(bytes).unwrap();
    file.iter()
        .map(|(name, view)| {
            let tensor = Tensor {
                dtype: view.dtype(),
                shape: view.shape().to_vec(),
                bytes: view.data().to_vec(),
            };
            (name.to_owned(), tensor)
        })
        .collect()
}

fn serialize(tensors: &Tensors) -> Vec<u8> {
    let views = tensors.iter().map(|(name, t)| {
        let view = TensorView::new(t.dtype, t.shape.clone(), &t.bytes).unwrap();
        (name.as_str(), view)
    });
    safetensors::serialize(views, None).unwrap()
}

/// A folder and the name of a tensor in it, for every tensor of the two shapes of encoders.
fn every_tensor() -> impl Iterator<Item = (Folder, String)> {
    ["bert-tiny", "mpnet-tiny"].into_iter().flat_map(|fixture| {
        let names: Vec<String> = tensors(&Folder::of(fixture).read(WEIGHTS)).into_keys().collect();
        assert!(names.len() > 35, "every tensor of two layers");
        names.into_iter().map(move |name| (Folder::of(fixture), name))
    })
}

/// One row of logits per sensitive position of each text.
fn logits(device: &Device) -> Vec<Vec<f32>> {
    let mut rows = Vec::new();
    for text in TEXTS {
        let tokens = device.tokenizer.tokenize(text, &KeepList::default()).unwrap();
        let ids: Vec<TokenId> = tokens.as_slice().iter().map(|token| token.id).collect();
        let sensitive: Vec<usize> = tokens.sensitive().collect();
        rows.extend(common::logits(&*device.model, &ids, &sensitive));
    }
    rows
}

/// The largest and the root-mean-square difference between two sets of rows.
fn apart(a: &[Vec<f32>], b: &[Vec<f32>]) -> (f32, f32) {
    assert_eq!(a.len(), b.len());
    let differences = a.iter().flatten().zip(b.iter().flatten());
    let differences: Vec<f32> = differences.map(|(x, y)| (x - y).abs()).collect();
    let squares: f32 = differences.iter().map(|d| d * d).sum();
    let largest = differences.iter().copied().fold(0.0, f32::max);
    (largest, (squares / differences.len() as f32).sqrt())
}

#[test]
fn the_untouched_copy_loads() {
    // else every refusal below could be for a reason of its own
    let device = Folder::new().load().unwrap();
    assert!(!device.calibrated);
    assert_eq!(device.model.calibration(), Calibration::DEFAULT);
    assert_eq!(device.model.window(), 30);
    assert!(logits(&device).iter().flatten().all(|x| x.is_finite()));
}

// ---- model.safetensors ----

#[test]
fn truncated_weights_are_refused_wherever_they_end() {
    let folder = Folder::new();
    let bytes = folder.read(WEIGHTS);
    let ends = [0, 1, 7, 8, 9, 100, bytes.len() / 2, bytes.len() - 1];
    for end in ends.into_iter().chain((0..bytes.len()).step_by(997)) {
        folder.write(WEIGHTS, &bytes[..end]);
        let error = folder.refusal();
        assert!(matches!(error, Error::Weights(_)), "{end}: {error}");
    }
    // nor may something follow that no tensor owns
    folder.write(WEIGHTS, [&bytes[..], b"more"].concat());
    assert!(matches!(folder.refusal(), Error::Weights(_)));
}

#[test]
fn an_absurd_header_length_is_refused_and_not_believed() {
    let folder = Folder::new();
    let bytes = folder.read(WEIGHTS);
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    for length in [0, 1, header - 1, header + 1, 1 << 32, 1 << 62, u64::MAX] {
        folder.write(WEIGHTS, [&length.to_le_bytes(), &bytes[8..]].concat());
        let error = folder.refusal();
        assert!(matches!(error, Error::Weights(_)), "{length}: {error}");
    }
}

#[test]
fn a_header_that_lies_about_its_tensors_is_refused() {
    let folder = Folder::new();
    let headers = [
        "null",
        "[]",
        r#"{"w":1}"#,
        r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#,
        r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}"#,
        r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,99999999999]}}"#,
        r#"{"w":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}}"#,
        r#"{"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}"#,
        // the product of the sizes overflows
        r#"{"w":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]}}"#,
        // two tensors over the same bytes
        r#"{"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#,
    ];
    for header in headers {
        let length = (header.len() as u64).to_le_bytes();
        folder.write(WEIGHTS, [&length[..], header.as_bytes(), &[0; 8][..]].concat());
        let error = folder.refusal();
        assert!(matches!(error, Error::Weights(_)), "{header}: {error}");
    }
}

#[test]
fn every_missing_tensor_is_named() {
    for (folder, name) in every_tensor() {
        folder.tensors(|tensors| {
            tensors.remove(&name).unwrap();
        });
        match folder.refusal() {
            // the decoder's bias goes by two names, and either will do
            Error::Missing(found) if ["cls.predictions.bias", "lm_head.bias"].contains(&&*name) => {
                assert!(found == name || found == name.replace("bias", "decoder.bias"));
            }
            Error::Missing(found) => assert_eq!(found, name),
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn every_wrong_shape_is_named_with_both_shapes() {
    for (folder, wanted_name) in every_tensor() {
        let mut before = Vec::new();
        folder.tensors(|tensors| {
            let tensor = tensors.get_mut(&wanted_name).unwrap();
            before = tensor.shape.clone();
            // as many numbers as before, so that the file itself is sound
            tensor.shape.insert(0, 1);
        });
        match folder.refusal() {
            Error::Shape { name, found, wanted } => {
                assert_eq!(name, wanted_name);
                assert_eq!(found, [&[1], &before[..]].concat());
                assert_eq!(wanted, before);
            }
            other => panic!("{wanted_name}: {other}"),
        }
    }
}

#[test]
fn every_unsupported_type_is_named() {
    for (folder, wanted_name) in every_tensor() {
        for (unsupported, size) in [(Dtype::F64, 8), (Dtype::I32, 4), (Dtype::BOOL, 1)] {
            folder.tensors(|tensors| {
                let tensor = tensors.get_mut(&wanted_name).unwrap();
                tensor.dtype = unsupported;
                tensor.bytes = vec![0; tensor.shape.iter().product::<usize>() * size];
            });
            match folder.refusal() {
                Error::Dtype { name, dtype } => {
                    assert_eq!(name, wanted_name);
                    assert_eq!(dtype, format!("{unsupported:?}"));
                }
                other => panic!("{wanted_name}: {other}"),
            }
        }
    }
}

#[test]
fn every_value_that_is_not_finite_is_named() {
    for (i, (folder, name)) in every_tensor().enumerate() {
        let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -f32::NAN][i % 4];
        folder.tensors(|tensors| {
            let bytes = &mut tensors.get_mut(&name).unwrap().bytes;
            // the last value, which a check of the first few would miss
            let at = bytes.len() - 4;
            bytes[at..].copy_from_slice(&bad.to_le_bytes());
        });
        match folder.refusal() {
            Error::NotFinite(found) => assert_eq!(found, name),
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn finite_weights_whose_sums_overflow_make_the_worst_utility() {
    // loading cannot see it; to refuse at the draw would tell something of the prompt
    let folder = Folder::new();
    folder.tensors(|tensors| {
        let bytes =
            &mut tensors.get_mut("cls.predictions.transform.LayerNorm.weight").unwrap().bytes;
        for chunk in bytes.chunks_exact_mut(4) {
            chunk.copy_from_slice(&f32::MAX.to_le_bytes());
        }
    });
    let device = folder.load().unwrap();
    let ids = [TokenId(110), TokenId(111)];
    let row = common::logits(&*device.model, &ids, &[0]).swap_remove(0);
    assert!(row.iter().any(|x| !x.is_finite()));
    let context = Utility::PAPER.context(&row, device.model.calibration());
    let utilities = Utility::combined(&context, &vec![1.0; row.len()]);
    for (utility, logit) in utilities.iter().zip(&row) {
        assert!(utility.is_finite() && (logit.is_finite() || *utility == 0.0));
    }
}

#[test]
fn a_bent_byte_in_the_header_never_panics() {
    let folder = Folder::new();
    let good = folder.read(WEIGHTS);
    let header = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let mut refused = 0;
    for at in (0..8 + header).step_by(3) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        folder.write(WEIGHTS, &bytes);
        refused += usize::from(folder.load().is_err());
    }
    assert!(refused > header / 4, "most of them break something: {refused}");
}

// ---- the compact form: I8 with a scale per row ----

/// A folder whose matrices are stored as I8.
fn int8() -> Folder {
    let folder = Folder::new();
    let files = Files::read(folder.path()).unwrap();
    pack(&files, Precision::Int8, folder.path()).unwrap();
    folder
}

#[test]
fn row_scales_are_checked_like_any_tensor() {
    let scale = format!("{WORDS}.scale");
    let missing = int8();
    missing.tensors(|tensors| {
        tensors.remove(&scale).unwrap();
    });
    assert!(matches!(missing.refusal(), Error::Missing(name) if name == scale));

    let short = int8();
    short.tensors(|tensors| {
        let scales = tensors.get_mut(&scale).unwrap();
        scales.shape[0] -= 1;
        scales.bytes.truncate(scales.shape[0] * 4);
    });
    assert!(matches!(short.refusal(), Error::Shape { name, .. } if name == scale));

    let nan = int8();
    nan.tensors(|tensors| {
        tensors.get_mut(&scale).unwrap().bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    });
    assert!(matches!(nan.refusal(), Error::NotFinite(name) if name == scale));

    // finite by itself, infinite once a byte is scaled by it
    let huge = int8();
    huge.tensors(|tensors| {
        tensors.get_mut(&scale).unwrap().bytes[..4].copy_from_slice(&f32::MAX.to_le_bytes());
    });
    assert!(matches!(huge.refusal(), Error::NotFinite(name) if name == WORDS));
}

#[test]
fn bytes_without_rows_are_refused() {
    // a vector has no rows to scale
    let name = "cls.predictions.bias";
    let folder = Folder::new();
    folder.tensors(|tensors| {
        let tensor = tensors.get_mut(name).unwrap();
        tensor.dtype = Dtype::I8;
        tensor.bytes = vec![1; tensor.shape[0]];
    });
    assert!(matches!(folder.refusal(), Error::Dtype { name: found, .. } if found == name));
}

// ---- config.json ----

#[test]
fn a_config_that_is_not_json_of_the_right_kind_is_refused() {
    let folder = Folder::new();
    let good = folder.read(CONFIG);
    let half = &good[..good.len() / 2];
    for bytes in [&b""[..], b"not json", b"[]", b"{}", b"\xff\xfe", half] {
        folder.write(CONFIG, bytes);
        let error = folder.refusal();
        assert!(matches!(error, Error::Json { file: CONFIG, .. }), "{error}");
    }
    for size in [json!(-1), json!(1.5), json!("32"), json!(null), json!(1e300)] {
        folder.write(CONFIG, &good);
        folder.config("hidden_size", size);
        assert!(matches!(folder.refusal(), Error::Json { file: CONFIG, .. }));
    }
}

#[test]
fn an_unsupported_config_is_refused_and_says_which_value() {
    let cases = [
        ("model_type", json!("t5"), "t5"),
        ("hidden_act", json!("relu"), "relu"),
        ("hidden_act", json!("gelu_new"), "gelu_new"),
        ("position_embedding_type", json!("relative_key"), "relative_key"),
        ("num_attention_heads", json!(5), "num_attention_heads"),
        ("num_attention_heads", json!(0), "num_attention_heads"),
        ("num_attention_heads", json!(1_u64 << 40), "num_attention_heads"),
        ("hidden_size", json!(0), "hidden_size"),
        ("max_position_embeddings", json!(2), "max_position_embeddings"),
        ("type_vocab_size", json!(0), "type_vocab_size"),
    ];
    for (key, value, named) in cases {
        let folder = Folder::new();
        folder.config(key, value);
        match folder.refusal() {
            Error::Config(why) => assert!(why.contains(named), "{why}"),
            other => panic!("{key}: {other}"),
        }
    }
}

#[test]
fn absurd_sizes_are_compared_and_never_allocated() {
    for size in [1_u64 << 40, 1 << 62, u64::MAX - 31] {
        for key in [
            "hidden_size",
            "intermediate_size",
            "max_position_embeddings",
            "type_vocab_size",
            "vocab_size",
        ] {
            let folder = Folder::new();
            folder.config(key, json!(size));
            let error = folder.refusal();
            assert!(matches!(error, Error::Shape { .. } | Error::Config(_)), "{key}: {error}");
        }
        let folder = Folder::new();
        folder.config("num_hidden_layers", json!(size));
        match folder.refusal() {
            Error::Missing(name) => assert!(name.contains("encoder.layer.2."), "{name}"),
            other => panic!("{other}"),
        }
    }
}

// ---- tokenizer.json ----

#[test]
fn a_tokenizer_of_another_size_is_refused_with_both_sizes() {
    let folder = Folder::new();
    folder.json(TOKENIZER, |tokenizer| {
        tokenizer["model"]["vocab"]["onemore"] = json!(150);
    });
    match folder.refusal() {
        Error::Vocabulary { tokenizer, model } => assert_eq!((tokenizer, model), (151, 150)),
        other => panic!("{other}"),
    }
}

#[test]
fn a_tokenizer_of_an_unknown_kind_is_refused() {
    let replacements = [
        json!({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}),
        json!({"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}),
        json!({"type": "Unigram", "unk_id": 0, "vocab": [["[UNK]", 0.0]]}),
    ];
    for model in replacements {
        let folder = Folder::new();
        folder.json(TOKENIZER, |tokenizer| tokenizer["model"] = model);
        match folder.refusal() {
            Error::Cape(cape::Error::Tokenizer(why)) => {
                assert!(why.contains("byte-level BPE"), "{why}");
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_broken_tokenizer_is_refused() {
    let refuse = |folder: &Folder, why: &str| {
        let error = folder.refusal();
        assert!(matches!(error, Error::Cape(cape::Error::Tokenizer(_))), "{why}: {error}");
    };
    let folder = Folder::new();
    let good = folder.read(TOKENIZER);
    for bytes in [&b""[..], b"not json", b"{}", b"\xff", &good[..good.len() / 2]] {
        folder.write(TOKENIZER, bytes);
        refuse(&folder, "not a tokenizer");
    }

    let prefix = Folder::new();
    prefix.json(TOKENIZER, |t| {
        t["model"]["continuing_subword_prefix"] = json!("@@");
    });
    refuse(&prefix, "another mark of continuations");

    let unknown = Folder::new();
    unknown.json(TOKENIZER, |t| t["model"]["unk_token"] = json!("[NONE]"));
    refuse(&unknown, "no unknown token");

    // a vocabulary of four thousand million entries, by its ids
    let far = Folder::new();
    far.json(TOKENIZER, |t| {
        t["model"]["vocab"]["london"] = json!(u32::MAX);
    });
    refuse(&far, "ids far apart");
}

#[test]
fn a_tokenizer_without_a_special_token_is_refused_by_name() {
    for special in ["[CLS]", "[SEP]", "[MASK]"] {
        let folder = Folder::new();
        folder.json(TOKENIZER, |tokenizer| {
            let vocab = tokenizer["model"]["vocab"].as_object_mut().unwrap();
            let id = vocab.remove(special).unwrap();
            // of the same size as before, so that it is the token that is missed
            vocab.insert("another".into(), id);
            let added = tokenizer["added_tokens"].as_array_mut().unwrap();
            added.retain(|token| token["content"] != special);
            tokenizer["post_processor"] = Value::Null;
        });
        match folder.refusal() {
            Error::SpecialToken(found) => assert_eq!(found, special),
            other => panic!("{special}: {other}"),
        }
    }
}

/// Loads the folder, and if it does load, puts texts through it: whatever the tokenizer makes of
/// them, the model must bear it.
fn exercise(folder: &Folder) {
    let Ok(device) = folder.load() else { return };
    for text in TEXTS {
        if let Ok(tokens) = device.tokenizer.tokenize(text, &KeepList::default()) {
            let ids: Vec<_> = tokens.as_slice().iter().map(|token| token.id).collect();
            let ids = &ids[..ids.len().min(device.model.window())];
            if !ids.is_empty() {
                common::logits(&*device.model, ids, &[0]);
            }
        }
    }
}

#[test]
fn a_tokenizer_with_a_bent_byte_never_panics() {
    let folder = Folder::new();
    let good = folder.read(TOKENIZER);
    for at in (0..good.len()).step_by(3) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        folder.write(TOKENIZER, &bytes);
        exercise(&folder);
    }
}

#[test]
fn a_tokenizer_with_strange_values_never_panics() {
    let folder = Folder::new();
    let good: Value = serde_json::from_slice(&folder.read(TOKENIZER)).unwrap();
    let strange = [json!(null), json!(-1), json!(u32::MAX), json!("zz"), json!([]), json!({})];
    let mut paths = Vec::new();
    pointers(&good, String::new(), &mut paths);
    for path in &paths {
        for value in &strange {
            let mut tokenizer = good.clone();
            *tokenizer.pointer_mut(path).unwrap() = value.clone();
            folder.write(TOKENIZER, tokenizer.to_string());
            exercise(&folder);
        }
    }
}

/// The JSON pointers of all values but most entries of a vocabulary, which are all alike.
fn pointers(value: &Value, at: String, out: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => {
            let few = if at.ends_with("/vocab") { 3 } else { usize::MAX };
            let plain = |key: &str| !key.contains(['/', '~']);
            let entries = map.iter().filter(|(key, _)| plain(key)).take(few);
            entries.map(|(key, child)| (key.clone(), child)).collect()
        }
        Value::Array(list) => (0..).map(|i: usize| i.to_string()).zip(list).collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        pointers(child, format!("{at}/{key}"), out);
    }
    out.push(at);
}

// ---- files ----

#[test]
fn a_missing_file_is_named() {
    for name in [CONFIG, TOKENIZER, WEIGHTS] {
        let folder = Folder::new();
        let path = folder.path().join(name);
        std::fs::remove_file(&path).unwrap();
        match folder.refusal() {
            Error::Io { path: found, source } => {
                assert_eq!(found, path);
                assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
            }
            other => panic!("{name}: {other}"),
        }
        // a folder in its place is no better
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(folder.refusal(), Error::Io { path: found, .. } if found == path));
    }
}

#[test]
fn an_unknown_name_is_told_apart_from_a_broken_folder() {
    let empty = tempfile::tempdir().unwrap();
    let nowhere = empty.path().join("nowhere");
    let load = |path: &Path| cape_models::load(path.to_str().unwrap()).err().unwrap();
    assert!(matches!(load(&nowhere), Error::Unknown(name) if name == nowhere.to_str().unwrap()));
    assert!(matches!(load(empty.path()), Error::Io { .. }));
    assert!(matches!(load(Path::new("")), Error::Unknown(_)));
    // a file is not a folder
    let file = Folder::new();
    assert!(matches!(load(&file.path().join(CONFIG)), Error::Unknown(_)));
}

// ---- cape.json ----

#[test]
fn a_calibration_out_of_order_is_refused() {
    let folder = Folder::new();
    for (lo, hi) in [(3.0, 1.0), (2.0, 2.0), (-1e300, 1.0), (0.0, 1e300)] {
        folder.write(CAPE, json!({"lo": lo, "hi": hi}).to_string());
        let error = folder.refusal();
        assert!(
            matches!(error, Error::Calibration | Error::Json { file: CAPE, .. }),
            "{lo} {hi}: {error}"
        );
    }
}

#[test]
fn a_cape_json_with_anything_unknown_is_refused() {
    let folder = Folder::new();
    let cases = [
        "",
        "nonsense",
        "[]",
        "{}",
        r#"{"lo": 0}"#,
        r#"{"lo": 0, "hi": 1, "windwo": 8}"#,
        r#"{"lo": 0, "hi": "1"}"#,
        r#"{"lo": 0, "hi": NaN}"#,
        r#"{"lo": 0, "hi": 1, "window": -1}"#,
        r#"{"lo": 0, "hi": 1} {}"#,
    ];
    for bad in cases {
        folder.write(CAPE, bad);
        let error = folder.refusal();
        assert!(matches!(error, Error::Json { file: CAPE, .. }), "{bad}: {error}");
    }
}

#[test]
fn any_window_is_brought_within_what_the_model_can_see() {
    for (window, seen) in [(0, 1), (1, 1), (8, 8), (30, 30), (31, 30), (u64::MAX, 30)] {
        let folder = Folder::new();
        folder.write(CAPE, json!({"lo": -5, "hi": 5, "window": window}).to_string());
        assert_eq!(folder.load().unwrap().model.window(), seen);
    }
}

// ---- pack ----

fn packed(precision: Precision) -> (TempDir, Device) {
    let (folder, to) = (Folder::new(), tempfile::tempdir().unwrap());
    pack(&Files::read(folder.path()).unwrap(), precision, to.path()).unwrap();
    let device = Files::read(to.path()).unwrap().load().unwrap();
    (to, device)
}

fn size(dir: &Path) -> u64 {
    std::fs::metadata(dir.join(WEIGHTS)).unwrap().len()
}

#[test]
fn packing_keeps_the_logits_as_close_as_its_precision() {
    let original = logits(&Folder::new().load().unwrap());
    let spread = original.iter().flatten().fold(0_f32, |m, x| m.max(x.abs()));
    assert!(spread > 4.0, "the tolerances below are small beside {spread}");

    let (f32_dir, f32) = packed(Precision::F32);
    assert!(logits(&f32) == original, "nothing is lost, not a bit");

    let (bf16_dir, bf16) = packed(Precision::Bf16);
    let (int8_dir, int8) = packed(Precision::Int8);
    for (device, most, typical) in [(&bf16, 0.1, 0.02), (&int8, 0.5, 0.1)] {
        let (largest, rms) = apart(&logits(device), &original);
        // not equal either: else it was not stored in fewer bits
        assert!(largest > 1e-3 && largest < most, "{largest}");
        assert!(rms < typical, "{rms}");
    }
    assert!(size(int8_dir.path()) < size(bf16_dir.path()));
    assert!(size(bf16_dir.path()) < size(f32_dir.path()));
}

#[test]
fn int8_is_within_half_a_step_of_every_weight() {
    let original = tensors(&Folder::new().read(WEIGHTS));
    let (dir, _) = packed(Precision::Int8);
    let stored = tensors(&std::fs::read(dir.path().join(WEIGHTS)).unwrap());
    let floats = |tensor: &Tensor| -> Vec<f32> {
        assert_eq!(tensor.dtype, Dtype::F32);
        let chunks = tensor.bytes.as_chunks().0;
        chunks.iter().map(|&chunk| f32::from_le_bytes(chunk)).collect()
    };
    for (name, tensor) in &original {
        let (values, kept) = (floats(tensor), &stored[name]);
        assert_eq!(kept.shape, tensor.shape);
        let &[_, columns] = &tensor.shape[..] else {
            // vectors are small, and stay as they are
            assert!(kept.bytes == tensor.bytes, "{name}");
            continue;
        };
        assert_eq!(kept.dtype, Dtype::I8);
        let scales = floats(&stored[&format!("{name}.scale")]);
        for (row, (values, bytes)) in
            values.chunks(columns).zip(kept.bytes.chunks(columns)).enumerate()
        {
            for (value, byte) in values.iter().zip(bytes) {
                let back = f32::from(byte.cast_signed()) * scales[row];
                assert!((back - value).abs() <= scales[row] * 0.501, "{name}");
            }
            assert!(bytes.iter().any(|b| b.cast_signed().unsigned_abs() == 127));
        }
    }
}

#[test]
fn packing_twice_adds_no_further_loss() {
    let (dir, once) = packed(Precision::Int8);
    let again = tempfile::tempdir().unwrap();
    pack(&Files::read(dir.path()).unwrap(), Precision::Int8, again.path()).unwrap();
    let twice = Files::read(again.path()).unwrap().load().unwrap();
    assert!(apart(&logits(&once), &logits(&twice)).0 < 1e-4);
}

#[test]
fn packing_takes_the_other_files_along_and_leaves_position_numbers() {
    let folder = Folder::new();
    folder.write(CAPE, r#"{"lo": -6.5, "hi": 7.25, "window": 12}"#);
    folder.tensors(|tensors| {
        // what some checkpoints carry beside their weights
        let ids = Tensor { dtype: Dtype::I64, shape: vec![1, 32], bytes: vec![0; 32 * 8] };
        tensors.insert("bert.embeddings.position_ids".into(), ids);
    });
    let to = tempfile::tempdir().unwrap();
    let deeper = to.path().join("a/b");
    pack(&Files::read(folder.path()).unwrap(), Precision::Int8, &deeper).unwrap();
    for name in [CONFIG, TOKENIZER, CAPE] {
        assert!(std::fs::read(deeper.join(name)).unwrap() == folder.read(name));
    }
    let device = Files::read(&deeper).unwrap().load().unwrap();
    assert!(device.calibrated);
    assert_eq!(device.model.window(), 12);
}

#[test]
fn packing_a_broken_file_is_refused_and_writes_nothing() {
    let folder = Folder::new();
    let try_to = |folder: &Folder, target: &Path| {
        Files::read(folder.path()).and_then(|files| pack(&files, Precision::Int8, target))
    };
    let to = tempfile::tempdir().unwrap();
    let target = to.path().join("packed");
    let refuse = |folder: &Folder| try_to(folder, &target).unwrap_err();

    let good = folder.read(WEIGHTS);
    folder.write(WEIGHTS, &good[..good.len() / 2]);
    assert!(matches!(refuse(&folder), Error::Weights(_)));

    folder.write(WEIGHTS, &good);
    folder.tensors(|tensors| {
        let bytes = &mut tensors.get_mut(WORDS).unwrap().bytes;
        bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    });
    assert!(matches!(refuse(&folder), Error::NotFinite(name) if name == WORDS));
    assert!(!target.exists());

    // a file where the folder should go
    let file = to.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = try_to(&Folder::new(), &file).unwrap_err();
    assert!(matches!(error, Error::Io { .. }));
}

// ---- calibrate ----

#[test]
fn calibration_is_the_range_of_the_logits_at_sensitive_positions() {
    let device = Folder::new().load().unwrap();
    let calls = AtomicUsize::new(0);
    let found = calibrate(&device, &TEXTS, &|| {
        calls.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(calls.into_inner(), TEXTS.len(), "told after every text");
    let (mut lo, mut hi) = (f32::INFINITY, f32::NEG_INFINITY);
    for logit in logits(&device).into_iter().flatten() {
        (lo, hi) = (lo.min(logit), hi.max(logit));
    }
    let found = found.unwrap();
    assert_eq!((found.lo().to_bits(), found.hi().to_bits()), (lo.to_bits(), hi.to_bits()));
}

#[test]
fn a_text_longer_than_the_model_is_calibrated_in_pieces() {
    let device = Folder::new().load().unwrap();
    let long = "good book slow story ".repeat(50);
    let found = calibrate(&device, &[&long], &|| {}).unwrap();
    // each piece of 30 tokens by itself
    let words: Vec<&str> = long.split_whitespace().collect();
    let pieces: Vec<String> = words.chunks(30).map(|piece| piece.join(" ")).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    assert_eq!(calibrate(&device, &pieces, &|| {}).unwrap(), found);
}

#[test]
fn there_must_be_something_to_calibrate_on() {
    let device = Folder::new().load().unwrap();
    for texts in [&[][..], &[""], &["the and of", "?!"]] {
        let error = calibrate(&device, texts, &|| {}).unwrap_err();
        assert!(matches!(error, Error::NothingToCalibrate), "{error}");
    }
    let error = calibrate(&device, &["good\u{7}"], &|| {}).unwrap_err();
    assert!(matches!(error, Error::Cape(cape::Error::ControlCharacter { code: 7, offset: 4 })));
}

#[test]
fn a_saved_calibration_is_used_by_the_next_load() {
    let folder = Folder::new();
    let device = folder.load().unwrap();
    let found = calibrate(&device, &TEXTS, &|| {}).unwrap();
    let path: PathBuf = save_calibration(folder.path(), found).unwrap();
    assert_eq!(path, folder.path().join(CAPE));
    let again = folder.load().unwrap();
    assert!(again.calibrated);
    // through text and back without losing a bit
    assert_eq!(again.model.calibration(), found);
    assert_eq!(again.model.window(), 30);
}

#[test]
fn saving_a_calibration_keeps_the_window() {
    let folder = Folder::new();
    folder.write(CAPE, r#"{"lo": -1, "hi": 1, "window": 9}"#);
    let found = Calibration::new(-3.5, 4.25).unwrap();
    save_calibration(folder.path(), found).unwrap();
    let written: Value = serde_json::from_slice(&folder.read(CAPE)).unwrap();
    assert_eq!(written, json!({"lo": -3.5, "hi": 4.25, "window": 9}));
    let device = folder.load().unwrap();
    assert_eq!((device.model.calibration(), device.model.window()), (found, 9));
}

#[test]
fn saving_beside_no_model_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    let error = save_calibration(empty.path(), Calibration::DEFAULT).unwrap_err();
    assert!(matches!(error, Error::Io { .. }));
    assert!(!empty.path().join(CAPE).exists());
}

// ---- sizes of nothing ----

#[test]
fn a_model_without_layers_is_refused() {
    // with no layer to pick the masked row, every row would go to the head, and the first of them
    // is that of [CLS]
    let folder = Folder::new();
    folder.config("num_hidden_layers", json!(0));
    assert!(matches!(folder.refusal(), Error::Config(_)));
}

#[test]
fn a_model_without_a_middle_is_refused() {
    let folder = Folder::new();
    folder.config("intermediate_size", json!(0));
    folder.tensors(|tensors| {
        for (name, tensor) in tensors {
            let middle = match name.as_str() {
                n if n.contains("intermediate.dense") => 0,
                n if n.contains("attention") || !n.contains("output.dense.weight") => continue,
                _ => 1,
            };
            tensor.shape[middle] = 0;
            tensor.bytes.clear();
        }
    });
    assert!(matches!(folder.refusal(), Error::Config(_)));
}

#[test]
fn packing_an_empty_matrix_of_bytes_does_not_panic() {
    let folder = Folder::new();
    folder.tensors(|tensors| {
        let empty = |dtype, shape: &[usize], bytes: usize| Tensor {
            dtype,
            shape: shape.to_vec(),
            bytes: vec![0; bytes],
        };
        tensors.insert("extra".into(), empty(Dtype::I8, &[2, 0], 0));
        tensors.insert("extra.scale".into(), empty(Dtype::F32, &[2], 8));
    });
    let to = tempfile::tempdir().unwrap();
    // taken along or refused, as long as it says so
    let _ = pack(&Files::read(folder.path()).unwrap(), Precision::Int8, to.path());
}
