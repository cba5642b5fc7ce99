//! Which characters are public.

use super::Options;
use crate::{Error, Result};

/// A text, and which of its bytes belong to units.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) options: Options,
    private: Vec<Side>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Public,
    Private,
    /// `+` and `$`: as their neighbours are.
    Touch,
}

/// The closed list: white space, the marks of ASCII, dashes, the quotes of European languages, ellipsis
/// and bullet.
///
/// The marks of ASCII that Unicode calls symbols are on it (`` = < > | ~ ^ ` ``), or code, tables and
/// Markdown would not survive. Two are not: `+` (O+ is a blood group) and `$` (a currency) belong to
/// the unit that they touch. They are public where they touch none (2 + 2), and `$` is before a
/// letter ($HOME).
fn side(c: char) -> Side {
    match c {
        '+' | '$' => Side::Touch,
        _ if c.is_whitespace() || c.is_ascii_punctuation() => Side::Public,
        '‘' | '’' | '‚' | '“' | '”' | '„' | '‹' | '›' | '«' | '»' | '–' | '—' | '…' | '•' => {
            Side::Public
        }
        _ => Side::Private,
    }
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, options: Options) -> Result<Self> {
        let mut private = Vec::with_capacity(text.len());
        for (offset, c) in text.char_indices() {
            if c.is_control() && !matches!(c, '\t' | '\n' | '\r') {
                return Err(Error::ControlCharacter { code: c.into(), offset });
            }
            private.resize(offset + c.len_utf8(), side(c));
        }
        let mut source = Self { text, options, private };
        if options.code || options.json {
            source.escapes();
        }
        source.touch();
        Ok(source)
    }

    /// Whether the character at an offset belongs to a unit.
    pub(super) fn is_private(&self, at: usize) -> bool {
        self.private.get(at).is_some_and(|&side| side == Side::Private)
    }

    /// Whether the character before an offset belongs to a unit.
    pub(super) fn is_private_before(&self, at: usize) -> bool {
        at > 0 && self.is_private(at - 1)
    }

    /// The character at an offset.
    pub(super) fn char_at(&self, at: usize) -> Option<char> {
        self.text[at..].chars().next()
    }

    /// The character before an offset.
    pub(super) fn char_before(&self, at: usize) -> Option<char> {
        self.text[..at].chars().next_back()
    }

    /// Whether a comma between digits separates them.
    pub(super) fn is_data(&self) -> bool {
        self.options.code || self.options.json
    }

    /// Decides what follows each backslash in code. What is neither escape nor mark takes the
    /// backslash with it, or a word that is put in its place would become an escape.
    fn escapes(&mut self) {
        let mut at = 0;
        while let Some(found) = self.text[at..].find('\\') {
            let backslash = at + found;
            at = backslash + 1;
            match self.text.as_bytes().get(at) {
                Some(b'u' | b'U' | b'x') => self.private[backslash] = Side::Private,
                Some(b) if b.is_ascii_alphabetic() || b.is_ascii_punctuation() => {
                    self.private[at] = Side::Public;
                    at += 1;
                }
                Some(_) if self.is_private(at) => self.private[backslash] = Side::Private,
                _ => {}
            }
        }
    }

    /// Gives each run of `+` and `$` to the unit that it touches.
    fn touch(&mut self) {
        let mut at = 0;
        while let Some(found) = self.private[at..].iter().position(|&side| side == Side::Touch) {
            let start = at + found;
            let run = self.private[start..].iter().take_while(|&&side| side == Side::Touch).count();
            let end = start + run;
            let letter = self.text[end..].starts_with(char::is_alphabetic);
            let variable = letter && self.text[start..end].bytes().all(|b| b == b'$');
            let private = self.is_private_before(start) || self.is_private(end) && !variable;
            self.private[start..end].fill(if private { Side::Private } else { Side::Public });
            at = end;
        }
    }
}
