//! `cape perturb --input`: files of prompts, jobs that are killed, and what pays for them.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Home, Ran, parse, refusals};
use serde_json::{Value, json};

const TEXTS: [&str; 4] = [
    "My daughter Alice has asthma, \"she\" says.",
    "Write to Krzysztof about the rent of 900 dollars.",
    "",
    "Alice, Krzysztof and 900 others",
];

/// What single prompts become with the same memory.
fn alone(home: &Home, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let out = home.works(&["perturb", "--memory", "memory", text]).out;
    out.strip_suffix('\n').unwrap().to_owned()
}

fn perturb(home: &Home, input: &str, output: &str, more: &[&str]) -> Ran {
    let args = [&["perturb", "--input", input, "--output", output][..], more].concat();
    home.run(&args)
}

/// The same, with success, nothing left beside the output, and the memory that [`alone`] has.
fn read(home: &Home, input: &str, output: &str, more: &[&str]) -> String {
    let ran = perturb(home, input, output, &[&["--memory", "memory"], more].concat());
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert!(!home.path(&format!("{output}.cape-job")).exists());
    std::fs::read_to_string(home.path(output)).unwrap()
}

#[test]
fn rows_become_what_their_prompts_become() {
    let home = Home::new();
    let released = TEXTS.map(|text| alone(&home, text));
    // lines
    home.write("in.txt", TEXTS.join("\n"));
    assert_eq!(read(&home, "in.txt", "out.txt", &[]), released.join("\n") + "\n");
    let stdout = home.works(&["perturb", "--input", "in.txt", "--memory", "memory"]).out;
    assert_eq!(stdout, released.join("\n") + "\n");
    // objects: what passes is as it was written, and what is not named is left out
    let object = |text: &str| {
        let text = Value::from(text);
        format!(
            "{{ \"id\": 1.50e2, \"canary\": \"Alice\",\"prompt\" :{text},\"more\":[ 1, {{}} ]}}\n"
        )
    };
    home.write("in.jsonl", TEXTS.map(object).concat());
    let flags = ["--field", "prompt", "--pass", "more,id"];
    let rows = released.each_ref().map(|text| {
        format!(
            "{{\"id\":1.50e2,\"prompt\":{},\"more\":[ 1, {{}} ]}}\n",
            Value::from(text.as_str())
        )
    });
    assert_eq!(read(&home, "in.jsonl", "out.jsonl", &flags), rows.concat());
    let rows = released.each_ref().map(|text| json!({"prompt": text}).to_string() + "\n");
    assert_eq!(read(&home, "in.jsonl", "less.jsonl", &flags[..2]), rows.concat());
    // tables
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let table = TEXTS.map(|text| format!("7,{},\"a\nb\",canary\r\n", quoted(text)));
    home.write("in.csv", "id,prompt,note,left out\r\n".to_owned() + &table.concat());
    let flags = ["--field", "prompt", "--pass", "note,id"];
    let out = read(&home, "in.csv", "out.csv", &flags);
    let mut reader = csv::Reader::from_reader(out.as_bytes());
    assert_eq!(reader.headers().unwrap(), ["id", "prompt", "note"].as_slice());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let wanted = released.each_ref().map(|text| ["7", text, "a\nb"]);
    assert_eq!(rows, wanted.map(|row| csv::StringRecord::from(row.to_vec())));
    // pipes
    let args = ["perturb", "--input", "-", "--file-format", "jsonl", "--field", "prompt"];
    let args = [&args[..], &["--memory", "memory"]].concat();
    let piped = home.pipe(std::fs::read(home.path("in.jsonl")).unwrap(), &args);
    assert_eq!(piped.out, std::fs::read_to_string(home.path("less.jsonl")).unwrap());
    let to_file = [&args[..], &["--output", "piped.jsonl"]].concat();
    assert_eq!(home.pipe(TEXTS.map(object).concat(), &to_file).code, 0);
    assert_eq!(std::fs::read_to_string(home.path("piped.jsonl")).unwrap(), piped.out);
}

