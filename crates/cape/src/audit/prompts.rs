//! The loss between two prompts that differ in one sensitive token.

use crate::Result;
use crate::buckets::Bucketed;
use crate::mechanism::cape_paper::CapePaper;
use crate::sample::Share;
use crate::text::{TokenId, Tokens};

/// Why two prompts are no neighbours in the sense of the guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNeighbours {
    /// They have different numbers of tokens.
    #[error("the prompts have {0} and {1} tokens")]
    Lengths(usize, usize),
    /// Their public structure differs: kept words, white space, or where words begin.
    #[error("the prompts' public structure differs at token {0}")]
    Structure(usize),
    /// They differ in this many sensitive tokens, not in one.
    #[error("the prompts differ in {0} sensitive tokens")]
    Tokens(usize),
}

/// The position in which two prompts differ, if they have the same public structure and differ in one
/// sensitive token.
pub fn changed(
    one: (&str, &Tokens),
    other: (&str, &Tokens),
) -> std::result::Result<usize, NoNeighbours> {
    match differing(one, other)?.as_slice() {
        &[one] => Ok(one),
        several => Err(NoNeighbours::Tokens(several.len())),
    }
}

/// The positions in which two prompts differ, if they have the same public structure.
pub fn differing(
    (text, tokens): (&str, &Tokens),
    (other_text, others): (&str, &Tokens),
) -> std::result::Result<Vec<usize>, NoNeighbours> {
    let (tokens, others) = (tokens.as_slice(), others.as_slice());
    if tokens.len() != others.len() {
        return Err(NoNeighbours::Lengths(tokens.len(), others.len()));
    }
    let (mut at, mut other_at) = (0, 0);
    let mut changed = Vec::new();
    for (i, (a, b)) in tokens.iter().zip(others).enumerate() {
        let kept_alike = a.kept == b.kept
            && (a.kept.is_none()
                || a.id == b.id && text[a.start..a.end] == other_text[b.start..b.end]);
        let spaced_alike = text[at..a.start] == other_text[other_at..b.start];
        if !(kept_alike && spaced_alike && a.piece == b.piece) {
            return Err(NoNeighbours::Structure(i + 1));
        }
        if a.id != b.id {
            changed.push(i);
        }
        (at, other_at) = (a.end, b.end);
    }
    if text[at..] != other_text[other_at..] {
        return Err(NoNeighbours::Structure(tokens.len()));
    }
    Ok(changed)
}

/// The same prompt with another token at position `i`.
#[must_use]
pub fn replaced(tokens: &Tokens, i: usize, id: TokenId) -> Tokens {
    let mut tokens = tokens.as_slice().to_vec();
    tokens[i].id = id;
    tokens.into()
}

/// The distribution of the draw at every sensitive position. `drawn` says how sensitive tokens came out;
/// each position sees those of earlier turns, in the released context.
pub fn rows(cape: &CapePaper, tokens: &Tokens, drawn: &[Option<TokenId>]) -> Result<Vec<Bucketed>> {
    let row = |i: usize| cape.position(tokens, drawn, i)?.row(tokens.as_slice()[i].id);
    tokens.sensitive().map(row).collect()
}

/// The largest log-ratio of the probabilities of an output between two rows, one way and the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// max over y of ln P[y | x] / P[y | x′].
    pub forth: f64,
    /// max over y of ln P[y | x′] / P[y | x].
    pub back: f64,
}

impl Loss {
    /// Between two distributions over the same candidates: exactly zero where they are equal.
    #[must_use]
    pub fn between(a: &[Share], b: &[Share]) -> Self {
        let largest = |a: &[Share], b: &[Share]| {
            a.iter().zip(b).map(|(a, &b)| a.log_ratio_up(b)).fold(0.0, f64::max)
        };
        Self { forth: largest(a, b), back: largest(b, a) }
    }

    /// The loss of independent draws: the worst outputs of all of them are the worst release.
    #[must_use]
    pub fn sum(losses: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> f64| losses.iter().map(of).sum();
        Self { forth: sum(|loss| loss.forth), back: sum(|loss| loss.back) }
    }

    /// The larger of the two.
    #[must_use]
    pub fn worst(self) -> f64 {
        self.forth.max(self.back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Piece, Token, Why};

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
            differing((text, &one), (other, &other_tokens)).ok()
        };
        assert_eq!(with("the good book", token(2, 4, 8, false), true), Some(vec![]));
        assert_eq!(with("the bad book", token(9, 4, 7, false), true), Some(vec![1]));
        assert_eq!(with("the bad book", token(9, 4, 7, true), true), None);
        assert_eq!(with("the bad book", token(9, 4, 7, false), false), None);
        assert_eq!(with("THE bad book", token(9, 4, 7, false), true), None);
        assert_eq!(with("the bad\nbook", token(9, 4, 7, false), true), None);
        let piece = Token { piece: Piece::Continuation, ..token(9, 4, 7, false) };
        assert_eq!(with("the bad book", piece, true), None);
        let shorter = tokens(&[token(1, 0, 3, true)]);
        let lengths = NoNeighbours::Lengths(3, 1);
        assert_eq!(differing((text, &one), ("the", &shorter)), Err(lengths));
    }
}
