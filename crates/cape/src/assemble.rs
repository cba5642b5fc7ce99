//! Tokens and what became of them as text, and back: for the mechanisms that work on pieces.

use std::collections::BTreeMap;

use crate::text::{Outcome, Piece, ReleasedToken, TokenId, Tokens};
use crate::vocab::{Vocab, number};

/// Puts the outcomes in the place of their tokens: kept text and white space byte for byte.
///
/// Where two words met without a space between them (as in scripts that do not use any), and one
/// of them was replaced, a space is put in, lest they run together. What is left out takes the white
/// space before it along.
///
/// # Panics
/// If there is not one outcome per token.
#[must_use]
pub fn assemble(
    text: &str,
    tokens: &Tokens,
    outcomes: &[Outcome],
    vocab: &Vocab,
) -> (String, Vec<ReleasedToken>) {
    assert_eq!(tokens.as_slice().len(), outcomes.len(), "one outcome per token");
    let mut out = String::with_capacity(text.len() + 16);
    let mut released_tokens = Vec::with_capacity(outcomes.len());
    let (mut at, mut after_draw) = (0, false);
    for (token, &outcome) in tokens.as_slice().iter().zip(outcomes) {
        let own = &text[token.start..token.end];
        let (released, drawn, begins) = match outcome {
            Outcome::Kept(_) => (own.to_owned(), false, token.piece),
            Outcome::Drawn { id, .. } => {
                (vocab.surface(id).to_owned(), true, vocab.piece(id).unwrap_or(Piece::Start))
            }
            Outcome::Number(number) => (number.to_string(), true, token.piece),
            Outcome::Shifted(by) => (shifted(own, by), true, token.piece),
            Outcome::Dropped => (String::new(), true, token.piece),
        };
        // what was left out before the first word that is there took its space along as well
        if outcome != Outcome::Dropped && (at == 0 || !out.is_empty()) {
            out.push_str(&text[at..token.start]);
        }
        let touches = at == token.start && begins == Piece::Start && (drawn || after_draw);
        if touches && run_together(&out, &released) {
            out.push(' ');
        }
        out.push_str(&released);
        let (start, end) = (token.start, token.end);
        released_tokens.push(ReleasedToken { start, end, released, outcome });
        (at, after_draw) = (token.end, drawn);
    }
    out.push_str(&text[at..]);
    (out, released_tokens)
}

/// Reads off a released text what was drawn at each sensitive position of the prompt it came from,
/// the inverse of [`assemble`]. None where it is no release of this prompt.
///
/// Where a replaced word of several pieces can be cut up in more than one way, one of them is
/// taken.
#[must_use]
pub fn recover(
    text: &str,
    tokens: &Tokens,
    released: &str,
    vocab: &Vocab,
) -> Option<Vec<Option<TokenId>>> {
    // for each token, the places where it can end, with where it then began to be read and its draw
    type Ends = BTreeMap<usize, (usize, Option<TokenId>)>;
    let mut steps: Vec<Ends> = Vec::with_capacity(tokens.as_slice().len());
    let mut places = vec![0];
    let (mut at, mut after_draw) = (0, false);
    for token in tokens.as_slice() {
        let (gap, drawn) = (&text[at..token.start], token.kept.is_none());
        let mut ends = Ends::new();
        for &place in &places {
            let Some(rest) = released[place..].strip_prefix(gap) else { continue };
            // a space stands where `assemble` puts one, and nowhere else
            for (rest, space) in [(Some(rest), false), (rest.strip_prefix(' '), true)] {
                let Some(rest) = rest else { continue };
                let from = released.len() - rest.len();
                let fits = |surface: &str, begins: Piece| {
                    let touches = gap.is_empty() && begins == Piece::Start && (drawn || after_draw);
                    space == (touches && run_together(&released[..place], surface))
                };
                if !drawn {
                    let own = &text[token.start..token.end];
                    if rest.starts_with(own) && fits(own, token.piece) {
                        ends.entry(from + own.len()).or_insert((place, None));
                    }
                    continue;
                }
                for (id, piece, len) in draws(rest, token.piece, vocab) {
                    if fits(&rest[..len], piece) {
                        ends.entry(from + len).or_insert((place, Some(id)));
                    }
                }
            }
        }
        places = ends.keys().copied().collect();
        steps.push(ends);
        (at, after_draw) = (token.end, drawn);
    }
    // back from the end of the text to its beginning
    let mut place = released.len().checked_sub(text.len() - at)?;
    if !places.contains(&place) || released[place..] != text[at..] {
        return None;
    }
    let mut drawn = Vec::with_capacity(steps.len());
    for ends in steps.iter().rev() {
        let &(before, id) = ends.get(&place)?;
        drawn.push(id);
        place = before;
    }
    drawn.reverse();
    Some(drawn)
}

/// A number rounded to an integer, and moved.
fn shifted(own: &str, by: u32) -> String {
    // what is shifted is a number below 10^15: its integers are exact
    let rounded = number(own).unwrap_or_default().round_ties_even() as i64;
    (rounded + i64::from(by)).to_string()
}

/// Whether two words would run together.
fn run_together(before: &str, after: &str) -> bool {
    let border = [before.chars().next_back(), after.chars().next()];
    border.iter().all(|c| c.is_some_and(char::is_alphanumeric))
}

/// The entries that a text can begin with, those of the position's kind first, and their lengths.
fn draws(text: &str, kind: Piece, vocab: &Vocab) -> Vec<(TokenId, Piece, usize)> {
    let other = if kind == Piece::Start { Piece::Continuation } else { Piece::Start };
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let ends: Vec<usize> = ends.take_while(|&end| end <= vocab.longest()).collect();
    let entry = |piece, end: usize| Some((vocab.piece_id(&text[..end], piece)?, piece, end));
    let of = |piece| ends.iter().filter_map(move |&end| entry(piece, end));
    of(kind).chain(of(other)).collect()
}
