//! How drawn words become text: functions of what was drawn and of the place, never of what stood there.

use std::borrow::Cow;

/// A word with a capital at its beginning.
pub(crate) fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Whether a word is the indefinite article, in some case.
pub(crate) fn is_article(word: &str) -> bool {
    word.eq_ignore_ascii_case("a") || word.eq_ignore_ascii_case("an")
}

/// The indefinite article before a word, with the case of the one that was drawn.
pub(crate) fn article(drawn: &str, next: &str) -> Cow<'static, str> {
    let capital = drawn.starts_with('A');
    Cow::Borrowed(match (sounds_like_a_vowel(next), capital) {
        (true, true) => "An",
        (true, false) => "an",
        (false, true) => "A",
        (false, false) => "a",
    })
}

/// Writes "may" and "march" without a capital before a number: with one they are months.
pub(crate) fn before_number(word: &mut str) {
    if ["May", "March"].contains(&&*word) {
        word.make_ascii_lowercase();
    }
}

/// Writes "am" with a capital after a number: without one it is a time.
pub(crate) fn after_number(word: &mut str) {
    if word == "am" {
        word[..1].make_ascii_uppercase();
    }
}

/// Beginnings with a silent h, and with a vowel letter that is spoken like a consonant.
const SILENT: [&str; 5] = ["heir", "honest", "honor", "honour", "hour"];
const SPOKEN: [&str; 13] =
    ["eu", "ewe", "once", "one", "ubiq", "ufo", "uni", "uran", "urin", "usa", "use", "usu", "ut"];
/// Words that begin so all the same.
const EXCEPTIONS: [&str; 6] = ["unid", "unim", "unin", "utm", "utter", "onei"];

fn sounds_like_a_vowel(word: &str) -> bool {
    let lower = word.to_lowercase();
    let begins = |beginnings: &[&str]| beginnings.iter().any(|&with| lower.starts_with(with));
    if let Some(digit) = lower.bytes().next().filter(u8::is_ascii_digit) {
        // eight, eighteen, eleven: eleven and eighteen alone have two digits before their group
        let digits = lower.bytes().take_while(u8::is_ascii_digit).count();
        return digit == b'8'
            || (digits % 3 == 2 && (lower.starts_with("11") || lower.starts_with("18")));
    }
    begins(&SILENT)
        || (lower.starts_with(['a', 'e', 'i', 'o', 'u'])
            && (!begins(&SPOKEN) || begins(&EXCEPTIONS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_follow_the_sound() {
        let an = "apple hour honest umbrella Iranian 8 11 18,000 80 unimportant utter egg";
        let a = "banana university European one user house 7 1 110 118 unit useful Utah";
        for word in an.split(' ') {
            assert_eq!(article("a", word), "an", "{word}");
        }
        for word in a.split(' ') {
            assert_eq!(article("an", word), "a", "{word}");
        }
        assert_eq!((article("An", "bee"), article("A", "ant")), ("A".into(), "An".into()));
        assert!(is_article("An") && !is_article("and"));
    }

    #[test]
    fn capitals_may_grow() {
        assert_eq!(capitalised("alice"), "Alice");
        assert_eq!(capitalised("ßa"), "SSa");
        assert_eq!(capitalised(""), "");
    }
}
