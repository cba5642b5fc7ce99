//! The public rule that cuts text into units. One unit is one draw; what stands between units is
//! public and comes back byte for byte.
//!
//! **Public characters** are a closed list (`units/characters.rs`); every other character belongs to a unit:
//! letters, digits, emoji, flags, symbols, zero-width characters. A run of such characters is never
//! cut, so emoji belong to the word they touch, and a run of a script without spaces is one unit.
//!
//! **Joins.** Between two such characters
//! - an apostrophe (`'` or `’`) or an `@` always joins (O'Brien), and an @ makes an e-mail address; a final
//!   's, in any case, is public, and so are 's, n't, 're, 've, 'll, 'd, 'm and 't that stand by themselves in
//!   prose, as tokenizers leave them;
//! - a dot joins wherever a digit stands in the same run (3.14, v1.2), and single letters (U.S.) unless each is
//!   one that can be drawn (a, A, I): `o.total` is two words;
//! - a hyphen joins too (well-known, COVID-19), except between two numbers (2-3 tablets), between weekdays
//!   (Monday-Friday), and after a number, two or an amount before words alone (54-year-old, 5-10-year, $5-a-day);
//! - a colon, or a comma in prose, joins numbers (14:30, 1,200), and so do two slashes in a row of
//!   exactly three (15/03/2024);
//! - single spaces and hyphens join groups of digits with seven digits or more (4454 7945 1139 0933),
//!   unless each group is a number as it could be released (1990-1995), and single spaces join three
//!   numbers or more whatever they are (915 99 645);
//! - a single space joins am and pm to a number or a time (5 pm), and the name of a month to the number of a day (14 June,
//!   June 14th, 3rd of May) or a year (June 2014);
//! - `://` joins whatever stands around it to a URL, which lasts until a character that ends it.
//!
//! Everything else separates, `_` and `/` among it.
//!
//! **A release is cut as its prompt was**: put for each unit a plain word (of kind word), or any
//! released value of its kind, and the cut has the same kinds, separators and first places. A *plain
//! word* is cut to one unit of kind word, begins with a letter, has no digit and no dot, does not end in 's, and is
//! no letter but a, A and I, not a clitic (`re`), `www`, a month, `am` after a number or the prefix of a secret; in declared JSON that has bare words
//! outside of strings, neither `true`, `false` nor `null`. This is why joins look at the kinds of what they join, or at
//! digits that no released number has, and why some marks belong to the unit beside them and do not
//! come back:
//! - the mark after a number that begins a line but continues no list (`42. `), or the release could
//!   begin one, with a number that follows the mark;
//! - the minus before a number, and the hyphen that ends a word (`O-` is a blood group as `O+` is),
//!   unless what they part would join without them.

use std::fmt;

use crate::Result;
use crate::kinds::Kind;

mod characters;
mod join;
mod scan;
mod structure;

/// Facts about a text beside its characters. The default is prose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The text is source code. A backslash and the letter, mark or backslash after it are public
    /// (`\n`), but for `\u` and `\x`, which write a character. A comma does not join digits.
    pub code: bool,
    /// The text is JSON. As for code, and `true`, `false` and `null` outside of strings are public.
    pub json: bool,
}

/// A piece of text that is drawn for. Its Debug has no text in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Its kind.
    pub kind: Kind,
    /// Whether it stands first: the separators before it reach the start of the text, or have a line
    /// break, or a `.`, `!` or `?` with closing marks and white space after it, or end in a mark that opens a
    /// quotation, brackets or bold type.
    pub first: bool,
    /// Whether a drawn word is written with a capital here: a line or a sentence begins here, and not a line
    /// that merely goes on after a break.
    pub capital: bool,
}

impl Options {
    /// The name in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self { json: true, .. } => "json",
            Self { code: true, .. } => "code",
            _ => "prose",
        }
    }

    /// Whether the text is data, where no place asks for a capital.
    pub(crate) fn is_data(self) -> bool {
        self.code || self.json
    }
}

impl Unit {
    /// Its part of the text that it was cut from.
    ///
    /// # Panics
    /// If it was cut from another text.
    #[must_use]
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start..self.end]
    }
}

impl fmt::Debug for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, end, kind, first, .. } = self;
        write!(f, "Unit({start}..{end} {}{})", kind.as_str(), if *first { " first" } else { "" })
    }
}

/// All units of a text, in order. What stands between them is never empty.
///
/// Control characters are refused, but for tab, line feed and carriage return.
pub fn cut(text: &str, options: Options) -> Result<Vec<Unit>> {
    let source = characters::Source::new(text, options)?;
    let mut pieces = scan::pieces(&source);
    join::join(&source, &mut pieces);
    Ok(structure::units(&source, pieces))
}

/// A unit in the making.
#[derive(Clone, Copy)]
struct Piece {
    start: usize,
    end: usize,
    kind: Kind,
}

#[cfg(test)]
mod tests;
