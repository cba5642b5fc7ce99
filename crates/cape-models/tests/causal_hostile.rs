//! Broken and hostile folders of causal models: each is refused with the error that names what is
//! wrong, and what a file merely claims is never allocated.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common;
use cape::tokens::TokenId;
use cape_models::{Device, Error, Files};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use tempfile::TempDir;

const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
const MODELS: [&str; 3] = ["gpt2-tiny", "llama-tiny", "qwen2-tiny"];

/// A copy of a fixture to break.
struct Folder(TempDir);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
        for name in [CONFIG, WEIGHTS, "tokenizer.json"] {
            std::fs::copy(from.join(name), dir.path().join(name)).unwrap();
        }
        Self(dir)
    }

    /// With another value in `config.json`.
    fn with(name: &str, key: &str, value: Value) -> Self {
        let folder = Self::new(name);
        let path = folder.0.path().join(CONFIG);
        let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        config[key] = value;
        std::fs::write(path, config.to_string()).unwrap();
        folder
    }

    /// Changes the names and shapes of tensors; none takes one away.
    fn tensors(
        &self,
        edit: impl Fn(&str, &[usize]) -> Option<(String, Vec<usize>)>,
    ) -> Vec<String> {
        let path = self.0.path().join(WEIGHTS);
        let bytes = std::fs::read(&path).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let views = file.iter().filter_map(|(name, view)| {
            let (name, shape) = edit(name, view.shape())?;
            Some((name, TensorView::new(view.dtype(), shape, view.data()).unwrap()))
        });
        let views: Vec<(String, TensorView<'_>)> = views.collect();
        std::fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
        file.names().into_iter().map(str::to_owned).collect()
    }

    fn load(&self) -> Result<Device, Error> {
        Files::read(self.0.path())?.load()
    }

    /// The error of loading; that it comes at once shows that nothing huge was allocated or
    /// looped over first.
    fn refusal(&self) -> Error {
        let start = Instant::now();
        let error = self.load().err().expect("the folder is broken");
        assert!(start.elapsed() < Duration::from_secs(2), "{error}");
        error
    }
}

#[test]
fn every_missing_tensor_and_every_wrong_shape_is_named() {
    for model in MODELS {
        let names = Folder::new(model).tensors(|name, shape| Some((name.into(), shape.into())));
        assert!(names.len() >= 20);
        for wanted in names {
            let folder = Folder::new(model);
            folder.tensors(|name, shape| (name != wanted).then(|| (name.into(), shape.into())));
            assert!(matches!(folder.refusal(), Error::Missing(name) if name == wanted));

            let folder = Folder::new(model);
            folder.tensors(|name, shape| {
                let more = if name == wanted { &[1][..] } else { &[] };
                Some((name.into(), [more, shape].concat()))
            });
            assert!(matches!(folder.refusal(), Error::Shape { name, .. } if name == wanted));
        }
    }
}

#[test]
fn names_without_the_prefix_are_found() {
    let (folder, whole) = (Folder::new("gpt2-tiny"), Folder::new("gpt2-tiny"));
    folder.tensors(|name, shape| {
        Some((name.strip_prefix("transformer.").unwrap().into(), shape.into()))
    });
    let ids = [TokenId(40), TokenId(50)];
    let rows = |folder: &Folder| common::logits(&*folder.load().unwrap().model, &ids, &[0, 1]);
    assert!(rows(&folder) == rows(&whole));
}

#[test]
fn an_unsupported_config_is_refused_and_says_which_value() {
    let llama3 = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0,
        "high_freq_factor": 1.0, "original_max_position_embeddings": 32});
    let cases = [
        ("gpt2-tiny", "activation_function", json!("relu"), "relu"),
        ("gpt2-tiny", "scale_attn_by_inverse_layer_idx", json!(true), "scaling of attention"),
        ("gpt2-tiny", "scale_attn_weights", json!(false), "scaling of attention"),
        ("gpt2-tiny", "n_head", json!(0), "n_head"),
        ("gpt2-tiny", "n_head", json!(5), "n_head"),
        ("gpt2-tiny", "n_embd", json!(0), "n_embd"),
        ("gpt2-tiny", "n_embd", json!(usize::MAX - 3), "n_embd"),
        ("gpt2-tiny", "n_layer", json!(0), "n_layer"),
        ("gpt2-tiny", "n_inner", json!(0), "n_inner"),
        ("gpt2-tiny", "vocab_size", json!(0), "vocab_size"),
        ("gpt2-tiny", "n_positions", json!(1), "n_positions"),
        ("llama-tiny", "hidden_act", json!("gelu"), "gelu"),
        ("llama-tiny", "num_attention_heads", json!(0), "num_attention_heads"),
        ("llama-tiny", "num_attention_heads", json!(5), "num_attention_heads"),
        ("llama-tiny", "num_key_value_heads", json!(0), "num_key_value_heads"),
        ("llama-tiny", "num_key_value_heads", json!(3), "num_key_value_heads"),
        ("llama-tiny", "head_dim", json!(0), "head_dim"),
        ("llama-tiny", "head_dim", json!(7), "head_dim"),
        ("llama-tiny", "head_dim", json!(usize::MAX - 1), "head_dim"),
        ("llama-tiny", "num_hidden_layers", json!(0), "num_hidden_layers"),
        ("llama-tiny", "intermediate_size", json!(0), "intermediate_size"),
        ("llama-tiny", "max_position_embeddings", json!(1), "max_position_embeddings"),
        ("llama-tiny", "rms_norm_eps", json!(-1.0), "rms_norm_eps"),
        ("llama-tiny", "rope_theta", json!(0.0), "rope_theta"),
        ("llama-tiny", "rope_scaling", json!({"rope_type": "yarn"}), "yarn"),
        ("llama-tiny", "rope_scaling", json!({"type": "linear", "factor": 2.0}), "linear"),
        ("llama-tiny", "rope_scaling", json!({"rope_type": "llama3"}), "factor"),
        ("llama-tiny", "rope_scaling", llama3, "low_freq_factor"),
        ("qwen2-tiny", "use_sliding_window", json!(true), "use_sliding_window"),
        ("qwen2-tiny", "model_type", json!("mamba"), "mamba"),
    ];
    for (model, key, value, what) in cases {
        match Folder::with(model, key, value).refusal() {
            Error::Config(why) => assert!(why.contains(what), "{why}, not {what}"),
            other => panic!("{model} {key}: {other}"),
        }
    }
}

