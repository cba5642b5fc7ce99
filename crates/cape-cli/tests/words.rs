//! Cape on words, as people and scripts use it. The embedded lexicon draws; what is drawn is not looked
//! at where it could be any word.

use crate::common::{Home, Ran, finish, parse, refusals, titled, transcript};
use serde_json::Value;

const LETTER: &str = "My daughter Alice was diagnosed with asthma in London last Tuesday.";

/// The words of a release by their original, with their levels and reasons.
fn levels(release: &Value) -> Vec<(&str, &str, &str)> {
    let words = release["words"].as_array().unwrap().iter();
    let text = |word: &'_ Value, key: &str| -> &'static str {
        word[key].as_str().unwrap().to_owned().leak()
    };
    words.map(|word| (text(word, "original"), text(word, "level"), text(word, "why"))).collect()
}

/// The originals of the words at a level.
fn at<'a>(release: &'a Value, level: &str) -> Vec<&'a str> {
    levels(release).into_iter().filter(|(_, of, _)| *of == level).map(|(word, ..)| word).collect()
}

/// A text without the numbers that follow from how many words are listed: those with a fraction, those of
/// many digits, and shares.
fn whatever_is_listed(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let digit = |c: char| c.is_ascii_digit() || c == '.';
        let end = from.find(|c: char| !digit(c)).unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        let (number, dot) = number.strip_suffix('.').map_or((number, ""), |number| (number, "."));
        let follows = number.contains('.') || number.len() > 4 || after.starts_with('%');
        out = [out.as_str(), before, if follows { "#" } else { number }, dot].concat();
        rest = after;
    }
    out + rest
}

fn released(home: &Home, args: &[&str]) -> String {
    let ran = home.works(&[&["perturb"], args].concat());
    ran.out.trim_end_matches('\n').to_owned()
}

// ---- JSON ----

/// Kinds whose values lie on a grid.
const VALUES: [&str; 8] =
    ["number", "amount", "date", "time", "day", "month-of-year", "month", "weekday"];

/// All that `--json` promises about one release.
fn check(prompt: &str, release: &Value) {
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(release), ["privacy", "text", "words"]);
    let (mut out, mut end, mut protected, mut drawn) = (String::new(), 0, 0, 0);
    for word in release["words"].as_array().unwrap() {
        assert_eq!(keys(word), ["end", "kind", "level", "original", "released", "start", "why"]);
        let offset = |key: &str| usize::try_from(word[key].as_u64().unwrap()).unwrap();
        let own = &prompt[offset("start")..offset("end")];
        assert_eq!(word["original"], own);
        // what stands between words is carried over byte for byte
        out += &prompt[end..offset("start")];
        out += word["released"].as_str().unwrap();
        end = offset("end");
        match word["level"].as_str().unwrap() {
            "kept" => assert_eq!(word["released"], own),
            "protected" => (protected, drawn) = (protected + 1, drawn + 1),
            "ordinary" => drawn += 1,
            other => panic!("{other} is no level"),
        }
    }
    assert_eq!(release["text"], out + &prompt[end..]);
    let privacy = &release["privacy"];
    let has_values =
        release["words"].as_array().unwrap().iter().any(|word| {
            word["level"] != "kept" && VALUES.contains(&word["kind"].as_str().unwrap())
        });
    assert_eq!(privacy.get("most_kept_value").is_some(), has_values);
    let fields: Vec<String> =
        keys(privacy).into_iter().filter(|key| key != "most_kept_value").collect();
    assert_eq!(
        fields,
        [
            "draws",
            "epsilon_any",
            "epsilon_prompt",
            "epsilon_protected",
            "evidence",
            "law",
            "mechanism",
            "most_guessed",
            "most_kept",
            "notion",
            "profile",
            "protected_words",
            "words"
        ]
    );
    assert_eq!(keys(&privacy["law"]), ["alpha", "k", "listed_words"]);
    assert_eq!(
        (&privacy["words"], &privacy["protected_words"]),
        (&drawn.into(), &protected.into())
    );
    let number = |key: &str| privacy[key].as_f64().unwrap();
    assert!(number("epsilon_protected") < number("epsilon_any"));
    let draws = number("draws");
    assert!((number("epsilon_prompt") - draws * number("epsilon_any")).abs() < 1e-9, "{privacy}");
    assert!(draws <= f64::from(drawn), "{privacy}");
}

