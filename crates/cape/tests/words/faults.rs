//! Faults of a mechanism on words, for checks that must find them. Nothing of this is in the product.

use cape::law::Law;
use cape::levels::Key;
use cape::lexicon::{Listed, fold};
use cape::mechanism::cape::{Drawn, Plan};
use cape::{Cape, Kind, Level, Shape, sanitizer};

use super::joint::{self, Row};

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A word that is not on the list is drawn in two pieces.
    Pieces,
    /// The capital of the true word is written.
    CaseOfTheWord,
    /// How many words share the largest weight depends on the true one.
    WidthByWord,
    /// A word after a protected one is protected.
    LevelOfNeighbour,
    /// "round table" is protected as a phrase.
    LevelOfPhrase,
    /// Ordinary words are drawn first, and the others see what they became.
    OrderByLevels,
    /// Ordinary words are drawn anew wherever they stand.
    RepetitionOfProtected,
    /// A word in another case is the same draw.
    CaseFreeKey,
    /// The first place of a word gives its level to all others.
    ForcedLevel,
    /// Names become names, and other words other words.
    ListByClass,
    /// Symbols at the end of a word are sent as they are.
    OpenCharacters,
    /// A protected word that is of the rest stays itself as often as one that is not.
    OwnOfTheRest,
}

pub(crate) const ALL: [Fault; 12] = [
    Fault::Pieces,
    Fault::CaseOfTheWord,
    Fault::WidthByWord,
    Fault::LevelOfNeighbour,
    Fault::LevelOfPhrase,
    Fault::OrderByLevels,
    Fault::RepetitionOfProtected,
    Fault::CaseFreeKey,
    Fault::ForcedLevel,
    Fault::ListByClass,
    Fault::OpenCharacters,
    Fault::OwnOfTheRest,
];

/// Gives the places of a plan the keys that the fault gives them.
pub(crate) fn replan(fault: Fault, cape: &Cape, text: &str, plan: &mut Plan) {
    let words: Vec<&str> = plan.places.iter().map(|place| place.unit.of(text)).collect();
    let true_levels: Vec<Level> = plan.places.iter().map(|place| place.level).collect();
    let own: Vec<Option<Key>> =
        plan.places.iter().map(|place| place.key.map(|key| plan.keys[key].clone())).collect();
    let is = |i: usize, word: &str| fold(words[i]) == word;
    let in_phrase = |i: usize| {
        (is(i, "table") && i > 0 && is(i - 1, "round"))
            || (is(i, "round") && i + 1 < words.len() && is(i + 1, "table"))
    };
    let first_of = |i: usize| {
        let same =
            |key: &Key| key.form.to_lowercase() == own[i].as_ref().unwrap().form.to_lowercase();
        own.iter().position(|key| key.as_ref().is_some_and(same)).unwrap()
    };
    let mut keys: Vec<Key> = Vec::new();
    for i in 0..words.len() {
        let Some(mut key) = own[i].clone().filter(|key| key.kind == Kind::Word) else {
            if let Some(key) = &own[i] {
                plan.places[i].key = Some(number(&mut keys, key.clone()));
            }
            continue;
        };
        match fault {
            Fault::LevelOfNeighbour if i > 0 && true_levels[i - 1] == Level::Protected => {
                key.level = Level::Protected;
            }
            Fault::LevelOfPhrase if in_phrase(i) => key.level = Level::Protected,
            Fault::CaseFreeKey => {
                let first = own[first_of(i)].as_ref().unwrap();
                (key.level, key.form) = (first.level, first.form.clone());
            }
            Fault::ForcedLevel => key.level = own[first_of(i)].as_ref().unwrap().level,
            _ => {}
        }
        plan.places[i].level = key.level;
        let anew = fault == Fault::RepetitionOfProtected && key.level == Level::Ordinary;
        plan.places[i].key = Some(if anew {
            // the same word, and another draw
            key.form.push_str(&"\0".repeat(i));
            keys.push(key);
            keys.len() - 1
        } else {
            number(&mut keys, key)
        });
    }
    let _ = cape;
    plan.keys = keys;
}

