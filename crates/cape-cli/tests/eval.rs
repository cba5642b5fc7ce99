//! `cape eval` as people use it: a table, records that a stopped run goes on from, and a report.

use crate::common::{self, Home, refusals};

const PROMPTS: &str = "sentence\tlabel\nthe slow story of a good book\t1\na good river in london\t0\n\
                       the doctor was slow to the story\t1\n";

fn home() -> Home {
    let home = Home::new();
    home.write("sst2.tsv", PROMPTS);
    home
}

const RUN: &[&str] =
    &["eval", "sst2.tsv", "--epsilons", "2,8", "--model", "model", "--out", "out", "--bayes", "2"];

#[test]
fn a_run_makes_a_table_records_and_a_report() {
    let home = home();
    let ran = home.run(RUN);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // draws are seeded, but the last digits of a logit are the machine's own
    let heads = ran.out.lines().map(|line| match line.char_indices().nth(31) {
        Some((end, _)) if line.starts_with(|c: char| c.is_ascii_lowercase()) => &line[..end],
        _ => line,
    });
    let heads: Vec<&str> = heads.filter(|line| !line.starts_with("per cent")).collect();
    insta::assert_snapshot!(heads.join("\n"));
    let read = |name: &str| std::fs::read_to_string(home.path("out").join(name)).unwrap();
    let records = read("records.jsonl");
    assert_eq!(records.lines().count(), 3 * 8 * 2);
    for line in records.lines() {
        let record = common::parse(line);
        for key in ["version", "data", "mechanism", "epsilon", "model", "settings", "seed"] {
            assert!(!record[key].is_null(), "{key} in {line}");
        }
        assert!(record["attacks"]["knn-10"]["of"].as_u64().unwrap() > 0);
    }
    let html = read("report.html");
    assert!(html.starts_with("<!") && html.contains("santext+") && !html.contains("src=\"http"));
    assert!(read("report.md").contains("| mechanism |") || read("report.md").contains("mechanism"));
    assert!(read("report.csv").lines().count() > 40);
    common::parse(&read("report.json"));
}

#[test]
fn prompts_as_they_are_lose_nothing_and_are_found() {
    let home = home();
    let args = ["eval", "sst2.tsv", "-m", "none", "-e", "1", "--model", "model", "--out", "out"];
    let ran = home.run(&args);
    let row = ran.out.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(row, ["non-private", "-", "-", "100.0", "100.0", "0.0", "0.0", "0.0"]);
}

#[test]
fn a_stopped_run_goes_on() {
    let home = home();
    let whole = home.run(RUN);
    let path = home.path("out/records.jsonl");
    let records = std::fs::read_to_string(&path).unwrap();
    let ends: Vec<usize> = records.match_indices('\n').map(|(at, _)| at + 1).collect();
    // killed in the middle of the eleventh line
    std::fs::write(&path, &records[..ends[9] + 40]).unwrap();
    let again = home.run(RUN);
    assert_eq!((again.code, &again.out), (0, &whole.out), "{}", again.err);
    let without_times = |records: &str| {
        let mut lines: Vec<serde_json::Value> = records.lines().map(common::parse).collect();
        for line in &mut lines {
            line["seconds"] = 0.into();
        }
        let mut lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        lines.sort();
        lines
    };
    let resumed = std::fs::read_to_string(&path).unwrap();
    assert_eq!(without_times(&resumed), without_times(&records));
    // nothing is left to do
    let length = resumed.len();
    assert_eq!(home.run(RUN).out, whole.out);
    assert_eq!(std::fs::read_to_string(&path).unwrap().len(), length);
}

#[test]
fn what_cannot_be_evaluated_is_refused() {
    let home = home();
    home.write("empty.tsv", "sentence\tlabel\n");
    home.write("columns.csv", "a,b\n1,2\n");
    let mut all = refusals(
        &home,
        2,
        &[
            &["eval", "sst2.tsv", "--epsilons", "0"],
            &["eval", "sst2.tsv", "--limit", "0"],
            &["eval", "sst2.tsv", "--mechanisms", "cape,nothing"],
            &["eval", "sst2.tsv", "--llm-url", "http://127.0.0.1:1/v1"],
            &["eval", "sst2.tsv", "--llm-model", "m"],
            &["eval", "sst2.tsv", "--mechanisms", "masked"],
            &["eval", "sst2.tsv", "--mechanisms", "cape-instructed"],
            &[
                "eval",
                "sst2.tsv",
                "--compare",
                "--llm-url",
                "http://127.0.0.1:1/v1",
                "--llm-model",
                "m",
            ],
            // raw prompts do not go elsewhere
            &[
                "eval",
                "sst2.tsv",
                "--compare",
                "--llm-url",
                "http://example.com/v1",
                "--llm-model",
                "m",
            ],
            &[
                "eval",
                "sst2.tsv",
                "--generation",
                "9",
                "--llm-url",
                "http://127.0.0.1@example.com/v1",
                "--llm-model",
                "m",
                "--encoder",
                "encoder",
            ],
        ],
    );
    all += &refusals(
        &home,
        1,
        &[
            &["eval", "absent.tsv"],
            &["eval", "empty.tsv"],
            &["eval", "columns.csv"],
            &["eval", "sst2.tsv", "--text-column", "body"],
        ],
    );
    // records of another model are not mixed with
    assert_eq!(home.run(RUN).code, 0);
    home.write("other.tsv", PROMPTS);
    let other = ["eval", "other.tsv", "--epsilons", "2", "--model", "model", "--out", "out"];
    all += &refusals(&home, 1, &[&other]);
    insta::assert_snapshot!(all);
}