#[test]
fn json_has_the_fields_that_are_documented_and_no_others() {
    let home = Home::new();
    for (prompt, flags) in [
        (LETTER, &[][..]),
        (LETTER, &["--profile", "everything"]),
        (LETTER, &["--keep", "London", "--seed", "1"]),
        ("  Pay $1,200 to bob@corp.com,\r\n\tnot to  José — on 2024-03-15…\n", &[]),
        ("Alice knows ALICE.", &[]),
        ("👩‍👩‍👧 O+ 中書 (naïve)", &["--alpha", "0.5", "--k", "10"]),
    ] {
        check(prompt, &home.json(&[&["perturb", prompt], flags].concat()));
    }
    let ran = home.pipe(
        "Alice\n\nBob's dog\n",
        &["perturb", "--input", "-", "--file-format", "txt", "--json"],
    );
    let lines: Vec<Value> = ran.out.lines().map(parse).collect();
    for (prompt, release) in ["Alice", "", "Bob's dog"].iter().zip(&lines) {
        check(prompt, release);
    }
    assert_eq!(lines.len(), 3);
}

#[test]
fn json_of_a_seeded_release() {
    let home = Home::new();
    let release = home.json(&["perturb", "--seed", "1", "Alice paid $20, didn't she?"]);
    // which words are drawn follows the lexicon; what is said of them does not
    let words: Vec<Value> = release["words"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| {
            let mut word = word.clone();
            if word["level"] == "protected" {
                word["released"] = "[drawn]".into();
            }
            word
        })
        .collect();
    let mut privacy = release["privacy"].clone();
    for rounded in ["epsilon_any", "epsilon_prompt"] {
        assert!(privacy[rounded].as_f64().unwrap() > 20.0);
        privacy[rounded] = "[by the size of the list]".into();
    }
    for share in ["most_kept", "most_kept_value", "most_guessed"] {
        let found = privacy[share].as_f64().unwrap();
        privacy[share] = format!("[about {found:.1}]").into();
    }
    privacy["law"]["listed_words"] = "[n]".into();
    let shown = serde_json::json!({"words": words, "privacy": privacy});
    insta::assert_snapshot!(serde_json::to_string_pretty(&shown).unwrap());
}

// ---- levels ----

#[test]
fn a_default_release_changes_personal_details_alone() {
    let release = Home::new().json(&["perturb", LETTER]);
    let protected = at(&release, "protected");
    for word in ["Alice", "asthma", "London", "Tuesday"] {
        assert!(protected.contains(&word), "{word}");
    }
    let out = release["text"].as_str().unwrap();
    assert!(out.starts_with("My daughter ") && out.contains(" last "), "{out}");
}

#[test]
fn profiles_say_which_words_are_protected() {
    let home = Home::new();
    let protected = |profile: &str| {
        let release = home.json(&["perturb", "--profile", profile, LETTER]);
        assert_eq!(release["privacy"]["profile"], profile);
        at(&release, "protected").iter().map(|&word| word.to_owned()).collect::<Vec<_>>()
    };
    let everything = protected("everything");
    assert_eq!(
        everything,
        ["daughter", "Alice", "diagnosed", "asthma", "London", "last", "Tuesday"]
    );
    let names = protected("names");
    assert!(
        names.contains(&"Alice".to_owned()) && names.contains(&"London".to_owned()),
        "{names:?}"
    );
    assert!(names.len() <= protected("personal").len());
    // a sensitive word that is common: hidden in one profile, ordinary in the other
    let cancer = |profile: &str| {
        let release = home.json(&["perturb", "--profile", profile, "He has cancer."]);
        at(&release, "protected").contains(&"cancer")
    };
    assert!(cancer("personal") && !cancer("names"));
}

