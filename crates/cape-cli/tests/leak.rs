//! A word of the prompt never reaches stderr, whatever is wrong with the command line, the input,
//! the model or the machine: stderr is what ends up in logs. (`--diff` shows the prompt there on
//! request, and stdout is the user's own.)

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The secret. Neither half of it is a word of any message.
const CANARY: &str = "xylophoniccanary";

/// A folder with the tiny model in `model/` and whatever a command line below may name.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
        for model in ["model", "cut-short", "no-tokenizer"] {
            std::fs::create_dir(dir.path().join(model)).unwrap();
            for name in ["config.json", "tokenizer.json", "model.safetensors"] {
                std::fs::copy(from.join(name), dir.path().join(model).join(name)).unwrap();
            }
        }
        let home = Self(dir);
        let weights = std::fs::read(from.join("model.safetensors")).unwrap();
        home.write("cut-short/model.safetensors", &weights[..weights.len() / 2]);
        home.write("no-tokenizer/tokenizer.json", b"{}");
        home.write("bad.toml", b"epsilonn = 3");
        home.write("bad-value.toml", b"epsilon = \"three\"");
        home.write("not-utf8", b"good\xff");
        home.write("control", b"good\x07");
        home.write("keep.txt", b"good\n");
        home.write("canaries", b"good\nmy xylophoniccanary\n");
        home.write("words.txt", b"my 1 0\nis 0 1\ngood 1 1\nbad 2 1\n");
        home.write("broken.txt", b"my 1 0\nis 0\n");
        home
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.path().join(name), bytes).unwrap();
    }

    /// The command with everything on that could make it say more than it should.
    fn cape(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cape"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CAPE_") {
                command.env_remove(name);
            }
        }
        command.current_dir(self.0.path()).env("RUST_BACKTRACE", "1").env("RUST_LOG", "trace");
        command
    }

    /// The names of all files, to see that none was added.
    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// Runs it with this on stdin; its exit code, stdout and stderr.
fn run(command: &mut Command, stdin: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // a refusal may come before the prompt is read: then nobody is there to take it
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).expect("stderr is text");
    (output.status.code(), output.stdout, err)
}

/// Whether a message shows the canary: all of it or a part, in either case, cut into pieces as a
/// tokenizer would, or spelled out in bytes.
fn shows(err: &str) -> bool {
    let letters: String = err.chars().filter(char::is_ascii_alphabetic).collect();
    let letters = letters.to_lowercase();
    ["xylo", "phonic", "canary"].iter().any(|part| {
        let codes: Vec<String> = part.bytes().map(|b| b.to_string()).collect();
        letters.contains(part) || err.contains(&codes.join(", "))
    })
}

/// Runs and checks; what is printed on a failure may show the canary, since a test's prompt is no
/// secret.
fn check(command: &mut Command, stdin: &[u8], code: i32) {
    let line = format!("{command:?}");
    let (found, out, err) = run(command, stdin);
    assert!(!shows(&err), "{line}\n{err}");
    assert!(!err.contains("panicked"), "{line}\n{err}");
    assert_eq!(found, Some(code), "{line}\n{err}");
    if code != 0 {
        assert!(out.is_empty(), "a refusal releases nothing: {line}");
        assert!(err.starts_with("error: ") || err.contains("\nerror: "), "{err}");
    }
}

#[test]
fn the_check_sees_a_canary() {
    // else all that follows would prove nothing
    for leak in [
        "error: `xylophoniccanary`",
        "XYLOPHONICCANARY",
        "no entry ##phonic",
        "[x] ##y ##l ##o",
        "bytes: [99, 97, 110, 97, 114, 121]",
    ] {
        assert!(shows(leak), "{leak}");
    }
    assert!(!shows("error: the prompt is empty"));
    // --diff shows the prompt, so the whole path from prompt to stderr is open here
    let home = Home::new();
    let mut command = home.cape();
    command.args(["perturb", "--diff", CANARY]);
    assert!(shows(&run(&mut command, b"").2));
}

/// The paper's mechanism on the tiny model.
const TINY: &[&str] = &["--mechanism", "cape-paper", "--model", "model"];

