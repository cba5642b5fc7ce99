//! The promise about words, enumerated: for small lexicons, every release and its exact probability.
//!
//! Each check runs on the mechanism as it is, and must fail on the same mechanism with a planted fault.

use std::sync::Arc;

use crate::words::faults::{self, Fault};
use crate::words::joint::{Found, compare, joint, ln_ratio};
use crate::words::small::{TEMPLATES, fill, one_each, smalls, some_strings, strings};
use crate::words::{opposite_cape, opposites, settings};
use cape::levels::{Key, Levels};
use cape::lexicon::{Listed, fold};
use cape::mechanism::cape::{Drawn, Settings};
use cape::sanitizer::written;
use cape::{Cape, Kind, Level, Lexicon, Sanitizer, Secret, units};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Texts of equal structure are within the stated loss, whatever strings stand in their slots: on
    /// integers alone.
    #[test]
    fn any_two_strings_are_within_the_stated_loss(
        small in smalls(4..7), many in some_strings(9..14), few in some_strings(3..5),
        three in some_strings(2..4),
    ) {
        let cape = small.cape();
        let mut pairs = 0;
        for (template, slots) in TEMPLATES {
            let words = [&many, &few, &three][slots - 1];
            let found = compare(&cape, None, &one_each(&fill(template, slots, words)));
            prop_assert!(found.broken.is_none(), "{template}: {found:?}");
            pairs += found.pairs;
        }
        prop_assert!(pairs > 100);
    }

    /// Several texts that share a secret are one text, with one draw for each key of all of them.
    #[test]
    fn texts_that_share_a_secret_are_within_the_stated_loss(
        small in smalls(4..6), words in some_strings(3..5),
    ) {
        let cape = small.cape();
        let lines = [["{0} saw", "{0}, {1}"], ["{0}", "{1}. {0}"]];
        for [one, other] in lines {
            let (ones, others) = (fill(one, 2, &words), fill(other, 2, &words));
            let texts: Vec<Vec<&str>> =
                ones.iter().zip(&others).map(|(a, b)| vec![a.as_str(), b.as_str()]).collect();
            let found = compare(&cape, None, &texts);
            prop_assert!(found.broken.is_none(), "{found:?}");
            prop_assert!(found.pairs > 0);
        }
    }
}