/// The four ways of giving a list, for each list.
#[test]
fn lists_are_words_or_files_from_flags_variables_and_the_settings_file() {
    let prompt = "The table and the chair of Krzysztof and Svetlana";
    for (list, words, level) in [
        ("protect", ["table", "CHAIR"], "protected"),
        ("ordinary", ["krzysztof", "Svetlana"], "ordinary"),
        ("keep", ["Krzysztof", "svetlana"], "kept"),
    ] {
        let home = Home::new();
        home.write("list.txt", format!("\u{feff}{}\r\n\n  {}  \n", words[0], words[1]));
        home.write("one.txt", format!("{}\n", words[1]));
        let flag = format!("--{list}");
        let check = |how: &str, release: &Value, want: &[&str]| {
            let found: Vec<String> = levels(release)
                .iter()
                .filter(|(_, of, why)| *of == level && *why == "listed")
                .map(|(word, ..)| word.to_lowercase())
                .collect();
            let want: Vec<String> = want.iter().map(|word| word.to_lowercase()).collect();
            assert_eq!(found, want, "--{list} {how}");
        };
        let json = |args: &[&str]| home.json(&[&["perturb", prompt], args].concat());
        check("WORD", &json(&[&flag, words[0]]), &words[..1]);
        check("WORD twice", &json(&[&flag, words[0], &flag, words[1]]), &words);
        check("FILE", &json(&[&flag, "list.txt"]), &words);
        check("WORD and FILE", &json(&[&flag, words[0], &flag, "one.txt"]), &words);
        let name = format!("CAPE_{}", list.to_uppercase());
        let variable = |value: &str| {
            let mut command = home.cape(&["perturb", "--json", prompt]);
            parse(&finish(command.env(&name, value)).out)
        };
        check("as a variable", &variable(words[0]), &words[..1]);
        check("as a variable with a file", &variable("list.txt"), &words);
        // beside the settings file, wherever that lies
        std::fs::create_dir(home.path("conf")).unwrap();
        home.write("conf/beside.txt", words[1]);
        home.write("conf/mine.toml", format!("{list} = [\"{}\", \"beside.txt\"]", words[0]));
        check("in the settings file", &json(&["--config", "conf/mine.toml"]), &words);
        home.write("conf/one.toml", format!("{list} = \"{}\"", words[0]));
        check("one in the settings file", &json(&["--config", "conf/one.toml"]), &words[..1]);
        // a flag comes first
        let both = json(&["--config", "conf/mine.toml", &flag, words[1]]);
        check("flag before file", &both, &words[1..]);
    }
}

#[test]
fn ordinary_words_of_a_list_arrive_though_no_list_had_them() {
    let home = Home::new();
    for _ in 0..5 {
        let out = released(&home, &["--ordinary", "kubectl", "run kubectl again"]);
        assert_eq!(out, "Run kubectl again");
    }
}

#[test]
fn a_phrase_is_kept_and_never_protected() {
    let home = Home::new();
    home.write("phrases.txt", "asthma\nbreast cancer\n");
    let refused = refusals(
        &home,
        2,
        &[
            &["perturb", "--protect", "breast cancer", "good"],
            &["perturb", "--protect", "phrases.txt", "good"],
            &["perturb", "--protect", "12", "good"],
            &["perturb", "--protect", "", "good"],
            &["perturb", "--ordinary", "a@b.org", "good"],
        ],
    );
    insta::assert_snapshot!(refused);
    let prompt = "breast cancer, not cancer of the breast; Breast Cancer";
    let release = home.json(&["perturb", "--keep", "breast cancer", prompt]);
    assert_eq!(at(&release, "kept"), ["breast", "cancer", "Breast", "Cancer"]);
}

// ---- maps ----

const NAMES: &str = "Krzysztof called Svetlana about Yekaterinburg";