/// Flags under which a good prompt is perturbed by the paper's mechanism.
const WORKING: &[&[&str]] = &[
    &["perturb"],
    &["perturb", "--json"],
    &["perturb", "--input", "-", "--file-format", "txt"],
    &["perturb", "--input", "-", "--file-format", "txt", "--json"],
    &["perturb", "--seed", "1"],
    &["perturb", "--epsilon", "30"],
    &["perturb", "--context", "released"],
    &["perturb", "--bucket-count", "9", "--keep", "keep.txt"],
    &["explain", "--word", "1"],
    &["explain", "--word", "2", "--json", "--all"],
    &["audit", "exact", "--word", "1"],
    &["audit", "exact", "--word", "2", "--json", "--context", "released"],
    &["audit", "context", "--tries", "1"],
    &["audit", "context", "--word", "1", "--tries", "1", "--json"],
];

/// The same for words.
const WORDS: &[&[&str]] = &[
    &["perturb"],
    &["perturb", "--json"],
    &["perturb", "--input", "-", "--file-format", "txt"],
    &["perturb", "--input", "-", "--file-format", "txt", "--json"],
    &["perturb", "--input", "-", "--file-format", "txt", "--separate"],
    &["perturb", "--seed", "1"],
    &["perturb", "--epsilon", "30"],
    &["perturb", "--profile", "names"],
    &["perturb", "--profile", "everything", "--keep", "keep.txt"],
    &["perturb", "--protect", CANARY, "--keep", "good"],
    &["perturb", "--ordinary", CANARY],
    &["perturb", "--keep", CANARY],
    &["perturb", "--instruction", "Say xylophoniccanary:"],
    &["perturb", "--format", "code"],
    &["explain", "--word", "2"],
    &["explain", "--word", "2", "--json", "--all"],
];

/// Flags under which any prompt is refused, and with which code.
const REFUSED: &[(&[&str], i32)] = &[
    (&["perturb", "--epsilon", "0"], 2),
    (&["perturb", "--epsilon", "nan"], 2),
    (&["perturb", "--epsilon", "abc"], 2),
    (&["perturb", "--epsilon"], 2),
    (&["perturb", "--alpha", "2"], 2),
    (&["perturb", "--lambda-l", "inf"], 2),
    (&["perturb", "--seed", "-1"], 2),
    (&["perturb", "--nonsense"], 2),
    (&["perturb", "--epsilon", "900"], 2),
    (&["perturb", "--profile", "names"], 2),
    (&["perturb", "--bucket-count", "1"], 2),
    (&["perturb", "--input", "-", "--diff"], 2),
    (&["perturb", "--keep", "not-utf8"], 1),
    (&["perturb", "--keep", "control"], 1),
    (&["perturb", "--config", "nowhere"], 1),
    (&["perturb", "--config", "not-utf8"], 1),
    (&["perturb", "--config", "bad.toml"], 2),
    (&["perturb", "--config", "bad-value.toml"], 2),
    (&["explain"], 2),
    (&["explain", "--word", "0"], 2),
    (&["explain", "--word", "99"], 2),
    (&["explain", "--word", "-1"], 2),
    (&["explain", "--word", "1", "--released", "one two three"], 1),
    (&["explain", "--word", "1", "--released", "good\u{7}"], 1),
];

/// The same for words.
const REFUSED_WORDS: &[(&[&str], i32)] = &[
    (&["perturb", "--epsilon", "0"], 2),
    (&["perturb", "--alpha", "-1"], 2),
    (&["perturb", "--k", "0"], 2),
    (&["perturb", "--epsilon-ordinary", "nan"], 2),
    (&["perturb", "--profile", "xylophoniccanary"], 2),
    (&["perturb", "--format", "xylophoniccanary"], 2),
    (&["perturb", "--protect", "my xylophoniccanary"], 2),
    (&["perturb", "--ordinary", "my xylophoniccanary"], 2),
    (&["perturb", "--protect", "xylophoniccanary\u{7}"], 1),
    (&["perturb", "--keep", "xylophoniccanary\u{7}"], 1),
    (&["perturb", "--protect", "canaries"], 2),
    (&["perturb", "--memory", "canaries"], 1),
    (&["perturb", "--memory", "."], 1),
    (&["perturb", "--memory", "nowhere/memory"], 1),
    (&["perturb", "--separate"], 2),
    (&["explain", "--word", "0"], 2),
    (&["explain", "--word", "99"], 2),
    (&["explain", "--word", "2", "--keep", "xylophoniccanary"], 1),
    (&["explain", "--word", "1", "--released", "my xylophoniccanary"], 2),
];

