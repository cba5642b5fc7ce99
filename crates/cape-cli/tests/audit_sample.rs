//! `cape audit sample` as people use it: what it says of a mechanism that keeps its ε, of commands
//! with planted faults (`common/faulty.rs`), and of commands that do not work at all.
//!
//! Draws are real ones here. At this confidence a correct mechanism fails one time in 10^9, and
//! every fault below lies so far off that it is missed less often than that.

use std::path::Path;

use crate::common::{Home, Ran, TINY, parse, refusals, titled};
use serde_json::Value;

const CONFIDENCE: [&str; 2] = ["--confidence", "0.999999999"];
const PROMPT: &str = "the good book";

/// The faulty command with its arguments, as `--command` takes it.
fn faulty(fault: &str, epsilon: &str) -> String {
    let beside = Path::new(env!("CARGO_BIN_EXE_cape")).with_file_name("examples").join("faulty");
    let beside = beside.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(beside.exists(), "run all tests of this package: they build its examples");
    format!("'{}' {fault} model {epsilon}", beside.display())
}

fn audit(home: &Home, args: &[&str]) -> Ran {
    audit_of(home, PROMPT, args)
}

fn audit_of(home: &Home, prompt: &str, args: &[&str]) -> Ran {
    let sample = ["audit", "sample", prompt, "--context", "released"];
    home.run(&[&sample[..], &TINY, &CONFIDENCE, args].concat())
}

/// An audit of a faulty command that should be Cape at this ε.
fn audited(home: &Home, fault: &str, epsilon: &str, draws: &str) -> (i32, Value) {
    let command = faulty(fault, epsilon);
    let ran =
        audit(home, &["--epsilon", epsilon, "-n", draws, "--json", "--command", command.as_str()]);
    (ran.code, parse(&ran.out))
}

