//! Which words are protected, and which draws are the same: the level and the key of a unit.
//!
//! Both are functions of the unit's own string, of whether it stands first, and of public settings. They
//! never look at another word: `tests/words_exact.rs` shows what that would cost.

use std::collections::HashSet;

use serde::Deserialize;

use crate::keep::STOPWORDS;
use crate::kinds::{self, Kind};
use crate::lexicon::{Flags, Lexicon, fold, plain};
use crate::text::{Level, Why};
use crate::writing::capitalised;

/// Which words are ordinary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Common words that are not sensitive in themselves, and names of languages and software.
    #[default]
    Personal,
    /// Stopwords alone: the paper's protocol.
    Everything,
    /// Common words, whatever they mean.
    Names,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Personal, Self::Everything, Self::Names];

    /// As it appears in settings and output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Personal => "personal",
            Self::Everything => "everything",
            Self::Names => "names",
        }
    }
}

/// The rule that gives a unit its level.
pub struct Levels {
    profile: Profile,
    stopwords: HashSet<&'static str>,
    /// The user's own lists, without case.
    protect: HashSet<String>,
    ordinary: HashSet<String>,
}

/// The input of a unit's draw: units with the same key become the same, and what becomes of a unit is drawn
/// from its key alone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// The kind of the unit.
    pub kind: Kind,
    /// Which law it is drawn by.
    pub level: Level,
    /// The string, or the value, that the draw sees.
    pub form: String,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// The key in bytes, different for different keys.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let tag = [self.kind.as_str(), self.level.as_str()];
        let parts = tag.iter().flat_map(|part| part.bytes().chain([0]));
        parts.chain(self.form.bytes()).collect()
    }

    /// The word in bytes, whatever its level and case: what a person means who wants it forgotten.
    #[must_use]
    pub fn word(&self) -> Vec<u8> {
        self.kind.as_str().bytes().chain([0]).chain(fold(&self.form).into_bytes()).collect()
    }
}

impl Levels {
    /// The rule of a profile, with words that the user has put on either list: their case does not count,
    /// and `protect` goes first.
    #[must_use]
    pub fn new(profile: Profile, protect: &[String], ordinary: &[String]) -> Self {
        let folded = |words: &[String]| words.iter().map(|word| fold(word)).collect();
        let (protect, ordinary) = (folded(protect), folded(ordinary));
        Self { profile, stopwords: STOPWORDS.lines().collect(), protect, ordinary }
    }

    /// The level of a word, and why it has it.
    #[must_use]
    pub fn word(&self, lexicon: &Lexicon, word: &str, first: bool) -> (Level, Why) {
        let word = plain(word);
        let lower = word.to_lowercase();
        if self.protect.contains(&lower) {
            return (Level::Protected, Why::Listed);
        }
        if self.ordinary.contains(&lower) {
            return (Level::Ordinary, Why::Listed);
        }
        if let Some(why) = self.exactly(lexicon.flags(&word), &word) {
            return (Level::Ordinary, why);
        }
        // i and i'm, written without their capital
        let pronoun = capitalised(&lower);
        if word == lower
            && is_pronoun(&pronoun)
            && let Some(why) = self.exactly(lexicon.flags(&pronoun), &pronoun)
        {
            return (Level::Ordinary, why);
        }
        if self.well_known(lexicon, &lower) {
            return (Level::Ordinary, Why::Software);
        }
        let common = lexicon.flags(&lower).filter(|flags| flags.is_common());
        let may_be_first = |flags: Flags| first && !flags.is_rather_a_name();
        match common {
            Some(flags) if is_shouted(&word) && !may_be_a_name(lexicon, &lower) => {
                match self.exactly(Some(flags), &lower) {
                    Some(why) => (Level::Ordinary, why),
                    None => (Level::Protected, self.objection(flags)),
                }
            }
            Some(flags)
                if is_title(&word, &lower) && (may_be_first(flags) || flags.is_never_a_name()) =>
            {
                match self.exactly(Some(flags), &lower) {
                    Some(why) if flags.is_never_a_name() => (Level::Ordinary, why),
                    Some(_) => (Level::Ordinary, Why::First),
                    None => (Level::Protected, self.objection(flags)),
                }
            }
            Some(flags) if word == lower => (Level::Protected, self.objection(flags)),
            Some(_) => (Level::Protected, Why::Capital),
            None => {
                let flags = lexicon.flags(&word).or_else(|| lexicon.flags(&lower));
                let class =
                    flags.and_then(Flags::class).filter(|_| self.profile == Profile::Personal);
                (Level::Protected, class.map_or(Why::Unlisted, Why::Class))
            }
        }
    }

