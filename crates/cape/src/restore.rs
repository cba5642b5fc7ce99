//! From an answer to a release back to the user's own words: on this machine, and free of any ε, since
//! what was sent does not change.
//!
//! The service knows what was sent, and its answer is untrusted. A word is put back only where it stands by
//! itself: never inside of an address, a link, a path, code or HTML, where it could be carried away again. A
//! word that could stand for two things stays as it is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::kinds::Kind;
use crate::levels::Key;
use crate::lexicon::{Flags, Lexicon};
use crate::mechanism::cape::Cape;
use crate::text::Level;
use crate::units::{self, Unit};

mod restoring;

pub use restoring::Restoring;

/// Something that can be put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Names of persons.
    Persons,
    /// Phones, cards, accounts.
    Identifiers,
    /// Places, organisations, days and all other names. What an answer says of Manchester is not true
    /// of London.
    OtherNames,
    /// Numbers, amounts, dates and times. What an answer computes from one is not true of another.
    Values,
}

impl Wanted {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Persons, Self::Identifiers, Self::OtherNames, Self::Values];

    /// The words that are put back unless told otherwise.
    pub const DEFAULT: [Self; 2] = [Self::Persons, Self::Identifiers];

    /// The name in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Persons => "persons",
            Self::Identifiers => "identifiers",
            Self::OtherNames => "other-names",
            Self::Values => "values",
        }
    }
}

/// The words of one conversation that were sent, and the user's own for them.
#[derive(Clone, Default)]
pub struct Restorer {
    /// By the word that was sent; none where it could be two things.
    sent: Arc<HashMap<String, Option<Origin>>>,
}

/// The one thing that a word was sent for.
#[derive(Clone)]
struct Origin {
    key: Key,
    /// As the user wrote it first.
    original: String,
    /// Whether it is put back.
    wanted: bool,
}

impl std::fmt::Debug for Restorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Restorer({} words)", self.sent.len())
    }
}

impl Restorer {
    /// Learns from a text of the user and what was sent for it.
    pub fn learn(&mut self, cape: &Cape, text: &str, sent: &str, wanted: &[Wanted]) {
        // a release is cut as its text was; whatever is not was sent for something else
        let (Ok(plan), Ok(units)) = (cape.plan(text), units::cut(sent, cape.settings().cut)) else {
            return self.pass(sent);
        };
        let kind = |unit: &Unit| unit.kind;
        if !plan.places.iter().map(|place| place.unit.kind).eq(units.iter().map(kind)) {
            return self.pass(sent);
        }
        for (place, unit) in plan.places.iter().zip(units) {
            let (original, sent) = (place.unit.of(text), unit.of(sent));
            let Some(key) = place.key.map(|key| plan.keys[key].clone()) else {
                self.pass(sent);
                continue;
            };
            let wanted = place.level == Level::Protected
                && original != sent
                && is_wanted(cape.lexicon(), unit.kind, original, sent, wanted);
            let original = original.to_owned();
            match Arc::make_mut(&mut self.sent).entry(sent.to_owned()) {
                Entry::Vacant(entry) => {
                    entry.insert(Some(Origin { key, original, wanted }));
                }
                Entry::Occupied(mut entry) => match entry.get_mut() {
                    Some(known) if known.key != key => *entry.get_mut() = None,
                    // somebody else said it before the user did
                    Some(known) if wanted && !known.wanted => {
                        (known.original, known.wanted) = (original, true);
                    }
                    _ => {}
                },
            }
        }
    }

    /// Excludes the words of a text that the service saw as it is.
    pub fn pass(&mut self, text: &str) {
        let sent = Arc::make_mut(&mut self.sent);
        for word in words(text) {
            sent.insert(word.to_owned(), None);
        }
    }

    /// Excludes the words of a text that the service saw beside all that was learned: no more is learned
    /// after it.
    pub fn pass_beside(&mut self, text: &str) {
        let sent = Arc::make_mut(&mut self.sent);
        for word in words(text) {
            if let Some(origin) = sent.get_mut(word) {
                *origin = None;
            }
        }
    }

    /// Excludes the words of an answer that were not sent before it: the service found them by itself.
    pub fn answered(&mut self, answer: &str) {
        let sent = Arc::make_mut(&mut self.sent);
        for word in words(answer) {
            sent.entry(word.to_owned()).or_insert(None);
        }
    }

