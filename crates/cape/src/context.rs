//! The context that the model may see around a position.

use std::ops::Range;

use serde::Deserialize;

use crate::model::LanguageModel;
use crate::text::{TokenId, Tokens};

/// Which context the model scores a position in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Context {
    /// The releases of earlier turns, the kept tokens, and masks where draws are still to
    /// come: a token enters the output through its own draw only.
    Released,
    /// The true prompt, as in the paper: a token influences the draw at every position.
    Raw,
}

impl Context {
    /// Both contexts.
    pub const ALL: [Self; 2] = [Self::Released, Self::Raw];

    /// As it appears in settings and in output for machines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Raw => "raw",
        }
    }
}

/// The tokens that the model is shown for position `i`, and where it stands among them. `drawn` holds
/// what is known of the draws: none is a mask.
pub(crate) fn seen(
    model: &dyn LanguageModel,
    context: Context,
    tokens: &Tokens,
    drawn: &[Option<TokenId>],
    i: usize,
) -> (Vec<TokenId>, usize) {
    let window = window(tokens.as_slice().len(), i, model.window());
    let ids = window
        .clone()
        .map(|j| {
            let token = &tokens.as_slice()[j];
            match context {
                Context::Released if token.kept.is_none() => drawn[j].unwrap_or(model.mask()),
                _ => token.id,
            }
        })
        .collect();
    (ids, i - window.start)
}

/// The part of a prompt of `n` tokens that is seen for position `i`: all of it where it fits, else
/// `size` tokens with the position in their middle half. Windows overlap by half, so that positions
/// near each other share one. It depends on nothing but these numbers.
pub(crate) fn window(n: usize, i: usize, size: usize) -> Range<usize> {
    let stride = (size / 2).max(1);
    let start = (i.saturating_sub(size / 4) / stride * stride).min(n.saturating_sub(size));
    start..(start + size).min(n)
}

/// Sensitive positions of a prompt of `n` tokens in turns, left to right: at most `most` together,
/// which see the same window.
pub(crate) fn turns(
    sensitive: &[usize],
    n: usize,
    size: usize,
    most: usize,
) -> impl Iterator<Item = &[usize]> {
    let same = move |&a: &usize, &b: &usize| window(n, a, size) == window(n, b, size);
    sensitive.chunk_by(same).flat_map(move |same| same.chunks(most))
}

/// The draws that are known in the turn of position `i`: those of the turns before.
pub(crate) fn earlier(
    model: &dyn LanguageModel,
    tokens: &Tokens,
    drawn: &[Option<TokenId>],
    i: usize,
) -> Vec<Option<TokenId>> {
    let sensitive: Vec<usize> = tokens.sensitive().collect();
    let mut turns = turns(&sensitive, tokens.as_slice().len(), model.window(), model.at_once());
    let first = turns.find(|turn| turn.contains(&i)).map_or(i, |turn| turn[0]);
    let mut known = drawn.to_vec();
    known[first..].fill(None);
    known
}

#[cfg(test)]
mod tests {
    use super::{turns, window};

    #[test]
    fn turns_hold_each_position_once_and_see_one_window() {
        let sensitive: Vec<usize> = (0..40).filter(|i| i % 3 != 0).collect();
        for (size, most) in [(40, 1), (40, 4), (12, 4), (12, 100), (1, 5)] {
            let all: Vec<&[usize]> = turns(&sensitive, 40, size, most).collect();
            assert_eq!(all.concat(), sensitive);
            for turn in &all {
                assert!((1..=most).contains(&turn.len()));
                assert!(turn.iter().all(|&i| window(40, i, size) == window(40, turn[0], size)));
            }
        }
        assert_eq!(turns(&sensitive, 40, 40, 100).count(), 1);
    }

    #[test]
    fn windows_hold_their_position_and_never_shrink() {
        for n in 1..40_usize {
            for size in 1..12 {
                for i in 0..n {
                    let window = window(n, i, size);
                    assert!(window.contains(&i) && window.end <= n);
                    assert_eq!(window.len(), size.min(n));
                }
            }
        }
    }
}
