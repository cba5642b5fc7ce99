use proptest::prelude::*;

use super::*;
use crate::kinds::{grid_len, grid_text, uniform};
use crate::lexicon::{Lexicon, Listed};
use crate::rng::{Generator, seeded};
use crate::sample::below;

const PROSE: Options = Options { code: false, json: false };
const CODE: Options = Options { code: true, json: false };
const JSON: Options = Options { code: false, json: true };

/// The units of a text, each as `kind:text` where it is no word, with bars between.
fn show(text: &str, options: Options) -> String {
    let units = cut(text, options).unwrap();
    let show = |unit: &Unit| match (&text[unit.start..unit.end], unit.kind) {
        (text, Kind::Word) => text.to_owned(),
        (text, kind) => format!("{}:{text}", kind.as_str()),
    };
    units.iter().map(show).collect::<Vec<_>>().join("|")
}

fn check(options: Options, table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(show(text, options), *expected, "{text}");
    }
}

#[test]
fn every_character_off_the_list_is_in_a_unit() {
    check(
        PROSE,
        &[
            ("O+", "O+"),
            ("She is O+, he is O-.", "She|is|O+|he|is|O-"),
            ("☪", "☪"),
            ("a ☪ b", "a|☪|b"),
            ("hi😀", "hi😀"),
            ("👩\u{200d}👩\u{200d}👧 🇩🇪", "👩\u{200d}👩\u{200d}👧|🇩🇪"),
            ("a\u{200b}b \u{200b} e\u{301}", "a\u{200b}b|\u{200b}|e\u{301}"),
            ("我住在伦敦。 ok", "我住在伦敦。|ok"),
            ("C++ and C#", "C++|and|C"),
            ("2 + 2 = 4", "number:2|number:2|number:4"),
            ("a\u{a0}b\u{2003}c", "a|b|c"),
            ("„Ja“ «oui» ‘no’ – — … •x", "Ja|oui|no|x"),
            ("×½±", "×½±"),
            ("C:\\Users\\alice", "C|Users|alice"),
            ("100%", "number:100"),
            ("%20", "number:20"),
            ("# *bold* `code` <b> | a=b ~ ^", "bold|code|b|a|b"),
            ("snake_case and/or", "snake|case|and|or"),
            ("$HOME ${x} $ a$b $5", "HOME|x|a$b|amount:$5"),
            ("", ""),
            (" \n\t", ""),
        ],
    );
}

#[test]
fn connectors_join_inside_a_word() {
    check(
        PROSE,
        &[
            ("O'Brien", "O'Brien"),
            ("O’Brien", "O’Brien"),
            ("well-known", "well-known"),
            ("the U.S. and e.g. that", "the|U.S|and|e.g|that"),
            ("rock'n'roll", "rock'n'roll"),
            ("'quoted' “it” 'tis", "quoted|it|tis"),
            ("end. Start", "end|Start"),
            ("wait...what", "wait|what"),
            ("o.total, self.name.", "o|total|self|name"),
            ("x.y A.I. J.R.R.Tolkien a.m.", "x.y|A|I|J.R.R|Tolkien|a.m"),
            ("v1.2 p.12 12.March.2024", "v1.2|p.12|identifier:12.March.2024"),
            ("customer.first_name o.well-known", "customer|first|name|o|well-known"),
            ("COVID-19 B12 H1N1", "COVID-19|B12|H1N1"),
            ("5-year-old 9-to-5", "number:5|year-old|9-to-5"),
            ("$5-a-day 1-2-3-day", "amount:$5|a-day|identifier:1-2-3-day"),
            ("1,200-euro 5-14-day", "number:1,200|euro|number:5|number:14|day"),
            ("well--known", "well|known"),
            ("I'm don't", "I'm|don't"),
            ("pre- and post-war", "pre-|and|post-war"),
            ("--flag -x", "flag|x"),
        ],
    );
}

#[test]
fn a_final_s_is_a_separator() {
    check(
        PROSE,
        &[
            ("Alice's cat", "Alice|cat"),
            ("ALICE'S CAT", "ALICE|CAT"),
            ("Alice’s.", "Alice"),
            ("the U.S.'s", "the|U.S"),
            ("1990's", "number:1990"),
            ("Alice's-book", "Alice's-book"),
            ("x's's", "x's"),
            ("James' 's", "James"),
            ("do n't 'll it’s 've 'S", "do|it|S"),
            ("xn't 'sa 't.", "xn't|sa|t"),
            ("it'sa", "it'sa"),
            ("https://x.org/a's", "url:https://x.org/a"),
            ("bob@x.org's", "email:bob@x.org"),
            ("Alice's_x", "Alice|x"),
        ],
    );
}

