//! Weights in several files: the same model as in one, and a named error for every way in which the
//! index and the shards do not fit.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common;
use cape::tokens::TokenId;
use cape_models::{Error, Files, Precision, pack};
use safetensors::{SafeTensors, tensor::TensorView};
use serde_json::json;
use tempfile::TempDir;

const WEIGHTS: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
const SHARDS: [&str; 3] =
    ["model-1-of-3.safetensors", "model-2-of-3.safetensors", "model-3-of-3.safetensors"];

/// Which tensor is in which shard.
type Map = BTreeMap<String, String>;

/// `fixtures/bert-tiny` with its tensors dealt to three shards.
struct Folder {
    dir: TempDir,
    map: Map,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
        for name in ["config.json", "tokenizer.json"] {
            std::fs::copy(from.join(name), dir.path().join(name)).unwrap();
        }
        let bytes = std::fs::read(from.join(WEIGHTS)).unwrap();
        let all = SafeTensors::deserialize(&bytes).unwrap();
        let mut names = all.names();
        names.sort_unstable();
        let map = names.iter().zip(SHARDS.iter().cycle());
        let map = map.map(|(name, shard)| ((*name).to_owned(), (*shard).to_owned())).collect();
        let folder = Self { dir, map };
        for shard in SHARDS {
            let held = folder.map.iter().filter(|(_, file)| *file == shard);
            let views = held.map(|(name, _)| (name.as_str(), all.tensor(name).unwrap()));
            folder.write(shard, &safetensors::serialize(views, None).unwrap());
        }
        folder.index(&folder.map);
        folder
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.dir.path().join(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.dir.path().join(name)).unwrap()
    }

    fn index(&self, map: &Map) {
        let index = json!({"metadata": {"total_size": 1}, "weight_map": map});
        self.write(INDEX, index.to_string().as_bytes());
    }

    /// The error, which comes at once: nothing huge was allocated first.
    fn refusal(&self) -> Error {
        let start = Instant::now();
        let files = Files::read(self.dir.path());
        let error = files.and_then(|files| files.load()).err().expect("the folder is broken");
        assert!(start.elapsed() < Duration::from_secs(5), "{error}");
        error
    }

    fn index_refusal(&self, map: &Map) -> String {
        self.index(map);
        match self.refusal() {
            Error::Index(what) => what,
            other => panic!("{other}"),
        }
    }

    /// A tensor of the first shard.
    fn tensor(&self) -> String {
        self.map.iter().find(|(_, file)| *file == SHARDS[0]).unwrap().0.clone()
    }
}

fn logits(dir: &Path) -> Vec<f32> {
    let device = Files::read(dir).unwrap().load().unwrap();
    let ids: Vec<TokenId> = {
        let keep = cape::tokens::KeepList::default();
        let tokens = device.tokenizer.tokenize("a good slow story", &keep).unwrap();
        tokens.as_slice().iter().map(|token| token.id).collect()
    };
    common::logits(&*device.model, &ids, &[1]).swap_remove(0)
}

#[test]
fn shards_are_the_model_to_the_last_bit() {
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
    let folder = Folder::new();
    assert!(logits(folder.dir.path()) == logits(&whole));
    // and packing joins them
    let to = tempfile::tempdir().unwrap();
    pack(&Files::read(folder.dir.path()).unwrap(), Precision::F32, to.path()).unwrap();
    assert!(to.path().join(WEIGHTS).exists() && !to.path().join(INDEX).exists());
    assert!(logits(to.path()) == logits(&whole));
}

#[test]
fn one_file_comes_before_shards() {
    let folder = Folder::new();
    folder.write(INDEX, b"nonsense");
    assert!(matches!(folder.refusal(), Error::Json { file: INDEX, .. }));
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
    std::fs::copy(whole.join(WEIGHTS), folder.dir.path().join(WEIGHTS)).unwrap();
    assert!(logits(folder.dir.path()) == logits(&whole));
}

#[test]
fn an_index_that_is_none_is_refused() {
    let folder = Folder::new();
    for bad in ["", "[]", "{}", r#"{"weight_map": []}"#, r#"{"weight_map": {"a": 1}}"#] {
        folder.write(INDEX, bad.as_bytes());
        assert!(matches!(folder.refusal(), Error::Json { file: INDEX, .. }), "{bad}");
    }
    assert_eq!(folder.index_refusal(&Map::new()), "it names no shard");
}

