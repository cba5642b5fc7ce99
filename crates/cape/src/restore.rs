//! From an answer to a release back to the user's own words: on this machine, and free of any ε, since
//! what was sent does not change.
//!
//! The service knows what was sent, and its answer is untrusted. A word is put back only where it stands by
//! itself: never inside of an address, a link, a path or code, where it could be carried away again. A word
//! that could stand for two things stays as it is.

use std::collections::HashMap;

use crate::kinds::Kind;
use crate::lexicon::{Flags, Lexicon};
use crate::text::{Level, Release};

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
    /// The words that are put back unless told otherwise.
    pub const DEFAULT: [Self; 2] = [Self::Persons, Self::Identifiers];
}

/// Puts the user's own words back into answers.
#[derive(Clone, Default)]
pub struct Restorer {
    /// Originals by the released word; none where it could be two things.
    originals: HashMap<String, Option<String>>,
}

impl std::fmt::Debug for Restorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Restorer({} words)", self.originals.len())
    }
}

impl Restorer {
    /// Learns from a text and its release.
    pub fn learn(&mut self, lexicon: &Lexicon, text: &str, release: &Release, wanted: &[Wanted]) {
        for word in &release.words {
            let original = &text[word.start..word.end];
            let sent = word.released.as_str();
            let is_wanted = word.level == Level::Protected
                && original != sent
                && is_wanted(lexicon, word.kind, original, sent, wanted);
            // what is sent for something else, or as it is, is nobody's substitute
            let own = is_wanted.then(|| original.to_owned());
            let known = self.originals.entry(sent.to_owned()).or_insert_with(|| own.clone());
            if known.as_deref().map(str::to_lowercase) != own.as_deref().map(str::to_lowercase) {
                *known = None;
            }
        }
    }

    /// Excludes the words of a text that the service saw as it is, or wrote itself.
    pub fn pass(&mut self, text: &str) {
        for (_, word) in text.split_whitespace().filter_map(core) {
            self.originals.insert(word.to_owned(), None);
        }
    }

    /// An answer with the user's words, and how many were put back.
    #[must_use]
    pub fn restore(&self, answer: &str) -> (String, usize) {
        let mut restoring = self.begin();
        let mut text = restoring.push(answer);
        text += &restoring.finish();
        (text, restoring.count)
    }

    /// For an answer that comes in parts.
    #[must_use]
    pub fn begin(&self) -> Restoring<'_> {
        Restoring { restorer: self, chunk: String::new(), ticks: 0, code: false, count: 0 }
    }
}

/// An answer that comes in parts, cut anywhere.
pub struct Restoring<'a> {
    restorer: &'a Restorer,
    /// The text since the last white space.
    chunk: String,
    /// The back ticks that the last characters are.
    ticks: usize,
    /// Whether what comes is code.
    code: bool,
    count: usize,
}

impl Restoring<'_> {
    /// The text that can be shown once this has come: all but a word that may go on.
    pub fn push(&mut self, part: &str) -> String {
        let mut shown = String::new();
        for c in part.chars() {
            if c.is_whitespace() {
                self.flush(&mut shown);
                shown.push(c);
            } else {
                self.chunk.push(c);
            }
        }
        shown
    }

    /// The rest.
    pub fn finish(&mut self) -> String {
        let mut shown = String::new();
        self.flush(&mut shown);
        shown
    }

    /// How many words were put back so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    fn flush(&mut self, shown: &mut String) {
        let chunk = std::mem::take(&mut self.chunk);
        let was_code = self.code;
        for c in chunk.chars() {
            if c == '`' {
                self.ticks += 1;
            } else {
                self.turn();
            }
        }
        self.turn();
        let original = (!was_code && !self.code)
            .then(|| core(&chunk))
            .flatten()
            .and_then(|(at, word)| Some((at, word, self.restorer.originals.get(word)?.as_ref()?)));
        match original {
            Some((at, word, original)) => {
                self.count += 1;
                shown.push_str(&chunk[..at]);
                shown.push_str(original);
                shown.push_str(&chunk[at + word.len()..]);
            }
            None => shown.push_str(&chunk),
        }
    }

    /// Back ticks, one or three, begin code and end it.
    fn turn(&mut self) {
        self.code ^= self.ticks % 2 == 1;
        self.ticks = 0;
    }
}