#[test]
fn numbers_amounts_dates_and_times() {
    check(
        PROSE,
        &[
            ("2-3 tablets", "number:2|number:3|tablets"),
            ("1990-1995", "number:1990|number:1995"),
            ("3.14, 1,200 and 1,234,567.5", "number:3.14|number:1,200|and|number:1,234,567.5"),
            ("12,345,678", "number:12,345,678"),
            ("-5 or (-3) or +4", "number:-5|or|number:-3|or|number:+4"),
            ("12 15, 3 5 7, 915 99 645", "number:12|number:15|number:3 5 7|identifier:915 99 645"),
            ("take 2-3 500 mg", "take|number:2|number:3|number:500|mg"),
            ("1/2 24/7", "number:1|number:2|number:24|number:7"),
            ("1:2, 4-4-2, 3.11.4", "number:1:2|number:4-4-2|number:3.11.4"),
            ("52.5200066", "number:52.5200066"),
            ("1e5 1.5e-3", "number:1e5|number:1.5e-3"),
            ("$1,200.50", "amount:$1,200.50"),
            ("€15, 15€ or £3m", "amount:€15|amount:15€|or|amount:£3m"),
            ("15 € and £ 3", "amount:15 €|and|amount:£ 3"),
            ("US$40, -$5 $5-$6", "amount:US$40|amount:-$5|amount:$5|amount:$6"),
            ("2024-03-15", "date:2024-03-15"),
            ("15/03/2024, 3/15/24", "date:15/03/2024|date:3/15/24"),
            ("15.03.2024.", "date:15.03.2024"),
            ("2024-03-15T14:30:00Z", "date:2024-03-15T14:30:00Z"),
            ("2024-03-15T14:30:00.123+01:00!", "date:2024-03-15T14:30:00.123+01:00"),
            ("2024-03-15 14:30", "date:2024-03-15|time:14:30"),
            ("2023-02-29", "identifier:2023-02-29"),
            ("3:30pm", "time:3:30pm"),
            ("14:30:00", "time:14:30:00"),
            ("9am-5PM", "time:9am|time:5PM"),
            ("14:30-15:00", "time:14:30|time:15:00"),
            ("25:00", "number:25:00"),
        ],
    );
}

#[test]
fn days_months_and_weekdays() {
    check(
        PROSE,
        &[
            ("on 3 May 2020,", "on|day:3 May|number:2020"),
            ("June 12, 2025", "day:June 12|number:2025"),
            ("the 3rd of May and June 12th", "the|day:3rd of May|and|day:June 12th"),
            ("since May 2014. May 2014", "since|month-of-year:May 2014|month-of-year:May 2014"),
            ("Jan. 12, 5 sept, Sept 5", "day:Jan. 12|day:5 sept|day:Sept 5"),
            ("APR 5, DEC 10, 7 JULY", "APR|number:5|DEC|number:10|day:7 JULY"),
            ("in July, in June", "in|month:July|in|June"),
            ("Monday-Friday, SUNDAY's", "weekday:Monday|weekday:Friday|weekday:SUNDAY"),
            ("Mondays mid-July July's", "Mondays|mid-July|month:July"),
            ("12 may be enough, 7 march on", "number:12|may|be|enough|number:7|march|on"),
            ("May 12: May I?", "day:May 12|May|I"),
            ("My daughter April, 3, and Jan", "My|daughter|April|number:3|and|Jan"),
            ("Since 2019 April, June 41", "Since|number:2019|April|June|number:41"),
            (
                "Call June 555 0123, 07700 900123",
                "Call|June|identifier:555 0123|identifier:07700 900123",
            ),
            ("9-12 June, 9/12 June", "number:9|day:12 June|number:9|day:12 June"),
            ("July 12 June 13", "month:July|day:12 June|number:13"),
            (
                "2024 July, July 120, July $5",
                "number:2024|July|July|number:120|month:July|amount:$5",
            ),
            ("June 12-14, 5:June 12", "June|number:12|number:14|number:5|June|number:12"),
            ("12 July-October, -12 June", "number:12|July-October|day:-12 June"),
            ("5 pm, 9.30 a.m. 12:15 PM", "time:5 pm|time:9.30 a.m|time:12:15 PM"),
            (
                "5.30pm, 17 pm, I am 5, 5-7 pm",
                "time:5.30pm|time:17 pm|I|am|number:5|number:5|time:7 pm",
            ),
        ],
    );
}

