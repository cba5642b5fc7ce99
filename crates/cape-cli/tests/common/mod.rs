//! A folder with a tiny model, and the binary run in it.

#![allow(dead_code, clippy::unwrap_used, unreachable_pub, missing_docs, reason = "shared by tests")]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// The paper's mechanism on the tiny model.
pub const TINY: [&str; 4] = ["--mechanism", "cape-paper", "--model", "model"];

/// A folder of its own for a test, with the tiny model in `model/`.
pub struct Home(pub TempDir);

/// What a run left behind.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Home {
    /// With a calibrated model, so that no warning mixes with what is tested.
    pub fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        let model = home.path("model");
        std::fs::create_dir(&model).unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
        for name in ["config.json", "tokenizer.json", "model.safetensors"] {
            std::fs::copy(from.join(name), model.join(name)).unwrap();
        }
        home.write("model/cape.json", r#"{"lo": -8, "hi": 8}"#);
        home
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).unwrap();
    }

    /// The command in this folder, untouched by the settings of whoever runs the tests.
    pub fn cape(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cape"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CAPE_") {
                command.env_remove(name);
            }
        }
        // a cache of the hub's with nothing in it
        command.env_remove("HF_HUB_CACHE").env("HF_HOME", self.path("hf"));
        command.env("XDG_DATA_HOME", self.path("data"));
        command.current_dir(self.0.path()).env("COLUMNS", "100").args(args);
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        finish(&mut self.cape(args))
    }

    pub fn pipe(&self, stdin: impl Into<Vec<u8>>, args: &[&str]) -> Ran {
        finish(self.cape(args).write_stdin(stdin))
    }

    /// The command; it must succeed.
    pub fn works(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran
    }

    /// Its stdout as JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        parse(&self.works(&[args, &["--json"]].concat()).out)
    }

    /// The paper's mechanism on the tiny model; it must succeed.
    pub fn tiny(&self, args: &[&str]) -> Ran {
        self.works(&[args, &TINY].concat())
    }

    /// Its stdout as JSON.
    pub fn tiny_json(&self, args: &[&str]) -> Value {
        parse(&self.tiny(&[args, &["--json"]].concat()).out)
    }
}

pub fn finish(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().expect("an exit, not a signal"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

/// One run as a reader of the snapshot sees it.
pub fn transcript(args: &[&str], ran: &Ran) -> String {
    let plain = |arg: &str| !arg.is_empty() && arg.chars().all(|c| c.is_ascii_graphic());
    let quoted =
        args.iter().map(|&arg| if plain(arg) { arg.to_owned() } else { format!("{arg:?}") });
    let line = quoted.collect::<Vec<_>>().join(" ");
    let (out, err, code) = (&ran.out, &ran.err, ran.code);
    format!("$ cape {line}\n{out}{err}[exit {code}]\n\n")
}

/// The same under a title.
pub fn titled(title: &str, args: &[&str], ran: &Ran) -> String {
    format!("{title}\n{}", transcript(args, ran))
}

/// Refusals in a row: each leaves stdout empty.
pub fn refusals(home: &Home, code: i32, cases: &[&[&str]]) -> String {
    let mut all = String::new();
    for args in cases {
        let ran = home.run(args);
        let refused = (ran.code, ran.out.as_str());
        assert_eq!(refused, (code, ""), "{args:?}: {}", ran.err);
        all += &transcript(args, &ran);
    }
    all
}
