//! The mechanisms that Cape is compared with, as people and scripts use them.

use crate::common::{Home, Ran, parse, refusals, transcript};
use serde_json::Value;

const KINDS: [&str; 5] = ["santext", "santext+", "custext", "custext+", "inferdpt"];

/// Twelve words on a plane, the most frequent first.
const VECTORS: &str = "the 0 0\nand 0 1\n, 1 0\ngood 4 4\nslow 4 5\nbook 5 4\nriver 8 1\nstory 8 2\n\
                       london 9 1\npage 9 2\nasthma 2 8\nfever 2 9\n";

const PROMPT: &str = "The slow story, and a good river in 1987";

fn home() -> Home {
    let home = Home::new();
    home.write("words.vec", VECTORS);
    home
}

fn with<'a>(mechanism: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    let flags = ["--mechanism", mechanism, "--epsilon", "2", "--vectors", "words.vec"];
    [args, &flags].concat()
}

#[test]
fn statements_in_words() {
    let home = home();
    let mut all = String::new();
    for mechanism in ["santext", "custext", "custext+", "inferdpt"] {
        let args = with(mechanism, &["perturb", PROMPT]);
        let ran = home.run(&args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        all += &transcript(&args, &Ran { out: String::new(), ..ran });
    }
    // whether a frequent word is drawn for is a draw
    let plus = with("santext+", &["perturb", "--seed", "3", PROMPT]);
    all += &transcript(&plus, &home.run(&plus));
    let seeded = with("santext", &["perturb", "--seed", "3", PROMPT]);
    all += &transcript(&seeded, &home.run(&seeded));
    let device = ["perturb", "--mechanism", "custext+", "--model", "model", "--seed", "3", PROMPT];
    all += &transcript(&device, &home.run(&device));
    insta::assert_snapshot!(all);
}

#[test]
fn json_says_what_holds() {
    let home = home();
    for (mechanism, notion, evidence, bounded) in [
        ("santext", "metric LDP", "proof", true),
        ("santext+", "metric LDP among rare words", "proof", true),
        ("custext", "within a list", "proof", true),
        ("custext+", "within a list", "proof", true),
        ("inferdpt", "none", "none", false),
    ] {
        let ran = home.run(&with(mechanism, &["perturb", "--json", PROMPT]));
        let privacy = &parse(&ran.out)["privacy"];
        assert_eq!(privacy["mechanism"], mechanism);
        assert_eq!((&privacy["notion"], &privacy["evidence"]), (&notion.into(), &evidence.into()));
        assert_eq!(privacy["epsilon_any"].is_f64(), bounded, "{privacy}");
        assert!(privacy["drawn_from"].as_str().unwrap().contains("12 words of words.vec"));
        for other in ["profile", "law"] {
            assert_eq!(privacy.get(other), None);
        }
    }
}

/// SANTEXT's worst case: ε times the largest distance, √(9² + 9²) = 12.73 less what floats need.
#[test]
fn santexts_worst_case_is_the_largest_distance() {
    let ran = home().run(&with("santext", &["perturb", "--json", PROMPT]));
    let bound = parse(&ran.out)["privacy"]["epsilon_any"].as_f64().unwrap();
    let farthest = ((9.0_f64 - 2.0).powi(2) + 8.0_f64.powi(2)).sqrt();
    assert!((bound - 2.0 * farthest).abs() < 0.01, "{bound} is not 2·{farthest}");
}

#[test]
fn explain_shows_the_whole_distribution() {
    let home = home();
    let mut all = String::new();
    for mechanism in KINDS {
        let args = with(mechanism, &["explain", "--word", "2", "slow good river"]);
        let ran = home.run(&args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        all += &transcript(&args, &ran);
        let report = parse(&home.run(&[&args[..], &["--all", "--json"]].concat()).out);
        let rows = report["candidates"].as_array().unwrap();
        let sum: f64 = rows.iter().map(|row| row["probability"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        assert_eq!(report["total_weight"].is_string(), mechanism != "inferdpt");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn unknown_words_and_numbers() {
    let home = home();
    let tokens = |args: &[&str]| -> Vec<Value> {
        let ran = home.run(args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        parse(&ran.out)["words"].as_array().unwrap().clone()
    };
    let prompt = ["perturb", "--json", "zebra 41.6 good"];
    let custext = tokens(&with("custext", &prompt));
    assert_eq!((&custext[0]["released"], &custext[0]["why"]), (&"zebra".into(), &"unknown".into()));
    let number: i64 = custext[1]["released"].as_str().unwrap().parse().unwrap();
    assert!((42..1042).contains(&number) && custext[1]["level"] == "protected");
    let replaced = with("custext", &[&prompt[..], &["--unknown", "replace"]].concat());
    assert_ne!(tokens(&replaced)[0]["released"], "zebra");
    let inferdpt = tokens(&with("inferdpt", &prompt));
    assert!(VECTORS.contains(inferdpt[0]["released"].as_str().unwrap()));
    let number: i64 = inferdpt[1]["released"].as_str().unwrap().parse().unwrap();
    assert!((1..=1000).contains(&number));
    let dropped = tokens(&with("inferdpt", &[&prompt[..], &["--unknown", "drop"]].concat()));
    assert_eq!(dropped[0]["released"], "");
    // marks belong to words where text is cut at white space only
    let whole = ["perturb", "--json", "--words", "whitespace", "good, book"];
    let whole = tokens(&with("custext", &whole));
    assert_eq!((whole.len(), &whole[0]["why"]), (2, &"unknown".into()));
}

#[test]
fn a_corpus_says_how_frequent_words_are() {
    let home = home();
    home.write("corpus.txt", "river river river story story london\nthe\u{7} book\n");
    let corpus = ["perturb", "--json", "--corpus", "corpus.txt", "river"];
    let santext = parse(&home.run(&with("santext", &corpus)).out);
    assert!(santext["privacy"]["drawn_from"].as_str().unwrap().starts_with("the 5 words"));
    // of river, story, london, the, book the last two are sensitive, and none is drawn but they
    for _ in 0..10 {
        let released = parse(&home.run(&with("santext+", &corpus)).out);
        let word = released["words"][0]["released"].as_str().unwrap();
        assert!(["river", "london", "book"].contains(&word), "{word}");
    }
    home.write("empty.txt", "zebra\n");
    let ran = home.run(&with("santext", &["perturb", "--corpus", "empty.txt", "river"]));
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("no two words"), "{}", ran.err);
}

#[test]
fn what_was_made_is_kept_beside_the_vectors() {
    let home = home();
    let run = || home.run(&with("custext", &["perturb", "--list-size", "3", "good"]));
    assert_eq!(run().code, 0);
    let files = || {
        let names = std::fs::read_dir(home.path("")).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let kept = files();
    assert!(kept.iter().any(|name| name == "words.vec.cape"), "{kept:?}");
    assert!(kept.iter().any(|name| name.starts_with("words.vec.lists-")), "{kept:?}");
    let again = run();
    assert_eq!((again.code, files()), (0, kept.clone()));
    assert!(!again.err.contains("warning"), "{}", again.err);
    // a folder in the place of the lists: they are made each time, and that is said
    let lists = kept.iter().find(|name| name.starts_with("words.vec.lists-")).unwrap();
    std::fs::remove_file(home.path(lists)).unwrap();
    std::fs::create_dir(home.path(lists)).unwrap();
    let made = run();
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(made.err.contains("warning: the lists of words were not stored"), "{}", made.err);
}

#[test]
fn pieces_of_the_device_model_have_neither_corpus_nor_words() {
    let home = home();
    home.write("corpus.txt", "river story\n");
    let inferdpt = ["perturb", "--mechanism", "inferdpt", "--model", "model", "good"];
    assert_eq!(home.run(&inferdpt).code, 0);
    for flag in [["--corpus", "corpus.txt"], ["--words", "whitespace"]] {
        let ran = home.run(&[&inferdpt[..], &flag].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.contains(flag[0]) && ran.err.contains("--vectors"), "{}", ran.err);
        assert_eq!(
            home.run(&with("inferdpt", &[&["perturb", "good"], &flag[..]].concat())).code,
            0
        );
    }
    let corpus = ["--corpus", "corpus.txt", "-e", "2", "-m", "inferdpt", "--bayes", "0"];
    let ran = home
        .run(&[&["eval", "corpus.txt", "--model", "model", "--out", "out"], &corpus[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("the corpus has no part"), "{}", ran.err);
}

#[test]
fn settings_come_from_the_file_too() {
    let home = home();
    home.write(
        "cape.toml",
        "mechanism = \"custext+\"\nepsilon = 3\nvectors = \"words.vec\"\nlist-size = 4\n",
    );
    let ran = home.run(&["perturb", "--json", "the good book"]);
    let privacy = &parse(&ran.out)["privacy"];
    assert_eq!(privacy["mechanism"], "custext+");
    assert_eq!(privacy["epsilon_nominal"], 3.0);
    // whoever asks for another mechanism by a flag gets it
    let ran =
        home.run(&["perturb", "--json", "--mechanism", "cape-paper", "--model", "model", "good"]);
    assert_eq!(parse(&ran.out)["privacy"]["mechanism"], "cape-paper");
}

#[test]
fn wrong_settings_are_refused() {
    let home = home();
    home.write("short.vec", "the 0 0\nand 0\n");
    let usage: &[&[&str]] = &[
        &["perturb", "--vectors", "words.vec", "good"],
        &["perturb", "--mechanism", "santext", "--profile", "names", "good"],
        &["perturb", "--mechanism", "custext", "--sensitive-share", "0.5", "good"],
        &["perturb", "--mechanism", "inferdpt", "--list-size", "5", "good"],
        &["perturb", "--mechanism", "nothing", "good"],
    ];
    let mut all = refusals(&home, 2, usage);
    let far = with("santext", &["perturb", "good"]);
    let far: Vec<&str> = far.iter().map(|&arg| if arg == "2" { "60" } else { arg }).collect();
    let share = with("santext+", &["perturb", "--sensitive-share", "2", "good"]);
    let list = with("custext", &["perturb", "--list-size", "1", "good"]);
    all += &refusals(&home, 2, &[&far, &share, &list]);
    let short = ["perturb", "--mechanism", "santext", "--vectors", "short.vec", "good"];
    let absent = ["perturb", "--mechanism", "santext", "--vectors", "absent.vec", "good"];
    all += &refusals(&home, 1, &[&short, &absent]);
    insta::assert_snapshot!(all);
}
