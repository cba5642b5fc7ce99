//! From characters to pieces: what a dot, an apostrophe or an @ joins, and the kinds that have a
//! shape of their own.

use super::Piece;
use super::characters::Source;
use crate::kinds::{self, Kind};

mod shapes;

/// The pieces of a text, in order. None ends where a character of a unit follows.
pub(super) fn pieces(source: &Source) -> Vec<Piece> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < source.text.len() {
        if let Some(end) = shapes::key_block(source, at) {
            pieces.push(Piece { start: at, end, kind: Kind::Secret });
            at = end;
        } else if let Some(len) = clitic(source, at) {
            at += len;
        } else if source.is_private(at) {
            at = run(source, at, &mut pieces);
        } else {
            at += source.char_at(at).map_or(1, char::len_utf8);
        }
        at += final_s(source, at).unwrap_or(0);
    }
    pieces
}

/// Takes the run of characters that begins here, and gives where it ends.
fn run(source: &Source, start: usize, pieces: &mut Vec<Piece>) -> usize {
    let end = run_end(source, start);
    let text = &source.text[start..end];
    let mut push = |start, end, kind| {
        pieces.push(Piece { start, end, kind });
        end
    };
    if kinds::is_secret(text) {
        return push(start, end, Kind::Secret);
    }
    if text.contains('@') {
        return push(start, end, Kind::Email);
    }
    let www = text.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("www."));
    if www || is_scheme(source, end) {
        let (end, next) = shapes::url_end(source, start, end);
        push(start, end, Kind::Url);
        return next;
    }
    if let Some((end, kind)) = shapes::shape(source, start) {
        return push(start, end, kind);
    }
    let after_dollar = source.char_before(start) == Some('$');
    for part in dotted(text).into_iter().flat_map(|part| part.split(['-', '_'])) {
        let start = part.as_ptr() as usize - source.text.as_ptr() as usize;
        let mut kind = kinds::of_part(part);
        if after_dollar && part.starts_with(char::is_alphabetic) {
            // a released amount would take the $ for its own
            kind = Kind::Word;
        }
        push(start, start + part.len(), kind);
    }
    end
}

/// Parts a text at its dots, but for those between letters (U.S). One with a digit stays whole: what is
/// released for its numbers could be read together with a word beside them.
fn dotted(text: &str) -> Vec<&str> {
    if kinds::digits(text) > 0 {
        return vec![text];
    }
    let atoms: Vec<&str> = text.split('.').collect();
    let (mut parts, mut rest) = (Vec::new(), text);
    for atoms in atoms.chunk_by(|a, b| is_letter(a) && is_letter(b)) {
        let (part, after) = rest.split_at(atoms.join(".").len());
        rest = after.strip_prefix('.').unwrap_or_default();
        if atoms.iter().all(|atom| RELEASED_LETTERS.contains(atom)) {
            parts.extend(atoms);
        } else {
            parts.push(part);
        }
    }
    parts
}

/// The words of a single letter that are drawn: `a.I` may be two words of a release.
const RELEASED_LETTERS: [&str; 3] = ["a", "A", "I"];

/// Whether a text is one letter.
fn is_letter(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
}

/// Where the run of characters that begins here ends: single connectors between characters of units
/// are inside.
fn run_end(source: &Source, start: usize) -> usize {
    let mut at = start;
    loop {
        while source.is_private(at) {
            at += source.char_at(at).map_or(1, char::len_utf8);
        }
        match connector(source, at) {
            Some(len) if final_s(source, at).is_none() => at += len,
            _ => return at,
        }
    }
}

/// The length of a single connector that has a character of a unit on its right.
fn connector(source: &Source, at: usize) -> Option<usize> {
    let c = source.char_at(at)?;
    let len = c.len_utf8();
    let joins = matches!(c, '.' | '\'' | '’' | '@' | '_' | '-');
    (joins && source.is_private(at + len)).then_some(len)
}

/// The length of a final 's that begins here, right after a unit or after its last dot (U.S.'s).
fn final_s(source: &Source, at: usize) -> Option<usize> {
    let dot = usize::from(source.text[at..].starts_with('.'));
    if !source.is_private_before(at) {
        return None;
    }
    let apostrophe = source.char_at(at + dot).filter(|c| matches!(c, '\'' | '’'))?;
    let s = at + dot + apostrophe.len_utf8();
    let end = s + 1;
    let ends = matches!(source.char_at(s), Some('s' | 'S'))
        && source.is_private(s)
        && !source.is_private(end)
        && (connector(source, end).is_none() || source.text[end..].starts_with('_'));
    ends.then_some(end - at)
}

/// The rest of "not", "are" or "have" where tokenizers part it from the word before.
const CLITICS: [&str; 8] = ["'s", "n't", "'re", "'ve", "'ll", "'d", "'m", "'t"];

/// The length of a clitic that begins here, between white space, in prose.
fn clitic(source: &Source, at: usize) -> Option<usize> {
    let is_space = |c: Option<char>| c.is_none_or(char::is_whitespace);
    if source.is_data() || !is_space(source.char_before(at)) {
        return None;
    }
    let word = source.text[at..].split(char::is_whitespace).next()?;
    CLITICS.contains(&word.replace('’', "'").as_str()).then_some(word.len())
}

/// Whether `://` and a character of a unit follow.
fn is_scheme(source: &Source, at: usize) -> bool {
    source.text[at..].starts_with("://") && source.is_private(at + 3)
}

/// Whether a piece may end here: nothing that would join it follows.
fn is_boundary(source: &Source, at: usize) -> bool {
    !source.is_private(at)
        && (connector(source, at).is_none() || final_s(source, at).is_some())
        && !is_scheme(source, at)
}