    /// Whether a word is ordinary as it is written, and why.
    fn exactly(&self, flags: Option<Flags>, word: &str) -> Option<Why> {
        let flags = flags.filter(|flags| flags.is_common() || is_form_of_address(word))?;
        let ordinary = match self.profile {
            Profile::Personal => flags.class().is_none(),
            Profile::Everything => is_pronoun(word) || self.stopwords.contains(word),
            Profile::Names => true,
        };
        ordinary.then_some(Why::Common)
    }

    /// Why a common word is protected all the same.
    fn objection(&self, flags: Flags) -> Why {
        match flags.class() {
            Some(class) if self.profile == Profile::Personal => Why::Class(class),
            _ => Why::Profile,
        }
    }

    /// Whether a word, in some case, is the name of a language or of software.
    fn well_known(&self, lexicon: &Lexicon, lower: &str) -> bool {
        self.profile == Profile::Personal
            && lexicon.case_forms(lower).any(|(_, flags)| flags.is_software())
    }

    /// Whether some word that differs from this one in case alone is ordinary in some place.
    fn can_be_ordinary(&self, lexicon: &Lexicon, lower: &str) -> bool {
        !self.protect.contains(lower)
            && (self.ordinary.contains(lower)
                || self.well_known(lexicon, lower)
                || lexicon
                    .case_forms(lower)
                    .any(|(form, flags)| self.exactly(Some(flags), form).is_some()))
    }

    /// The key of a unit at this level.
    #[must_use]
    pub fn key(&self, lexicon: &Lexicon, kind: Kind, text: &str, level: Level) -> Key {
        let form = match kind {
            Kind::Word => {
                let word = plain(text);
                let lower = word.to_lowercase();
                if self.can_be_ordinary(lexicon, &lower) { word } else { lexicon.canonical(&word) }
            }
            near if near.is_near() => kinds::grid_index(near, text).to_string(),
            _ => text.to_owned(),
        };
        Key { kind, level, form }
    }
}

/// Mr and Mrs before a name say no more than the pronouns in the text do, and a letter to "Marquis. Campos" is not one that
/// somebody would send.
fn is_form_of_address(word: &str) -> bool {
    ["Dr", "Miss", "Mr", "Mrs", "Ms", "Mx", "Prof"].contains(&word)
}

/// I, I'm, I'll: the words that have a capital wherever they stand.
fn is_pronoun(word: &str) -> bool {
    word == "I" || word.starts_with("I'")
}

/// Whether a word is in capitals. Words of two letters are more often the code of a state or initials.
fn is_shouted(word: &str) -> bool {
    word.chars().count() > 2 && word.chars().all(|c| c.is_uppercase() || c == '\'' || c == '-')
}

/// Whether a word, in capitals, could be meant as a name or as something sensitive: US, AIDS, BROWN.
fn may_be_a_name(lexicon: &Lexicon, lower: &str) -> bool {
    lexicon.case_forms(lower).any(|(form, flags)| {
        flags.is_rather_a_name() || form != lower && (flags.is_name() || flags.class().is_some())
    })
}