#[test]
fn the_mechanism_itself_passes() {
    let home = Home::new();
    for args in [&["--epsilon", "1"][..], &["--bucket-count", "5"], &["--word", "2"]] {
        let ran = audit(&home, &[args, &["-n", "2000"]].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
        assert!(ran.out.contains("Nothing found. That is no proof."), "{}", ran.out);
    }
    let ran = audit(&home, &["-n", "500", "--replace", "river", "--json"]);
    let report = parse(&ran.out);
    assert_eq!(report["verdict"], "nothing found");
    assert_eq!((&report["draws"], &report["differing_tokens"]), (&500.into(), &1.into()));
    assert!(report["epsilon_stated"].as_f64().unwrap() > 6.0, "{report}");
    assert!(
        report["epsilon_at_least"].as_f64().unwrap() < report["largest_visible"].as_f64().unwrap()
    );
    assert!(report["least_visible_excess"].is_null(), "it is beyond 500 draws");
    assert!(report["law_tests"].as_u64().unwrap() > 10);
}

/// Marks that touch the word belong to it; a second draw in the same word hides the first.
#[test]
fn the_law_is_known_where_a_word_has_one_draw() {
    let home = Home::new();
    for (prompt, known) in [
        ("the (good), book", true),
        ("good's \tbook.", true),
        ("a good-river book", false),
        ("goodriver book", false),
        ("the good中 book", false),
    ] {
        let ran = audit_of(&home, prompt, &["-n", "1000", "--epsilon", "6", "--json"]);
        let report = parse(&ran.out);
        assert_eq!((ran.code, report["law_tests"].is_u64()), (0, known), "{prompt}: {report}");
    }
}

#[test]
fn a_claim_that_is_too_small_is_refuted() {
    let ran = audit(&Home::new(), &["--epsilon", "8", "--claimed", "1", "-n", "2000"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("FOUND WANTING") && ran.out.contains("not tested"), "{}", ran.out);
    assert!(ran.err.starts_with("error: found wanting: ε is larger than stated\n"), "{}", ran.err);
}

#[test]
fn the_binary_passes_as_a_command() {
    let home = Home::new();
    let flags = "--mechanism cape-paper --context released --model model --epsilon 2";
    let command =
        format!("'{}' perturb --input - --file-format txt {flags}", env!("CARGO_BIN_EXE_cape"));
    let ran = audit(&home, &["--epsilon", "2", "-n", "1000", "--command", &command]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let (code, report) = audited(&home, "healthy", "6", "2000");
    assert_eq!((code, &report["verdict"]), (0, &"nothing found".into()), "{report}");
}

#[test]
fn faults_of_the_law_are_found() {
    let home = Home::new();
    for (fault, draws) in [
        ("larger-epsilon", "16000"),
        ("biased-generator", "8000"),
        ("off-by-one", "2000"),
        ("copied-token", "2000"),
    ] {
        let (code, report) = audited(&home, fault, "6", draws);
        assert_eq!(code, 1, "{fault}: {report}");
        assert!(!report["departure"].is_null(), "{fault}: {report}");
    }
}

/// Where no law is known: the text alone.
#[test]
fn faults_are_found_from_the_text_alone() {
    let home = Home::new();
    // so many words that two runs of the same numbers each do not look the same by chance
    let prompt = "the good book is a slow story of london, river and book";
    let unknown = |fault: &str, draws: &str| {
        let command = faulty(fault, "1");
        let other = prompt.replacen("good", "river", 1);
        let args = ["--claimed", "1", "-n", draws, "--json", "--other", &other];
        let ran = audit_of(&home, prompt, &[&args[..], &["--command", &command]].concat());
        (ran.code, parse(&ran.out))
    };
    let (code, report) = unknown("healthy", "1000");
    assert_eq!(code, 0, "{report}");
    let (code, report) = unknown("copied-token", "4000");
    assert_eq!((code, &report["event"]["place"]), (1, &"word 2".into()), "{report}");
    for (fault, what) in [
        ("seed-per-run", "releases of one run are more alike than those of two"),
        ("seed-for-all-runs", "releases in the same place of two runs depend on each other"),
        ("seed-per-pair", "a release of the prompt and the next of the other depend on each other"),
    ] {
        let (code, report) = unknown(fault, "2000");
        assert_eq!((code, &report["dependence"]["releases"]), (1, &what.into()), "{report}");
    }
}

#[test]
fn commands_that_do_not_work_are_refused() {
    let home = Home::new();
    let mut all = String::new();
    for fault in ["fails", "short", "long", "silent"] {
        let command = faulty(fault, "1");
        let args = ["-n", "100", "--timeout", "3", "--command", &command];
        let ran = audit(&home, &args);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
        all += &titled(fault, &args[..4], &ran);
    }
    let with = |args: &[&'static str]| [&["audit", "sample", PROMPT], &TINY[..], args].concat();
    all += &refusals(&home, 1, &[&with(&["--command", "./nowhere"])]);
    insta::assert_snapshot!(all);
}

#[test]
fn audits_that_make_no_sense_are_wrong_usage() {
    let with = |args: &[&'static str]| [&["audit", "sample", PROMPT], &TINY[..], args].concat();
    let cases = [
        with(&["--command", "'"]),
        with(&["--command", ""]),
        with(&["--command", "cat", "--claimed", "1"]),
        with(&["--command", "cat", "--claimed", "1", "--other", "two\nlines"]),
        with(&["--confidence", "1"]),
        with(&["--claimed", "0"]),
        with(&["--timeout", "3"]),
        with(&["-n", "99"]),
        with(&["--other", "the good book"]),
        with(&["--other", "the good river book"]),
        with(&["--other", "the good book", "--word", "1"]),
        with(&["--replace", "the"]),
        with(&["--word", "3"]),
        vec!["audit", "sample", PROMPT, "--model", "model", "--mechanism", "santext"],
    ];
    let cases: Vec<&[&str]> = cases.iter().map(Vec::as_slice).collect();
    insta::assert_snapshot!(refusals(&Home::new(), 2, &cases));
    let none = ["--model", "model", "--mechanism", "inferdpt", "--replace", "river"];
    let none = [&["audit", "sample", PROMPT], &none[..]].concat();
    insta::assert_snapshot!("no_epsilon", refusals(&Home::new(), 1, &[&none]));
}