#[test]
fn an_index_that_names_files_elsewhere_is_refused() {
    let folder = Folder::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::copy(folder.dir.path().join(SHARDS[0]), outside.path().join(SHARDS[0])).unwrap();
    let path = outside.path().join(SHARDS[0]);
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    let up = format!("../{name}/{}", SHARDS[0]);
    assert!(folder.dir.path().join(&up).exists(), "it would be found");
    for bad in
        [&up, path.to_str().unwrap(), "..", "", "a\\b.safetensors", "config.json", ".safetensors"]
    {
        let mut map = folder.map.clone();
        map.insert(folder.tensor(), bad.to_owned());
        assert!(folder.index_refusal(&map).ends_with("is not a valid name for a shard"), "{bad}");
    }
}

#[test]
fn a_missing_shard_is_named() {
    let folder = Folder::new();
    let path = folder.dir.path().join(SHARDS[1]);
    std::fs::remove_file(&path).unwrap();
    for _ in 0..2 {
        assert!(matches!(folder.refusal(), Error::Io { path: found, .. } if found == path));
        // nor is a folder in its place a shard
        let _ = std::fs::create_dir(&path);
    }
}

#[test]
fn an_index_that_disagrees_with_the_shards_is_refused() {
    let folder = Folder::new();
    let tensor = folder.tensor();
    let with = |file: Option<&str>, name: &str| {
        let mut map = folder.map.clone();
        match file {
            Some(file) => map.insert(name.to_owned(), file.to_owned()),
            None => map.remove(name),
        };
        folder.index_refusal(&map)
    };
    // listed in another shard, not listed, listed but nowhere
    let moved = with(Some(SHARDS[2]), &tensor);
    assert_eq!(moved, format!("tensor `{tensor}` is in {}, and {} holds it", SHARDS[2], SHARDS[0]));
    let unlisted = with(None, &tensor);
    assert_eq!(unlisted, format!("{} holds tensor `{tensor}`, which is not listed", SHARDS[0]));
    let nowhere = with(Some(SHARDS[1]), "more");
    assert_eq!(nowhere, format!("{} does not hold tensor `more`", SHARDS[1]));
}

#[test]
fn a_tensor_in_two_shards_is_refused() {
    let folder = Folder::new();
    let (first, second) = (folder.read(SHARDS[0]), folder.read(SHARDS[1]));
    let (first, second) =
        (SafeTensors::deserialize(&first).unwrap(), SafeTensors::deserialize(&second).unwrap());
    let tensor = folder.tensor();
    let mut views: Vec<(String, TensorView)> = second.tensors();
    views.push((tensor.clone(), first.tensor(&tensor).unwrap()));
    folder.write(SHARDS[1], &safetensors::serialize(views, None).unwrap());
    let found = folder.index_refusal(&folder.map);
    assert_eq!(found, format!("tensor `{tensor}` is in {}, and {} holds it", SHARDS[0], SHARDS[1]));
}

#[test]
fn a_broken_shard_is_named() {
    let folder = Folder::new();
    let good = folder.read(SHARDS[1]);
    let claims = |length: u64| [&length.to_le_bytes(), &good[8..]].concat();
    let longer = [&good[..], &[0]].concat();
    let mut bent = good.clone();
    bent[8] ^= 1;
    let cases = [
        vec![],
        good[..7].to_vec(),
        good[..8].to_vec(),
        good[..good.len() / 2].to_vec(),
        good[..good.len() - 1].to_vec(),
        longer,
        bent,
        claims(0),
        claims(u64::MAX),
        claims(u64::MAX / 2),
        claims(good.len() as u64 - 7),
    ];
    for (case, bytes) in cases.into_iter().enumerate() {
        folder.write(SHARDS[1], &bytes);
        let error = folder.refusal();
        assert!(
            matches!(&error, Error::Shard { file, .. } if file == SHARDS[1]),
            "case {case}: {error}"
        );
    }
}

#[test]
fn a_shard_with_a_bent_byte_never_panics() {
    let folder = Folder::new();
    let good = folder.read(SHARDS[0]);
    let header = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize + 8;
    for at in 0..header {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        folder.write(SHARDS[0], &bytes);
        let _ = Files::read(folder.dir.path());
    }
}

#[test]
fn files_of_a_size_that_no_model_has_are_not_read() {
    // sparse: the sizes are claimed, and nothing lies behind them
    let sizes = [("config.json", 1 << 40), ("tokenizer.json", 1 << 40), (INDEX, 1 << 40)];
    for (name, size) in sizes.into_iter().chain([(SHARDS[0], 1 << 43), (WEIGHTS, 1 << 43)]) {
        let folder = Folder::new();
        let file = std::fs::File::create(folder.dir.path().join(name)).unwrap();
        if file.set_len(size).is_err() {
            continue; // not every file system has room for the claim
        }
        assert!(matches!(folder.refusal(), Error::TooLarge { path, .. } if path.ends_with(name)));
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let folder = Folder::new();
    let path = folder.dir.path().join(WEIGHTS);
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert!(matches!(folder.refusal(), Error::Io { path: found, .. } if found == path));
}