#[test]
fn a_word_becomes_the_same_in_a_prompt_and_in_all_lines() {
    let home = Home::new();
    let lines = format!("{NAMES}\n").repeat(20);
    let distinct = |args: &[&str]| {
        let ran = home.pipe(
            lines.clone(),
            &[&["perturb", "--input", "-", "--file-format", "txt"], args].concat(),
        );
        assert_eq!(ran.code, 0, "{}", ran.err);
        let lines: std::collections::HashSet<String> = ran.out.lines().map(str::to_owned).collect();
        lines.len()
    };
    assert_eq!(distinct(&[]), 1);
    assert!(distinct(&["--separate"]) > 10);
    assert_eq!(distinct(&["--seed", "3"]), 1);
    assert!(distinct(&["--seed", "3", "--separate"]) > 10);
    assert_eq!(distinct(&["--memory", "memory"]), 1);
    let out = released(&home, &[&format!("{NAMES}. {NAMES}")]);
    let (first, second) = out.split_once(". ").unwrap();
    assert_eq!(first, second);
    // prompts of one map see each other's words, whatever stands around them
    let ran = home.pipe(
        "Krzysztof\nhi Krzysztof\nKRZYSZTOF\n",
        &["perturb", "--input", "-", "--file-format", "txt"],
    );
    let lines: Vec<&str> = ran.out.lines().collect();
    // the first of a line has a capital
    let second = lines[1].split_once(' ').unwrap().1;
    assert_eq!((second.to_lowercase(), lines[2]), (lines[0].to_lowercase(), lines[0]));
}

#[test]
fn a_memory_repeats_over_processes_and_is_its_owners_alone() {
    let home = Home::new();
    let first = released(&home, &["--memory", "memory", NAMES]);
    assert_eq!(released(&home, &["--memory", "memory", NAMES]), first);
    let others: Vec<String> =
        (0..8).map(|i| released(&home, &["--memory", &format!("other{i}"), NAMES])).collect();
    assert!(others.iter().any(|other| *other != first));
    // another law is another draw
    let laws: Vec<String> = ["6.5", "6.6", "6.7", "6.8"]
        .iter()
        .map(|epsilon| released(&home, &["--memory", "memory", "-e", epsilon, NAMES]))
        .collect();
    assert!(laws.iter().any(|other| *other != first));
    let contents = std::fs::read_to_string(home.path("memory")).unwrap();
    assert!(contents.starts_with("cape memory 1\n") && contents.len() == 79, "{}", contents.len());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = home.path("memory").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // and what it states is what any release states
    let ran = home.works(&["perturb", "--memory", "memory", NAMES]);
    assert!(ran.err.contains(": proven"), "{}", ran.err);
}

#[test]
fn a_memory_that_is_none_is_refused_and_left_as_it_is() {
    let home = Home::new();
    let good = format!("cape memory 1\n{}\n", "0a".repeat(32));
    home.write("good", &good);
    assert_eq!(home.run(&["perturb", "--memory", "good", NAMES]).code, 0);
    let mut all = String::new();
    for (title, contents) in [
        ("empty", String::new()),
        ("another file", "Dear Alice,\n".to_owned()),
        ("another version", good.replace(" 1\n", " 2\n")),
        ("cut short", good[..40].to_owned()),
        ("not hexadecimal", good.replace("0a", "0g")),
        ("a sign", good.replacen("0a", "+a", 1)),
        ("something after it", format!("{good}more\n")),
    ] {
        home.write("memory", &contents);
        let args = ["perturb", "--memory", "memory", NAMES];
        let ran = home.run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{title}");
        assert_eq!(std::fs::read_to_string(home.path("memory")).unwrap(), contents);
        all += &titled(title, &args, &ran);
    }
    all += &refusals(&home, 1, &[&["perturb", "--memory", "nowhere/memory", NAMES]]);
    insta::assert_snapshot!(all);
}

