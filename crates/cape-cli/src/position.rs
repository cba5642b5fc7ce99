//! Which token of a prompt is meant, and what was released around it.

use cape::tokens::{TokenId, Tokens, Vocab, recover};

use crate::failure::{Done, Failure};

/// The position of the k-th sensitive token, counted from 1.
pub(crate) fn sensitive(tokens: &Tokens, k: usize) -> Done<usize> {
    k.checked_sub(1).and_then(|k| tokens.sensitive().nth(k)).ok_or_else(|| {
        Failure::usage(
            format!("there is no sensitive token {k}"),
            match tokens.sensitive().count() {
                0 => "the prompt has none: all of it is kept".into(),
                n => format!("the prompt has {n}: --word takes 1 to {n}"),
            },
        )
    })
}

/// The draws that are known when the token at `i` is drawn: those before it. Without a release none is
/// known.
pub(crate) fn drawn(
    text: &str,
    tokens: &Tokens,
    released: Option<&str>,
    i: usize,
    vocab: &Vocab,
) -> Done<Vec<Option<TokenId>>> {
    let Some(released) = released else { return Ok(vec![None; tokens.as_slice().len()]) };
    // printing the release may have added an end of line
    let ended = released.strip_suffix('\n').filter(|_| !text.ends_with('\n'));
    let drawn = recover(text, tokens, ended.unwrap_or(released), vocab);
    let mut drawn = drawn.ok_or_else(|| {
        Failure::new(
            "the text of --released is no release of this prompt",
            "give it as `cape perturb` printed it for this prompt",
        )
    })?;
    drawn[i..].fill(None);
    Ok(drawn)
}
