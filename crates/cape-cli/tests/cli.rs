//! The binary as people and scripts use it: help, errors with their exit codes, JSON, streams and
//! settings. What it does with words is in words.rs.
//!
//! Most tests here run the paper's mechanism on `fixtures/bert-tiny`, whose 150 entries hold words such
//! as good, book, slow, story, london, river; the embedded model stands in where its size matters.

use crate::common::{Home, Ran, TINY, finish, parse, refusals, titled, transcript};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;

// ---- help ----

#[test]
fn help() {
    let home = Home::new();
    for (name, args) in [
        ("help", &["--help"][..]),
        ("help_perturb_short", &["perturb", "-h"]),
        ("help_perturb", &["perturb", "--help"]),
        ("help_explain", &["explain", "--help"]),
        ("help_audit_sample", &["audit", "sample", "--help"]),
        ("help_calibrate", &["calibrate", "--help"]),
        ("help_choose", &["choose", "--help"]),
        ("help_bench", &["bench", "--help"]),
        ("help_eval", &["eval", "--help"]),
        ("help_eval_paper", &["eval", "paper", "--help"]),
        ("help_audit_exact", &["audit", "exact", "--help"]),
        ("help_audit_context", &["audit", "context", "--help"]),
        ("help_serve_short", &["serve", "-h"]),
        ("help_serve", &["serve", "--help"]),
        ("help_playground", &["playground", "--help"]),
        ("help_ledger_show", &["ledger", "show", "--help"]),
        ("help_ledger_export", &["ledger", "export", "--help"]),
        ("help_ledger_forget", &["ledger", "forget", "--help"]),
        ("help_ledger_jobs", &["ledger", "jobs", "--help"]),
        ("help_ledger_settle", &["ledger", "settle", "--help"]),
        ("help_models_pack", &["models", "pack", "--help"]),
        ("help_models_pull", &["models", "pull", "--help"]),
    ] {
        let ran = home.run(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        insta::assert_snapshot!(name, ran.out);
    }
}

#[test]
fn models_are_listed() {
    let ran = Home::new().run(&["models"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    insta::assert_snapshot!(ran.out);
}

#[test]
fn bench_measures_each_length_and_context() {
    let home = Home::new();
    let args = ["bench", "--seconds", "0", "--lengths", "5,9", "--arithmetic", "int16"];
    let on_model = |args: &[&'static str]| [args, &["--model", "model"]].concat();
    let reports = home.json(&on_model(&args));
    let [report] = &reports.as_array().unwrap()[..] else { panic!("one model, one report") };
    assert_eq!((&report["model"], &report["arithmetic"]), (&"model".into(), &"int16".into()));
    assert!(report["load_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(report["load_peak_bytes"].is_u64(), cfg!(target_os = "linux"));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for (row, context) in rows.iter().zip([["released"; 4], ["raw"; 4]].concat()) {
        assert_eq!(row["context"], context);
        let number = |name: &str| row[name].as_f64().unwrap();
        assert!(number("ms_p50") > 0.0 && number("ms_p50") <= number("ms_p99"));
        assert!(number("tokens_per_second") > 0.0 && number("runs") >= 1.0);
        assert!(number("tokens") >= 5.0 && number("sensitive_tokens") <= number("tokens"));
        for stage in ["tokenize", "logits", "distances", "draw"] {
            assert!(row["stages_ms"][stage].as_f64().unwrap() >= 0.0, "{stage}");
        }
    }
    let args = ["bench", "--seconds", "0", "--lengths", "5", "--context", "raw"];
    let table = home.works(&on_model(&args)).out;
    assert_eq!(table.lines().filter(|line| line.starts_with("raw")).count(), 2, "{table}");
}

#[test]
fn bench_refuses_what_it_cannot_measure() {
    let home = Home::new();
    home.write("empty.txt", " \n");
    let on_model = |args: &[&'static str]| [&["bench", "--model", "model"], args].concat();
    let cases = [on_model(&["--file", "empty.txt"]), on_model(&["--file", "none.txt"])];
    let cases: Vec<&[&str]> = cases.iter().map(Vec::as_slice).collect();
    let mut refused = refusals(&home, 1, &cases);
    let cases = [
        on_model(&["--seconds", "-1"]),
        on_model(&["--lengths", "0"]),
        on_model(&["--kernel", "abacus"]),
        on_model(&["--arithmetic", "roman"]),
    ];
    let cases: Vec<&[&str]> = cases.iter().map(Vec::as_slice).collect();
    for case in cases {
        let ran = home.run(case);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        // which kernels there are depends on the machine
        let err = ran.err.lines().filter(|line| !line.starts_with("hint: it has:"));
        refused += &err.collect::<Vec<_>>().join("\n");
        refused += "\n";
    }
    insta::assert_snapshot!(refused);
}

#[test]
fn completions_know_the_commands_and_their_flags() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = Home::new().run(&["completions", shell]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        for word in ["cape", "perturb", "explain", "bucket-count"] {
            assert!(ran.out.contains(word), "{shell}: {word}");
        }
    }
}

// ---- refusals ----

#[test]
fn settings_out_of_range_are_wrong_usage() {
    let paper = |rest: &[&'static str]| {
        let flags = ["perturb", "--mechanism", "cape-paper"];
        [&flags[..], rest, &["good"]].concat()
    };
    let refused = refusals(
        &Home::new(),
        2,
        &[
            &["perturb", "--epsilon", "0", "good"],
            &["perturb", "--epsilon", "-1", "good"],
            &["perturb", "--epsilon", "nan", "good"],
            &["perturb", "--epsilon", "inf", "good"],
            &["perturb", "--epsilon", "1e999", "good"],
            &["explain", "--word", "1", "--epsilon", "0", "good"],
            &["perturb", "--alpha", "-1", "good"],
            &["perturb", "--k", "0", "good"],
            &["perturb", "--k", "-1", "good"],
            &["perturb", "--epsilon-ordinary", "0", "good"],
            &["perturb", "--epsilon-ordinary", "nan", "good"],
            &["perturb", "--profile", "nobody", "good"],
            &["perturb", "--format", "verse", "good"],
            &paper(&["--lambda-l", "-0.5"]),
            &paper(&["--lambda-d", "nan"]),
            &paper(&["--bucket-count", "1"]),
            &paper(&["--epsilon", "500"]),
        ],
    );
    insta::assert_snapshot!(refused);
}

#[test]
fn flags_that_do_not_go_together_are_wrong_usage() {
    let refused = refusals(
        &Home::new(),
        2,
        &[
            &["perturb", "--mechanism", "cape-paper", "--alpha", "2", "good"],
            &["perturb", "--mechanism", "cape-paper", "--profile", "names", "good"],
            &["perturb", "--mechanism", "cape-paper", "--protect", "good", "good"],
            &["perturb", "--bucket-count", "5", "good"],
            &["perturb", "--model", "model", "good"],
            &["perturb", "--input", "-", "--diff"],
            &["perturb", "--separate", "good"],
            &["perturb", "--input", "-", "--separate", "--memory", "memory"],
            &["perturb", "--seed", "1", "--memory", "memory", "good"],
            &["perturb", "--buckets", "round", "good"],
            &["explain", "good"],
            &["perturb", "--mechanism", "cape-paper", "--model", "nowhere", "good"],
            &["calibrate", "--model", "nowhere", "model/config.json"],
            &["explain", "--mechanism", "cape-paper", "--word", "99", "the good book"],
            &["explain", "--mechanism", "cape-paper", "--word", "0", "the good book"],
            &["explain", "--mechanism", "cape-paper", "--word", "1", "the and of"],
            &["explain", "--word", "1", "good book", "--released", "good book"],
        ],
    );
    insta::assert_snapshot!(refused);
}

#[test]
fn prompts_that_cannot_be_perturbed_are_refused() {
    let home = Home::new();
    let mut refused = refusals(
        &home,
        1,
        &[
            &["perturb", ""],
            &["perturb", " \t\n"],
            &["explain", "--word", "1", ""],
            &["perturb", "good\u{7}book"],
            &["explain", "--word", "1", "é\u{9b}"],
            &["explain", "--mechanism", "cape-paper", "--word", "1", "a\u{7}"],
            &[
                "explain",
                "--mechanism",
                "cape-paper",
                "--word",
                "1",
                "good",
                "--released",
                "one two",
            ],
        ],
    );
    let whole: [&[u8]; 5] = [b"", b"\n", b"good b\xff\xfeook", b"\xc3", b"good\0book"];
    for stdin in whole {
        let args = ["perturb"];
        let ran = home.pipe(stdin, &args);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        let title = format!("stdin: \"{}\"", stdin.escape_ascii());
        refused += &titled(&title, &args, &ran);
    }
    insta::assert_snapshot!(refused);
}

#[test]
fn settings_files_with_mistakes_are_refused_by_name() {
    let mut refused = String::new();
    for (toml, code) in [
        ("epsilonn = 3", 2),
        ("seed = 1", 2),
        ("epsilon = \"three\"", 2),
        ("epsilon = 0", 2),
        ("profile = \"nobody\"", 2),
        ("bucket-count = -1", 2),
        ("epsilon = ", 2),
        ("keep = 3", 2),
        ("protect = [[\"Alice\"]]", 2),
        ("protect = [\"two words\"]", 2),
        ("k = 0", 2),
        ("mechanism = \"cape-paper\"\nmodel = \"nowhere\"", 2),
    ] {
        let home = Home::new();
        home.write("cape.toml", toml);
        let args = ["perturb", "good"];
        let ran = home.run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{toml}");
        refused += &titled(&format!("cape.toml: {toml}"), &args, &ran);
    }
    let missing = ["perturb", "--config", "nowhere.toml", "good"];
    refused += &refusals(&Home::new(), 1, &[&missing]);
    insta::assert_snapshot!(refused);
}

#[test]
fn broken_model_folders_are_refused_and_say_what_is_broken() {
    let mut refused = String::new();
    let args = [&["perturb", "good book"], &TINY[..]].concat();
    let mut broken = |what: &str, break_it: &dyn Fn(&Home)| {
        let home = Home::new();
        break_it(&home);
        let ran = home.run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{what}: {}", ran.err);
        refused += &titled(what, &args, &ran);
    };
    let weights = "model/model.safetensors";
    broken("weights cut short", &|home| {
        let bytes = std::fs::read(home.path(weights)).unwrap();
        home.write(weights, &bytes[..bytes.len() / 2]);
    });
    broken("weights with an absurd header", &|home| {
        let mut bytes = std::fs::read(home.path(weights)).unwrap();
        bytes[..8].fill(0xff);
        home.write(weights, bytes);
    });
    broken("no weights", &|home| {
        std::fs::remove_file(home.path(weights)).unwrap();
    });
    let config = |home: &Home, key: &str, value: Value| {
        let path = home.path("model/config.json");
        let mut config = parse(&std::fs::read_to_string(&path).unwrap());
        config[key] = value;
        std::fs::write(path, config.to_string()).unwrap();
    };
    broken("a third layer that is not there", &|home| {
        config(home, "num_hidden_layers", 3.into());
    });
    broken("another width", &|home| {
        config(home, "intermediate_size", 65.into());
    });
    broken("another vocabulary", &|home| {
        config(home, "vocab_size", 151.into());
    });
    broken("another architecture", &|home| {
        config(home, "model_type", "t5".into());
    });
    for (what, file, contents) in [
        ("a config that is not JSON", "config.json", "{"),
        ("a tokenizer that is not one", "tokenizer.json", "{}"),
        ("a calibration out of order", "cape.json", r#"{"lo": 3, "hi": 1}"#),
        ("an unknown key", "cape.json", r#"{"lo": 3, "hi": 4, "high": 5}"#),
    ] {
        broken(what, &|home| home.write(&format!("model/{file}"), contents));
    }
    insta::assert_snapshot!(refused);
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_utf8_is_wrong_usage() {
    use std::os::unix::ffi::OsStrExt;
    let text = std::ffi::OsStr::from_bytes(b"good\xffbook");
    let ran = finish(Home::new().cape(&["perturb"]).arg(text));
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.starts_with("error: "), "{}", ran.err);
}

// ---- perturb ----

/// All that `--json` promises about one release of one prompt.
fn check_release(prompt: &str, release: &Value) {
    let number = |value: &Value| value.as_f64().unwrap();
    let (mut at, mut sensitive) = (0, 0);
    let mut rest = release["text"].as_str().unwrap();
    for token in release["words"].as_array().unwrap() {
        let offset = |key: &str| usize::try_from(token[key].as_u64().unwrap()).unwrap();
        let (start, end) = (offset("start"), offset("end"));
        let (original, released) = (&token["original"], token["released"].as_str().unwrap());
        // offsets are bytes
        assert_eq!(original.as_str(), Some(&prompt[start..end]));
        // what stands between tokens is white space, and is carried over
        let gap = &prompt[at..start];
        assert!(gap.chars().all(char::is_whitespace), "{gap:?} was lost");
        rest = rest.strip_prefix(gap).unwrap();
        // a space may be put where two words would run together
        rest = match rest.strip_prefix(released) {
            Some(rest) => rest,
            None => rest[1..].strip_prefix(released).unwrap(),
        };
        assert_eq!(token["kind"], "word");
        match (token["level"].as_str().unwrap(), token["why"].as_str().unwrap()) {
            ("kept", "stopword" | "punctuation" | "listed") => assert_eq!(*original, *released),
            ("protected", "sensitive") => sensitive += 1,
            other => panic!("unknown reason {other:?}"),
        }
        at = end;
    }
    // as is what follows the last of them
    assert_eq!(rest, &prompt[at..]);
    let privacy = &release["privacy"];
    assert_eq!(privacy["mechanism"], "cape-paper");
    for count in ["words", "draws", "protected_words"] {
        assert_eq!(privacy[count], sensitive, "{count}");
    }
    let whole = number(&privacy["epsilon_any"]) * f64::from(sensitive);
    assert!((number(&privacy["epsilon_prompt"]) - whole).abs() < 1e-9);
    assert_eq!(privacy["epsilon_any"], privacy["epsilon_protected"]);
    assert!((0.0..=1.0).contains(&number(&privacy["most_kept"])));
}

const LETTER: &str = "The doctor's letter was SLOW,\n\tand it is a secret walking story…  ";

#[test]
fn json_release() {
    let home = Home::new();
    let args = ["perturb", "--seed", "1", "--epsilon", "4", "--json", LETTER];
    let json = home.tiny(&args).out;
    check_release(LETTER, &parse(&json));
    insta::assert_snapshot!(json);
}

#[test]
fn json_states_notion_and_evidence() {
    let home = Home::new();
    let forms: [(&[&str], [&str; 2]); 3] = [
        (&[], ["LDP", "bound"]),
        (&["--context", "released"], ["LDP", "bound"]),
        (&["--context", "released", "--seed", "1"], ["none", "none"]),
    ];
    for (flags, [notion, evidence]) in forms {
        let release = home.tiny_json(&[&["perturb", LETTER], flags].concat());
        check_release(LETTER, &release);
        let privacy = &release["privacy"];
        assert_eq!(privacy["notion"], notion);
        assert_eq!(privacy["evidence"], evidence);
        // what is proven of the paper's form is more than was asked
        assert_eq!(privacy["epsilon_nominal"], 6.0);
        assert!(privacy["epsilon_any"].as_f64().unwrap() > 6.0, "{privacy}");
    }
}

#[test]
fn privacy_statements_in_words() {
    let home = Home::new();
    let mut all = String::new();
    for flags in [
        &["--epsilon", "4"][..],
        &["--epsilon", "4", "--context", "released"],
        &["--epsilon", "4", "--context", "released", "--seed", "1"],
    ] {
        let args = [&["perturb"], flags, &["the slow story, and a good river"]].concat();
        // the text differs from run to run
        let ran = Ran { out: String::new(), ..home.tiny(&args) };
        all += &transcript(&args, &ran);
    }
    insta::assert_snapshot!(all);
}

#[test]
fn stdout_holds_the_released_text_alone() {
    let home = Home::new();
    for flags in [&[][..], &["--diff"], &["--context", "released"]] {
        let args = [&["perturb", "--seed", "5", LETTER], flags].concat();
        let plain = home.tiny(&args);
        let json = home.tiny_json(&args);
        assert_eq!(plain.out, format!("{}\n", json["text"].as_str().unwrap()));
        assert!(plain.err.contains("privacy: "));
    }
}

#[test]
fn a_final_newline_is_neither_lost_nor_doubled() {
    let home = Home::new();
    for (stdin, stdout) in
        [("the and", "the and\n"), ("the and\n", "the and\n"), ("the\n\n", "the\n\n")]
    {
        let ran = home.pipe(stdin, &[&["perturb"], &TINY[..]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (0, stdout));
    }
}

#[test]
fn diff_is_readable_without_colour_and_on_stderr_only() {
    let home = Home::new();
    let args = ["perturb", "--seed", "2", "--epsilon", "6", LETTER];
    let ran = home.tiny(&[&args[..], &["--diff"]].concat());
    let plain = home.tiny(&args);
    assert_eq!(ran.out, plain.out);
    // no escape sequences where there is no terminal
    assert!(!ran.err.contains('\u{1b}'));
    // and no originals on stderr unless they are asked for
    assert!(!plain.err.contains("+ ") && !plain.err.contains("doctor"));
    insta::assert_snapshot!(ran.err);
}

#[test]
fn a_seed_repeats_and_no_seed_does_not() {
    let home = Home::new();
    // one candidate in a hundred at each of twenty positions: no two runs agree by chance
    let text = "good book slow story ".repeat(5);
    let run = |more: &[&str]| {
        let args = ["perturb", "--epsilon", "0.1", &text];
        home.tiny(&[&args[..], more].concat()).out
    };
    assert_eq!(run(&["--seed", "7"]), run(&["--seed", "7"]));
    assert_ne!(run(&["--seed", "7"]), run(&["--seed", "8"]));
    assert_ne!(run(&[]), run(&[]));
}

#[test]
fn a_text_of_kept_words_only_comes_back_byte_for_byte() {
    let home = Home::new();
    let text = "  The AND,\tof — not…\r\n (it is)!  ";
    // the dash and the dots are no ASCII punctuation: listed, they are kept too
    home.write("keep.txt", "—\n…\n");
    let args = ["perturb", text, "--keep", "keep.txt"];
    let ran = home.tiny(&args);
    assert_eq!(ran.out, format!("{text}\n"));
    insta::assert_snapshot!(ran.err);
    let release = home.tiny_json(&args);
    check_release(text, &release);
    assert_eq!(release["privacy"]["draws"], 0);
    assert_eq!(release["privacy"]["epsilon_prompt"], 0.0);
}

#[test]
fn listed_words_and_phrases_are_kept() {
    let home = Home::new();
    home.write("keep.txt", "London\n\n  old friend  \r\nWalking\n");
    let text = "LONDON: an old Friend walking, an old river, a good friend, londoner";
    let args = ["perturb", "--keep", "keep.txt", text];
    let release = home.tiny_json(&args);
    check_release(text, &release);
    let tokens = release["words"].as_array().unwrap();
    let all_with = |why: &str| -> Vec<&str> {
        let found = tokens.iter().filter(|token| token["why"] == why);
        found.map(|token| token["original"].as_str().unwrap()).collect()
    };
    // whole words and whole phrases only; a word of two pieces is kept with both
    let listed = all_with("listed");
    assert_eq!(listed, ["LONDON", "old", "Friend", "walk", "ing"]);
    assert_eq!(all_with("sensitive")[..5], ["old", "river", "good", "friend", "london"]);
    assert!(home.tiny(&args).err.contains("5 on your list"));
}

#[test]
fn lines_stay_as_many_and_in_order() {
    let home = Home::new();
    // more lines than are perturbed at once, each recognisable by the stopwords in it
    let stopwords = ["the", "and", "of", "was", "not", "it"];
    let lines: Vec<String> = (0..1300)
        .map(|i| match i % 5 {
            3 => String::new(),
            4 => "  \t".into(),
            _ => format!("{} good {} book", stopwords[i % 6], stopwords[i / 6 % 6]),
        })
        .collect();
    let args = [&["perturb", "--input", "-", "--file-format", "txt"], &TINY[..]].concat();
    let ran = home.pipe(lines.join("\n"), &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let released: Vec<&str> = ran.out.lines().collect();
    assert_eq!(released.len(), lines.len());
    let kept = |line: &str| -> Vec<String> {
        let words = line.split(' ').step_by(2);
        words.map(str::to_owned).collect()
    };
    for (line, released) in lines.iter().zip(&released) {
        if line.trim().is_empty() {
            assert_eq!(line, released, "blank lines stay");
        } else {
            assert_eq!(kept(line), kept(released));
        }
    }
    let counted = "1300 prompts, 1560 sensitive tokens";
    assert!(ran.err.contains(counted), "{}", ran.err);
}

#[test]
fn lines_as_json_are_one_object_a_line() {
    let home = Home::new();
    let lines = ["good book", "", "the and", "slow 中書 story\r", "a\tletter"];
    let args = [&["perturb", "--input", "-", "--file-format", "txt", "--json"], &TINY[..]].concat();
    // with and without a newline at the end of the last line
    for end in ["", "\n"] {
        let ran = home.pipe(lines.join("\n") + end, &args);
        let objects: Vec<Value> = ran.out.lines().map(parse).collect();
        assert_eq!(objects.len(), lines.len());
        for (line, release) in lines.iter().zip(&objects) {
            check_release(line, release);
        }
    }
}

#[test]
fn any_unicode_survives_around_the_tokens() {
    let home = Home::new();
    // words, pieces of words, marks and symbols of every kind, and spaces of several kinds
    let any = r"[\p{L}\p{M}\p{N}\p{S}\p{P}\p{Cf}]{1,6}";
    let word = format!("(good|book|walking|[a-z]{{1,4}}|{any}|👩‍👩‍👧|中書|\\[MASK\\])");
    let line = format!("({word}([ \u{a0}\u{3000}\t]|)){{0,8}}");
    let strategy = proptest::string::string_regex(&line).unwrap();
    let mut runner = TestRunner::deterministic();
    let line = |_| strategy.new_tree(&mut runner).unwrap().current();
    let lines: Vec<String> = (0..300).map(line).collect();
    for context in ["released", "raw"] {
        let args = [
            "perturb",
            "--input",
            "-",
            "--file-format",
            "txt",
            "--json",
            "--seed",
            "1",
            "--context",
            context,
        ];
        let ran = home.pipe(lines.join("\n") + "\n", &[&args[..], &TINY].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let releases: Vec<Value> = ran.out.lines().map(parse).collect();
        assert_eq!(releases.len(), lines.len());
        for (line, release) in lines.iter().zip(&releases) {
            check_release(line, release);
        }
    }
}

#[test]
fn a_prompt_far_longer_than_the_model_is_seen_in_windows() {
    let home = Home::new();
    let text = "good book slow story river journey ".repeat(110);
    let words = text.split_whitespace().count();
    assert_eq!(words, 660);
    for context in ["released", "raw"] {
        let release = home.tiny_json(&["perturb", "--context", context, &text]);
        check_release(&text, &release);
        assert_eq!(release["words"].as_array().unwrap().len(), words);
        assert_eq!(release["privacy"]["draws"], words);
        // nothing is cut off: the release has as many words
        let released = release["text"].as_str().unwrap();
        assert_eq!(released.split_whitespace().count(), words);
    }
    for token in ["1", "330", "660"] {
        let args = ["explain", "--word", token, &text];
        let explanation = home.tiny_json(&args);
        let seen = ids(&explanation["input_ids"]);
        assert_eq!(seen.len(), 32, "30 tokens between [CLS] and [SEP]");
        let position = usize::try_from(explanation["position"].as_u64().unwrap()).unwrap();
        assert_eq!(seen[position], MASK);
        assert_eq!(seen.iter().filter(|&&id| id == MASK).count(), 1);
    }
}

// ---- settings ----

#[test]
fn flags_come_before_variables_before_the_file_before_defaults() {
    let home = Home::new();
    let stated = |variable: Option<&str>, flag: Option<&str>| {
        let mut command = home.cape(&["explain", "--word", "1", "--json", "Alice"]);
        command.envs(variable.map(|epsilon| ("CAPE_EPSILON", epsilon)));
        command.args(flag.iter().flat_map(|epsilon| ["--epsilon", epsilon]));
        let ran = finish(&mut command);
        assert_eq!(ran.code, 0, "{}", ran.err);
        // the law's own, which its integers may make a little smaller
        let epsilon = parse(&ran.out)["epsilon"].as_f64().unwrap();
        format!("{epsilon:.3}")
    };
    assert_eq!(stated(None, None), "8.000");
    assert_eq!(stated(Some("5"), None), "5.000");
    home.write("cape.toml", "epsilon = 3");
    assert_eq!(stated(None, None), "3.000");
    assert_eq!(stated(Some("5"), None), "5.000");
    assert_eq!(stated(Some("5"), Some("7.5")), "7.500");
    assert_eq!(stated(None, Some("7.5")), "7.500");
}

#[test]
fn every_key_of_the_file_is_heeded() {
    let home = Home::new();
    home.write("keep.txt", "book\n");
    home.write(
        "mine.toml",
        "mechanism = \"cape-paper\"\nepsilon = 2.5\ncontext = \"released\"\nlambda-l = 0.25\n\
         lambda-d = 2\nbucket-count = 7\nmodel = \"model\"\nkeep = [\"keep.txt\"]\n",
    );
    let args = ["explain", "--word", "1", "--json", "--all", "book good"];
    let args = [&args[..], &["--config", "mine.toml"]].concat();
    check_heeded(&parse(&home.run(&args).out));
}

#[test]
fn every_variable_is_heeded() {
    let home = Home::new();
    home.write("keep.txt", "book\n");
    home.write("mine.toml", "lambda-d = 2");
    let mut command = home.cape(&["explain", "--word", "1", "--json", "--all", "book good"]);
    command.envs([
        ("CAPE_MECHANISM", "cape-paper"),
        ("CAPE_EPSILON", "2.5"),
        ("CAPE_CONTEXT", "released"),
        ("CAPE_LAMBDA_L", "0.25"),
        ("CAPE_BUCKET_COUNT", "7"),
        ("CAPE_MODEL", "model"),
        ("CAPE_KEEP", "keep.txt"),
        ("CAPE_CONFIG", "mine.toml"),
    ]);
    check_heeded(&parse(&finish(&mut command).out));
}

/// What the two tests above set, as `explain` says it back.
fn check_heeded(told: &Value) {
    // book is kept, so good is the first sensitive token
    assert_eq!(told["original"], "good");
    assert_eq!(told["epsilon"], 2.5);
    assert_eq!(told["context"], "released");
    // 107 beginnings and 36 continuations
    assert_eq!(told["candidates"].as_array().unwrap().len(), 143);
    assert_eq!(told["lambda_l"], 0.25);
    assert_eq!(told["lambda_d"], 2.0);
    assert_eq!(told["bucket_count"], 7);
}

#[test]
fn a_variable_that_is_no_setting_is_a_warning_unless_kubernetes_set_it() {
    let home = Home::new();
    let run = |args: &[&str], variables: &[(&str, &str)]| {
        let ran = finish(home.cape(args).envs(variables.iter().copied()));
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err
    };
    // a service named cape
    let links = [
        ("CAPE_SERVICE_HOST", "10.0.0.7"),
        ("CAPE_SERVICE_PORT", "8787"),
        ("CAPE_SERVICE_PORT_HTTP", "8787"),
        ("CAPE_PORT", "tcp://10.0.0.7:8787"),
        ("CAPE_PORT_8787_TCP", "tcp://10.0.0.7:8787"),
        ("CAPE_PORT_8787_TCP_ADDR", "10.0.0.7"),
    ];
    assert_eq!(run(&["models"], &links), "");
    let mistyped = [("CAPE_EPSILONN", "1"), ("CAPE_UPSTREAM", "http://127.0.0.1:9/v1")];
    let warning = "warning: CAPE_EPSILONN is not a setting of this command, and is ignored\n";
    assert_eq!(run(&["models"], &mistyped), warning);
    // a proxy reads its own alone
    let ran = finish(home.cape(&["serve"]).env("CAPE_MECHANISM", "cape-paper"));
    let warning =
        "warning: CAPE_MECHANISM is not a setting of this command, and is ignored\nerror: ";
    assert!(ran.code == 2 && ran.err.starts_with(warning), "{}", ran.err);
}

#[test]
fn a_model_without_calibration_works_and_warns() {
    let home = Home::new();
    std::fs::remove_file(home.path("model/cape.json")).unwrap();
    let ran = home.tiny(&["perturb", "the and"]);
    assert_eq!(ran.out, "the and\n");
    insta::assert_snapshot!(ran.err);
}

#[test]
fn calibrate_writes_what_the_next_run_uses() {
    let home = Home::new();
    home.write("public.txt", "a good book\n\nthe slow story of a river\n");
    home.write("model/cape.json", r#"{"lo": -1, "hi": 1, "window": 11}"#);
    let args = ["calibrate", "--model", "model", "public.txt"];
    let ran = home.run(&args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.ends_with("written to model/cape.json\n"));
    let stored = parse(&std::fs::read_to_string(home.path("model/cape.json")).unwrap());
    assert_eq!(stored["window"], 11);
    assert!(stored["lo"].as_f64().unwrap() < -1.0 && stored["hi"].as_f64().unwrap() > 1.0);
    let told = home.tiny_json(&["explain", "--word", "1", "good"]);
    let range = vec![stored["lo"].clone(), stored["hi"].clone()];
    assert_eq!(told["calibration"], Value::from(range));

    home.write("public.txt", "the and of\n");
    let ran = home.run(&args);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    insta::assert_snapshot!(ran.err);
}

#[test]
fn a_packed_model_is_a_model() {
    let home = Home::new();
    for precision in ["f32", "bf16", "int8"] {
        let pack = ["models", "pack", "model", "packed", "--precision", precision];
        let ran = home.run(&pack);
        assert_eq!((ran.code, ran.out.as_str()), (0, "written to packed\n"));
        let paper = ["--mechanism", "cape-paper", "--model", "packed"];
        let explain = [&["explain", "--word", "1", "--json"], &paper[..]].concat();
        let told = parse(&home.pipe("good", &explain).out);
        assert_eq!(told["candidates"][0]["token"], "good");
    }
}

// ---- explain ----

const MASK: u64 = 4;

fn ids(list: &Value) -> Vec<u64> {
    let list = list.as_array().unwrap();
    list.iter().map(|id| id.as_u64().unwrap()).collect()
}

/// An exact integer: a string, for it may be too large for a JSON number.
fn weight(value: &Value) -> u128 {
    value.as_str().unwrap().parse().unwrap()
}

#[test]
fn weights_sum_to_the_total_exactly_on_the_embedded_model() {
    let home = Home::new();
    let args = ["explain", "--mechanism", "cape-paper", "--word", "2", "--all", "--json"];
    let ran = home.run(&[&args[..], &["My daughter Alice has asthma"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let told = parse(&ran.out);
    assert_eq!(told["original"], "Alice");
    let rows = told["candidates"].as_array().unwrap();
    assert_eq!(rows.len(), 29_523);
    // probabilities that sum to one, without rounding
    let sum: u128 = rows.iter().map(|row| weight(&row["weight"])).sum();
    assert_eq!(sum, weight(&told["total_weight"]));
    let mut seen = std::collections::HashSet::new();
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row["rank"], i + 1);
        assert!(weight(&row["weight"]) > 0, "nothing is impossible");
        assert!(seen.insert(row["id"].as_u64()), "each candidate once");
    }
    for pair in rows.windows(2) {
        let utility = |row: &Value| row["utility"].as_f64().unwrap();
        assert!(utility(&pair[0]) >= utility(&pair[1]), "best first");
        let (better, worse) = (weight(&pair[0]["weight"]), weight(&pair[1]["weight"]));
        let bucket = |row: &Value| row["bucket"].as_u64().unwrap();
        // members of a bucket are alike; a small bucket may well outweigh a better one
        let (a, b) = (bucket(&pair[0]), bucket(&pair[1]));
        assert!(a > b || (a == b && better == worse));
    }
}

#[test]
fn explain_shows_twenty_and_the_rest_on_request() {
    let home = Home::new();
    let few = ["explain", "--word", "2", "a good book"];
    let all = home.tiny_json(&[&few[..], &["--all"]].concat());
    let few = home.tiny_json(&few);
    let rows = |told: &Value| told["candidates"].as_array().unwrap().clone();
    assert_eq!(rows(&few), rows(&all)[..20]);
    assert_eq!(rows(&all).len(), 143);
    assert_eq!(few["total_weight"], all["total_weight"]);
    assert_eq!(few["token"], 2);
    assert_eq!(few["original"], "book");
    // nothing is nearer to a token than itself
    assert_eq!(few["original_id"], few["candidates"][0]["id"]);
}

#[test]
fn explain_as_a_table() {
    let home = Home::new();
    let mut all = String::new();
    for flags in [&[][..], &["--context", "released", "--bucket-count", "5"]] {
        let args = [&["explain", "--word", "2", "a good book"], flags].concat();
        let ran = home.tiny(&args);
        assert_eq!(ran.err, "");
        all += &transcript(&args, &ran);
    }
    // the last digits may differ from machine to machine: their place is what is looked at
    let mut fraction = false;
    let digits = |c: char| {
        fraction = c == '.' || (fraction && c.is_ascii_digit());
        if fraction && c != '.' { '#' } else { c }
    };
    insta::assert_snapshot!(all.chars().map(digits).collect::<String>());
}

#[test]
fn explain_sees_what_the_draw_saw() {
    let home = Home::new();
    // a turn of sixteen sensitive words, and two that see what was drawn for them
    let turn = "good book and slow story ".to_owned() + &"good book slow story ".repeat(3);
    let text = format!("{turn}river money");
    let text = text.as_str();
    let explain = |flags: &[&str]| {
        let args = ["explain", "--word", "17", "--all", text];
        home.tiny_json(&[&args[..], flags].concat())
    };
    let released_context = ["--context", "released"];
    let masked = explain(&released_context);
    let id = |word: &str| {
        let rows = masked["candidates"].as_array().unwrap();
        let row = rows.iter().find(|row| row["token"] == word).unwrap();
        row["id"].as_u64().unwrap()
    };
    let column = |told: &Value, key: &str| -> Vec<Value> {
        let mut rows = told["candidates"].as_array().unwrap().clone();
        rows.sort_by_key(|row| row["id"].as_u64());
        rows.iter().map(|row| row[key].clone()).collect()
    };
    let (cls, sep, and) = (2, 3, id("and"));
    // before any draw, the other sensitive tokens are masked; kept ones are seen
    let seen = ids(&masked["input_ids"]);
    assert_eq!(seen, [&[cls, MASK, MASK, and][..], &[MASK; 16], &[sep]].concat());
    assert_eq!(masked["position"], 18);

    let mut replaced = 0;
    for seed in ["0", "1", "2", "3", "4", "5"] {
        let args = ["perturb", "--epsilon", "2", "--seed", seed, text];
        let released = home.tiny(&[&args[..], &released_context].concat()).out;
        let words: Vec<&str> = released.split_whitespace().collect();
        replaced += usize::from(words[..2] != ["good", "book"]);
        let told = explain(&["--context", "released", "--released", &released]);
        let seen = ids(&told["input_ids"]);
        assert_eq!((seen.len(), &seen[18..]), (21, &[MASK, MASK, sep][..]), "{released}");
        for (word, &seen) in words[..17].iter().zip(&seen[1..]) {
            // a piece that continues words may be drawn as well, and looks like a word here
            let pieces = [(*word).to_owned(), format!("##{word}")];
            let rows = masked["candidates"].as_array().unwrap().iter();
            let could: Vec<_> = rows
                .filter(|row| pieces.iter().any(|piece| row["token"] == *piece))
                .map(|row| row["id"].as_u64().unwrap())
                .collect();
            assert!(could.contains(&seen), "{word} in {released}");
        }
        // the logits follow the context, and the distances do not know it
        assert_ne!(column(&told, "logit"), column(&masked, "logit"));
        assert_eq!(column(&told, "distance"), column(&masked, "distance"));
    }
    assert!(replaced > 3, "else the loop above saw the true words only");

    // what came with the token and after it is no part of its context
    let seeing = |released: &str| explain(&["--context", "released", "--released", released]);
    assert_eq!(seeing(text), seeing(&format!("{turn}old paris")));
    let fourth = |released: &str| {
        let args = ["explain", "--word", "4", "--all", text, "--released", released];
        home.tiny_json(&[&args[..], &released_context].concat())
    };
    let other = "old paris and fast london ".to_owned() + &"old paris fast london ".repeat(3);
    assert_eq!(fourth(text), fourth(&format!("{other}good book")));
    // raw context: the true words
    let raw = explain(&["--context", "raw"]);
    let before: Vec<u64> = turn.split_whitespace().map(id).collect();
    let want = [&[cls][..], &before, &[MASK, id("money"), sep]].concat();
    assert_eq!(ids(&raw["input_ids"]), want);
}

#[test]
fn seeded_draws_follow_the_explained_distribution() {
    let home = Home::new();
    // one token a line, and a seed for each line: independent draws at one position
    let n = 4000;
    let perturb = [
        &["perturb", "--input", "-", "--file-format", "txt", "--seed", "1", "--epsilon", "5"],
        &TINY[..],
    ]
    .concat();
    let ran = home.pipe("good\n".repeat(n), &perturb);
    let told = home.tiny_json(&["explain", "--epsilon", "5", "--word", "1", "--all", "good"]);
    let total = weight(&told["total_weight"]) as f64;
    // the best candidate, and the ten best together, come as often as is said
    for best in [1, 10] {
        let rows = &told["candidates"].as_array().unwrap()[..best];
        let weights = rows.iter().map(|row| weight(&row["weight"]) as f64);
        let p = weights.sum::<f64>() / total;
        let among = |line: &&str| rows.iter().any(|row| row["token"] == *line);
        let drawn = ran.out.lines().filter(among).count() as f64;
        let (mean, deviation) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
        assert!((drawn - mean).abs() < 5.0 * deviation, "{drawn} for {mean}");
    }
}

#[test]
fn a_release_that_does_not_line_up_is_refused_at_once() {
    // there are more ways to cut sixty letters into pieces than can be tried one by one
    let home = Home::new();
    let (text, released) = ("a".repeat(60), format!("{}É", "a".repeat(40)));
    let args = ["explain", "--word", "1", &text, "--released", &released, "--context", "released"];
    let mut command = home.cape(&[&args[..], &TINY].concat());
    let ran = finish(command.timeout(std::time::Duration::from_secs(20)));
    assert_eq!(ran.code, 1, "{}", ran.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_stdout_that_cannot_be_written_is_no_panic() {
    let home = Home::new();
    let explain = [&["explain", "--word", "1", "good"], &TINY[..]].concat();
    for args in [&explain[..], &["models"], &["completions", "bash"], &["perturb", "good"]] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_cape"))
            .args(args)
            .current_dir(home.0.path())
            .stdout(full.unwrap())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {err}");
        assert!(err.starts_with("error: "), "{args:?}: {err}");
    }
}

#[test]
fn a_broken_calibration_is_mended_as_the_hint_says() {
    let home = Home::new();
    home.write("public.txt", "a good book\n");
    home.write("model/cape.json", r#"{"lo": 3, "hi": 1}"#);
    let ran = home.run(&[&["perturb", "good"], &TINY[..]].concat());
    assert!(ran.err.contains("hint: run `cape calibrate`"));
    let ran = home.run(&["calibrate", "--model", "model", "public.txt"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn losses_are_stated_in_plain_numbers() {
    let home = Home::new();
    for (epsilon, stated) in [("0.1", "ε = 0.1 "), ("0.7", "ε = 0.7 "), ("1e-300", "ε = 0 ")] {
        let ran = home.works(&["perturb", "--epsilon", epsilon, "Alice met Bob in London"]);
        assert!(
            ran.err.contains(&format!("{stated}between any two protected words")),
            "{}",
            ran.err
        );
    }
}