/// Characters of links, paths, markup and code: nothing is put back beside them.
const CARRIERS: [char; 17] =
    ['/', '\\', '@', '=', '&', '#', '%', '<', '>', '[', ']', '(', ')', '`', '{', '}', '|'];

/// The word of a chunk without the punctuation around it and without a possessive, and where it begins; none
/// where the chunk could carry it away.
fn core(chunk: &str) -> Option<(usize, &str)> {
    if chunk.contains(CARRIERS) {
        return None;
    }
    let is_outer = |c: char| !c.is_alphanumeric() && c != '+' && c != '$';
    let start = chunk.find(|c| !is_outer(c))?;
    let word = chunk[start..].trim_end_matches(is_outer);
    let possessive = ["'s", "’s", "'S", "’S"].iter().find_map(|end| word.strip_suffix(end));
    Some((start, possessive.unwrap_or(word))).filter(|(_, word)| !word.is_empty())
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
    use crate::mechanism::cape::{Cape, Settings};
    use crate::rng::Secret;
    use crate::sanitizer::Sanitizer;
    use crate::text::{ReleasedWord, Why};

    const ALL: &[Wanted] =
        &[Wanted::Persons, Wanted::Identifiers, Wanted::OtherNames, Wanted::Values];

    /// A release in which these words became those; the others are ordinary.
    fn restorer(text: &str, pairs: &[(&str, &str)], wanted: &[Wanted]) -> Restorer {
        let cape = Cape::new(Lexicon::embedded(), Settings::default()).unwrap();
        let sanitizer = Sanitizer::words(cape);
        let mut release = sanitizer.release(text, &Secret::seeded(1, 1)).unwrap();
        for word in &mut release.words {
            let original = &text[word.start..word.end];
            let pair = pairs.iter().find(|(from, _)| *from == original);
            let ReleasedWord { released, level, why, .. } = word;
            let known = pair.map_or((original, Level::Ordinary), |(_, to)| (*to, Level::Protected));
            (*released, *level, *why) = (known.0.to_owned(), known.1, Why::Common);
        }
        let mut restorer = Restorer::default();
        restorer.learn(&Lexicon::embedded(), text, &release, wanted);
        restorer
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
    fn nothing_is_carried_away() {
        let named = restorer("Tell Alice", &[("Alice", "Emma")], ALL);
        for answer in [
            "[see](http://evil.example/?q=Emma)",
            "http://evil.example/Emma",
            "emma@Emma",
            "`Emma`",
            "`print Emma there` ok",
            "```\nEmma\n```",
            "<Emma>",
            "Emma=1",
            "{Emma}",
            "x|Emma|y",
        ] {
            assert_eq!(restored(&named, answer), answer);
        }
        assert_eq!(
            restored(&named, "```\nEmma\n```\nEmma `x` Emma"),
            "```\nEmma\n```\nAlice `x` Alice"
        );
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

    #[test]
    fn an_answer_may_be_cut_anywhere() {
        let named =
            restorer("Tell Alice Krzysztof", &[("Alice", "Emma"), ("Krzysztof", "Martin")], ALL);
        let answer = "Dear Emma’s Martin, `Emma x` see ```a\nMartin``` then Emma.\n\nMartin";
        let whole = restored(&named, answer);
        let cuts: Vec<usize> = answer.char_indices().map(|(at, _)| at).collect();
        for &first in &cuts {
            for &second in cuts.iter().filter(|&&second| second >= first) {
                let mut restoring = named.begin();
                let mut text = String::new();
                for part in [&answer[..first], &answer[first..second], &answer[second..]] {
                    text += &restoring.push(part);
                }
                text += &restoring.finish();
                assert_eq!(text, whole);
            }
        }
        assert_eq!(whole.matches("Alice").count(), 2);
    }
}
