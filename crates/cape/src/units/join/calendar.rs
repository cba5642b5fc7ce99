//! Times and days that are written with words: 5 pm, 14 June, June 14th, 3rd of May, June 2014.
//!
//! What is released for a day is 14 June, whatever order the prompt has. So a day that began with a letter begins with a
//! digit in a release: nothing may touch it that joins digits.

use super::super::structure::{is_first, is_opened, may_join};
use super::{Kind, Piece, Source, gap, gap_before, kinds, rewrite};

/// A number or a time takes am or pm after a space: 5 pm, 9:30 a.m.
pub(super) fn times(source: &Source, pieces: &mut Vec<Piece>) {
    rewrite(pieces, |pieces, i| {
        let Some([clock, half]) = pieces.get(i..i + 2) else { return (1, None) };
        let text = |piece: &Piece| &source.text[piece.start..piece.end];
        let is_clock = match clock.kind {
            Kind::Time => true,
            Kind::Number => kinds::is_half_day(text(clock)),
            _ => false,
        };
        let joins = is_clock
            && half.kind == Kind::Word
            && gap(source, pieces, i) == " "
            && kinds::is_am_or_pm(text(half))
            && !may_join(source, gap(source, pieces, i + 1));
        let piece = Piece { start: clock.start, end: half.end, kind: Kind::Time };
        if joins { (2, Some(piece)) } else { (1, None) }
    });
}

/// A number and the name of a month are a day, or a month of a year.
pub(super) fn days(source: &Source, pieces: &mut Vec<Piece>) {
    rewrite(pieces, |pieces, i| {
        let here = Here { source, pieces };
        match here.day_first(i).or_else(|| here.month_first(i)) {
            Some((n, kind)) => {
                (n, Some(Piece { start: pieces[i].start, end: pieces[i + n - 1].end, kind }))
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

    fn is_month(&self, i: usize) -> bool {
        (self.is(i, Kind::Word) || self.is(i, Kind::Month)) && kinds::is_month(self.text(i))
    }

    fn is_ordinal(&self, i: usize) -> bool {
        self.is(i, Kind::Word) && kinds::is_ordinal(self.text(i))
    }

    /// Whether nothing stands before a piece that joins digits.
    fn is_open(&self, i: usize) -> bool {
        !may_join(self.source, gap_before(self.source, self.pieces, i))
            && self.source.char_before(self.pieces[i].start) != Some('$')
    }

    /// 12 June, 12th June, 12th of June: how many pieces, and their kind. A number takes the month after it whatever the
    /// number is, because one that is released could be any.
    fn day_first(&self, i: usize) -> Option<(usize, Kind)> {
        let number = self.is(i, Kind::Number);
        if !(number || self.is_ordinal(i) && self.is_open(i)) || self.gap(i) != " " {
            return None;
        }
        if self.is_month(i + 1) {
            return Some((2, Kind::Day));
        }
        let of = !number && self.text(i + 1) == "of" && self.gap(i + 1) == " ";
        (of && self.is_month(i + 2)).then_some((3, Kind::Day))
    }

    /// June 12, June 12th, Jan. 12, June 2014: how many pieces, and their kind.
    fn month_first(&self, i: usize) -> Option<(usize, Kind)> {
        let ordinal = self.is_ordinal(i + 1);
        if !(ordinal || self.is(i + 1, Kind::Number)) || !self.is_month(i) {
            return None;
        }
        let name = self.text(i);
        let joins = self.gap(i) == " " || self.gap(i) == ". " && kinds::is_abbreviation(name);
        let before = gap_before(self.source, self.pieces, i);
        // a sentence may begin with "may" or "march", drawn for whatever stood there
        let first = i == 0 || is_first(before) || is_opened(before);
        if !joins || !self.is_open(i) || first && ["May", "March"].contains(&name) {
            return None;
        }
        if self.day_first(i + 1).is_some() || may_join(self.source, self.gap(i + 1)) {
            return None;
        }
        let day = ordinal || kinds::is_day_of_month(self.text(i + 1));
        Some((2, if day { Kind::Day } else { Kind::MonthOfYear }))
    }
}