    /// Whether there is nothing to put back.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.sent.values().flatten().any(|origin| origin.wanted)
    }

    /// An answer with the user's words, and how many were put back.
    #[must_use]
    pub fn restore(&self, answer: &str) -> (String, usize) {
        let mut restoring = self.begin();
        let mut text = restoring.push(answer);
        text += &restoring.finish();
        (text, restoring.count())
    }

    /// For an answer that comes in parts.
    #[must_use]
    pub fn begin(&self) -> Restoring {
        Restoring::new(self.clone())
    }

    /// The user's own word for one that was sent.
    fn original(&self, sent: &str) -> Option<&str> {
        let origin = self.sent.get(sent)?.as_ref()?;
        origin.wanted.then_some(origin.original.as_str())
    }
}

/// Whatever a reader could take for a word of a text: too many rather than too few.
fn words(text: &str) -> impl Iterator<Item = &str> {
    fn is_mark(c: char) -> bool {
        !c.is_alphanumeric()
    }
    text.split_whitespace().flat_map(|chunk| {
        let whole = chunk.trim_matches(is_mark);
        let owned = restoring::without_possessive(whole);
        let joined = chunk.split(|c: char| is_mark(c) && !"-'’.".contains(c));
        let joined = joined.map(|part| part.trim_matches(is_mark));
        let parts = chunk.split(is_mark);
        [whole, owned].into_iter().chain(joined).chain(parts).filter(|word| !word.is_empty())
    })
}