#[test]
fn rows_that_cannot_be_perturbed_are_listed_without_their_text() {
    let home = Home::new();
    let bad = [
        "canary",
        "[\"canary\"]",
        "{\"prompt\": 7, \"id\": 2}",
        "{\"id\": \"x\"}",
        "{\"prompt\": \"a\", \"prompt\": \"canary\"}",
        "{\"prompt\": \"canary \\u0007\"}",
        "{\"prompt\": \"καναρίνι όμορφο πουλί\"}",
        "{\"prompt\": \"good\"} canary",
        "",
    ];
    let mut bytes = b"{\"prompt\": \"\xff canary\"}\n{\"prompt\": \"it is good\"}\n".to_vec();
    bytes.extend(bad.join("\n").bytes());
    home.write("in.jsonl", &bytes);
    let flags = ["--field", "prompt", "--pass", "id"];
    let ran = perturb(&home, "in.jsonl", "out.jsonl", &flags);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let out = std::fs::read_to_string(home.path("out.jsonl")).unwrap();
    let rejected = std::fs::read_to_string(home.path("out.jsonl.rejected.jsonl")).unwrap();
    // one row for each, those that were refused without a text
    let lines: Vec<Value> = out.lines().map(parse).collect();
    assert_eq!(lines.len(), 2 + bad.len() - 1);
    assert_eq!(
        (&lines[0], &lines[1]),
        (&json!({"prompt": null}), &json!({"prompt": "It is good"}))
    );
    assert_eq!(lines[4], json!({"prompt": null, "id": 2}));
    assert!(![&out, &rejected, &ran.err].iter().any(|text| text.contains("canary")), "{rejected}");
    let first = ran.err.lines().next().unwrap();
    insta::assert_snapshot!(format!("{first}\n{rejected}"));
    // a pipe has no second file: its exit code says it
    let args = [&["perturb", "--input", "-", "--file-format", "jsonl"], &flags[..]].concat();
    let piped = home.pipe(bytes, &args);
    assert_eq!((piped.code, piped.out), (1, out));
    assert!(piped.err.contains("row 3 was refused: the row is not a JSON object"), "{}", piped.err);
    // tables
    home.write("in.csv", b"a,prompt\n1,good\n2\n3,good,canary\n4,\xff canary\n".as_slice());
    let ran = perturb(&home, "in.csv", "out.csv", &["--field", "prompt", "--pass", "a"]);
    let out = std::fs::read_to_string(home.path("out.csv")).unwrap();
    assert_eq!((ran.code, out.as_str()), (0, "a,prompt\n1,Good\n,\n,\n4,\n"));
}

