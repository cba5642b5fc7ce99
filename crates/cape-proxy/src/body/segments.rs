//! Code and web addresses in a text.

use std::ops::Range;

/// What a stretch of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Prose,
    Code,
    Url,
}

/// The stretches of a text, in order and without gaps. A fence that is never closed reaches to the
/// end, a single backtick to the end of its line or else is prose.
pub(crate) fn segments(text: &str) -> Vec<(Kind, Range<usize>)> {
    let mut found = Vec::new();
    let (mut at, mut prose) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        let special = match c {
            '`' => code(text, at).map(|end| (Kind::Code, end)),
            'h' | 'H' | 'f' | 'F' | 'w' | 'W' => url(text, at).map(|end| (Kind::Url, end)),
            _ => None,
        };
        let Some((kind, end)) = special else {
            at += c.len_utf8();
            continue;
        };
        if prose < at {
            found.push((Kind::Prose, prose..at));
        }
        found.push((kind, at..end));
        (at, prose) = (end, end);
    }
    if prose < text.len() {
        found.push((Kind::Prose, prose..text.len()));
    }
    found
}

/// Where code that begins here ends.
fn code(text: &str, at: usize) -> Option<usize> {
    if text[at..].starts_with("```") {
        let inside = at + 3;
        return Some(text[inside..].find("```").map_or(text.len(), |end| inside + end + 3));
    }
    let inside = at + 1;
    let line = text[inside..].find('\n').map_or(text.len(), |end| inside + end);
    text[inside..line].find('`').map(|end| inside + end + 1)
}

/// Where a web address that begins here ends: at white space, quotes or brackets.
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
    let ends = |c: char| c.is_whitespace() || "\"'<>()[]{}`".contains(c);
    let end = text[at..].find(ends).map_or(text.len(), |end| at + end);
    (end > at + scheme.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        segments(text).into_iter().map(|(kind, range)| (kind, &text[range])).collect()
    }

    #[test]
    fn code_and_addresses_are_found() {
        use Kind::{Code, Prose, Url};
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
        assert_eq!(kinds("é```py\nx\n```"), [(Prose, "é"), (Code, "```py\nx\n```")]);
        assert_eq!(kinds("```never closed"), [(Code, "```never closed")]);
        assert_eq!(kinds("it`s\nnot` code"), [(Prose, "it`s\nnot` code")]);
        assert_eq!(
            kinds("(HTTP://X.y) www.z.example"),
            [(Prose, "("), (Url, "HTTP://X.y"), (Prose, ") "), (Url, "www.z.example")]
        );
        assert_eq!(kinds("oh how https:// is"), [(Prose, "oh how https:// is")]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "[`h ttps:/\n.wé]{0,40}|\\PC{0,60}") {
            let all: String = kinds(&text).into_iter().map(|(_, part)| part).collect();
            prop_assert_eq!(all, text);
        }
    }
}