#[test]
fn a_seed_repeats_and_promises_nothing() {
    let home = Home::new();
    let seeded = |seed: &str| released(&home, &["--seed", seed, NAMES]);
    assert_eq!(seeded("7"), seeded("7"));
    let seeds = ["1", "2", "3", "4", "5", "6"];
    assert!(seeds.iter().any(|seed| seeded(seed) != seeded("7")));
    let privacy = &home.json(&["perturb", "--seed", "7", NAMES])["privacy"];
    assert_eq!((&privacy["notion"], &privacy["evidence"]), (&"none".into(), &"none".into()));
    let privacy = &home.json(&["perturb", NAMES])["privacy"];
    assert_eq!((&privacy["notion"], &privacy["evidence"]), (&"LDP".into(), &"proof".into()));
    let ran = home.works(&["perturb", "--seed", "7", NAMES]);
    assert!(ran.err.contains("privacy: NONE: drawn with --seed"), "{}", ran.err);
}

// ---- what goes out ----

#[test]
fn an_instruction_goes_out_as_it_is_before_the_release() {
    let home = Home::new();
    let instruction = "Translate to Klingon; mention ALICE (42)!";
    let out = home.works(&["perturb", "--instruction", instruction, NAMES]).out;
    let rest = out.strip_prefix(&format!("{instruction}\n")).unwrap();
    assert!(!rest.contains("Krzysztof") && rest.contains(" called "), "{out}");
    let args = ["perturb", "--input", "-", "--file-format", "txt", "--instruction", "Say:"];
    let ran = home.pipe("it is\nwe are\n", &args);
    assert_eq!(ran.out, "Say: It is\nSay: We are\n");
    // the statement speaks of the prompt alone
    let words = home.works(&["perturb", "--instruction", instruction, "it is good"]);
    assert!(words.err.contains(" 3 words, 0 of them protected"), "{}", words.err);
}

