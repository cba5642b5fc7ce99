//! Prompts of daily life, each released 200 times: what comes out is as well formed as what went in.

use std::collections::HashSet;

use cape::mechanism::cape::Settings;
use cape::units::{self, Options, Unit};
use cape::{Cape, Kind, Lexicon, Release, Sanitizer, Secret};

const RELEASES: u64 = 200;

const PROSE: Options = Options { code: false, json: false };
const CODE: Options = Options { code: true, json: false };
const JSON: Options = Options { code: false, json: true };

fn sanitizer(cut: Options) -> Sanitizer {
    let settings = Settings { cut, ..Settings::default() };
    Sanitizer::words(Cape::new(Lexicon::embedded(), settings).unwrap())
}

/// All releases of a prompt, after what holds for every prompt was checked.
fn released(text: &str, cut: Options) -> Vec<Release> {
    let sanitizer = sanitizer(cut);
    let units = units::cut(text, cut).unwrap();
    let own: HashSet<char> = between(text, &units).iter().flat_map(|gap| gap.chars()).collect();
    let release = |seed| {
        let release = sanitizer.release(text, &Secret::seeded(seed, 0)).unwrap();
        check(text, &units, &own, &release, cut);
        release
    };
    (0..RELEASES).map(release).collect()
}

/// What stands between units, and before and after them.
fn between<'a>(text: &'a str, units: &[Unit]) -> Vec<&'a str> {
    let starts = units.iter().map(|unit| unit.start).chain([text.len()]);
    let ends = [0].into_iter().chain(units.iter().map(|unit| unit.end));
    ends.zip(starts).map(|(from, to)| &text[from..to]).collect()
}

