//! From pieces to units: what colons, commas, hyphens, slashes and spaces join.
//!
//! Each join is decided by the separators and the kinds alone, or by digits that no released number
//! has: so it is decided for a release as it was for the prompt.

use super::Piece;
use super::characters::Source;
use crate::kinds::{self, Kind};

mod calendar;

/// Joins pieces in place, one rule after the other.
pub(super) fn join(source: &Source, pieces: &mut Vec<Piece>) {
    numbers(source, pieces);
    hyphens(source, pieces);
    dates(source, pieces);
    currencies(source, pieces);
    accounts(source, pieces);
    groups(source, pieces);
    rows(source, pieces);
    calendar::times(source, pieces);
    calendar::days(source, pieces);
}

/// Goes through the pieces in order. `take` looks at those that begin at an index and says how many it
/// has judged, and which piece replaces them if they are joined.
fn rewrite(pieces: &mut Vec<Piece>, take: impl Fn(&[Piece], usize) -> (usize, Option<Piece>)) {
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    let mut i = 0;
    while i < pieces.len() {
        match take(pieces, i) {
            (n, Some(piece)) => {
                joined.push(piece);
                i += n;
            }
            (n, None) => {
                joined.extend(&pieces[i..i + n]);
                i += n;
            }
        }
    }
    *pieces = joined;
}

/// The separator after the i-th piece; empty after the last.
fn gap<'a>(source: &Source<'a>, pieces: &[Piece], i: usize) -> &'a str {
    pieces.get(i + 1).map_or("", |next| &source.text[pieces[i].end..next.start])
}

/// The separator before the i-th piece.
fn gap_before<'a>(source: &Source<'a>, pieces: &[Piece], i: usize) -> &'a str {
    i.checked_sub(1).map_or("", |before| gap(source, pieces, before))
}

/// How many pieces from the i-th on, one at least, are of such kinds with such separators between.
fn chain(
    source: &Source,
    pieces: &[Piece],
    i: usize,
    marks: &[&str],
    fits: impl Fn(Kind) -> bool,
) -> usize {
    let joins = |&j: &usize| marks.contains(&gap(source, pieces, j)) && fits(pieces[j + 1].kind);
    if fits(pieces[i].kind) { 1 + (i..pieces.len()).take_while(joins).count() } else { 1 }
}

/// One numeric piece of several.
fn numeric(source: &Source, pieces: &[Piece]) -> Piece {
    let (start, end) = (pieces[0].start, pieces[pieces.len() - 1].end);
    let own = pieces.iter().map(|piece| piece.kind).find(|&kind| kind != Kind::Number);
    Piece { start, end, kind: kinds::of_numbers(&source.text[start..end], own) }
}

/// Colons and commas join all that is numeric: 14:30, 1,200.
fn numbers(source: &Source, pieces: &mut Vec<Piece>) {
    let marks: &[&str] = if source.is_data() { &[":"] } else { &[":", ","] };
    rewrite(pieces, |pieces, i| {
        let n = chain(source, pieces, i, marks, Kind::is_numeric);
        (n, (n > 1).then(|| numeric(source, &pieces[i..i + n])))
    });
}

/// Hyphens join all but two numbers, weekdays (Monday-Friday), and but a number, two or an amount to words that follow
/// (54-year-old, 5-10-year, $5-a-day); a date has hyphens of its own and joins what it touches.
fn hyphens(source: &Source, pieces: &mut Vec<Piece>) {
    rewrite(pieces, |pieces, i| {
        let n = chain(source, pieces, i, &["-"], |_| true);
        let chain = &pieces[i..i + n];
        let of = |kind: Kind| chain.iter().take_while(|piece| piece.kind == kind).count();
        let lead = of(Kind::Number).max(of(Kind::Amount).min(1));
        if (1..=2).contains(&lead) && lead < n && are_words(source, &chain[lead..]) {
            return (lead, None);
        }
        if chain.iter().all(|piece| piece.kind == Kind::Weekday) {
            return (n, None);
        }
        if !chain.iter().all(|piece| piece.kind.is_numeric()) {
            let (start, end) = (chain[0].start, chain[n - 1].end);
            let kind = kinds::of_mixed(&source.text[start..end]);
            return (n, (n > 1).then_some(Piece { start, end, kind }));
        }
        let joins = n > 2 || n == 2 && chain.iter().any(|piece| piece.kind == Kind::Date);
        (n, joins.then(|| numeric(source, chain)))
    });
}

/// Whether pieces make a word, and each is one or a name: as for every word of a release (mid-July).
fn are_words(source: &Source, pieces: &[Piece]) -> bool {
    let (start, end) = (pieces[0].start, pieces[pieces.len() - 1].end);
    pieces.iter().all(|piece| piece.kind == Kind::Word || is_name(piece))
        && kinds::of_mixed(&source.text[start..end]) == Kind::Word
}

/// Whether a piece is the name of a month or a weekday.
fn is_name(piece: &Piece) -> bool {
    matches!(piece.kind, Kind::Month | Kind::Weekday)
}

/// Two slashes in a row of exactly three numbers join them: 15/03/2024.
fn dates(source: &Source, pieces: &mut Vec<Piece>) {
    let open = |gap: &str| gap != "/" && gap != "-";
    rewrite(pieces, |pieces, i| {
        let n = chain(source, pieces, i, &["/"], |kind| kind == Kind::Number);
        let joins =
            n == 3 && open(gap_before(source, pieces, i)) && open(gap(source, pieces, i + 2));
        (n, joins.then(|| numeric(source, &pieces[i..i + n])))
    });
}