#[test]
fn addresses_identifiers_and_secrets() {
    check(
        PROSE,
        &[
            ("a@b.co.uk,", "email:a@b.co.uk"),
            ("<john_o'doe-x+y@mail.example.org>", "email:john_o'doe-x+y@mail.example.org"),
            ("@alice me@ @", "alice|me"),
            ("https://x.org/a?b=c.", "url:https://x.org/a?b=c"),
            ("[it](https://x.org/a/)", "it|url:https://x.org/a"),
            ("see www.x.org!", "see|url:www.x.org"),
            ("10.0.0.1 and 10.0.0.1:8080", "ip:10.0.0.1|and|ip:10.0.0.1:8080"),
            ("2001:db8::1, fe80::1/64", "ip:2001:db8::1|ip:fe80::1|number:64"),
            ("00:1A:2B:3C:4D:5E", "identifier:00:1A:2B:3C:4D:5E"),
            ("256.0.0.1", "number:256.0.0.1"),
            (
                "6e40:4041:c617:e898:c11:40d2:c669:2eb4.",
                "ip:6e40:4041:c617:e898:c11:40d2:c669:2eb4",
            ),
            ("std::vec abc1::size", "std|vec|abc1|size"),
            ("2001:db8::/32", "ip:2001:db8|number:32"),
            ("4454 7945 1139 0933", "identifier:4454 7945 1139 0933"),
            ("4454794511390933?", "identifier:4454794511390933"),
            ("+49 30 1234567", "identifier:+49 30 1234567"),
            ("(555) 123-4567", "identifier:(555) 123-4567"),
            ("555-1234 or 555.123.4567", "identifier:555-1234|or|identifier:555.123.4567"),
            ("123-45-6789", "identifier:123-45-6789"),
            ("DE89 3704 0044 0532 0130 00", "identifier:DE89 3704 0044 0532 0130 00"),
            ("GB82 WEST 1234 5698 7654 32 x", "identifier:GB82 WEST 1234 5698 7654 32|x"),
            ("order-2024-0012", "identifier:order-2024-0012"),
            ("sk-abcdefgh12345678ijkl", "secret:sk-abcdefgh12345678ijkl"),
            (
                "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
                "secret:ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            ),
            ("key=AKIAIOSFODNN7EXAMPLE;", "key|secret:AKIAIOSFODNN7EXAMPLE"),
            ("sk-learn", "sk-learn"),
        ],
    );
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAb+/=\n-----END RSA PRIVATE KEY-----";
    assert_eq!(show(&format!("key:\n{key}\nx"), PROSE), format!("key|secret:{key}|x"));
}

#[test]
fn numbers_of_lists_are_structure() {
    check(
        PROSE,
        &[
            ("1. one\n2. two\n 3) three", "one|two|three"),
            ("1. one\n3. three\n2. two", "one|number:3.|three|two"),
            ("7. seven", "number:7.|seven"),
            ("7. 20 mg", "number:7. 20|mg"),
            ("I am\n42.\nYes", "I|am|number:42.|Yes"),
            ("1.5. x", "number:1.5.|x"),
            ("01. x", "number:01.|x"),
            ("at 1. x", "at|number:1|x"),
            ("1.x", "1.x"),
            ("1. a\n2. b\n\n1. c\n2. d", "a|b|c|d"),
            ("(1) a", "number:1|a"),
            ("1.", ""),
        ],
    );
}

#[test]
fn code_and_json() {
    check(
        CODE,
        &[
            (r"print('\nalice\t')", "print|alice"),
            (r"'Jos\u00e9' '\x41b'", r"Jos\u00e9|\x41b"),
            (r"\\alice \☪ \5", r"alice|\☪|\5"),
            ("f(1,200)", "f|number:1|number:200"),
            (r"\$5 \+3", "number:5|number:3"),
        ],
    );
    check(
        JSON,
        &[
            (r#"{"a":true,"b":[null,1,2],"c":"true, x"}"#, "a|b|number:1|number:2|c|true|x"),
            (
                r#"{"a":-5,"b":1e5,"c":12345678901}"#,
                "a|number:-5|b|number:1e5|c|identifier:12345678901",
            ),
            (r#"["O-","\"true"]"#, "O-|true"),
        ],
    );
    check(PROSE, &[("true, null", "true|null")]);
}

#[test]
fn lines_that_go_on_have_no_capital() {
    let capitals = |text: &str| {
        let units = cut(text, PROSE).unwrap();
        units
            .iter()
            .filter(|unit| unit.capital)
            .map(|unit| unit.of(text))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let long = "one two three four five six seven eight";
    for (text, expected) in [
        (format!("{long}\nnine ten\neleven"), "one eleven"),
        (format!("{long} \r\n  nine"), "one"),
        (format!("{long}.\nNine"), "one Nine"),
        (format!("{long}\n\nNine"), "one Nine"),
        (format!("{long}\n- nine"), "one nine"),
        ("one two\nthree".to_owned(), "one three"),
    ] {
        assert_eq!(capitals(&text), expected, "{text:?}");
    }
}

#[test]
fn first_places() {
    let firsts = |text: &str| {
        let units = cut(text, PROSE).unwrap();
        let words = units.iter().filter(|unit| unit.first).map(|unit| &text[unit.start..unit.end]);
        words.collect::<Vec<_>>().join(" ")
    };
    for (text, expected) in [
        ("\"One two. Three\" four", "One Three"),
        ("a\nb c\r\nd", "a b d"),
        ("(Yes.) No! \"Why?\" so", "Yes No Why so"),
        ("Mr. Brown", "Mr Brown"),
        ("1. one 2. two", "one two"),
        ("ab.cd c .d", "ab"),
        ("**End.** Next", "End Next"),
        ("wait... what, no; x: y", "wait what"),
        ("say \"Yes\" or “No”, (Maybe) **Bold** x:'Y' a\"b c(d", "say Yes No Maybe Bold Y"),
    ] {
        assert_eq!(firsts(text), expected, "{text}");
    }
}

#[test]
fn control_characters_are_refused() {
    for (text, offset) in [("a\0", 1), ("\u{7}", 0), ("é\u{85}", 2), ("\u{1b}[0m", 0)] {
        let error = cut(text, PROSE).unwrap_err();
        assert!(matches!(error, crate::Error::ControlCharacter { offset: at, .. } if at == offset));
    }
}

#[test]
fn debug_shows_no_text() {
    assert_eq!(
        format!("{:?}", cut("x canary", PROSE).unwrap()),
        "[Unit(0..1 word first), Unit(2..8 word)]"
    );
}

/// Plain words, the short and the strange among them.
const WORDS: &str = "a A I cat O'Brien o'clock well-known naïve London bee decade don't un face bn may march mid-June";

/// A plain word: a strange one as often as any of the list.
fn plain_word(options: Options, rng: &mut Generator) -> String {
    let lexicon = Lexicon::embedded();
    let i = below(lexicon.len() as u64, rng) as u32;
    match lexicon.word(Listed(i)) {
        "true" | "false" | "null" if options.json => "bee".to_owned(),
        // after a number it makes a time
        "am" => "bee".to_owned(),
        word if below(2, rng) == 0 => word.to_owned(),
        _ => {
            let words: Vec<&str> = WORDS.split(' ').collect();
            words[below(words.len() as u64, rng) as usize].to_owned()
        }
    }
}

/// A text with each unit replaced by something of its kind.
fn release(
    text: &str,
    units: &[Unit],
    options: Options,
    rng: &mut Generator,
) -> (String, Vec<Unit>) {
    let (mut out, mut expected, mut at) = (String::new(), Vec::new(), 0);
    for unit in units {
        out.push_str(&text[at..unit.start]);
        let start = out.len();
        out.push_str(&match unit.kind {
            Kind::Word => plain_word(options, rng),
            kind if !kind.is_near() => uniform(kind, rng),
            kind => {
                let n = grid_len(kind) as u64;
                // small ones as often as all: they are what lists and times are made of
                let n = if below(2, rng) == 0 { n } else { 61.min(n) };
                grid_text(kind, below(n, rng) as usize)
            }
        });
        expected.push(Unit { start, end: out.len(), ..*unit });
        at = unit.end;
    }
    out.push_str(&text[at..]);
    (out, expected)
}

fn nasty() -> impl Strategy<Value = String> {
    let marks = prop::sample::select(vec![
        " ", " ", " ", "\n", ".", ".", ",", "-", "-", "'", "’", ":", "/", "@", "_", "+", "$", "€",
        "(", ")", "\"", "\\", "%", "://", "::", "=", "\u{a0}", "\u{200b}", "\u{301}", "😀", "我",
        "−", "!", "?", "*", "–", "[", "]", "{", "}", "#", "&", "`", "|", "<", ">", "…", "\t",
        "\r\n", ". ", ") ",
    ]);
    let keys = ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"];
    let words = "a s S 's Alice b12 I x pm am e T Z DE89 www. http https://x.org/a bob@x.org \
        sk-example0abcdefgh12345678 ghp_ true null u n fe80 db8 2001:db8::1 \
        00:1A:2B:3C:4D:5E 2024-03-15T14:30:00Z H1N1 k US x12345678y 1e5 É d\u{30a} \
        o.total U.S a.I i.e v1.2 AM p.m July June May may March Jan Jan. 12th of Monday sunday";
    let words: Vec<&str> = words.split(' ').chain(keys).collect();
    let words = prop::sample::select(words);
    let numbers = "1|2|3|15|03|2024|14:30|15/03/2024|15.03.2024|2024-03-15|1,200|3.14|\
        10.0.0.1|4454 7945|555-1234|+49 30 1234567|(555) 123-4567|$5|15€|3704 0044 0532 0130 00|12345678";
    let numbers = prop_oneof![
        "[0-9]{1,4}".boxed(),
        "[0-9]{5,9}".boxed(),
        prop::sample::select(numbers.split('|').collect::<Vec<_>>())
            .prop_map(str::to_owned)
            .boxed(),
    ];
    let piece = prop_oneof![
        4 => marks.prop_map(str::to_owned),
        1 => prop::sample::select(vec![" 12 July ", " July 5", "May 3 ", "3rd of May", " June 2014", "5 pm", " am "])
            .prop_map(str::to_owned),
        2 => words.prop_map(str::to_owned),
        3 => numbers,
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn options() -> impl Strategy<Value = Options> {
    prop::sample::select(vec![PROSE, PROSE, CODE, JSON])
}

/// The properties of a cut, and of the cut of a release.
fn check_release(
    text: &str,
    options: Options,
    seed: u64,
) -> std::result::Result<(), TestCaseError> {
    let units = cut(text, options).unwrap();
    let mut at = 0;
    for unit in &units {
        prop_assert!(unit.start < unit.end && (unit.start > at || at == 0), "separators");
        at = unit.end;
    }
    let mut rng = seeded(seed, 0);
    let mut now = (text.to_owned(), units);
    for _ in 0..3 {
        let (released, expected) = release(&now.0, &now.1, options, &mut rng);
        let units = cut(&released, options).unwrap();
        prop_assert_eq!(&units, &expected, "{:?} -> {:?}", now.0, released);
        now = (released, units);
    }
    Ok(())
}

/// Days beside numbers and marks.
const DAYS: [&str; 46] = [
    "7. July",
    "7. June 2014",
    "7- June 2014",
    "7- July",
    "July -5",
    "July 12- x",
    "July 12- August",
    "5- July 12",
    "5:July 12",
    "5-July 12",
    "$July 12",
    "x.July 12",
    "July 12-14",
    "July 12,5",
    "July 3.5-year",
    "July 12 July 2014",
    "June 2014 July 5",
    "2014 July 2014",
    "1 2 July 3 4",
    "Can 12 people",
    "1) may 9",
    "12 July-October",
    "42. July:2024",
    "42. July.x",
    "42. July July",
    "row 15 am",
    "1 2 12th July",
    "1 2 July 12",
    "1 2 -12 July",
    "2019 July 2014 July",
    "June 555 0123",
    "5 pm,6",
    "5 pm:30",
    "5-7 pm",
    "1/2/3/4 pm",
    "4454 7945 12 July",
    "5:12th July",
    "12th July 5",
    "July 12th July",
    "Jan. 12th July 7. 8 July",
    "Monday-5",
    "5-Monday-July",
    "5-mid-July",
    "5-July",
    "June 2014- June 2014",
    "June 2014- July",
];

/// Texts whose releases were once cut in another way.
#[test]
fn known_tangles() {
    let key = "-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----";
    let with_key = [format!("{key}+"), format!("x.{key}"), format!("x'{key}.'s")];
    let texts = [
        "0://-0",
        "fe80::$ ",
        "fe80::1,5",
        "x's.-0",
        "true.-0",
        "end.Start",
        "o.total",
        "x.5pm",
        "5pm.30",
        "x12345678y.5",
        "DE89DE89o.totalsk-example0abcdefgh12345678",
        "aaaaa-b123.5-year",
        "x.€ 3",
        "3 €.x",
        "9 €_a.€",
        "GB82 WEST 1234 5698 7654 32.x",
        "x.15.03.2024.y",
        "x.12:30.y",
        "$5.x.$6",
        "foo.U.S",
        "x.www.y",
        "Alice's.x",
        "12,15,18",
        "2-3",
        "1:2",
        "1/2/3",
        "1/2/3-4",
        "7. x",
        "-7. x",
        "7-. x",
        "12 34567 8",
        "2.5-1234 567",
        "x12345678y,5",
        "5$.x",
        "$x12345678y",
        "a-$b12345678",
        "$+5",
        "$fe80::1",
        "$US$5",
        "3 €,5",
        "15/03/2024:30",
        "15.03.2024-20.03.2024",
        "2024-03-15T14:30:00Z,5",
        "5pm:30",
        "10.0.0.1,5",
        "a@b",
        "a@b.c",
        "O-+ x",
        "O-://x",
        "x \\☪",
        "\\+5",
        "\\5",
        "\\ua",
        "(1) 2-3",
        "(555) 123 45",
        "-----x 's 's's",
    ];
    for text in texts.into_iter().chain(DAYS).chain(with_key.iter().map(String::as_str)) {
        for options in [PROSE, CODE, JSON] {
            for seed in 0..200 {
                check_release(text, options, seed).unwrap();
            }
        }
    }
}

/// Much of what could make a rule look at the rest of the text again and again.
#[test]
fn long_texts_take_no_longer_by_the_byte() {
    for piece in [
        "1 ",
        "1/",
        "1-",
        "1,",
        "a1:",
        "a.",
        "a'",
        "+1 ",
        "-----BEGIN PRIVATE KEY-----",
        "DE89 ",
        "(1) ",
        "7.\n",
        "x@",
        "$",
        "\\",
        "a_",
        " ",
        "www.",
        "-",
        "'s",
    ] {
        let text = piece.repeat((1 << 18) / piece.len());
        for options in [PROSE, CODE, JSON] {
            let start = std::time::Instant::now();
            let units = cut(&text, options).unwrap();
            assert!(start.elapsed().as_secs() < 20, "{piece:?}: {} units", units.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// The heart of it: what is cut stays cut so, whatever is drawn.
    #[test]
    fn a_release_is_cut_as_its_prompt_was(text in nasty(), options in options(), seed in 0..1000_u64) {
        check_release(&text, options, seed)?;
    }

    /// Few characters, all of which join something somewhere.
    #[test]
    fn a_tangle_is_cut_as_its_prompt_was(
        text in "[01279as'’.,:/_@ $+€()\\\\\n-]{0,16}",
        options in options(),
        seed in 0..1000_u64,
    ) {
        check_release(&text, options, seed)?;
    }

    #[test]
    fn any_text_is_cut(text in any::<String>(), options in options(), seed in 0..1000_u64) {
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        check_release(&text, options, seed)?;
    }

    /// No character off the list is left between units, but for the s of a final 's, clitics, numbers of
    /// lists, escapes and literals.
    #[test]
    fn separators_are_public(text in nasty()) {
        let mut at = 0;
        let units = cut(&text, PROSE).unwrap();
        for (start, end) in units.iter().map(|unit| (unit.start, unit.end)).chain([(text.len(), 0)]) {
            let gap = &text[at..start];
            let rest = gap.trim_start_matches(|c: char| c.is_ascii_punctuation() || c == '’');
            let suffix = gap[..gap.len() - rest.len()].ends_with(['\'', '’']);
            let gap = rest.strip_prefix(['s', 'S']).filter(|_| suffix).unwrap_or(rest);
            for line in gap.split(['\n', '\r']) {
                let words = line.split_whitespace().filter(|word| !is_clitic(word));
                let line = words.collect::<Vec<_>>().join(" ");
                let line = line.trim_start_matches(|c: char| c.is_ascii_digit());
                prop_assert!(!line.contains(char::is_alphanumeric), "{:?}", text);
                prop_assert!(!line.contains(['😀', '−', '€', '\u{200b}', '\u{301}']), "{:?}", text);
            }
            at = end;
        }
    }
}

fn is_clitic(word: &str) -> bool {
    let word = word.replace('’', "'");
    ["'s", "n't", "'re", "'ve", "'ll", "'d", "'m", "'t"].contains(&word.as_str())
}

/// How many cases, more by the usual variable.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4000)
}