#[test]
fn wrong_usage_of_files_is_explained() {
    let home = Home::new();
    home.write("in.jsonl", "{\"prompt\": \"it is good\"}\n");
    home.write("in.csv", "a,prompt,prompt\n");
    home.write("none.csv", "");
    home.write("prompt", "it is good");
    home.write("taken.jsonl", "");
    let input = |rest: &[&'static str]| [&["perturb", "--input"], rest].concat();
    let usage = [
        vec!["perturb", "prompt"],
        vec!["perturb", "--output", "out.jsonl"],
        input(&["in.jsonl", "good"]),
        input(&["prompt"]),
        input(&["in.jsonl"]),
        input(&["in.jsonl", "--field", "prompt", "--pass", "prompt"]),
        input(&["in.jsonl", "--file-format", "txt", "--field", "prompt"]),
        input(&["in.jsonl", "--field", "prompt", "--json"]),
        input(&["-", "--file-format", "parquet", "--field", "x", "--output", "out.parquet"]),
        input(&["in.jsonl", "--file-format", "parquet", "--field", "x"]),
        input(&["in.jsonl", "--field", "prompt", "--separate", "--account", "me"]),
        input(&["in.jsonl", "--field", "prompt", "--account", "me", "--draws", "5"]),
        input(&["-", "--file-format", "txt", "--account", "me"]),
        input(&["in.jsonl", "--field", "prompt", "--ledger", "ledger.db"]),
        input(&["in.jsonl", "--field", "prompt", "--limit-total", "5"]),
    ];
    let usage: Vec<&[&str]> = usage.iter().map(Vec::as_slice).collect();
    let mut all = refusals(&home, 2, &usage);
    let refused = [
        input(&["nowhere.txt"]),
        input(&["in.csv", "--field", "missing"]),
        input(&["in.csv", "--field", "prompt"]),
        input(&["none.csv", "--field", "prompt"]),
        input(&["in.jsonl", "--field", "prompt", "--output", "taken.jsonl"]),
        input(&["in.jsonl", "--file-format", "parquet", "--field", "x", "--output", "out.parquet"]),
    ];
    let refused: Vec<&[&str]> = refused.iter().map(Vec::as_slice).collect();
    all += &refusals(&home, 1, &refused);
    assert!(!home.path("out.parquet.cape-job").exists());
    assert!(!home.path("taken.jsonl.cape-job").exists());
    insta::assert_snapshot!(all);
}

// ---- jobs that are killed ----

/// Rows for a job of some seconds: now and then a name that was not there before, which takes the longest to draw for.
fn rows(count: usize) -> String {
    let row = |i: usize| {
        let n = i / 25;
        let name: String = [n / 676 % 26, n / 26 % 26, n % 26]
            .iter()
            .map(|&letter| char::from(b'a' + letter as u8))
            .collect();
        let bad = if i % 97 == 5 { "\\u0007" } else { "" };
        format!("{{\"id\": {i}, \"prompt\": \"Krzy{name} owes {i} dollars{bad}\"}}\n")
    };
    (0..count).map(row).collect()
}

/// A job that can be killed.
fn start(home: &Home, args: &[&str]) -> std::process::Child {
    spawn(home, Command::new(env!("CARGO_BIN_EXE_cape")).args(args))
}

fn spawn(home: &Home, command: &mut Command) -> std::process::Child {
    command
        .current_dir(home.0.path())
        .env("XDG_DATA_HOME", home.path("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Runs a job, and kills it at another moment each time, until it was killed so often or ended before. Returns how often
/// it was killed, and how often with some rows done.
fn kill_often(home: &Home, args: &[&str], output: &str, kills: u32) -> (u32, u32) {
    let state = home.path(&format!("{output}.cape-job/state.json"));
    let rows_done = || {
        let state = std::fs::read_to_string(&state).unwrap_or_default();
        serde_json::from_str::<Value>(&state).map_or(0, |state| state["rows"].as_u64().unwrap())
    };
    let (mut killed, mut amidst, mut before) = (0, 0, 0);
    for round in 0_u32.. {
        let mut child = start(home, args);
        if killed < kills {
            // some as soon as it starts, most once it has done more than the time before
            let most = u64::from(round * 7919 % 40) * 9;
            for _ in 0..2000 {
                std::thread::sleep(Duration::from_millis(5));
                if round % 5 == 0 || rows_done() > before || child.try_wait().unwrap().is_some() {
                    break;
                }
            }
            std::thread::sleep(Duration::from_millis(most));
            let _ = child.kill();
        }
        let status = child.wait().unwrap();
        if status.signal() == Some(9) {
            killed += 1;
            before = rows_done();
            amidst += u32::from(before > 0);
            // killed after its end: to run it again would be another job, which is refused
            if home.path(output).exists() && !state.exists() {
                let _ = std::fs::remove_dir_all(home.path(&format!("{output}.cape-job")));
                return (killed, amidst);
            }
            continue;
        }
        assert!(status.success(), "{status}");
        return (killed, amidst);
    }
    unreachable!("it ends")
}

/// How often jobs are killed; more is better and slower.
fn kills() -> u32 {
    std::env::var("CAPE_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(8)
}

#[test]
fn a_job_that_is_killed_goes_on_as_if_it_had_not_been() {
    let home = Home::new();
    // enough for several checkpoints on a fast machine
    home.write("in.jsonl", rows(kills() as usize * 12_000));
    let flags = ["--field", "prompt", "--pass", "id", "--memory", "memory"];
    assert_eq!(perturb(&home, "in.jsonl", "whole.jsonl", &flags).code, 0);
    let (mut killed, mut amidst) = (0, 0);
    while killed < kills() {
        let args = ["perturb", "--input", "in.jsonl", "--output", "out.jsonl"];
        let args = [&args[..], &flags].concat();
        let (now, done) = kill_often(&home, &args, "out.jsonl", kills() - killed);
        (killed, amidst) = (killed + now, amidst + done);
        for end in ["", ".rejected.jsonl"] {
            let path = |name: &str| home.path(&format!("{name}.jsonl{end}"));
            let read = |name: &str| std::fs::read(path(name)).unwrap();
            assert!(read("out") == read("whole"), "{end}");
            std::fs::remove_file(path("out")).unwrap();
        }
        assert!(!home.path("out.jsonl.cape-job").exists());
    }
    println!("killed {killed} times, {amidst} of them with some rows done");
    assert!(amidst > 0);
}

#[test]
fn a_job_with_a_secret_of_its_own_draws_all_rows_from_it() {
    let home = Home::new();
    home.write("in.txt", "Krzysztof called Svetlana\n".repeat(kills() as usize * 2000));
    let args = ["perturb", "--input", "in.txt", "--output", "out.txt"];
    kill_often(&home, &args, "out.txt", kills());
    let out = std::fs::read_to_string(home.path("out.txt")).unwrap();
    let first = out.lines().next().unwrap();
    assert!(!first.contains("Krzysztof") && out.lines().all(|line| line == first));
    assert_eq!(out.lines().count(), kills() as usize * 2000);
    assert!(!home.path("out.txt.cape-job").exists(), "its secret is gone");
}

/// A folder as a kill may leave it.
struct Killed<'a> {
    home: &'a Home,
    folder: std::path::PathBuf,
}

impl<'a> Killed<'a> {
    /// Lets the system kill a job at half its output: the first rows are written down by then.
    fn new(home: &'a Home) -> Self {
        let most = std::fs::metadata(home.path("in.jsonl")).unwrap().len() / 2 / 512;
        let limited = format!("ulimit -f {most}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_cape"), "perturb"]);
        command.args(["--input", "in.jsonl", "--output", "out.jsonl", "--field", "prompt"]);
        let status = spawn(home, &mut command).wait().unwrap();
        assert!(status.signal().is_some(), "{status}");
        let killed = Self { home, folder: home.path("out.jsonl.cape-job") };
        assert!(killed.state().unwrap()["rows"].as_u64() > Some(0));
        killed
    }

    fn state(&self) -> Option<Value> {
        let state = std::fs::read_to_string(self.folder.join("state.json")).ok()?;
        Some(parse(&state))
    }

    fn again(&self, more: &[&str]) -> Ran {
        perturb(self.home, "in.jsonl", "out.jsonl", &[&["--field", "prompt"], more].concat())
    }
}

#[test]
fn a_job_goes_on_with_the_same_settings_and_input_alone() {
    let home = Home::new();
    home.write("in.jsonl", rows(6000));
    let killed = Killed::new(&home);
    let mode = |name: &str| killed.folder.join(name).metadata().unwrap().permissions().mode();
    for (name, private) in [("", 0o700), ("secret", 0o600), ("state.json", 0o600), ("rows", 0o600)]
    {
        assert_eq!(mode(name) & 0o777, private, "{name}");
    }
    let state = std::fs::read_to_string(killed.folder.join("state.json")).unwrap();
    assert!(!state.contains("Krzy") && !state.contains("dollars"));
    let mut all = String::new();
    for more in
        [&["--epsilon", "5"][..], &["--pass", "id"], &["--memory", "memory"], &["--seed", "1"]]
    {
        let ran = killed.again(more);
        assert_eq!(ran.code, 1);
        all += &ran.err;
    }
    // another run at the same time
    let lock = std::fs::File::open(killed.folder.join("lock")).unwrap();
    lock.lock().unwrap();
    all += &killed.again(&[]).err;
    drop(lock);
    // another input
    let before = std::fs::read(home.path("in.jsonl")).unwrap();
    let touched = home.path("in.jsonl").metadata().unwrap().modified().unwrap();
    home.write("in.jsonl", [&before[..], b"{}\n"].concat());
    all += &killed.again(&[]).err;
    home.write("in.jsonl", &before);
    assert_eq!(killed.again(&[]).code, 1, "it was written again");
    let input = std::fs::File::options().write(true).open(home.path("in.jsonl")).unwrap();
    input.set_modified(touched).unwrap();
    // the secret is gone
    let secret = std::fs::read(killed.folder.join("secret")).unwrap();
    std::fs::remove_file(killed.folder.join("secret")).unwrap();
    all += &killed.again(&[]).err;
    assert!(!killed.folder.join("secret").exists());
    home.write("out.jsonl.cape-job/secret", secret);
    let rows_file = std::fs::read(killed.folder.join("rows")).unwrap();
    home.write("out.jsonl.cape-job/rows", &rows_file[..10]);
    all += &killed.again(&[]).err;
    home.write("out.jsonl.cape-job/rows", &rows_file);
    insta::assert_snapshot!(all);
    assert_eq!(killed.again(&[]).code, 0);
}

#[test]
fn every_end_of_a_job_may_be_repeated() {
    let home = Home::new();
    home.write("in.jsonl", rows(6000));
    let killed = Killed::new(&home);
    let keep = |name: &str| std::fs::read(killed.folder.join(name)).unwrap();
    let (secret, mut state) = (keep("secret"), killed.state().unwrap());
    // a tail that is no row, as a torn write leaves it
    let mut torn = keep("rows");
    torn.extend(b"{\"prompt\": \"Krzy");
    home.write("out.jsonl.cape-job/rows", &torn);
    assert_eq!(killed.again(&[]).code, 0);
    let read = |name: &str| std::fs::read(home.path(name)).unwrap();
    let (out, rejected) = (read("out.jsonl"), read("out.jsonl.rejected.jsonl"));
    assert_eq!(String::from_utf8(out.clone()).unwrap().lines().count(), 6000);
    let refused = String::from_utf8(rejected.clone()).unwrap().lines().count();
    state["rows"] = 6000.into();
    state["refused"] = refused.into();
    state["released"] = out.len().into();
    state["refused_bytes"] = rejected.len().into();
    state["is_done"] = true.into();
    // all rows done, and then: nothing moved, the list moved, both moved, the secret removed
    for stage in 0..4 {
        std::fs::create_dir(&killed.folder).unwrap();
        home.write("out.jsonl.cape-job/state.json", state.to_string());
        if stage < 3 {
            home.write("out.jsonl.cape-job/secret", &secret);
        }
        if stage < 2 {
            std::fs::rename(home.path("out.jsonl"), killed.folder.join("rows")).unwrap();
        }
        if stage < 1 {
            let list = home.path("out.jsonl.rejected.jsonl");
            std::fs::rename(list, killed.folder.join("rejected")).unwrap();
        }
        let ran = killed.again(&[]);
        assert_eq!(ran.code, 0, "{stage}: {}", ran.err);
        assert!(
            read("out.jsonl") == out && read("out.jsonl.rejected.jsonl") == rejected,
            "{stage}"
        );
        assert!(!killed.folder.exists(), "{stage}");
    }
    // a folder without a state is nothing: no row was released
    std::fs::create_dir(&killed.folder).unwrap();
    home.write("out.jsonl.cape-job/secret", "half a sec");
    for name in ["out.jsonl", "out.jsonl.rejected.jsonl"] {
        std::fs::remove_file(home.path(name)).unwrap();
    }
    assert_eq!(killed.again(&[]).code, 0);
    assert!(read("out.jsonl") != out, "another job has another secret");
    let again = killed.again(&[]);
    assert!(again.code == 1 && again.err.contains("exists already"), "{}", again.err);
    assert!(!killed.folder.exists());
}

// ---- what pays ----

fn spent(home: &Home) -> (u64, u64) {
    let all = home.json(&["ledger", "show"])["all"].clone();
    (all["draws"].as_u64().unwrap(), all["maps"].as_u64().unwrap())
}

#[test]
fn a_file_is_paid_for_before_it_is_drawn_for() {
    let home = Home::new();
    // seven different words: it, is, was, good, Krzysztof, Svetlana, 7
    home.write("in.txt", "it is good Krzysztof\nit was 7 Svetlana\nit is good Krzysztof\n");
    let pay = ["--account", "me"];
    let ran = perturb(&home, "in.txt", "out.txt", &pay);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("reserved 7 draws") && ran.err.contains("7 draws are spent"),
        "{}",
        ran.err
    );
    assert_eq!(spent(&home), (7, 1));
    assert_eq!(home.run(&["ledger", "jobs"]).out, "all jobs are settled\n");
    // over a limit it does not start
    let limits = [&pay[..], &["--limit-total", "300"]].concat();
    let ran = perturb(&home, "in.txt", "over.txt", &limits);
    assert_eq!((ran.code, spent(&home)), (1, (7, 1)));
    assert!(
        ran.err.contains("7 new draws cost ε = ") && !home.path("over.txt").exists(),
        "{}",
        ran.err
    );
    // the same job goes on, and reserves nothing again, when there is more to spend
    let ran = perturb(&home, "in.txt", "over.txt", &pay);
    assert_eq!((ran.code, spent(&home)), (0, (14, 2)), "{}", ran.err);
    // a pipe says how much it needs, and gets back what it did not draw
    let pipe = ["perturb", "--input", "-", "--file-format", "txt", "--account", "me", "--draws"];
    let piped = |draws| home.pipe("Alice\nAlice has 7\n", &[&pipe[..], &[draws]].concat());
    let ran = piped("10");
    assert!(ran.err.contains("3 draws are spent, 7 were given back"), "{}", ran.err);
    assert_eq!((ran.code, spent(&home)), (0, (17, 3)));
    let ran = piped("2");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("more different words than the 2"), "{}", ran.err);
    // what was refused was not drawn, but it was counted
    assert_eq!(home.run(&["ledger", "jobs"]).out, "all jobs are settled\n");
}