/// The same units of the same kinds between the same separators, each well formed.
fn check(text: &str, units: &[Unit], own: &HashSet<char>, release: &Release, cut: Options) {
    let out = &release.text;
    let again = units::cut(out, cut).unwrap();
    let what = |units: &[Unit]| units.iter().map(|u| (u.kind, u.first)).collect::<Vec<_>>();
    assert_eq!(what(units), what(&again), "{out}");
    assert_eq!(between(text, units), between(out, &again), "{out}");
    for c in out.chars() {
        assert!(c.is_ascii() || own.contains(&c), "{c:?} in {out}");
    }
    for unit in &again {
        let value = unit.of(out);
        assert!(is_well_formed(unit.kind, value), "{:?} {value} in {out}", unit.kind);
    }
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn is_well_formed(kind: Kind, value: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    match kind {
        Kind::Word => !value.is_empty() && !value.contains(|c: char| c.is_ascii_digit()),
        Kind::Number => number(value),
        Kind::Amount => value.strip_prefix('$').is_some_and(number),
        Kind::Date => {
            let parts: Vec<u32> = value.split('-').filter_map(|part| part.parse().ok()).collect();
            matches!(parts[..], [1000..=9999, 1..=12, 1..=31])
        }
        Kind::Time => {
            let parts: Vec<u32> = value.split(':').filter_map(|part| part.parse().ok()).collect();
            matches!(parts[..], [0..=23, 0..=59])
        }
        Kind::Day => {
            let (day, month) = value.split_once(' ').unwrap();
            day.parse().is_ok_and(|day: u32| (1..=31).contains(&day)) && MONTHS.contains(&month)
        }
        Kind::MonthOfYear => value.split_once(' ').is_some_and(|(_, year)| number(year)),
        Kind::Month | Kind::Weekday => value.starts_with(char::is_uppercase),
        Kind::Email => {
            let sides: Vec<&str> = value.split('@').collect();
            matches!(sides[..], [name, host] if !name.is_empty() && host.starts_with("example."))
        }
        Kind::Url => value.starts_with("https://example."),
        Kind::Ip => value.parse::<std::net::IpAddr>().is_ok(),
        Kind::Identifier | Kind::Secret => value.len() >= 8,
    }
}

/// How many units of a kind a prompt has.
fn count(text: &str, cut: Options, kind: Kind) -> usize {
    units::cut(text, cut).unwrap().iter().filter(|unit| unit.kind == kind).count()
}

#[test]
fn an_email_with_amounts_and_a_signature() {
    let text = "Dear Mr. Hofstadter,\n\nThank you for your order of 12 March. We have charged $1,249.50 to \
                your card ending in 4421; the remaining €300 are due on 2024-05-01.\n\nIf anything is \
                wrong, write to billing@hartwell-garden.co.uk or call +44 20 7946 0958.\n\nKind \
                regards,\nMargaret Okonkwo\nHartwell Garden Supplies";
    assert_eq!(count(text, PROSE, Kind::Amount), 2);
    for release in released(text, PROSE) {
        assert!(release.text.starts_with("Dear Mr. "), "{}", release.text);
        assert!(!release.text.contains("hartwell") && !release.text.contains("7946 0958"));
        assert_eq!(release.text.lines().count(), text.lines().count());
    }
}

#[test]
fn a_medical_question() {
    let text = "My daughter Alice (7 years old) was diagnosed with asthma last Tuesday at St. Mary's Hospital. \
                Dr. Krzysztof Nowak prescribed 2-3 puffs of salbutamol at 8:30 and 20:00. Is it safe \
                with ibuprofen?";
    assert_eq!(count(text, PROSE, Kind::Time), 2);
    for release in released(text, PROSE) {
        assert!(release.text.starts_with("My daughter "), "{}", release.text);
        assert!(!release.text.contains("Krzysztof"), "it is on no list");
    }
}

#[test]
fn a_contract_clause() {
    let text = "7.2 Termination. Either party (\"Northwind Traders Ltd.\" or \"the Supplier\") may terminate this \
                Agreement by giving ninety (90) days' written notice; upon breach of Section 4.1(b), the \
                non-breaching party may terminate immediately — without prejudice to its rights.";
    for release in released(text, PROSE) {
        assert!(release.text.contains('—') && release.text.contains("may terminate immediately"));
    }
}

#[test]
fn code_with_a_key() {
    let key = "sk-proj-abc123DEF456ghi789JKL012";
    let text = format!(
        "import requests\n\nAPI_KEY = \"{key}\"\n\ndef fetch(user_id):\n    \
         # asks Dmitri's server\n    r = requests.get(\"https://api.dmitri.io/v1/users\", \
         headers={{\"Authorization\": API_KEY}})\n    if r.status_code != 200:\n        \
         raise ValueError(\"no such user\\n\")\n    return r.json()\n"
    );
    assert_eq!(count(&text, CODE, Kind::Secret), 1);
    for release in released(&text, CODE) {
        assert!(!release.text.contains("abc123") && !release.text.contains("dmitri.io"));
        let indents =
            |text: &str| text.lines().map(|l| l.len() - l.trim_start().len()).collect::<Vec<_>>();
        assert_eq!(indents(&release.text), indents(&text));
    }
}

#[test]
fn sql() {
    let text = "select p.name, p.born from patients p join visits v on v.patient_id = p.id where \
                v.diagnosis = 'asthma' and p.city in ('London', 'Leeds') and v.day >= '2024-03-15' \
                order by p.name limit 50;";
    for release in released(text, CODE) {
        assert!(release.text.ends_with(';'), "{}", release.text);
    }
}

#[test]
fn json() {
    let text = r#"{
  "name": "Alice Okafor",
  "age": 34,
  "email": "alice@okafor.org",
  "active": true, "manager": null,
  "salary": 51250.75,
  "tags": ["asthma", "night shift", "said \"no\"\n"],
  "visits": [{"day": "2024-03-15", "at": "14:30"}, {"day": "2024-04-02", "at": "09:05"}]
}"#;
    let shape = |text: &str| -> serde_json::Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let original = shape(text);
    for release in released(text, JSON) {
        let value = shape(&release.text);
        let kinds = |value: &serde_json::Value| -> Vec<bool> {
            value.as_object().unwrap().values().map(serde_json::Value::is_number).collect()
        };
        // keys are words too: two of them may become one
        let keys = value.as_object().unwrap().len();
        assert!(keys <= original.as_object().unwrap().len());
        assert!(keys < 8 || kinds(&value).iter().filter(|number| **number).count() == 2);
    }
}