/// Which words are protected, where they stand, and what an attacker makes of them.
#[test]
fn words_are_measured_with_their_levels() {
    let home = home();
    let prompts = [
        r#"{"text": "My friend Krzysztof lives in London, not far away.",
            "spans": [{"label": "PERSON", "start": 10, "end": 19}, {"label": "PLACE", "start": 29, "end": 35}]}"#,
        r#"{"text": "The table was paid by Alice on 2024-03-15.",
            "spans": [{"label": "PERSON", "start": 22, "end": 27}, {"label": "DATE", "start": 31, "end": 41}]}"#,
    ];
    home.write("pii.jsonl", prompts.map(|line| line.replace('\n', "")).join("\n"));
    let args = ["eval", "pii.jsonl", "-m", "cape,cape-everything", "-e", "2,7", "--out", "out"];
    home.works(&[&args[..], &["--model", "model", "--bayes", "2"]].concat());
    let read = |name: &str| std::fs::read_to_string(home.path("out").join(name)).unwrap();
    for line in read("records.jsonl").lines() {
        let record = common::parse(line);
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        assert_eq!(number(&record["proven"]).round(), number(&record["epsilon"]));
        assert!(number(&record["settings"]["epsilon_any"]) > 20.0);
        let (attacks, protected) = (&record["attacks"], &record["protected"]);
        for attack in ["knn-1", "knn-10", "mti", "bayes"] {
            assert_eq!(attacks[attack]["of"], record["sensitive"], "{attack}");
            let on = &record["spans"]["protected words"][attack];
            assert_eq!(on["of"], protected["words"]["found"], "{attack}");
        }
        if record["mechanism"] == "cape-everything" {
            assert_eq!(protected["words"]["found"], protected["words"]["of"]);
        } else {
            // what is ordinary is read by every attack
            assert!(number(&attacks["mti"]["found"]) > 0.0);
        }
    }
    let report = common::parse(&read("report.json"));
    for point in report["points"].as_array().unwrap() {
        let measures = &point["measures"];
        for spans in ["on PERSON", "on PLACE", "on DATE", "in spans"] {
            assert_eq!(measures[format!("protected {spans}")]["mean"], 1.0, "{spans}");
        }
        let elsewhere = measures["protected elsewhere"]["mean"].as_f64().unwrap();
        assert_eq!(elsewhere, if point["mechanism"] == "cape" { 0.0 } else { 1.0 });
    }
    // records go on where they were
    let again = home.works(&[&args[..], &["--model", "model", "--bayes", "2"]].concat());
    assert!(again.out.contains("cape-everything"), "{}", again.out);
}

/// A law is chosen for a person's prompts, or it is said that none will do.
#[test]
fn a_law_is_chosen_for_prompts() {
    let home = home();
    home.write("mine.txt", "My friend Alice laughed.");
    let out = home.works(&["choose", "mine.txt", "--at-most", "60", "--json"]).out;
    let found = common::parse(&out);
    let laws = found["laws"].as_array().unwrap();
    assert_eq!((laws.len(), &found["protected_words"]), (15, &serde_json::json!(1)));
    assert!(laws.contains(&found["best"]));
    for law in laws {
        let guessed = &law["guessed"];
        assert_eq!(guessed["n"], 12);
        assert!(guessed["low"].as_f64() <= guessed["mean"].as_f64());
        let closeness = law["closeness"].as_f64().unwrap();
        assert!((0.0..1.0).contains(&closeness));
    }
    home.write("nothing.txt", "The table is here.");
    let all = refusals(&home, 2, &[&["choose", "mine.txt", "--at-most", "0"]])
        + &refusals(&home, 1, &[&["choose", "nothing.txt"], &["choose", "absent.txt"]]);
    insta::assert_snapshot!(all);
}
