//! Warnings before a release is sent: on stderr, and without a word of the prompt.

use std::ffi::OsStr;

use cape::lexicon::fold;
use cape::{Kind, Level, Lexicon, Release, Sanitizer};

use crate::output::note;

/// From which probability on a protected word that stays itself makes a release nearly verbatim.
const OFTEN_KEPT: f64 = 0.5;

/// The fewest words from which a language can be told, and the least share of them that English has on
/// the list.
const FEW: usize = 8;
const ENGLISH: f64 = 0.4;

pub(crate) fn warn(text: &str) {
    note(&format!("warning: {text}\n"));
}

/// Variables of the environment that look like settings and are none: a mistyped one must not leave a
/// default in force unnoticed.
pub(crate) fn of_variables(known: &[&OsStr]) {
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if name.starts_with("CAPE_") && !is_service_link(&name) && !known.contains(&&*variable) {
            warn(&format!("{name} is not a setting of this command, and is ignored"));
        }
    }
}

/// Whether Kubernetes sets a variable of this name for a service named cape.
fn is_service_link(name: &str) -> bool {
    name == "CAPE_PORT" || name.starts_with("CAPE_PORT_") || name.starts_with("CAPE_SERVICE_")
}

/// Settings under which little is hidden.
pub(crate) fn of_settings(sanitizer: &Sanitizer) {
    if sanitizer.cape().is_some() && sanitizer.guarantee().most_kept > OFTEN_KEPT {
        warn(
            "with these settings most protected words stay as they are\n\
             hint: take a smaller --epsilon or a larger --k",
        );
    }
}

/// A release that does not do what its user may expect of it.
pub(crate) fn of_release(sanitizer: &Sanitizer, text: &str, release: &Release) {
    let Some(cape) = sanitizer.cape() else { return };
    let original = |word: &cape::ReleasedWord| &text[word.start..word.end];
    let words = || release.words.iter().filter(|word| word.kind == Kind::Word);
    if release.words.iter().any(|word| word.kind == Kind::Secret) {
        warn(
            "the prompt holds what looks like a key or a password; it was replaced, but should it be there?",
        );
    }
    let known = |word: &&cape::ReleasedWord| {
        cape.lexicon().case_forms(&fold(original(word))).next().is_some()
    };
    let (all, english) = (words().count(), words().filter(known).count());
    if all >= FEW && (english as f64) < ENGLISH * all as f64 {
        warn(
            "this does not look like English: Cape's words are English, and nearly all others are replaced",
        );
    } else if all >= FEW && words().filter(|word| is_shouted(original(word))).count() * 2 > all {
        warn(
            "words in capitals are protected one by one: write the text in lower case to keep more of it",
        );
    }
    let kept = words().filter(|word| word.level == Level::Kept);
    let names = kept.filter(|word| is_a_name(cape.lexicon(), original(word))).count();
    if names > 0 {
        warn(if names == 1 {
            "a kept word looks like a name, and is sent as it is written"
        } else {
            "kept words look like names, and are sent as they are written"
        });
    }
    if release.privacy.words > 0 && release.privacy.protected == 0 {
        warn(
            "no word of this prompt is protected: it is sent as it is written, but for case\n\
             hint: --protect WORD, or --profile everything",
        );
    }
}

fn is_shouted(word: &str) -> bool {
    word.chars().count() > 1 && word.chars().all(char::is_uppercase)
}

fn is_a_name(lexicon: &Lexicon, word: &str) -> bool {
    lexicon.flags(word).is_some_and(cape::lexicon::Flags::is_name)
}