#[test]
fn a_diff_shows_what_is_sent() {
    let home = Home::new();
    let prompt = "We met Krzysztof.\nHe was late, Svetlana not.";
    let args = ["perturb", "--seed", "2", prompt];
    let ran = home.works(&[&args[..], &["--diff"]].concat());
    assert_eq!(ran.out, home.works(&args).out);
    assert!(!ran.err.contains('\u{1b}'), "no colour where there is no terminal");
    let lines = |mark: &str| -> String {
        let lines = ran.err.lines().filter_map(|line| line.strip_prefix(mark));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(lines("- "), "We met [Krzysztof].\nHe was late, [Svetlana] not.");
    // what it shows is what is sent
    assert_eq!(lines("+ ").replace(['[', ']'], ""), ran.out.trim_end());
    assert_eq!(lines("+ ").matches('[').count(), 2);
    // and no originals on stderr unless they are asked for
    assert!(!home.works(&args).err.contains("Krzysztof"));
}

#[test]
fn statements_in_words() {
    let home = Home::new();
    let mut all = String::new();
    for flags in [
        &[][..],
        &["--epsilon", "5", "--k", "20", "--profile", "everything"],
        &["--alpha", "1", "--k", "10"],
        &["--seed", "1"],
        &["--keep", "London", "--keep", "Tuesday"],
    ] {
        let args = [&["perturb"], flags, &[LETTER]].concat();
        let ran = home.works(&args);
        all += &transcript(&args, &Ran { out: String::new(), ..ran });
    }
    let lines = ["perturb", "--input", "-", "--file-format", "txt"];
    let ran = home.pipe("Alice has asthma\n\nBob is 42\n", &lines);
    all += &transcript(&lines, &Ran { out: String::new(), ..ran });
    let kept = ["perturb", "--keep", "Alice", "Alice!"];
    all += &transcript(&kept, &home.works(&kept));
    insta::assert_snapshot!(whatever_is_listed(&all));
}

// ---- warnings ----

#[test]
fn warnings_for_a_person() {
    let home = Home::new();
    let mut all = String::new();
    for (title, args) in [
        ("a secret", &["My key is sk-proj-abc123DEF456ghi789JKL012"][..]),
        (
            "not English",
            &["Bitte überweisen Sie den Betrag noch heute auf mein Konto bei der Sparkasse"],
        ),
        ("capitals", &["PLEASE CALL DOCTOR MILLER ABOUT THE BLOOD TEST TODAY"]),
        ("a kept name", &["--keep", "Alice", "Alice met Bob"]),
        ("two kept names", &["--keep", "Alice", "--keep", "London", "Alice met Bob in London"]),
        ("nothing protected", &["please make it shorter"]),
        ("nearly verbatim", &["--epsilon", "20", "--k", "1", "Alice met Bob"]),
        ("none", &["Alice met Bob"]),
    ] {
        let ran = home.works(&[&["perturb"], args].concat());
        let warnings = ran.err.split("privacy: ").next().unwrap();
        assert_eq!(warnings.is_empty(), title == "none", "{title}: {}", ran.err);
        all = [all.as_str(), title, "\n", warnings, "\n"].concat();
        // machines read stdout: a warning is not there
        assert!(!ran.out.contains("warning"));
    }
    insta::assert_snapshot!(all);
}

// ---- explain ----

#[test]
fn explain_one_word() {
    let home = Home::new();
    let prompt = "My friend Alice paid 120 to Krzysztof, mail bob@corp.com, on Tuesday";
    let explain = |flags: &[&str]| home.run(&[&["explain", prompt], flags].concat());
    let mut all = String::new();
    // listed, unlisted, a number, ordinary; the ranks after the first follow the lexicon
    for word in ["3", "7", "5", "2"] {
        let ran = explain(&["--word", word]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        // the word itself, and not those that the lexicon has for its neighbours
        let is_row = |line: &str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        let shown = |line: &&str| !is_row(line) || line.trim_start().starts_with("1 ");
        let own = |line: &&str| !is_row(line) || word != "7";
        let words: Vec<&str> = ran.out.lines().filter(shown).filter(own).collect();
        all +=
            &titled("", &["explain", "--word", word], &Ran { out: words.join("\n") + "\n", ..ran });
    }
    for (flags, code) in [
        (&["--word", "9"][..], 1),
        (&["--word", "3", "--keep", "alice"], 1),
        (&["--word", "0"], 2),
        (&["--word", "12"], 2),
        (&["--word", "3", "--released", prompt], 2),
    ] {
        let ran = explain(flags);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""));
        all += &titled("", &[&["explain"], flags].concat(), &ran);
    }
    insta::assert_snapshot!(whatever_is_listed(&all));
}

#[test]
fn explain_for_machines_sums_to_one() {
    let home = Home::new();
    let prompt = "Alice paid 120 on 2024-03-15 at 14:30 for Krzysztof, please";
    for (word, original, kind) in [
        ("1", "Alice", "word"),
        ("2", "paid", "word"),
        ("3", "120", "number"),
        ("5", "2024-03-15", "date"),
        ("7", "14:30", "time"),
        ("9", "Krzysztof", "word"),
    ] {
        let told = home.json(&["explain", prompt, "--word", word, "--all"]);
        assert_eq!((&told["original"], &told["kind"]), (&original.into(), &kind.into()));
        let rows = told["candidates"].as_array().unwrap();
        assert_eq!(told["ranks"], rows.len());
        let weights = rows.iter().map(|row| row["weight"].as_u64().unwrap());
        assert_eq!(weights.sum::<u64>(), told["total_weight"].as_u64().unwrap());
        let texts: std::collections::HashSet<&str> =
            rows.iter().map(|row| row["released"].as_str().unwrap()).collect();
        assert_eq!(texts.len(), rows.len(), "each once");
        if original == "Krzysztof" {
            assert!(told["own_rank"].is_null() && !texts.contains(original));
        } else {
            assert_eq!((&told["own_rank"], &rows[0]["released"]), (&1.into(), &original.into()));
        }
        let few = home.json(&["explain", prompt, "--word", word]);
        assert_eq!(few["candidates"].as_array().unwrap()[..], rows[..20]);
    }
}
