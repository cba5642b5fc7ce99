//! Models by their names on the hub: pulled once, and from then on used without a network.

use std::path::{Path, PathBuf};

use crate::mirror::{COMMIT, Mirror};
use assert_cmd::Command;
use tempfile::TempDir;

const REPO: &str = "org/tiny";
const TOKEN: &str = "hf_a-secret-that-nobody-may-see";

/// A mirror, and a folder to work in with a cache of its own.
struct Home {
    mirror: Mirror,
    dir: TempDir,
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Home {
    fn new() -> Self {
        Self { mirror: Mirror::new(REPO), dir: tempfile::tempdir().unwrap() }
    }

    /// The command, untouched by the settings of whoever runs the tests.
    fn cape(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cape"));
        for (name, _) in std::env::vars_os() {
            let name_text = name.to_string_lossy().to_ascii_uppercase();
            if ["CAPE_", "HF_"].iter().any(|prefix| name_text.starts_with(prefix))
                || name_text.ends_with("_PROXY")
            {
                command.env_remove(name);
            }
        }
        command.current_dir(self.dir.path()).args(args);
        command.env("HF_HOME", self.dir.path().join("hf"));
        command.env("HF_ENDPOINT", &self.mirror.endpoint);
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.finish(&mut self.cape(args))
    }

    /// Folders that change from run to run get a fixed name.
    fn finish(&self, command: &mut Command) -> Ran {
        let output = command.output().unwrap();
        let home = self.dir.path().to_str().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap().replace(home, "HOME");
        Ran {
            code: output.status.code().expect("an exit, not a signal"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// A pull that must succeed.
    fn pull(&self, name: &str) -> Ran {
        let ran = self.run(&["models", "pull", name]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran
    }

    fn snapshot(&self) -> PathBuf {
        self.dir.path().join("hf/hub/models--org--tiny/snapshots").join(COMMIT)
    }
}

/// The command that uses a model.
fn perturb(model: &str) -> [&str; 6] {
    ["perturb", "--mechanism", "cape-paper", "--model", model, "good"]
}

fn transcript(args: &[&str], ran: &Ran) -> String {
    let (out, err, code) = (&ran.out, &ran.err, ran.code);
    format!("$ cape {}\n{out}{err}[exit {code}]\n\n", args.join(" "))
}

#[test]
fn a_model_is_pulled_calibrated_and_used() {
    let home = Home::new();
    std::fs::write(home.dir.path().join("public.txt"), "a good book\nthe slow river\n").unwrap();
    let cases: [&[&str]; 7] = [
        &["perturb", "--mechanism", "cape-paper", "--model", REPO, "good"],
        &["models", "pull", REPO],
        &["perturb", "--mechanism", "cape-paper", "--model", REPO, "--seed", "1", "good"],
        &["calibrate", "--model", REPO, "public.txt"],
        &["perturb", "--mechanism", "cape-paper", "--model", REPO, "--seed", "1", "good"],
        &["models", "pull", REPO],
        &["models", "pack", REPO, "packed"],
    ];
    let mut all = String::new();
    for args in cases {
        home.mirror.requests();
        all += &transcript(args, &home.run(args));
        // perturbing and the like never ask anyone
        let pull = args.starts_with(&["models", "pull"]);
        assert_eq!(!home.mirror.requests().is_empty(), pull, "{args:?}");
    }
    insta::assert_snapshot!(all);
    assert!(home.snapshot().join("cape.json").is_file());
    let list = home.run(&["models"]);
    let pulled = format!("{REPO}  (pulled, calibrated)\n  HOME/hf/hub/");
    assert!(list.out.contains(&pulled), "{}", list.out);
}

#[test]
fn pulls_that_fail_say_why() {
    let mut all = String::new();
    let mut case = |title: &str, home: &Home, args: &[&str]| {
        let ran = home.run(args);
        assert_eq!(ran.out, "");
        all = [&all, title, "\n", &transcript(args, &ran)].concat();
    };
    let pull: &[&str] = &["models", "pull", REPO];
    let home = Home::new();
    case("no name", &home, &["models", "pull", "../x"]);
    case("no such model", &home, &["models", "pull", "org/other"]);
    home.mirror.edit(|site| site.spoilt = Some("model.safetensors"));
    case("spoilt on the way", &home, pull);
    home.mirror.edit(|site| (site.spoilt, site.cuts) = (None, [100, 0, 0].into()));
    case("cut off", &home, pull);
    home.mirror.edit(|site| drop(site.files.remove("model.safetensors")));
    case("a pickle only", &home, pull);
    home.mirror.edit(|site| drop(site.files.remove("config.json")));
    home.mirror.edit(|site| drop(site.files.remove("pytorch_model.bin")));
    case("no configuration", &home, pull);
    insta::assert_snapshot!(all);
}

#[test]
fn a_model_that_cannot_be_used_is_told_at_once() {
    let home = Home::new();
    home.mirror.edit(|site| {
        let config = String::from_utf8(site.files["config.json"].clone()).unwrap();
        let config = config.replace("\"hidden_size\": 32", "\"hidden_size\": 64");
        assert!(config.contains("\"hidden_size\": 64"), "{config}");
        site.files.insert("config.json".into(), config.into_bytes());
    });
    let ran = home.run(&["models", "pull", REPO]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.starts_with("error: org/tiny was pulled, but cannot be used\ncaused by: "));
    assert!(ran.err.contains("\nhint: "), "{}", ran.err);
}

#[test]
fn the_environment_is_heeded() {
    let home = Home::new();
    home.mirror.edit(|site| site.token = Some(TOKEN));
    let pull = ["models", "pull", REPO];
    let mut offline = home.cape(&pull);
    let ran = home.finish(offline.env("HF_HUB_OFFLINE", "1").env("HF_TOKEN", TOKEN));
    assert_eq!((ran.code, home.mirror.requests().len()), (1, 0), "{}", ran.err);
    assert!(ran.err.contains("HF_HUB_OFFLINE"), "{}", ran.err);

    let refused = home.run(&pull);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("HF_TOKEN"), "{}", refused.err);

    let given = home.finish(home.cape(&pull).env("HF_TOKEN", TOKEN));
    assert_eq!(given.code, 0, "{}", given.err);
    assert!(home.snapshot().join("model.safetensors").is_file());
    // in a file, as the hub's login leaves it; and another cache
    std::fs::write(home.dir.path().join("hf/token"), format!("{TOKEN}\n")).unwrap();
    let other = home.dir.path().join("other");
    let filed = home.finish(home.cape(&pull).env("HF_HUB_CACHE", &other));
    assert_eq!(filed.code, 0, "{}", filed.err);
    assert!(other.join("models--org--tiny/refs/main").is_file());
    // another home has it not
    let mut command = home.cape(&perturb(REPO));
    let elsewhere = home.finish(command.env("HF_HOME", home.dir.path().join("x")));
    assert_eq!(elsewhere.code, 2);
    for ran in [ran, refused, given, filed, elsewhere] {
        assert!(!ran.out.contains(TOKEN) && !ran.err.contains(TOKEN));
    }
}

#[test]
fn a_folder_comes_before_a_name() {
    let home = Home::new();
    home.pull(REPO);
    let model = home.dir.path().join(REPO);
    std::fs::create_dir_all(&model).unwrap();
    let ran = home.run(&perturb(REPO));
    assert!(
        ran.err
            .contains(&format!("cannot access {}", Path::new(REPO).join("config.json").display()))
    );
}

#[test]
fn a_gguf_is_fetched_and_refused_where_it_is_broken() {
    let home = Home::new();
    home.mirror.edit(|site| drop(site.files.insert("q4.gguf".into(), b"GGUF".to_vec())));
    let name = format!("{REPO}:q4.gguf");
    home.pull(&name);
    assert!(home.snapshot().join("q4.gguf").is_file());
    let ran = home.run(&perturb(&name));
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("GGUF") && ran.err.contains("hint: "), "{}", ran.err);
}
