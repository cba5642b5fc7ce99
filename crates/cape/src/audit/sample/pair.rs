//! Which prompts ε speaks of.

use crate::text::{Token, Tokens};

/// In how many sensitive tokens two prompts differ; none if they are not comparable: if they have
/// not the same number of tokens, the same kept words and spaces, the same cuts into pieces.
#[must_use]
pub fn differing(one: (&str, &Tokens), other: (&str, &Tokens)) -> Option<usize> {
    let (a, b) = (one.1.as_slice(), other.1.as_slice());
    let same = a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            let kept = a.kept.is_none() || (a.id == b.id && own(one.0, a) == own(other.0, b));
            kept && a.kept == b.kept && a.piece == b.piece
        })
        && gaps(one.0, a).eq(gaps(other.0, b));
    let differ = |(a, b): &(&Token, &Token)| a.kept.is_none() && a.id != b.id;
    same.then(|| a.iter().zip(b).filter(differ).count())
}

fn own<'a>(text: &'a str, token: &Token) -> &'a str {
    &text[token.start..token.end]
}

/// What stands before, between and after the tokens.
fn gaps<'a>(text: &'a str, tokens: &'a [Token]) -> impl Iterator<Item = &'a str> {
    let ends = std::iter::once(0).chain(tokens.iter().map(|token| token.end));
    let starts = tokens.iter().map(|token| token.start).chain([text.len()]);
    ends.zip(starts).map(|(end, start)| &text[end..start])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Piece, TokenId, Why};

    #[test]
    fn prompts_are_comparable_if_they_differ_in_sensitive_tokens_only() {
        let token = |id, start, end, kept: bool| Token {
            id: TokenId(id),
            start,
            end,
            piece: Piece::Start,
            kept: kept.then_some(Why::Listed),
        };
        let tokens = |tokens: &[Token]| Tokens::from(tokens.to_vec());
        let (text, one) = ("the good book", [(1, 0, 3, true), (2, 4, 8, false), (3, 9, 13, false)]);
        let one = tokens(&one.map(|(id, start, end, kept)| token(id, start, end, kept)));
        let with = |other: &str, second: Token, first_kept: bool| {
            let end = second.end;
            let third = token(3, end + 1, end + 5, false);
            let other_tokens = tokens(&[token(1, 0, 3, first_kept), second, third]);
            differing((text, &one), (other, &other_tokens))
        };
        assert_eq!(with("the good book", token(2, 4, 8, false), true), Some(0));
        assert_eq!(with("the bad book", token(9, 4, 7, false), true), Some(1));
        assert_eq!(with("the bad book", token(9, 4, 7, true), true), None);
        assert_eq!(with("the bad book", token(9, 4, 7, false), false), None);
        assert_eq!(with("THE bad book", token(9, 4, 7, false), true), None);
        assert_eq!(with("the bad\nbook", token(9, 4, 7, false), true), None);
        let piece = Token { piece: Piece::Continuation, ..token(9, 4, 7, false) };
        assert_eq!(with("the bad book", piece, true), None);
        assert_eq!(differing((text, &one), ("the", &tokens(&[token(1, 0, 3, true)]))), None);
    }
}
