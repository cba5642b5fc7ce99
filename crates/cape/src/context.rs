//! What the model may see around a position.

use std::ops::Range;

use crate::model::LanguageModel;
use crate::text::{TokenId, Tokens};

/// Which context the model scores a position in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Context {
    /// What has been released so far, the kept tokens, and masks where draws are still to come:
    /// a token enters the output through its own draw only.
    #[default]
    Released,
    /// The true prompt, as in the paper: a token influences the draw at every position.
    Raw,
}

impl Context {
    /// As it appears in output for machines.
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
    let window = window(tokens.0.len(), i, model.window());
    let ids = window
        .clone()
        .map(|j| {
            let token = &tokens.0[j];
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

#[cfg(test)]
mod tests {
    use super::window;

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