#[test]
fn a_markdown_table() {
    let text = "| Name | City | Balance |\n|:-----|:----:|--------:|\n| Fatima Al-Sayed | Lyon | $120.00 |\n| \
                Bob O'Neil | New York | $7,450 |\n";
    for release in released(text, PROSE) {
        for (line, original) in release.text.lines().zip(text.lines()) {
            assert_eq!(line.matches('|').count(), original.matches('|').count(), "{line}");
        }
    }
}

#[test]
fn a_url_with_an_address_and_dates() {
    let text = "Please look at https://intranet.acme.example/reports?user=jsmith&from=2024-01-01 (mail \
                j.smith@acme.com, server 10.1.2.3) for everything between 2024-01-01 and 15/03/2024.";
    let kinds = [Kind::Url, Kind::Email, Kind::Ip, Kind::Date];
    assert_eq!(kinds.map(|kind| count(text, PROSE, kind)), [1, 1, 1, 2]);
    for release in released(text, PROSE) {
        assert!(!release.text.contains("smith") && !release.text.contains("10.1.2.3"));
        assert!(release.text.starts_with("Please look at https://"));
    }
}

#[test]
fn all_capitals() {
    let text = "URGENT!!! CALL DOCTOR MILLER ABOUT THE BLOOD TEST OF 14 PATIENTS, PLEASE.";
    for release in released(text, PROSE) {
        assert!(release.text.contains("!!! ") && release.text.ends_with('.'));
    }
}

#[test]
fn emoji() {
    let text = "Happy birthday, Zoë! 🎉🎂 See you at 18:00 👩‍👩‍👧 ❤️ #party2024 @zoe";
    for release in released(text, PROSE) {
        assert!(release.text.is_ascii(), "{}", release.text);
        assert!(release.text.starts_with("Happy birthday, "), "{}", release.text);
    }
}

#[test]
fn german() {
    let text = "Sehr geehrte Frau Müller, „bitte“ überweisen Sie die 250 Euro bis zum 15.03.2024 – sonst \
                verklagt Sie Herr Groß.";
    for release in released(text, PROSE) {
        assert!(!release.text.contains("Müller") && release.text.contains(" – "));
    }
}

#[test]
fn a_bare_instruction() {
    let text = "Translate to French: My brother Tom works for Siemens in Lisbon.";
    for release in released(text, PROSE) {
        let rest = release.text.strip_prefix("Translate to French: ");
        let rest = rest.unwrap_or_else(|| panic!("{}", release.text)).to_lowercase();
        let ordinary = rest.starts_with("my brother ") && rest.contains(" works for ");
        assert!(ordinary, "{}", release.text);
    }
}

#[test]
fn a_list_with_numbering() {
    let text = "Sort these by age:\n1. Maria Gonzalez, 34\n2. Peter Schmidt, 51\n3. Aiko Tanaka, 28\n\n1) \
                apples\n2) pears\n- milk\n* bread";
    for release in released(text, PROSE) {
        let marks: Vec<&str> =
            release.text.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(marks[1..], ["1.", "2.", "3.", "", "1)", "2)", "-", "*"], "{}", release.text);
    }
}

#[test]
fn a_long_text() {
    let one = include_str!("../src/commands/bench/text.txt");
    let text = [one.trim_end(); 3].join("\n\n");
    for release in released(&text, PROSE) {
        assert_eq!(release.text.lines().count(), text.lines().count());
        // a word becomes the same all over the text
        let parts: Vec<&str> = release.text.split("\n\n").collect();
        let third = parts.len() / 3;
        assert_eq!(parts[..third], parts[third..2 * third]);
    }
}

#[test]
fn a_csv() {
    let text = "id,name,joined,amount\n17,Ingrid Bergstrom,2021-06-30,99.95\n18,\"Lee, Bruce\",2022-01-02,120\n";
    for release in released(text, CODE) {
        let columns = |line: &str| line.matches(',').count();
        let (lines, original) = (release.text.lines(), text.lines());
        assert_eq!(
            lines.map(columns).collect::<Vec<_>>(),
            original.map(columns).collect::<Vec<_>>()
        );
    }
}
