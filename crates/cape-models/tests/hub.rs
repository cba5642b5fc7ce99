//! Names of the hub, and models that lie in its cache: found without a network.

use std::path::{Path, PathBuf};

use cape_models::{Hub, HubName};
use tempfile::TempDir;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const OTHER: &str = "89abcdef0123456789abcdef0123456789abcdef";

#[test]
fn names_are_taken_apart() {
    let cases: [(&str, &str, &str, Option<&str>); 6] = [
        ("bert-base-uncased", "bert-base-uncased", "main", None),
        ("google-bert/bert-base-uncased", "google-bert/bert-base-uncased", "main", None),
        ("org/a.b_c@v1.0", "org/a.b_c", "v1.0", None),
        ("a@refs/pr/1", "a", "refs/pr/1", None),
        ("org/a:x-Q4_K.gguf", "org/a", "main", Some("x-Q4_K.gguf")),
        ("org/a@v1:q4/x.gguf", "org/a", "v1", Some("q4/x.gguf")),
    ];
    for (text, repo, revision, file) in cases {
        let name = HubName::parse(text).unwrap();
        assert_eq!((name.repo(), name.revision(), name.file()), (repo, revision, file));
        assert_eq!(name.to_string(), text);
    }
}

#[test]
fn what_could_lead_elsewhere_is_no_name() {
    let long = "a".repeat(300);
    let cases = [
        "",
        "/",
        "a/",
        "/a",
        "a/b/c",
        "..",
        "../a",
        "a/..",
        ".hidden",
        "-flag",
        "a--b",
        "a b",
        "a\\b",
        "a%2fb",
        "a?b",
        "a#b",
        "é",
        "a@",
        "a@../b",
        "a@/b",
        "a@b@c",
        "a:",
        "a:b",
        "a:../b.gguf",
        "a:/b.gguf",
        "a:b.bin",
        "C:\\models\\a",
        "a\n",
        &long,
    ];
    for text in cases {
        assert_eq!(HubName::parse(text), None, "{text:?}");
    }
}

/// A cache with a model at one commit.
fn cache(repo: &str, commit: &str, files: &[&str]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = add(dir.path(), repo, commit, files);
    (dir, snapshot)
}

fn add(cache: &Path, repo: &str, commit: &str, files: &[&str]) -> PathBuf {
    let snapshot = cache.join(format!("models--{repo}/snapshots/{commit}"));
    std::fs::create_dir_all(&snapshot).unwrap();
    for file in files {
        std::fs::write(snapshot.join(file), "").unwrap();
    }
    snapshot
}

fn refer(cache: &Path, repo: &str, revision: &str, commit: &str) {
    let path = cache.join(format!("models--{repo}/refs/{revision}"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, commit).unwrap();
}

fn find(dir: &TempDir, name: &str) -> Option<PathBuf> {
    Hub::at(dir.path().into()).find(&HubName::parse(name).unwrap())
}

#[test]
fn a_model_is_found_by_its_name_revision_and_commit() {
    let files = ["config.json", "model.safetensors"];
    let (dir, snapshot) = cache("org--a", COMMIT, &files);
    assert_eq!(find(&dir, "org/a"), None, "no name leads there yet");
    refer(dir.path(), "org--a", "main", &format!("{COMMIT}\n"));
    refer(dir.path(), "org--a", "refs/pr/1", COMMIT);
    for name in ["org/a", "org/a@main", "org/a@refs/pr/1", &format!("org/a@{COMMIT}")] {
        assert_eq!(find(&dir, name).as_ref(), Some(&snapshot), "{name}");
    }
    for name in ["a", "org/b", "org/a@v2", &format!("org/a@{OTHER}"), "org/a:x.gguf"] {
        assert_eq!(find(&dir, name), None, "{name}");
    }
    std::fs::write(snapshot.join("x.gguf"), "").unwrap();
    assert_eq!(find(&dir, "org/a:x.gguf"), Some(snapshot));
}

#[test]
fn half_a_model_is_none() {
    // as left by programs that wanted its tokenizer only
    for (files, there) in [
        (&["config.json", "tokenizer.json"][..], false),
        (&["model.safetensors"], false),
        (&["config.json", "pytorch_model.bin"], false),
        (&["config.json", "model.safetensors.index.json"], true),
    ] {
        let (dir, _) = cache("a", COMMIT, files);
        refer(dir.path(), "a", "main", COMMIT);
        assert_eq!(find(&dir, "a").is_some(), there, "{files:?}");
        assert_eq!(Hub::at(dir.path().into()).list().len(), usize::from(there));
    }
}

#[test]
fn a_reference_that_leads_elsewhere_is_not_followed() {
    let files = ["config.json", "model.safetensors"];
    let (dir, _) = cache("a", "../../outside", &files);
    for commit in ["../../outside", "", "main", &COMMIT[1..], "/etc"] {
        refer(dir.path(), "a", "main", commit);
        assert_eq!(find(&dir, "a"), None, "{commit}");
    }
}

#[test]
fn the_list_has_each_model_once_under_its_best_name() {
    let files = ["config.json", "model.safetensors"];
    let (dir, first) = cache("org--b", COMMIT, &files);
    refer(dir.path(), "org--b", "main", COMMIT);
    let second = add(dir.path(), "org--b", OTHER, &files);
    let third = add(dir.path(), "a", COMMIT, &[&files[..], &["cape.json"]].concat());
    refer(dir.path(), "a", "v1", COMMIT);
    // what else lies in such caches
    add(dir.path(), "broken", COMMIT, &["config.json"]);
    std::fs::create_dir_all(dir.path().join("datasets--x/snapshots")).unwrap();
    std::fs::write(dir.path().join("version.txt"), "1").unwrap();
    let list = Hub::at(dir.path().into()).list();
    let list: Vec<_> =
        list.iter().map(|model| (model.name.as_str(), &model.dir, model.calibrated)).collect();
    let by_commit = format!("org/b@{OTHER}");
    assert_eq!(
        list,
        [("a@v1", &third, true), ("org/b", &first, false), (&by_commit, &second, false)]
    );
    assert_eq!(Hub::at(dir.path().join("nowhere")).list(), []);
}
