//! Code and web addresses in a text.

use std::collections::HashSet;
use std::ops::Range;

/// The kind of a stretch of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentKind {
    Prose,
    Code,
    Url,
}

/// The stretches of a text, in order and without gaps. In doubt a stretch is prose: code and addresses
/// may be sent unchanged.
pub(crate) fn segments(text: &str) -> Vec<(SegmentKind, Range<usize>)> {
    let mut found = Vec::new();
    let (mut at, mut prose) = (0, 0);
    let mut unclosed = HashSet::new();
    while let Some(c) = text[at..].chars().next() {
        let special = match c {
            '`' => code(text, at, &mut unclosed).map(|end| (SegmentKind::Code, end)),
            'h' | 'H' | 'f' | 'F' | 'w' | 'W' => url(text, at).map(|end| (SegmentKind::Url, end)),
            _ => None,
        };
        let Some((kind, end)) = special else {
            // no part of a run of backticks begins code if the whole run does not
            let run = if c == '`' { ticks(&text[at..]) } else { c.len_utf8() };
            at += run;
            continue;
        };
        if prose < at {
            found.push((SegmentKind::Prose, prose..at));
        }
        found.push((kind, at..end));
        (at, prose) = (end, end);
    }
    if prose < text.len() {
        found.push((SegmentKind::Prose, prose..text.len()));
    }
    found
}

/// The number of backticks that a text begins with.
fn ticks(text: &str) -> usize {
    text.bytes().take_while(|&b| b == b'`').count()
}

/// The end of code that begins here. A fence stands alone on its lines and is closed by as many
/// backticks; inline code is closed on its line, and neither end of it stands in a word. Fences that the
/// rest of the text does not close are `unclosed`, by their backticks: nobody need look for their end again.
fn code(text: &str, at: usize, unclosed: &mut HashSet<usize>) -> Option<usize> {
    let count = ticks(&text[at..]);
    let before = &text[..at];
    if count >= 3 && (before.is_empty() || before.ends_with('\n')) {
        if unclosed.contains(&count) {
            return None;
        }
        let mut end = at;
        for (i, line) in text[at..].split_inclusive('\n').enumerate() {
            end += line.len();
            let after = line.trim_end_matches(['\n', '\r', ' ']).get(ticks(line)..);
            match (i, after) {
                (0, Some(named)) if named.contains('`') => return None,
                (1.., Some("")) if ticks(line) == count => return Some(end),
                _ => {}
            }
        }
        unclosed.insert(count);
        return None;
    }
    let in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    if count != 1 || in_word(before.chars().next_back()) {
        return None;
    }
    let inside = text[at + 1..].split('\n').next().unwrap_or_default();
    let end = inside.find('`').filter(|&end| end > 0)?;
    let (code, after) = (&inside[..end], &inside[end + 1..]);
    let spaced = code.starts_with(char::is_whitespace) || code.ends_with(char::is_whitespace);
    let closed = !after.starts_with('`') && !in_word(after.chars().next());
    (closed && !spaced).then_some(at + 1 + end + 1)
}

/// The end of a web address that begins here: the first character that none can have.
fn url(text: &str, at: usize) -> Option<usize> {
    let before = text[..at].chars().next_back();
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let starts = |scheme: &str| {
        text.as_bytes()[at..]
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    };
    let scheme = ["https://", "http://", "ftp://", "www."].into_iter().find(|s| starts(s))?;
    let part = |b: &u8| b.is_ascii_alphanumeric() || b"-._~:/?#@!$&*+,;=%".contains(b);
    let len = text.as_bytes()[at..].iter().take_while(|b| part(b)).count();
    (len > scheme.len()).then_some(at + len)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(text: &str) -> Vec<(SegmentKind, &str)> {
        segments(text).into_iter().map(|(kind, range)| (kind, &text[range])).collect()
    }

    #[test]
    fn code_and_addresses_are_found() {
        use SegmentKind::{Code, Prose, Url};
        assert_eq!(
            kinds("see https://a.example/b?c=d, or `x = 1` there"),
            [
                (Prose, "see "),
                (Url, "https://a.example/b?c=d,"),
                (Prose, " or "),
                (Code, "`x = 1`"),
                (Prose, " there")
            ]
        );
        assert_eq!(
            kinds("é\n```py\nx = `1`\n```\nz"),
            [(Prose, "é\n"), (Code, "```py\nx = `1`\n```\n"), (Prose, "z")]
        );
        assert_eq!(kinds("it`s\nnot` code"), [(Prose, "it`s\nnot` code")]);
        assert_eq!(
            kinds("(HTTP://X.y) www.z.example"),
            [(Prose, "("), (Url, "HTTP://X.y"), (Prose, ") "), (Url, "www.z.example")]
        );
        assert_eq!(kinds("oh how https:// is"), [(Prose, "oh how https:// is")]);
    }

    /// Text that might be a person's words is neither code nor an address.
    #[test]
    fn in_doubt_it_is_prose() {
        for text in [
            "I paste ``` my name is Bob",
            "```never closed\nmy name is Bob",
            "```js\nlet a = `x```y`\nmy name is Bob",
            "```a``` my name is Bob\n```",
            "It`s Bob`s letter",
            "a ` b ` c",
            "``Bob``",
        ] {
            assert_eq!(kinds(text), [(SegmentKind::Prose, text)]);
        }
        assert_eq!(
            kinds("http://a.example。我叫张伟"),
            [(SegmentKind::Url, "http://a.example"), (SegmentKind::Prose, "。我叫张伟")]
        );
    }

    /// A long text of fences that never end is read in no time: in seconds if each looked for its end.
    #[test]
    fn fences_without_end_are_looked_for_once() {
        let text = "```a\n".repeat(200_000);
        let started = std::time::Instant::now();
        assert_eq!(segments(&text), [(SegmentKind::Prose, 0..text.len())]);
        assert!(started.elapsed() < std::time::Duration::from_secs(10));
        let closed = text.clone() + "```\n" + &text;
        assert_eq!(segments(&closed)[0], (SegmentKind::Code, 0..text.len() + 4));
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "[`h ttps:/\n.wé]{0,40}|\\PC{0,60}") {
            let all: String = kinds(&text).into_iter().map(|(_, part)| part).collect();
            prop_assert_eq!(all, text);
        }
    }
}