fn number(keys: &mut Vec<Key>, key: Key) -> usize {
    keys.iter().position(|known| *known == key).unwrap_or_else(|| {
        keys.push(key);
        keys.len() - 1
    })
}

/// The distribution of a key, where these have become something already.
pub(crate) fn row(fault: Option<Fault>, cape: &Cape, key: &Key, seen: &[(&Key, &Drawn)]) -> Row {
    let mut key = key.clone();
    key.form.retain(|c| c != '\0');
    let row = joint::row(cape, &key);
    if key.kind != Kind::Word {
        return row;
    }
    match fault {
        Some(Fault::Pieces) if cape.own(&key).is_none() => {
            let pairs = row.iter().flat_map(|a| row.iter().map(move |b| (a, b)));
            let both = |drawn: [&Drawn; 2]| -> String {
                drawn.iter().map(|drawn| text(cape, drawn)).collect()
            };
            // the weights of the laws of these tests are products of 2^44; a part of them will do
            pairs
                .map(|(a, b)| (Drawn::Value(both([&a.0, &b.0])), (a.1 >> 22) * (b.1 >> 22)))
                .collect()
        }
        Some(Fault::WidthByWord) if key.level == Level::Protected => {
            let shape = Shape { k: 1 + key.form.len() % 3, alpha: None };
            let law = Law::new(row.len(), cape.settings().epsilon, shape).unwrap();
            (1..).zip(row).map(|(rank, (drawn, _))| (drawn, law.weight(rank))).collect()
        }
        Some(Fault::OrderByLevels) if key.level == Level::Protected => {
            let ordinary = seen.iter().find(|(key, _)| key.level == Level::Ordinary);
            let by = ordinary.map_or(0, |(_, drawn)| match drawn {
                Drawn::Word(word) => word.index() + 1,
                Drawn::Value(_) => 0,
            });
            let n = row.len();
            (0..n).map(|i| (row[(i + by) % n].0.clone(), row[i].1)).collect()
        }
        Some(Fault::OwnOfTheRest) if cape.own(&key).is_none() => {
            let own = |drawn: &Drawn| fold(&text(cape, drawn)) == fold(&key.form);
            let top = row[0].1;
            row.into_iter()
                .map(|(y, weight)| if own(&y) { (y, top) } else { (y, weight) })
                .collect()
        }
        Some(Fault::ListByClass) => {
            let is_name = |word: Listed| cape.lexicon().flags_of(word).is_name();
            let own = cape.own(&key).is_some_and(is_name);
            let fits = |drawn: &Drawn| matches!(drawn, Drawn::Word(word) if is_name(*word) == own);
            row.into_iter().filter(|(drawn, _)| fits(drawn)).collect()
        }
        _ => row,
    }
}

fn text(cape: &Cape, drawn: &Drawn) -> String {
    match drawn {
        Drawn::Word(word) => cape.lexicon().word(*word).to_owned(),
        Drawn::Value(value) => value.clone(),
    }
}

/// The release where the keys became this.
pub(crate) fn written(
    fault: Option<Fault>,
    cape: &Cape,
    text: &str,
    plan: &Plan,
    drawn: &[Drawn],
) -> String {
    let release = sanitizer::written(cape, text, plan, drawn, true);
    let symbols = |word: &str| -> String {
        let end = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        word[end.len()..].to_owned()
    };
    let capital = |word: &str, of: &str| -> String {
        let mut chars = word.chars();
        match chars.next() {
            Some(first) if of.starts_with(char::is_uppercase) => {
                first.to_uppercase().chain(chars).collect()
            }
            _ => word.to_owned(),
        }
    };
    let (mut out, mut at) = (String::new(), 0);
    for word in &release.words {
        let own = &text[word.start..word.end];
        out.push_str(&text[at..word.start]);
        match fault {
            Some(Fault::CaseOfTheWord) => out.push_str(&capital(&word.released, own)),
            Some(Fault::OpenCharacters) => {
                out.push_str(&word.released);
                out.push_str(&symbols(own));
            }
            _ => out.push_str(&word.released),
        }
        at = word.end;
    }
    out.push_str(&text[at..]);
    if !matches!(fault, Some(Fault::CaseOfTheWord | Fault::OpenCharacters)) {
        assert_eq!(out, release.text);
    }
    out
}