/// The baselines keep files beside the vectors, with nothing of a prompt in them.
const BASELINES: &[&str] = &["santext", "santext+", "custext", "custext+", "inferdpt"];

#[test]
fn nothing_of_a_prompt_for_a_baseline_is_on_stderr_or_in_a_file() {
    let home = Home::new();
    for mechanism in BASELINES {
        let with = |vectors| ["--mechanism", mechanism, "--epsilon", "1", "--vectors", vectors];
        for unknown in ["replace", "keep", "drop"] {
            let args = [&["perturb", "--unknown", unknown][..], &with("words.txt")].concat();
            check(home.cape().args(&args).arg(PROMPT), b"", 0);
            check(
                home.cape().args(&args).args(["--input", "-", "--file-format", "txt"]),
                PROMPT.as_bytes(),
                0,
            );
        }
        check(home.cape().arg("perturb").args(with("broken.txt")).arg(PROMPT), b"", 1);
        // the canary is the first sensitive word where stopwords are kept
        let token = if *mechanism == "custext+" { "1" } else { "2" };
        let explain = ["explain", "--word", token, "--unknown", "drop"];
        check(home.cape().args(explain).args(with("words.txt")).arg(PROMPT), b"", 1);
    }
    for name in home.files() {
        let path = home.0.path().join(&name);
        // which has it to begin with
        if path.is_file() && name != "canaries" {
            let bytes = std::fs::read(path).unwrap();
            assert!(!shows(&String::from_utf8_lossy(&bytes)));
        }
    }
}

const PROMPT: &str = "my xylophoniccanary is good";

#[test]
fn nothing_of_a_released_prompt_is_on_stderr() {
    let home = Home::new();
    let files = home.files();
    for flags in WORKING {
        let base = [flags, TINY].concat();
        // as an argument and from stdin
        if !flags.contains(&"--input") {
            check(home.cape().args(&base).arg(PROMPT), b"", 0);
        }
        check(home.cape().args(&base), PROMPT.as_bytes(), 0);
    }
    for flags in WORDS {
        if !flags.contains(&"--input") {
            check(home.cape().args(*flags).arg(PROMPT), b"", 0);
        }
        check(home.cape().args(*flags), PROMPT.as_bytes(), 0);
    }
    // the embedded model, whose vocabulary cuts it differently
    for flags in [&["perturb"][..], &["explain", "--word", "1"]] {
        let paper = ["--mechanism", "cape-paper"];
        check(home.cape().args(flags).args(paper).arg(PROMPT), b"", 0);
    }
    assert_eq!(home.files(), files, "nor in a file");
}

#[test]
fn nothing_of_a_refused_prompt_is_on_stderr() {
    let home = Home::new();
    let files = home.files();
    for &(flags, code) in REFUSED {
        // the prompt before the flags, lest `--epsilon` without a value takes it for one
        let (command, rest) = flags.split_first().unwrap();
        check(home.cape().args([command, PROMPT]).args(TINY).args(rest), b"", code);
        check(home.cape().arg(command).args(TINY).args(rest), PROMPT.as_bytes(), code);
    }
    for &(flags, code) in REFUSED_WORDS {
        let (command, rest) = flags.split_first().unwrap();
        check(home.cape().args([command, PROMPT]).args(rest), b"", code);
        check(home.cape().arg(command).args(rest), PROMPT.as_bytes(), code);
    }
    assert_eq!(home.files(), files, "nor in a file");
}

