//! Times and days that are written with words: 5 pm, 14 June, June 14th, 3rd of May, June 2014.
//!
//! A day is released as 14 June, whatever order the prompt has. So one that began with a letter begins with a digit in a
//! release: nothing may touch it that joins digits.

use super::super::structure::may_join;
use super::{Kind, Piece, Source, gap, gap_before, kinds, rewrite};

/// A number or a time takes am or pm after a space: 5 pm, 9:30 a.m.
pub(super) fn times(source: &Source, pieces: &mut Vec<Piece>) {
    rewrite(pieces, |pieces, i| {
        let here = Here { source, pieces };
        let joins = (here.is(i, Kind::Number) || here.is(i, Kind::Time))
            && here.gap(i) == " "
            && here.is(i + 1, Kind::Word)
            && kinds::is_am_or_pm(here.text(i + 1))
            && !may_join(source, here.gap(i + 1));
        if joins { (2, Some(here.joined(i, 2, Kind::Time))) } else { (1, None) }
    });
}

/// The number of a day and the name of a month are a day, the name and a year a month of a year. What is released for a
/// month must not come to stand beside a number that is no part of it: where it does, the month is a word.
pub(super) fn days(source: &Source, pieces: &mut Vec<Piece>) {
    rewrite(pieces, |pieces, i| {
        let here = Here { source, pieces };
        match here.day_first(i).or_else(|| here.month_first(i)) {
            Some((n, kind)) => (n, Some(here.joined(i, n, kind))),
            None if here.is(i, Kind::Month) && here.touches_number(i) => {
                (1, Some(Piece { kind: Kind::Word, ..pieces[i] }))
            }
            None => (1, None),
        }
    });
}

struct Here<'a> {
    source: &'a Source<'a>,
    pieces: &'a [Piece],
}

impl Here<'_> {
    fn text(&self, i: usize) -> &str {
        self.pieces.get(i).map_or("", |piece| &self.source.text[piece.start..piece.end])
    }

    fn is(&self, i: usize, kind: Kind) -> bool {
        self.pieces.get(i).is_some_and(|piece| piece.kind == kind)
    }

    fn gap(&self, i: usize) -> &str {
        gap(self.source, self.pieces, i)
    }

    fn joined(&self, i: usize, n: usize, kind: Kind) -> Piece {
        Piece { start: self.pieces[i].start, end: self.pieces[i + n - 1].end, kind }
    }

    fn is_month(&self, i: usize) -> bool {
        (self.is(i, Kind::Word) || self.is(i, Kind::Month)) && kinds::is_month(self.text(i))
    }

    fn is_day(&self, i: usize) -> bool {
        self.is(i, Kind::Number) && kinds::is_day_of_month(self.text(i))
    }

    fn is_ordinal(&self, i: usize) -> bool {
        self.is(i, Kind::Word) && kinds::is_ordinal(self.text(i))
    }

    fn follows_number(&self, i: usize) -> bool {
        i > 0 && self.is(i - 1, Kind::Number) && self.gap(i - 1) == " "
    }

    /// Whether a number stands before or after a piece, unless it is that of a day after it.
    fn touches_number(&self, i: usize) -> bool {
        let before = self.gap(i) == " " && self.is(i + 1, Kind::Number);
        self.follows_number(i) || before && self.day_first(i + 1).is_none()
    }

    /// Whether nothing stands before a piece that joins digits.
    fn is_open(&self, i: usize) -> bool {
        !may_join(self.source, gap_before(self.source, self.pieces, i))
            && self.source.char_before(self.pieces[i].start) != Some('$')
            && !self.follows_number(i)
    }

    /// 12 June, 12th June, 12th of June: how many pieces, and their kind.
    fn day_first(&self, i: usize) -> Option<(usize, Kind)> {
        let ordinal = self.is_ordinal(i) && self.is_open(i);
        if !(ordinal || self.is_day(i)) || self.gap(i) != " " {
            return None;
        }
        if self.is_month(i + 1) {
            return Some((2, Kind::Day));
        }
        let of = ordinal && self.text(i + 1) == "of" && self.gap(i + 1) == " ";
        (of && self.is_month(i + 2)).then_some((3, Kind::Day))
    }

    /// June 12, June 12th, Jan. 12, June 2014: how many pieces, and their kind.
    fn month_first(&self, i: usize) -> Option<(usize, Kind)> {
        let kind = if self.is_day(i + 1) || self.is_ordinal(i + 1) {
            Kind::Day
        } else if self.is(i + 1, Kind::Number) && kinds::is_year(self.text(i + 1)) {
            Kind::MonthOfYear
        } else {
            return None;
        };
        let space =
            self.gap(i) == " " || self.gap(i) == ". " && kinds::is_abbreviation(self.text(i));
        let joins = space
            && self.is_month(i)
            && self.is_open(i)
            && self.day_first(i + 1).is_none()
            && !may_join(self.source, self.gap(i + 1));
        joins.then_some((2, kind))
    }
}