/// Whether what was sent for a word is put back.
fn is_wanted(lexicon: &Lexicon, kind: Kind, original: &str, sent: &str, wanted: &[Wanted]) -> bool {
    match kind {
        Kind::Word => {
            // a common word in an answer need not be the one that was sent
            let is_name = |flags: Flags| flags.is_name() && !flags.is_common();
            let Some(sent) = lexicon.flags(sent).filter(|&flags| is_name(flags)) else {
                return false;
            };
            let flags = lexicon.flags(&lexicon.canonical(original));
            if flags.and_then(Flags::class).is_some() {
                return false;
            }
            // a string that nobody knows is taken for a name if it has a capital
            let capital = original.chars().next().is_some_and(char::is_uppercase);
            let person = sent.is_person() && flags.map_or(capital, Flags::is_person);
            if person {
                wanted.contains(&Wanted::Persons)
            } else {
                capital && wanted.contains(&Wanted::OtherNames)
            }
        }
        kind if kind.is_near() => wanted.contains(&Wanted::Values),
        Kind::Identifier => wanted.contains(&Wanted::Identifiers),
        // an address is longer than its word, and is looked up or followed
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::cape::Settings;

    const ALL: &[Wanted] = &Wanted::ALL;

    fn cape() -> Cape {
        Cape::new(Lexicon::embedded(), Settings::default()).unwrap()
    }

    /// Of a text in which these words became those.
    fn restorer(text: &str, pairs: &[(&str, &str)], wanted: &[Wanted]) -> Restorer {
        let mut restorer = Restorer::default();
        restorer.learn(&cape(), text, &sent(text, pairs), wanted);
        restorer
    }

    fn sent(text: &str, pairs: &[(&str, &str)]) -> String {
        // in one go: a word may become another that is replaced
        let units = units::cut(text, units::Options::default()).unwrap();
        let (mut out, mut at) = (String::new(), 0);
        for unit in units {
            let own = unit.of(text);
            let pair = pairs.iter().find(|(from, _)| *from == own);
            out += &text[at..unit.start];
            out += pair.map_or(own, |(_, to)| to);
            at = unit.end;
        }
        out + &text[at..]
    }

    fn restored(restorer: &Restorer, answer: &str) -> String {
        restorer.restore(answer).0
    }

    #[test]
    fn names_come_back() {
        let text = "Write to Krzysztof about Alice in London, phone 020 7946 0018.";
        let pairs = [
            ("Krzysztof", "Martin"),
            ("Alice", "Emma"),
            ("London", "Manchester"),
            ("020 7946 0018", "999912345678903"),
        ];
        let named = restorer(text, &pairs, &Wanted::DEFAULT);
        for (answer, expected) in [
            ("Dear Martin,\nEmma's doctor", "Dear Krzysztof,\nAlice's doctor"),
            ("“Emma”, (hm) *Martin*!", "“Alice”, (hm) *Krzysztof*!"),
            ("Call 999912345678903.", "Call 020 7946 0018."),
            // facts about one city are not facts about another
            ("Manchester has two clubs", "Manchester has two clubs"),
            ("EMMA emma Emmas Emma-Jane", "EMMA emma Emmas Emma-Jane"),
        ] {
            assert_eq!(restored(&named, answer), expected);
        }
        let all = restorer(text, &pairs, ALL);
        assert_eq!(restored(&all, "Go to Manchester."), "Go to London.");
        assert_eq!(all.restore("Emma and Emma").1, 2);
    }

    #[test]
    fn what_could_be_two_things_stays() {
        let two = restorer("Alice met Bianca", &[("Alice", "Emma"), ("Bianca", "Emma")], ALL);
        assert_eq!(restored(&two, "Emma"), "Emma");
        // a common word of an answer is not the far word that was drawn
        let far = restorer("Tell Alice", &[("Alice", "table")], ALL);
        assert_eq!(restored(&far, "the table"), "the table");
        // and so is a name that the user wrote as well
        let both = restorer("Alice met Emma", &[("Alice", "Emma")], ALL);
        assert_eq!(restored(&both, "Emma"), "Emma");
        // an illness never comes back
        let ill = restorer("I have asthma", &[("asthma", "Lupus")], ALL);
        assert_eq!(restored(&ill, "Lupus"), "Lupus");
        let mut passed = restorer("Tell Alice", &[("Alice", "Emma")], ALL);
        passed.pass("A page about Emma.");
        assert_eq!(restored(&passed, "Emma"), "Emma");
    }

    /// A word that was somebody else's before it was sent is nobody's substitute.
    #[test]
    fn the_order_of_what_was_said_counts() {
        let pairs = [("Alice", "Emma")];
        let learn = |restorer: &mut Restorer, wanted: &[Wanted]| {
            restorer.learn(&cape(), "Tell Alice", &sent("Tell Alice", &pairs), wanted);
        };
        for marks in ["Emma", "Emma's", "(Emma)", "Emma/Lucas", "a.b/Emma", "Mr.Emma", "`Emma`"] {
            let mut before = Restorer::default();
            before.answered(marks);
            learn(&mut before, ALL);
            assert_eq!(restored(&before, "Emma"), "Emma", "{marks}");
            let mut after = Restorer::default();
            learn(&mut after, ALL);
            after.answered(marks);
            assert_eq!(restored(&after, "Emma"), "Alice", "{marks}");
            let mut beside = after.clone();
            beside.pass_beside(marks);
            assert_eq!(restored(&beside, "Emma"), "Emma", "{marks}");
            after.pass(marks);
            assert_eq!(restored(&after, "Emma"), "Emma", "{marks}");
        }
        // what somebody else said is not put back until the user says it
        let mut other = Restorer::default();
        learn(&mut other, &[]);
        assert!(other.is_empty());
        assert_eq!(restored(&other, "Emma"), "Emma");
        learn(&mut other, ALL);
        assert_eq!(restored(&other, "Emma"), "Alice");
        // and what is sent for another word of somebody else is two things
        other.learn(&cape(), "Tell Bianca", "Tell Emma", &[]);
        assert_eq!(restored(&other, "Emma"), "Emma");
        assert!(other.is_empty());
    }

    /// Releases as they are drawn, read again: each word that is put back is the user's own.
    #[test]
    fn a_release_is_read_by_its_text_alone() {
        let text = "Dr. O'Brien (Alice) told me on 15 March 2024, 10:30: “Marta's card is \
                    4454 7945 1139 0933; call 020 7946 0018 or write a@b.example.” 1. An e-mail.";
        let cape = cape();
        let sanitizer = crate::Sanitizer::words(cape);
        let cape = sanitizer.cape().unwrap();
        for number in 0..30 {
            let secret = crate::Secret::seeded(number, 1);
            let release = sanitizer.release(text, &secret).unwrap();
            let mut restorer = Restorer::default();
            restorer.learn(cape, text, &release.text, ALL);
            for word in &release.words {
                let known = restorer.sent.get(&word.released);
                assert!(known.is_some(), "every word is known");
                if let Some(original) = restorer.original(&word.released) {
                    assert_eq!(original, &text[word.start..word.end]);
                }
            }
            assert!(!restorer.is_empty());
        }
    }
}
