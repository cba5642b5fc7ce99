//! From joined pieces to units: marks that a unit takes with it, numbers of lists, first places.

use super::characters::Source;
use super::{Piece, Unit};
use crate::kinds::{self, Kind};

/// The units of the joined pieces.
pub(super) fn units(source: &Source, mut pieces: Vec<Piece>) -> Vec<Unit> {
    for i in 0..pieces.len() {
        take_hyphen(source, &mut pieces, i);
    }
    for i in 0..pieces.len() {
        take_minus(source, &mut pieces, i);
        if pieces[i].kind == Kind::Identifier && source.char_before(pieces[i].start) == Some('$') {
            // a released identifier would take the $ for its own
            pieces[i].kind = Kind::Word;
        }
    }
    if source.options.json {
        remove_literals(source, &mut pieces);
    }
    let (mut list, mut units, mut after) = (0, Vec::<Unit>::with_capacity(pieces.len()), 0);
    // how many units stand in the line so far
    let mut in_line = 0;
    let mut pieces = pieces.into_iter().peekable();
    while let Some(Piece { start, mut end, kind }) = pieces.next() {
        if kind == Kind::Number && is_line_start(source, start) {
            if is_number_of_list(source, start, end, &mut list) {
                continue;
            }
            while is_marked(source, end) {
                end += 1;
                let Some(next) = pieces.peek_mut() else { break };
                if &source.text[end..next.start] != " " {
                    break;
                }
                // without the mark it would make a row with a number after it, or a day with a month
                match next.kind {
                    Kind::Number => end = pieces.next().map_or(end, |next| next.end),
                    Kind::Month | Kind::MonthOfYear => next.kind = Kind::Word,
                    _ => {}
                }
            }
        }
        let before = &source.text[after..start];
        let starts = units.is_empty() || is_first(before);
        let first = starts || is_opened(before);
        let capital = starts && !(in_line >= LONG_LINE && goes_on(before));
        in_line = if before.contains(is_break) { 1 } else { in_line + 1 };
        units.push(Unit { start, end, kind, first, capital });
        after = end;
    }
    units
}

/// Separators that may join what stands on both sides.
pub(super) fn may_join(source: &Source, separator: &str) -> bool {
    match separator {
        "," => !source.is_data(),
        "." | ":" | "/" | "'" | "’" | "@" | "_" | "-" | "://" => true,
        _ => false,
    }
}

/// Whether a separator after the i-th piece would make a row of numbers, or put a number beside a month.
fn is_row(pieces: &[Piece], i: usize, separator: &str) -> bool {
    use Kind::{Day, Month, MonthOfYear, Number};
    let [Some(a), Some(b)] = [i, i + 1].map(|i| pieces.get(i).map(|piece| piece.kind)) else {
        return false;
    };
    let row = match a {
        Number => matches!(b, Number | Day | Month | MonthOfYear),
        MonthOfYear => matches!(b, Month | MonthOfYear),
        Month => b == Number,
        _ => false,
    };
    separator == " " && row
}

/// A word takes the hyphen that ends it, unless what is left would join.
fn take_hyphen(source: &Source, pieces: &mut [Piece], i: usize) {
    let next = pieces.get(i + 1).map_or(source.text.len(), |next| next.start);
    let Some(rest) = source.text[pieces[i].end..next].strip_prefix('-') else { return };
    let last = i + 1 == pieces.len();
    let joins = !last && (rest.is_empty() || may_join(source, rest) || is_row(pieces, i, rest));
    if !joins && !rest.starts_with(['-', '+', '$']) {
        pieces[i].end += 1;
    }
}

/// A number takes its minus, unless what is left would join.
fn take_minus(source: &Source, pieces: &mut [Piece], i: usize) {
    if !matches!(pieces[i].kind, Kind::Number | Kind::Amount | Kind::Time | Kind::Day) {
        return;
    }
    let before = i.checked_sub(1).map(|before| pieces[before].end);
    let gap = &source.text[before.unwrap_or(0)..pieces[i].start];
    let Some(rest) = gap.strip_suffix('-') else { return };
    // what follows a final 's may join as well
    let last = rest.rsplit(['s', 'S']).next().unwrap_or("");
    let joins = i > 0 && (last.is_empty() || may_join(source, last) || is_row(pieces, i - 1, rest));
    if !joins && !rest.ends_with(['-', '+', '$', '\\']) {
        pieces[i].start -= 1;
    }
}

/// Whether white space alone stands before an offset in its line.
fn is_line_start(source: &Source, at: usize) -> bool {
    let line = source.text[..at].trim_end_matches(|c: char| c.is_whitespace() && !is_break(c));
    line.is_empty() || line.ends_with(is_break)
}

/// Whether the mark of a list and white space follow.
fn is_marked(source: &Source, end: usize) -> bool {
    let mut rest = source.text[end..].chars();
    matches!(rest.next(), Some('.' | ')')) && rest.next().is_none_or(char::is_whitespace)
}

/// Whether a number at the start of a line is one of a list: marked, and 1 or one more than the one
/// before, which is kept in `list`.
fn is_number_of_list(source: &Source, start: usize, end: usize, list: &mut u64) -> bool {
    let text = &source.text[start..end];
    let plain = kinds::is_digits(text) && !text.starts_with('0') && is_marked(source, end);
    let number = text.parse().ok().filter(|_| plain);
    match number {
        Some(number) if number == 1 || number == *list + 1 && *list > 0 => {
            *list = number;
            true
        }
        _ => false,
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Whether a separator ends a line or a sentence.
fn is_first(separator: &str) -> bool {
    let mut ended = false;
    for c in separator.chars() {
        if is_break(c) || ended && c.is_whitespace() {
            return true;
        }
        let closes = matches!(
            c,
            '"' | '\'' | '’' | '”' | '“' | '‘' | '»' | '›' | ')' | ']' | '}' | '*' | '_'
        );
        ended = matches!(c, '.' | '!' | '?') || ended && closes;
    }
    false
}

/// Whether a separator ends in a mark that opens a quotation, brackets or bold type.
fn is_opened(separator: &str) -> bool {
    let before = separator.trim_end_matches(|c| "\"'“‘«‹„([{*_`".contains(c));
    before.len() < separator.len() && before.ends_with(|c: char| c.is_whitespace() || c == ':')
}

/// A line of so many units that ends in no mark was broken for its length.
const LONG_LINE: usize = 8;

/// Whether a separator is a single line break and nothing else: prose of fixed width has it inside sentences.
fn goes_on(separator: &str) -> bool {
    matches!(separator.trim_matches([' ', '\t']), "\n" | "\r\n")
}

/// Leaves out `true`, `false` and `null` outside of strings.
fn remove_literals(source: &Source, pieces: &mut Vec<Piece>) {
    let (mut at, mut quoted, mut escaped) = (0, false, false);
    pieces.retain(|piece| {
        for b in source.text[at..piece.start].bytes() {
            quoted ^= b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
        }
        (at, escaped) = (piece.end, false);
        quoted || !matches!(&source.text[piece.start..piece.end], "true" | "false" | "null")
    });
}