/// What an audit finds is on stdout, for whoever asked; on stderr is the verdict alone.
#[test]
fn nothing_of_an_audited_prompt_is_on_stderr() {
    let home = Home::new();
    let sample = ["audit", "sample", PROMPT, "-n", "100", "--context", "released"];
    // real draws: at this confidence they raise a false alarm one time in 10^9
    let sample = [&sample[..], TINY, &["--confidence", "0.999999999"]].concat();
    for (flags, code) in [
        (&["--epsilon", "1"][..], 0),
        (&["--json", "--word", "2"], 0),
        (&["--other", "my xylophoniccanary is good"], 2),
        (&["--other", "my canary"], 2),
        (&["--replace", "xylophonic\u{7}"], 1),
        (&["--word", "99"], 2),
        (&["--command", "xylophoniccanary"], 1),
        (&["--command", "'xylophoniccanary"], 2),
        (&["--command", "false"], 1),
    ] {
        check(home.cape().args(&sample).args(flags), b"", code);
    }
    // a command that copies is found out
    let claim = ["--claimed", "0.1", "--command", "cat", "--other", "my good is good"];
    let (code, out, err) = run(home.cape().args(&sample).args(claim), b"");
    assert_eq!(code, Some(1));
    assert!(!out.is_empty() && !shows(&err), "{err}");
}

#[test]
fn a_broken_model_does_not_make_the_prompt_known() {
    let home = Home::new();
    for (model, code) in [("nowhere", 2), ("", 2), ("cut-short", 1), ("no-tokenizer", 1)] {
        for command in ["perturb", "explain"] {
            let mut run = home.cape();
            run.args([command, PROMPT, "--mechanism", "cape-paper", "--model", model]);
            run.args((command == "explain").then_some("--word=1"));
            check(&mut run, b"", code);
        }
    }
}