#[test]
fn a_killed_job_is_paid_for_once() {
    let home = Home::new();
    home.write("in.jsonl", rows(kills() as usize * 400));
    let args = ["perturb", "--input", "in.jsonl", "--output", "out.jsonl", "--field", "prompt"];
    let args = [&args[..], &["--account", "me"]].concat();
    let (killed, _) = kill_often(&home, &args, "out.jsonl", kills() / 2);
    println!("killed {killed} times");
    let (draws, maps) = spent(&home);
    assert_eq!((maps, home.path("out.jsonl.cape-job").exists()), (1, false), "{killed}");
    assert_eq!(home.run(&["ledger", "jobs"]).out, "all jobs are settled\n");
    // the same file again is another job, with other noise, and costs the same again
    let more = ["--field", "prompt", "--account", "me"];
    assert_eq!(perturb(&home, "in.jsonl", "again.jsonl", &more).code, 0);
    assert_eq!(spent(&home), (2 * draws, 2));
    let read = |name: &str| std::fs::read_to_string(home.path(name)).unwrap();
    let (out, again) = (read("out.jsonl"), read("again.jsonl"));
    let same = out.lines().zip(again.lines()).filter(|(a, b)| a == b).count();
    assert!(same * 4 < out.lines().count(), "{same}");
}