/// Numbers against numbers, addresses against addresses.
#[test]
fn values_of_one_kind_are_within_the_stated_loss() {
    let cape = opposite_cape();
    for values in [
        &["7", "42", "3.5", "-12", "1,200,000", "1e5"][..],
        &["$12.50", "$9", "€1000"],
        &["2021-03-04", "31/12/1999"],
        &["14:30", "9:05", "3pm"],
        &["a@b.com", "carol.jones@example.org"],
        &["10.0.0.1", "192.168.1.77"],
        &["https://a.com/x", "www.example.org"],
        &["4111 1111 1111 1111", "555-123-4567", "AB12345678"],
        &["sk-abcdefgh12345678ijkl", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"],
    ] {
        let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
        let texts = fill("({0}) {0}", 1, &values);
        let found = compare(&cape, None, &one_each(&texts));
        assert!(found.broken.is_none(), "{found:?}");
        assert_eq!(found.pairs, values.len() * (values.len() - 1), "{values:?}");
        assert!(found.worst <= cape.guarantee().protected);
    }
}

/// The levels and keys of what is drawn in a text, in order.
fn keys_of(cape: &Cape, text: &str) -> Vec<Key> {
    let plan = cape.plan(text).unwrap();
    plan.places.iter().filter_map(|place| Some(plan.keys[place.key?].clone())).collect()
}

proptest! {
    /// The key of a word depends on no other word.
    #[test]
    fn levels_and_keys_look_at_no_other_word(
        small in smalls(4..9), words in prop::collection::vec(prop::sample::select(strings()), 4),
        others in prop::collection::vec(prop::sample::select(strings()), 4),
        (template, slots) in prop::sample::select(TEMPLATES.to_vec()), at in 0_usize..3,
    ) {
        let cape = small.cape();
        let at = at % slots;
        let filled = |with: &[String]| {
            (0..slots).fold(template.to_owned(), |text, slot| {
                let word = if slot == at { &words[at] } else { &with[slot] };
                text.replace(&format!("{{{slot}}}"), word)
            })
        };
        let (text, other) = (filled(&words), filled(&others));
        // the places of the slot, in the template cut with plain words
        let marked = (0..slots).fold(template.to_owned(), |text, slot| {
            text.replace(&format!("{{{slot}}}"), ["zero", "one", "two"][slot])
        });
        let plan = cape.plan(&marked).unwrap();
        let drawn = plan.places.iter().filter(|place| place.key.is_some());
        let places: Vec<usize> = drawn
            .enumerate()
            .filter(|(_, place)| place.unit.of(&marked) == ["zero", "one", "two"][at])
            .map(|(i, _)| i)
            .collect();
        let (keys, others) = (keys_of(&cape, &text), keys_of(&cape, &other));
        prop_assert_eq!(keys.len(), others.len());
        for place in places {
            prop_assert!(keys[place] == others[place]);
        }
    }

    /// A key that is not the string itself is protected in every case and place of that string; what it
    /// ranks first is a case form of it; and its order has every listed word once.
    #[test]
    fn keys_are_what_their_draws_see(
        small in smalls(4..12), word in prop::sample::select(strings()), first: bool,
    ) {
        let cape = small.cape();
        let Settings { profile, protect, ordinary, .. } = cape.settings();
        let levels = Levels::new(*profile, protect, ordinary);
        let key = |word: &str, first: bool| {
            let (level, _) = levels.word(cape.lexicon(), word, first);
            levels.key(cape.lexicon(), Kind::Word, word, level)
        };
        let own = key(&word, first);
        let forms = strings().into_iter().filter(|form| fold(form) == fold(&word));
        let all: Vec<(String, Key)> = forms
            .flat_map(|form| [false, true].map(|first| (form.clone(), key(&form, first))))
            .collect();
        for (form, one) in &all {
            if one.form != form.replace('’', "'") {
                prop_assert!(all.iter().all(|(_, key)| key.level == Level::Protected));
            }
        }
        prop_assert_eq!(fold(&own.form), fold(&word));
        if let Some(listed) = cape.own(&own) {
            prop_assert_eq!(fold(cape.lexicon().word(listed)), fold(&word));
            prop_assert_eq!(cape.order(&own)[0], listed);
        } else {
            // none of those that it ranks
            let ranked = cape.law(own.level).ranked();
            let forms = (0..ranked as u32).map(Listed);
            for listed in forms {
                prop_assert!(fold(cape.lexicon().word(listed)) != fold(&word));
            }
        }
        let mut order = cape.order(&own);
        order.sort_unstable();
        prop_assert!((0..).map(Listed).zip(&order).all(|(i, listed)| i == *listed));
        prop_assert_eq!(order.len(), cape.lexicon().len());
    }

    /// A release is cut as the text was.
    #[test]
    fn a_release_has_the_units_of_its_text(
        small in smalls(4..9), words in prop::collection::vec(prop::sample::select(strings()), 3),
        (template, slots) in prop::sample::select(TEMPLATES.to_vec()), seed: u64,
    ) {
        let cape = small.cape();
        let text = (0..slots).fold(template.to_owned(), |text, slot| {
            text.replace(&format!("{{{slot}}}"), &words[slot])
        });
        let cut = cape.settings().cut;
        let release = Sanitizer::words(cape).release(&text, &Secret::seeded(seed, 0)).unwrap();
        let shape = |text: &str| {
            let units = units::cut(text, cut).unwrap();
            let mut at = 0;
            let each = |unit: &units::Unit| {
                let before = text[at..unit.start].to_owned();
                at = unit.end;
                (before, unit.kind, unit.first)
            };
            units.iter().map(each).collect::<Vec<_>>()
        };
        prop_assert_eq!(shape(&text), shape(&release.text));
    }
}

/// Every listed word of the binary can stand in the place of any other: it is one unit of kind word, with
/// a capital or not, in prose, code and JSON, and keeps the words beside it apart.
#[test]
fn the_listed_words_are_cut_to_one_unit() {
    let lexicon = Lexicon::embedded();
    let cuts = [(false, false), (true, false), (false, true)]
        .map(|(code, json)| units::Options { code, json });
    for word in (0..lexicon.len() as u32).map(|i| lexicon.word(Listed(i))) {
        let mut chars = word.chars();
        let title: String = chars.next().unwrap().to_uppercase().chain(chars).collect();
        for (word, cut) in [word, &title].into_iter().flat_map(|word| cuts.map(|cut| (word, cut))) {
            // they are written in another case beside a number
            let seven = if ["am", "May", "March"].contains(&word) { "x" } else { "7" };
            let text = format!("\"{word}/{word}'s {word}, {seven} {word}\"");
            let units = units::cut(&text, cut).unwrap();
            let found: Vec<&str> = units.iter().map(|unit| unit.of(&text)).collect();
            assert_eq!(found, [word, word, word, seven, word], "{cut:?}");
            let words = units.iter().filter(|unit| unit.kind == Kind::Word).count();
            assert_eq!(words, if seven == "7" { 4 } else { 5 });
        }
    }
}

/// "may" at the beginning of a sentence makes no day with the number after it, and "am" no time with the one before it.
#[test]
fn a_common_word_makes_no_day_with_a_number() {
    let lexicon = Lexicon::embedded();
    let cape = Cape::new(Arc::clone(&lexicon), Settings::default()).unwrap();
    let kinds = |text: &str| {
        let units = units::cut(text, units::Options::default()).unwrap();
        units.iter().map(|unit| unit.kind).collect::<Vec<_>>()
    };
    for (text, word, written_so) in [
        ("Can 12 come?", "may", "may 12 may?"),
        ("1) Can 12", "march", "1) march 12"),
        ("Can, 12", "may", "May, 12"),
        ("Room 12 has", "am", "Am 12 Am"),
        ("I, he", "am", "Am, am"),
    ] {
        let plan = cape.plan(text).unwrap();
        let draw = |key: &Key| match key.kind {
            Kind::Word => Drawn::Word(lexicon.listed(word).unwrap()),
            _ => Drawn::Value("12".into()),
        };
        let drawn: Vec<Drawn> = plan.keys.iter().map(draw).collect();
        let release = written(&cape, text, &plan, &drawn, true).text;
        assert_eq!(release, written_so);
        assert_eq!(kinds(&release), kinds(text));
    }
}

/// The bounds are not empty: with opposite orders both are reached, ε_any between two ordinary words or
/// between the levels, whichever is larger.
#[test]
fn the_stated_losses_are_reached() {
    let words = ["the", "Alice", "table", "asthma", "London", "Will", "Krzysztof", "plain", "rash"];
    let texts: Vec<String> = words.map(|word| format!("Acme {word}, {word}")).to_vec();
    for (ordinary, between_levels) in [(5.0, false), (2.0, true)] {
        let cape = Cape::new(opposites(), settings(1.5, 2, None, ordinary)).unwrap();
        let found = compare(&cape, None, &one_each(&texts));
        let guarantee = cape.guarantee();
        let [protected, any] = [Level::Protected, Level::Ordinary].map(|level| cape.law(level));
        let levels = protected.loss(any);
        assert!(found.broken.is_none());
        assert!((found.worst_protected - protected.epsilon()).abs() < 1e-9);
        assert!((found.worst - levels.max(any.epsilon())).abs() < 1e-9, "{found:?}");
        assert_eq!(levels > any.epsilon() + 0.01, between_levels);
        assert!((guarantee.protected - found.worst_protected).abs() < 1e-6);
        assert!((guarantee.bound - found.worst).abs() < 1e-6);
    }
}

mod planted {
    use super::*;

    /// Texts in which each fault can show.
    fn texts() -> Vec<String> {
        let words = [
            "the", "Alice", "table", "asthma", "will", "London", "Will", "round", "xyzzy", "plain",
            "rash",
        ];
        let mut words: Vec<String> = words.map(str::to_owned).to_vec();
        words.extend(["O+".to_owned(), "Krzysztof".to_owned()]);
        let templates = [
            "Acme {0}",
            "{0}, {0}",
            "{0} table",
            "round {0}",
            "Will … {0}",
            "Acme {0} Will",
            "Acme {0} Alice",
        ];
        templates.iter().flat_map(|template| fill(template, 1, &words)).collect()
    }

    fn check(fault: Option<Fault>) -> Found {
        compare(&opposite_cape(), fault, &one_each(&texts()))
    }

    #[test]
    fn nothing_is_found_where_nothing_is_wrong() {
        let found = check(None);
        assert!(found.broken.is_none() && found.pairs > 300, "{found:?}");
    }

    #[test]
    fn every_fault_is_found() {
        for fault in faults::ALL {
            let found = check(Some(fault));
            println!("| {fault:?} | {:?} | {:.3} |", found.broken, found.worst);
            assert!(found.broken.is_some(), "{fault:?}");
        }
    }

    /// Some faults tell words apart with certainty.
    #[test]
    fn some_losses_have_no_bound() {
        for fault in [
            Fault::Pieces,
            Fault::CaseOfTheWord,
            Fault::RepetitionOfProtected,
            Fault::CaseFreeKey,
            Fault::ListByClass,
            Fault::OpenCharacters,
        ] {
            assert_eq!(check(Some(fault)).worst, f64::INFINITY, "{fault:?}");
        }
    }

    /// An ε that is larger than stated by a tenth.
    #[test]
    fn a_larger_epsilon_is_found() {
        let stated = opposite_cape().guarantee();
        let larger = Cape::new(opposites(), settings(1.65, 2, None, 5.5)).unwrap();
        let found = compare(&larger, None, &one_each(&texts()));
        assert!(found.worst > stated.bound && found.worst_protected > stated.protected);
    }
}

/// Releases come with the probabilities that are enumerated, and one secret gives one draw per key.
#[test]
fn draws_follow_the_enumerated_law() {
    let text = "Alice, the asthma. Alice";
    let law = joint(&opposite_cape(), None, &[text]);
    let sanitizer = Sanitizer::words(opposite_cape());
    let n = 60_000;
    let mut counts: std::collections::HashMap<String, u32> = std::collections::HashMap::new();
    for stream in 0..n {
        let release = sanitizer.release(text, &Secret::seeded(9, stream)).unwrap();
        *counts.entry(release.text + "\u{1}").or_default() += 1;
    }
    let (mut chi2, mut degrees, mut seen, mut rest) = (0.0, 0.0, 0, (0.0, 0.0));
    for (release, weight) in &law.weights {
        let expected = ln_ratio(weight, &law.total).exp() * f64::from(n as u32);
        let count = counts.get(release).copied().unwrap_or(0);
        seen += count;
        if expected < 5.0 {
            rest = (rest.0 + expected, rest.1 + f64::from(count));
            continue;
        }
        chi2 += (f64::from(count) - expected).powi(2) / expected;
        degrees += 1.0;
    }
    chi2 += (rest.1 - rest.0).powi(2) / rest.0.max(1.0);
    assert_eq!(u64::from(seen), n, "a release that cannot be");
    // six standard deviations of the chi-square
    assert!(chi2 < degrees + 6.0 * f64::sqrt(2.0 * degrees), "{chi2} for {degrees}");
}