/// A currency sign and a number with one space between: 15 €, £ 3.
fn currencies(source: &Source, pieces: &mut Vec<Piece>) {
    let is_sign = |piece: &Piece| {
        let mut chars = source.text[piece.start..piece.end].chars();
        chars.next().is_some_and(kinds::is_currency) && chars.next().is_none()
    };
    let open = |gap: &str| !matches!(gap, "," | "." | ":" | "-" | "/" | "_");
    rewrite(pieces, |pieces, i| {
        let Some([a, b]) = pieces.get(i..i + 2) else { return (1, None) };
        let joins = matches!(gap(source, pieces, i), " " | "\u{a0}" | "\u{202f}")
            && (a.kind == Kind::Number && is_sign(b) || is_sign(a) && b.kind == Kind::Number)
            && open(gap_before(source, pieces, i))
            && open(gap(source, pieces, i + 1));
        let piece = Piece { start: a.start, end: b.end, kind: Kind::Amount };
        if joins { (2, Some(piece)) } else { (1, None) }
    });
}

/// Bank account numbers in groups of four: DE89 3704 0044 0532 0130 00.
fn accounts(source: &Source, pieces: &mut Vec<Piece>) {
    let text = |piece: &Piece| &source.text[piece.start..piece.end];
    let is_head = |text: &str| {
        let [a, b, c, d] = text.as_bytes() else { return false };
        [a, b].iter().all(|b| b.is_ascii_uppercase()) && [c, d].iter().all(|b| b.is_ascii_digit())
    };
    let is_group = |piece: &Piece| {
        let group = text(piece);
        group.len() <= 4 && group.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
    };
    rewrite(pieces, |pieces, i| {
        if !is_head(text(&pieces[i])) {
            return (1, None);
        }
        let (mut account, mut found) = (text(&pieces[i]).to_owned(), None);
        for j in i + 1..pieces.len() {
            account.push_str(text(&pieces[j]));
            let over = account.len() > *kinds::IBAN_LENGTHS.end();
            if over || gap(source, pieces, j - 1) != " " || !is_group(&pieces[j]) {
                break;
            }
            if kinds::is_iban(&account) && !matches!(gap(source, pieces, j), "-" | ".") {
                found = Some(j);
            }
        }
        let Some(last) = found else { return (1, None) };
        let piece = Piece { start: pieces[i].start, end: pieces[last].end, kind: Kind::Identifier };
        (last - i + 1, Some(piece))
    });
}

/// Single spaces and hyphens join groups of digits to an identifier: cards and phones, the first
/// group in brackets perhaps. Where each group is a released number this rule leaves them, as it must
/// leave all the numbers of a release.
fn groups(source: &Source, pieces: &mut Vec<Piece>) {
    let text = |piece: &Piece| &source.text[piece.start..piece.end];
    let is_group = |piece: &Piece| piece.kind == Kind::Number && kinds::is_digits(text(piece));
    rewrite(pieces, |pieces, i| {
        if !is_group(&pieces[i]) {
            return (1, None);
        }
        let bracket = bracket_before(source, pieces[i].start)
            .filter(|_| matches!(gap(source, pieces, i), ")" | ") " | ")-"));
        let joins = |&j: &usize| {
            let mark = matches!(gap(source, pieces, j), " " | "-") || j == i && bracket.is_some();
            mark && is_group(&pieces[j + 1])
        };
        let n = 1 + (i..pieces.len()).take_while(joins).count();
        let chain = &pieces[i..i + n];
        let digits: usize = chain.iter().map(|piece| kinds::digits(text(piece))).sum();
        let released = chain.iter().all(|piece| kinds::is_grid_number(text(piece)));
        // an identifier joins what a hyphen ties to it
        let tied = gap_before(source, pieces, i) == "-" || gap(source, pieces, i + n - 1) == "-";
        let start = bracket.unwrap_or(chain[0].start);
        let piece = Piece { start, end: chain[n - 1].end, kind: Kind::Identifier };
        (n, (n > 1 && digits >= 7 && !released && !tied).then_some(piece))
    });
}

/// Single spaces join three numbers or more: most are phones, and of a shorter row each number would
/// stay near to what it was.
fn rows(source: &Source, pieces: &mut Vec<Piece>) {
    rewrite(pieces, |pieces, i| {
        let n = chain(source, pieces, i, &[" ", "-"], |kind| kind == Kind::Number);
        let spaces = (i..i + n - 1).all(|j| gap(source, pieces, j) == " ");
        let tied = gap_before(source, pieces, i) == "-" || gap(source, pieces, i + n - 1) == "-";
        let (start, end) = (pieces[i].start, pieces[i + n - 1].end);
        let digits = kinds::digits(&source.text[start..end]);
        let kind = if digits < 7 { Kind::Number } else { Kind::Identifier };
        (n, (n > 2 && spaces && !tied).then_some(Piece { start, end, kind }))
    });
}

/// Where the opening bracket before an offset stands, if it begins a white-space chunk.
fn bracket_before(source: &Source, at: usize) -> Option<usize> {
    let rest = source.text[..at].strip_suffix('(')?;
    (rest.is_empty() || rest.ends_with(char::is_whitespace)).then_some(rest.len())
}