/// Whether a word is its own lower case with a capital at its beginning.
fn is_title(word: &str, lower: &str) -> bool {
    let mut chars = word.chars();
    let capital = chars.next().is_some_and(char::is_uppercase);
    let rest = chars.as_str();
    capital && lower.ends_with(rest) && rest.to_lowercase() == rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::small::lexicon;

    fn known() -> std::sync::Arc<Lexicon> {
        lexicon(&[
            ("the", "lo"),
            ("will", "lo"),
            ("Will", "lm"),
            ("brown", "lon"),
            ("Brown", "ls"),
            ("I", "lo"),
            ("don't", "lo"),
            ("cancer", "loI"),
            ("asthma", "lI"),
            ("table", "lo"),
            ("JSON", "lk"),
            ("please", "loc"),
            ("Nurse", "ls"),
            ("nurse", "l"),
            ("Alice", "lf"),
            ("Mrs", "l"),
        ])
    }

    fn level(levels: &Levels, word: &str, first: bool) -> (Level, Why) {
        levels.word(&known(), word, first)
    }

    #[test]
    fn common_words_are_ordinary_in_lower_case_and_first() {
        use Level::{Ordinary, Protected};
        let levels = Levels::new(Profile::Personal, &[], &[]);
        for (word, first, want) in [
            ("the", false, (Ordinary, Why::Common)),
            ("The", true, (Ordinary, Why::First)),
            ("The", false, (Protected, Why::Capital)),
            ("THE", true, (Ordinary, Why::Common)),
            ("WILL", true, (Protected, Why::Capital)),
            ("BROWN", true, (Protected, Why::Capital)),
            ("CANCER", true, (Protected, Why::Class(crate::lexicon::Class::Illness))),
            ("Will", true, (Ordinary, Why::First)),
            ("Will", false, (Protected, Why::Capital)),
            ("Brown", true, (Protected, Why::Capital)),
            ("brown", true, (Ordinary, Why::Common)),
            ("I", false, (Ordinary, Why::Common)),
            ("i", false, (Ordinary, Why::Common)),
            ("don’t", false, (Ordinary, Why::Common)),
            ("Don't", true, (Ordinary, Why::First)),
            ("cancer", false, (Protected, Why::Class(crate::lexicon::Class::Illness))),
            ("Cancer", true, (Protected, Why::Class(crate::lexicon::Class::Illness))),
            ("asthma", false, (Protected, Why::Class(crate::lexicon::Class::Illness))),
            ("json", false, (Ordinary, Why::Software)),
            ("Json", false, (Ordinary, Why::Software)),
            ("Please", false, (Ordinary, Why::Common)),
            ("PLEASE", false, (Ordinary, Why::Common)),
            ("Alice", true, (Protected, Why::Unlisted)),
            ("Mrs", false, (Ordinary, Why::Common)),
            ("MRS", false, (Protected, Why::Unlisted)),
            ("xyzzy", false, (Protected, Why::Unlisted)),
            ("😀", false, (Protected, Why::Unlisted)),
        ] {
            assert_eq!(level(&levels, word, first), want, "{word} {first}");
        }
    }

    #[test]
    fn profiles_and_lists_move_words() {
        let names = Levels::new(Profile::Names, &[], &[]);
        assert_eq!(level(&names, "cancer", false).0, Level::Ordinary);
        assert_eq!(level(&names, "JSON", false).0, Level::Protected);
        let everything = Levels::new(Profile::Everything, &[], &[]);
        assert_eq!(level(&everything, "the", false).0, Level::Ordinary);
        assert_eq!(level(&everything, "I", false).0, Level::Ordinary);
        assert_eq!(level(&everything, "table", false), (Level::Protected, Why::Profile));
        assert_eq!(level(&everything, "Mrs", false).0, Level::Protected);
        let own = ["Table".to_owned()];
        let lists = Levels::new(Profile::Personal, &own, &["alice".to_owned(), "table".to_owned()]);
        assert_eq!(level(&lists, "table", false), (Level::Protected, Why::Listed));
        assert_eq!(level(&lists, "ALICE", false), (Level::Ordinary, Why::Listed));
    }

    /// Case counts where it can change the level, and nowhere else.
    #[test]
    fn keys_count_case_where_levels_do() {
        let levels = Levels::new(Profile::Personal, &[], &[]);
        let key = |word: &str, first: bool| {
            let (level, _) = levels.word(&known(), word, first);
            levels.key(&known(), Kind::Word, word, level)
        };
        assert_eq!(key("Alice", false), key("ALICE", true));
        assert_eq!(key("asthma", false), key("Asthma", true));
        assert_ne!(key("will", false), key("Will", false));
        assert_ne!(key("Will", true), key("Will", false));
        assert_ne!(key("json", false), key("JSON", false));
        assert_eq!(key("don’t", false), key("don't", false));
        // two words that differ in case alone stay two
        assert_ne!(key("nurse", false), key("Nurse", false));
        assert_eq!(key("Nurse", false), key("NURSE", false));
        // and so do strings that nobody knows, with a capital and without: the one is a name
        assert_eq!(key("Xyzzy", false), key("XyZZy", true));
        assert_ne!(key("xyzzy", false), key("Xyzzy", false));
        // strings with one key have one level, in every case and place
        let words =
            ["Alice", "asthma", "cancer", "nurse", "I", "the", "json", "brown", "xyzzy", "Mrs"];
        let cases = |word: &str| [word.to_lowercase(), word.to_uppercase(), word.to_owned()];
        let mut all: Vec<(Key, String)> = Vec::new();
        for form in words.iter().flat_map(|word| cases(word)) {
            for first in [false, true] {
                all.push((key(&form, first), form.clone()));
            }
        }
        for (a, one) in &all {
            for (b, other) in &all {
                let same = a.form == b.form && one != other;
                assert!(!same || a.level == Level::Protected, "{one} {other}");
            }
        }
        let bytes = |word, first| key(word, first).bytes();
        assert_ne!(bytes("Will", true), bytes("Will", false));
    }
}
