//! Kinds whose shape crosses separators: URLs, times with a date, addresses of version 6, phones, keys.

use super::{Source, is_boundary};
use crate::kinds::{self, Kind};

/// The end of a URL whose run of characters reaches `end`, and where to go on. It takes all but white
/// space, brackets, quotes and the like, and then gives back the public characters at its end.
pub(super) fn url_end(source: &Source, start: usize, end: usize) -> (usize, usize) {
    let inside = |at: usize, c: char| source.is_private(at) || "-._~:/?#@!$&*=%+'’".contains(c);
    let rest = source.text[end..].char_indices().find(|&(i, c)| !inside(end + i, c));
    let end = rest.map_or(source.text.len(), |(i, _)| end + i);
    let next = last_private(source, start, end);
    let url = &source.text[start..next];
    let stem = url.strip_suffix(['s', 'S']).and_then(|stem| stem.strip_suffix(['\'', '’']));
    match stem {
        Some(stem) => (last_private(source, start, start + stem.len()), next),
        None => (next, next),
    }
}

/// The end of the last character of a unit before `end`.
fn last_private(source: &Source, start: usize, end: usize) -> usize {
    let mut end = end;
    while end > start && !source.is_private_before(end) {
        end -= source.char_before(end).map_or(1, char::len_utf8);
    }
    end
}

/// A piece of another kind that begins here, where a run of characters does.
pub(super) fn shape(source: &Source, start: usize) -> Option<(usize, Kind)> {
    let text = &source.text[start..];
    let first = text.bytes().next()?;
    let found = match first {
        b'+' => phone(source, start).map(|len| (len, Kind::Identifier)),
        _ if !first.is_ascii_hexdigit() => None,
        // a released address or number would take the $ for its own
        _ if source.char_before(start) == Some('$') => None,
        _ => date_and_time(text)
            .map(|len| (len, Kind::Date))
            .or_else(|| colons(text))
            .or_else(|| scientific(text).map(|len| (len, Kind::Number))),
    };
    found.map(|(len, kind)| (start + len, kind)).filter(|&(end, _)| is_boundary(source, end))
}

/// The length of the digits that a text begins with.
fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The length of 2024-03-15T14:30:00.000Z, or with +01:00 at its end.
fn date_and_time(text: &str) -> Option<usize> {
    let clock = text.get(10..)?.strip_prefix('T')?;
    if kinds::of_numbers(&text[..10], None) != Kind::Date {
        return None;
    }
    let stretch = clock.bytes().take_while(|b| b.is_ascii_digit() || *b == b':').count();
    if kinds::of_numbers(&clock[..stretch], None) != Kind::Time {
        return None;
    }
    let mut rest = &clock[stretch..];
    if let Some(decimals) = rest.strip_prefix('.').filter(|decimals| digits(decimals) > 0) {
        rest = &decimals[digits(decimals)..];
    }
    let zone = rest.strip_prefix(['+', '-']).and_then(|zone| {
        let minutes = zone[digits(zone)..].strip_prefix(':').unwrap_or(&zone[digits(zone)..]);
        let rest = &minutes[digits(minutes)..];
        (kinds::digits(&zone[..zone.len() - rest.len()]) == 4).then_some(rest)
    });
    rest = rest.strip_prefix('Z').or(zone).unwrap_or(rest);
    Some(text.len() - rest.len())
}

/// The length of 1e5 or 1.5e-3.
fn scientific(text: &str) -> Option<usize> {
    let whole = digits(text);
    let mut rest = &text[whole..];
    if let Some(decimals) = rest.strip_prefix('.') {
        rest = &decimals[digits(decimals)..];
    }
    let power = rest.strip_prefix(['e', 'E'])?;
    let power = power.strip_prefix(['+', '-']).unwrap_or(power);
    let len = digits(power);
    ((1..8).contains(&whole) && (1..=3).contains(&len)).then(|| text.len() - power.len() + len)
}

/// An address of version 6, or of a network card: hexadecimal groups between colons. One group has
/// letters and digits, as neither words nor released numbers have. The colons that end a prefix
/// (2001:db8::/32) are left out.
fn colons(text: &str) -> Option<(usize, Kind)> {
    let stretch = text.bytes().take(64).take_while(|b| b.is_ascii_hexdigit() || *b == b':').count();
    let (text, after) = text.split_at(stretch);
    let end = text.trim_end_matches(':');
    let is_prefix = text.len() == end.len() + 2 && !after.starts_with(char::is_alphanumeric);
    let text = if is_prefix { text } else { end };
    let groups: Vec<&str> = text.split(':').collect();
    let mixed = |group: &&str| {
        group.bytes().any(|b| b.is_ascii_digit()) && group.bytes().any(|b| b.is_ascii_alphabetic())
    };
    if groups.len() < 3 || !groups.iter().any(mixed) {
        return None;
    }
    let short = text.matches("::").count() == 1 && groups.len() <= 9 && !text.contains(":::");
    let is_ip = (groups.len() == 8 || short) && groups[0].len() >= 3;
    if is_ip && groups.iter().all(|group| group.len() <= 4 && (short || !group.is_empty())) {
        return Some((end.len(), Kind::Ip));
    }
    let is_card = groups.len() == 6 && groups.iter().all(|group| group.len() == 2);
    is_card.then_some((end.len(), Kind::Identifier))
}

/// The length of an international phone number: + and groups of 7 to 15 digits in all.
fn phone(source: &Source, start: usize) -> Option<usize> {
    let text = &source.text[start..];
    let (mut at, mut count, mut end) = (1, 0, None);
    loop {
        let group = digits(&text[at..]);
        count += group;
        at += group;
        if group == 0 || count > 15 || source.is_private(start + at) {
            return end;
        }
        if count >= 7 && is_boundary(source, start + at) {
            end = Some(at);
        }
        let marks = text[at..].bytes().take_while(|b| b" -./()".contains(b)).count();
        if !matches!(&text[at..at + marks], " " | "-" | "." | "/" | " (" | "(" | ")" | ") ") {
            return end;
        }
        at += marks;
    }
}

/// The end of a block `-----BEGIN … PRIVATE KEY-----` that begins here.
pub(super) fn key_block(source: &Source, at: usize) -> Option<usize> {
    const MOST: usize = 1 << 14;
    let head = source.text[at..].strip_prefix("-----BEGIN ")?;
    let head = &head[..head.floor_char_boundary(MOST)];
    let key = |line: &str| line.find("-----").filter(|&end| line[..end].ends_with("PRIVATE KEY"));
    let body = key(head)?;
    let tail = body + head[body..].find("-----END ")? + "-----END ".len();
    let close = tail + key(&head[tail..])?;
    let dashes = head[close..].bytes().take_while(|&b| b == b'-').count();
    let end = at + "-----BEGIN ".len() + close + dashes;
    // it begins and ends with a mark, but what is released does not: nothing may touch that
    let before = source.char_before(at);
    let starts = before.is_none_or(|c| c.is_whitespace() || "\"'`=>([{".contains(c))
        && !(before == Some('\'') && source.is_private_before(at - 1));
    let open = |c: char| c.is_whitespace() || "\"'`,;)]}<\\".contains(c);
    let ends = is_boundary(source, end) && source.char_at(end).is_none_or(open);
    (starts && ends).then_some(end)
}
