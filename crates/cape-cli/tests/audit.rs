//! `cape audit` as people and scripts use it.

use crate::common::{Home, TINY, parse, refusals, transcript};
use serde_json::Value;

const PROMPT: &str = "The good book is a slow story";

/// Twelve words on a plane, the most frequent first.
const VECTORS: &str = "the 0 0\nand 0 1\n, 1 0\ngood 4 4\nslow 4 5\nbook 5 4\nriver 8 1\nstory 8 2\n\
                       london 9 1\npage 9 2\nasthma 2 8\nfever 2 9\n";

fn home() -> Home {
    let home = Home::new();
    home.write("words.vec", VECTORS);
    home
}

fn words<'a>(mechanism: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    let flags = ["--mechanism", mechanism, "--epsilon", "2", "--vectors", "words.vec"];
    [args, &flags].concat()
}

/// Numbers as far as they do not depend on the last bits of a machine's floats: two decimals, and of
/// integers that come from floats their first three digits.
fn rounded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        out += &rest[..at];
        rest = &rest[at..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number = &rest[..end];
        let shown = match number.split_once('.') {
            Some((_, decimals)) if decimals.len() > 2 => {
                format!("{:.2}", number.parse::<f64>().unwrap())
            }
            None if number.len() > 12 => format!("{}…", &number[..3]),
            _ => number.to_owned(),
        };
        out += &shown;
        rest = &rest[end..];
    }
    out + rest
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn exact_as_a_table() {
    let home = home();
    let exact = ["audit", "exact", PROMPT, "--word", "2", "--epsilon", "6"];
    let exact = [&exact[..], &TINY].concat();
    let mut runs: Vec<Vec<&str>> = vec![
        exact.clone(),
        [&exact[..], &["--context", "released"]].concat(),
        [&exact[..], &["--sample", "9"]].concat(),
    ];
    for mechanism in ["santext", "santext+", "custext", "inferdpt"] {
        runs.push(words(mechanism, &["audit", "exact", "--word", "3", "slow good fever"]));
    }
    let mut all = String::new();
    for args in runs {
        let ran = home.run(&args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        all += &rounded(&transcript(&args, &ran));
    }
    insta::assert_snapshot!(all);
}

/// JSON has the same numbers, and they agree with each other.
#[test]
fn exact_for_machines() {
    let home = Home::new();
    for context in ["raw", "released"] {
        let flags =
            ["audit", "exact", PROMPT, "--word", "1", "--epsilon", "3", "--context", context];
        let all = home.tiny_json(&flags);
        let (loss, stated) = (number(&all["loss"]), number(&all["epsilon_stated"]));
        assert!(loss > 1.0 && loss <= stated, "{loss} {stated}");
        assert_eq!((&all["holds"], &all["evidence"]), (&true.into(), &"bound".into()));
        assert_eq!(all["inputs"], all["inputs_tried"]);
        let pair = &all["pair"];
        let weight =
            |side: &str| -> f64 { pair[side]["weight"].as_str().unwrap().parse().unwrap() };
        let total =
            |side: &str| -> f64 { pair[side]["total_weight"].as_str().unwrap().parse().unwrap() };
        let probability = |side: &str| weight(side) / total(side);
        let ratio = (probability("likely") / probability("unlikely")).ln();
        assert!((ratio - loss).abs() < 1e-9);
        let per = &all["per_output"];
        assert!(number(&per["median"]) <= number(&per["p90"]) && per["max"] == all["loss"]);
        let some = home.tiny_json(&[&flags[..], &["--sample", "7"]].concat());
        assert!(number(&some["loss"]) <= loss && some["inputs_tried"].as_u64().unwrap() <= 7);
        let paper = &all["paper"];
        assert!((number(&paper["epsilon"]) - number(&paper["epsilon_prime"]) - 3.0).abs() < 1e-9);
        assert_eq!(paper["exceeded"], loss > number(&paper["epsilon"]));
    }
}

/// What the released context saw is what `--released` says.
#[test]
fn the_context_can_be_a_release() {
    let home = Home::new();
    // the first sixteen are a turn of their own, which the last one sees the release of
    let prompt = "good book slow story ".repeat(4) + "river";
    let flags = ["audit", "exact", &prompt, "--word", "17", "--context", "released"];
    let masked = home.tiny_json(&flags);
    let other = "river london slow story ".repeat(4) + "money";
    let released = home.tiny_json(&[&flags[..], &["--released", &other]].concat());
    assert_ne!(masked["loss"], released["loss"]);
    let ran = home.run(&[&flags[..], &TINY, &["--released", "one two"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
}

#[test]
fn context_as_a_table() {
    let home = Home::new();
    let context = [&["audit", "context", PROMPT, "--epsilon", "6"], &TINY[..]].concat();
    let mut all = String::new();
    for flags in [
        &["--word", "1", "--replace", "london"][..],
        &["--other", "The good book is a slow river", "--bucket-count", "9"],
    ] {
        let args = [&context[..], flags].concat();
        let ran = home.run(&args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        all += &rounded(&transcript(&args, &ran));
    }
    insta::assert_snapshot!(all);
}

/// The raw context adds up; in the released one all but the changed token lose exactly nothing.
#[test]
fn context_for_machines() {
    let home = Home::new();
    for flags in [&["--tries", "3"][..], &["--word", "2", "--bucket-count", "9"]] {
        let found = home.tiny_json(&[&["audit", "context", PROMPT][..], flags].concat());
        let positions = found["positions"].as_array().unwrap();
        assert_eq!((positions.len(), &found["sensitive_tokens"]), (4, &4.into()));
        let sum: f64 = positions.iter().map(|at| number(&at["raw"])).sum();
        assert!((sum - number(&found["raw"]["loss"])).abs() < 1e-9);
        let changed: Vec<&Value> = positions.iter().filter(|at| at["changed"] == true).collect();
        assert_eq!(changed.len(), 1);
        for at in positions {
            assert_eq!(at["changed"] == true, number(&at["released"]) > 0.0, "{at}");
        }
        assert_eq!(changed[0]["released"], found["released"]["loss"]);
        assert!(sum > number(&changed[0]["raw"]), "the context gives it away too");
        for context in ["raw", "released"] {
            let sum = &found[context];
            assert!(sum["holds"] == true && number(&sum["loss"]) <= number(&sum["stated"]));
        }
        assert_ne!(found["from"], found["to"]);
    }
    let tries = |n| {
        let found = home.tiny_json(&["audit", "context", PROMPT, "--word", "1", "--tries", n]);
        number(&found["raw"]["loss"])
    };
    assert!(tries("1") > 0.0 && tries("40") >= tries("1"));
}

#[test]
fn what_cannot_be_audited_is_refused() {
    let home = home();
    let context = |rest: &[&'static str]| [&["audit", "context", PROMPT], &TINY[..], rest].concat();
    let exact = |rest: &[&'static str]| [&["audit", "exact", PROMPT], &TINY[..], rest].concat();
    let usage: Vec<Vec<&str>> = vec![
        exact(&[]),
        exact(&["--word", "9"]),
        exact(&["--word", "1", "--sample", "1"]),
        exact(&["--word", "1", "--released", PROMPT]),
        context(&["--replace", "river"]),
        context(&["--tries", "0"]),
        context(&["--word", "1", "--replace", "london river"]),
        context(&["--word", "1", "--replace", "the"]),
        context(&["--word", "1", "--replace", "good"]),
        context(&["--other", "The slow book is a good story"]),
        context(&["--other", "The river", "--word", "1"]),
        vec!["audit", "context", "good river", "--mechanism", "santext", "--model", "model"],
    ];
    let usage: Vec<&[&str]> = usage.iter().map(Vec::as_slice).collect();
    let mut all = refusals(&home, 2, &usage);
    all += &refusals(&home, 1, &[&[&["audit", "context", "the and of"], &TINY[..]].concat()]);
    insta::assert_snapshot!(all);
}

/// The table of PRIVACY.md states what the program states: nominal ε and bound of each row, on the
/// embedded model.
#[test]
fn the_published_table_agrees_with_the_program() {
    let home = Home::new();
    let page = include_str!("../../../PRIVACY.md");
    let (_, table) = page.split_once("<!-- made by scripts/audit -->").unwrap();
    let (table, _) = table.split_once("<!-- end -->").unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() >= 16, "{}", rows.len());
    for row in rows {
        let [name, epsilon, _, stated, found] = row[..] else { panic!("five columns") };
        let flags: &[&str] = match name {
            "Cape, protected words" | "Cape, any two words" => &[],
            "Cape, as in its paper" => &["--mechanism", "cape-paper"],
            "SANTEXT" => &["--mechanism", "santext"],
            "CUSTEXT" => &["--mechanism", "custext"],
            "InferDPT" => &["--mechanism", "inferdpt"],
            other => panic!("{other} is no row of the table"),
        };
        let args = [&["perturb", "--json", "asthma", "--epsilon", epsilon][..], flags].concat();
        let privacy = &parse(&home.run(&args).out)["privacy"];
        if !flags.is_empty() {
            assert_eq!(number(&privacy["epsilon_nominal"]), epsilon.parse::<f64>().unwrap());
        }
        let protected = name == "Cape, protected words";
        let bound = if protected { "epsilon_protected" } else { "epsilon_any" };
        let Some(bound) = privacy[bound].as_f64() else {
            assert_eq!(stated, "nothing");
            continue;
        };
        let stated: f64 = stated.parse().unwrap();
        // two decimals, rounded up
        assert!(stated >= bound - 1e-9 && stated < bound + 0.01, "{name}: {stated} for {bound}");
        let found: f64 = found.split(' ').next().unwrap().parse().unwrap();
        assert!(found <= stated, "{name}: {found} is found and {stated} stated");
    }
}