#[test]
fn text_that_is_refused_for_what_it_holds_is_not_quoted() {
    let home = Home::new();
    // before, after and within the canary
    let inputs: [&[u8]; 8] = [
        b"xylophoniccanary \x07",
        b"\x1b[31mxylophoniccanary",
        b"xylophonic\0canary",
        b"xylophoniccanary\xc2\x9b",
        b"xylophoniccanary \xff",
        b"\xfe xylophoniccanary",
        b"xylophonic\xffcanary",
        b"xylophoniccanary \xe4\xb8",
    ];
    for input in inputs {
        for flags in [&["perturb"][..], &["explain", "--word=1"]] {
            check(home.cape().args(flags), input, 1);
            check(home.cape().args(flags).args(TINY), input, 1);
        }
        // of rows, those that are refused are empty
        for more in [&[][..], TINY] {
            let rows = ["perturb", "--input", "-", "--file-format", "txt"];
            let (code, out, err) = run(home.cape().args(rows).args(more), input);
            assert!(code == Some(1) && !shows(&err), "{err}");
            assert!(!shows(&String::from_utf8(out).unwrap()));
        }
        if let Some(text) = std::str::from_utf8(input).ok().filter(|t| !t.contains('\0')) {
            check(home.cape().arg("perturb").arg(text), b"", 1);
            // how it was released is as secret as the prompt
            let explain = ["explain", "--word", "1", "good", "--released", text];
            check(home.cape().args(explain).args(TINY), b"", 1);
        }
    }
    let unlike = ["explain", "--word", "1", "good", "--released", PROMPT];
    check(home.cape().args(unlike).args(TINY), b"", 1);
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_utf8_is_not_quoted() {
    use std::os::unix::ffi::OsStrExt;
    let home = Home::new();
    let text = std::ffi::OsStr::from_bytes(b"xylophoniccanary \xff");
    check(home.cape().arg("perturb").arg(text), b"", 2);
    let explain = ["explain", "--word", "1"];
    check(home.cape().args(explain).arg(text), b"", 2);
}

#[test]
fn strange_variables_do_not_make_the_prompt_known() {
    let home = Home::new();
    for (name, value, code) in [
        ("CAPE_EPSILON", "", 2),
        ("CAPE_EPSILON", "much", 2),
        ("CAPE_EPSILON", "-0", 2),
        ("CAPE_EPSILON", "\u{1b}[31m", 2),
        ("CAPE_PROFILE", "round", 2),
        ("CAPE_CONTEXT", "", 2),
        ("CAPE_FORMAT", "some", 2),
        ("CAPE_PROTECT", "two words", 2),
        ("CAPE_ORDINARY", "two words", 2),
        ("CAPE_K", "0", 2),
        ("CAPE_ALPHA", "1e999", 2),
        ("CAPE_EPSILON_ORDINARY", "-1", 2),
        ("CAPE_LAMBDA_L", "NaN", 2),
        ("CAPE_LAMBDA_D", "-1", 2),
        ("CAPE_BUCKET_COUNT", "-3", 2),
        ("CAPE_BUCKET_COUNT", "99999999999999999999999", 2),
        ("CAPE_MODEL", "nowhere", 2),
        ("CAPE_KEEP", "not-utf8", 1),
        ("CAPE_CONFIG", "bad.toml", 2),
        // names that mean nothing
        ("CAPE_SEED", "1", 0),
        ("CAPE_NONSENSE", "xylophoniccanary", 0),
        ("CAPE_", "", 0),
    ] {
        check(home.cape().env(name, value).args(["perturb", PROMPT]), b"", code);
        check(home.cape().env(name, value).arg("perturb"), PROMPT.as_bytes(), code);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_stdout_that_cannot_be_written_does_not_make_the_prompt_known() {
    let home = Home::new();
    for flags in WORKING {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = home.cape();
        if flags.contains(&"--input") {
            home.write("prompts.txt", PROMPT.as_bytes());
            let prompts = std::fs::File::open(home.0.path().join("prompts.txt"));
            command.args([flags, TINY].concat()).stdin(prompts.unwrap());
        } else {
            command.args([flags, TINY, &[PROMPT]].concat());
        }
        let child = command.stdout(full.unwrap()).stderr(Stdio::piped()).spawn();
        let output = child.unwrap().wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(!shows(&err), "{command:?}\n{err}");
        assert_ne!(output.status.code(), Some(0));
    }
}

#[test]
fn a_seed_from_the_environment_is_not_a_seed() {
    // it would void the guarantee behind the user's back
    let home = Home::new();
    let mut command = home.cape();
    command.env("CAPE_SEED", "1");
    command.args(["perturb", "good"]);
    let (code, _, err) = run(&mut command, b"");
    assert!(code == Some(0) && err.starts_with("warning: CAPE_SEED"), "{err}");
    assert!(err.contains("proven") && !err.contains("NONE"), "{err}");
}

#[test]
fn an_argument_in_the_wrong_place_is_not_quoted() {
    let home = Home::new();
    let lines: [&[&str]; 9] = [
        // the quotes forgotten
        &["perturb", "my", "xylophoniccanary"],
        &["explain", "--word", "1", "my", "xylophoniccanary"],
        // the command forgotten
        &["my xylophoniccanary is good"],
        &["help", "xylophoniccanary"],
        // a prompt that begins with a dash
        &["perturb", "--xylophoniccanary is good"],
        &["perturb", "-- xylophoniccanary"],
        // a flag without its value takes the prompt for it
        &["perturb", "--epsilon", PROMPT],
        &["perturb", "--profile", PROMPT],
        &["explain", "--word", PROMPT],
    ];
    for line in lines {
        check(home.cape().args(line), b"", 2);
    }
}

/// Nothing of a file of prompts is on stderr, in the list of refused rows or in what a kill leaves behind, and no
/// column goes out that was not named.
#[test]
fn nothing_of_a_file_of_prompts_is_where_it_should_not_be() {
    let home = Home::new();
    home.write(
        "in.jsonl",
        b"{\"prompt\": \"my xylophoniccanary is good\", \"name\": \"xylophoniccanary\"}\n\
          {\"prompt\": \"xylophoniccanary \\u0007\", \"xylophoniccanary\": 1}\n\
          {\"prompt\": [\"xylophoniccanary\"]}\nxylophoniccanary\n",
    );
    home.write("in.csv", b"name,prompt\nxylophoniccanary,my xylophoniccanary\nxylophoniccanary\n");
    for (input, output) in [("in.jsonl", "out.jsonl"), ("in.csv", "out.csv")] {
        let args = ["perturb", "--input", input, "--output", output, "--field", "prompt"];
        // at this ε a word becomes another one
        check(home.cape().args(args).args(["--epsilon", "1"]), b"", 0);
        for name in [output.to_owned(), format!("{output}.rejected.jsonl")] {
            let written = std::fs::read_to_string(home.0.path().join(&name)).unwrap();
            assert!(!shows(&written), "{name}: {written}");
        }
        let args = ["perturb", "--input", input, "--field", "prompt", "--epsilon", "1"];
        let (code, out, err) = run(home.cape().args(args), b"");
        assert!(code == Some(1) && !shows(&err) && !out.is_empty(), "{err}");
        check(home.cape().args(args).args(["--output", input]), b"", 1);
    }
}