#[test]
fn absurd_sizes_are_compared_and_never_allocated() {
    for (model, keys) in [
        ("gpt2-tiny", &["vocab_size", "n_positions", "n_layer", "n_inner"][..]),
        (
            "llama-tiny",
            &["vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "head_dim"],
        ),
    ] {
        for key in keys {
            for value in [4_u64, 1 << 20, 1 << 40, 1 << 62] {
                let error = Folder::with(model, key, json!(value)).refusal();
                let named =
                    matches!(error, Error::Shape { .. } | Error::Missing(_) | Error::Config(_));
                assert!(named, "{model} {key} {value}: {error}");
            }
        }
    }
}

#[test]
fn places_without_end_do_not_make_a_window_without_end() {
    // no tensor has this size: the number is all there is
    let folder = Folder::with("llama-tiny", "max_position_embeddings", json!(u64::MAX));
    let model = folder.load().unwrap().model;
    assert_eq!(model.window(), 1024);
    let cape = json!({"lo": -5, "hi": 5, "window": 5000}).to_string();
    std::fs::write(folder.0.path().join("cape.json"), cape).unwrap();
    assert_eq!(folder.load().unwrap().model.window(), 5000);
}

#[test]
fn tokens_that_begin_and_end_texts_may_be_written_in_many_ways() {
    let begin = |key: &str, value: Value| {
        let folder = Folder::with("llama-tiny", key, value);
        let (input, _) = folder.load().unwrap().model.input(&[], 0);
        input[0]
    };
    assert!(begin("bos_token_id", json!(2)) == TokenId(2));
    assert!(begin("bos_token_id", json!([1, 2])) == TokenId(1));
    // what is no token gives way to the end of a text
    assert!(begin("bos_token_id", json!(null)) == TokenId(0));
    assert!(begin("bos_token_id", json!([])) == TokenId(0));
    assert!(begin("bos_token_id", json!(9999)) == TokenId(0));
    let folder = Folder::with("llama-tiny", "eos_token_id", json!([2, 0]));
    assert!(folder.load().unwrap().model.mask() == TokenId(2));
}

#[test]
fn a_tokenizer_with_more_entries_than_rows_is_refused_and_with_fewer_is_not() {
    for (rows, fits) in [(368, false), (369, true)] {
        let folder = Folder::with("llama-tiny", "vocab_size", json!(rows));
        let path = folder.0.path().join(WEIGHTS);
        let bytes = std::fs::read(&path).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let views = file.iter().map(|(name, view)| {
            let data = view.data();
            let (shape, data) = match name {
                "model.embed_tokens.weight" => (vec![rows, 32], &data[..rows * 32 * 4]),
                _ => (view.shape().to_vec(), data),
            };
            (name.to_owned(), TensorView::new(view.dtype(), shape, data).unwrap())
        });
        let views: Vec<_> = views.collect();
        std::fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
        match folder.load() {
            Ok(_) => assert!(fits),
            Err(Error::Vocabulary { tokenizer: 369, model: 368 }) => assert!(!fits),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn rotary_scaling_of_llama_3_changes_what_is_far() {
    let scaling = |original: f64| {
        json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": original})
    };
    let ids: Vec<TokenId> = (30..50).map(TokenId).collect();
    let rows = |folder: Folder| common::logits(&*folder.load().unwrap().model, &ids, &[0, 19]);
    let plain = rows(Folder::new("llama-tiny"));
    // trained on so many places that every pair turns often: nothing is scaled
    let same = rows(Folder::with("llama-tiny", "rope_scaling", scaling(1e9)));
    assert!(same == plain);
    let scaled = rows(Folder::with("llama-tiny", "rope_scaling", scaling(16.0)));
    // one token alone has nothing to be far from
    assert!(scaled[0] == plain[0] && scaled[1] != plain[1]);
    // under its newer name, with the base frequency beside it
    let mut newer = scaling(16.0);
    newer["rope_theta"] = json!(100_000.0);
    assert!(rows(Folder::with("llama-tiny", "rope_parameters", newer)) == scaled);
}
