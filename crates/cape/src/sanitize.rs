//! The stages wired: text in, release out.

use std::collections::HashMap;

use rand::CryptoRng;

use crate::Result;
use crate::keep::KeepList;
use crate::mechanism::Mechanism;
use crate::text::{Outcome, Piece, Release, ReleasedToken, Token, TokenId, Tokens};
use crate::tokenizer::Tokenizer;
use crate::vocab::Vocab;

/// Perturbs a prompt: tokens, draws, text.
pub fn sanitize(
    text: &str,
    tokenizer: &Tokenizer,
    keep: &KeepList,
    mechanism: &dyn Mechanism,
    rng: &mut dyn CryptoRng,
) -> Result<Release> {
    let tokens = tokenizer.tokenize(text, keep)?;
    let outcomes = mechanism.perturb(&tokens, rng)?;
    Ok(assemble(text, &tokens, &outcomes, tokenizer.vocab()))
}

/// Puts the outcomes in the place of their tokens: kept text and white space byte for byte.
///
/// Where two words met without a space between them (as in scripts that do not use any), and one
/// of them was replaced, a space is put in, lest they run together.
///
/// # Panics
/// If there is not one outcome per token.
#[must_use]
pub fn assemble(text: &str, tokens: &Tokens, outcomes: &[Outcome], vocab: &Vocab) -> Release {
    assert_eq!(tokens.as_slice().len(), outcomes.len(), "one outcome per token");
    let mut out = String::with_capacity(text.len() + 16);
    let mut released_tokens = Vec::with_capacity(outcomes.len());
    let (mut at, mut after_draw) = (0, false);
    for (token, &outcome) in tokens.as_slice().iter().zip(outcomes) {
        out.push_str(&text[at..token.start]);
        let (released, drawn, begins) = match outcome {
            Outcome::Kept(_) => (&text[token.start..token.end], false, token.piece),
            Outcome::Drawn { id, .. } => {
                (vocab.surface(id), true, vocab.piece(id).unwrap_or(Piece::Start))
            }
        };
        let touches = at == token.start && begins == Piece::Start && (drawn || after_draw);
        let (before, after) = (out.chars().next_back(), released.chars().next());
        if touches && [before, after].iter().all(|c| c.is_some_and(char::is_alphanumeric)) {
            out.push(' ');
        }
        out.push_str(released);
        released_tokens.push(ReleasedToken {
            start: token.start,
            end: token.end,
            released: released.to_owned(),
            outcome,
        });
        (at, after_draw) = (token.end, drawn);
    }
    out.push_str(&text[at..]);
    Release { text: out, tokens: released_tokens }
}

/// Reads off a released text what was drawn at each sensitive position of the prompt it came from,
/// the inverse of [`assemble`]. None where the two do not line up word by word.
///
/// Where a replaced word of several pieces can be cut up in more than one way, one of them is
/// taken.
pub fn recover(
    tokens: &Tokens,
    released: &str,
    tokenizer: &Tokenizer,
) -> Result<Option<Vec<Option<TokenId>>>> {
    let theirs = tokenizer.tokenize(released, &KeepList::default())?;
    let words = |tokens: &'_ Tokens| -> Vec<Vec<Token>> {
        let begins = |_: &Token, next: &Token| next.piece == Piece::Continuation;
        tokens.as_slice().chunk_by(begins).map(<[Token]>::to_vec).collect()
    };
    let (ours, theirs) = (words(tokens), words(&theirs));
    if ours.len() != theirs.len() {
        return Ok(None);
    }
    let mut drawn = Vec::with_capacity(tokens.as_slice().len());
    for (our, their) in ours.iter().zip(&theirs) {
        let surface = || &released[their[0].start..their[their.len() - 1].end];
        let ids = if our.len() == their.len() {
            Some(their.iter().map(|token| token.id).collect())
        } else {
            cut(surface(), our.len(), tokenizer.vocab())
        };
        let Some(ids) = ids else { return Ok(None) };
        drawn.extend(our.iter().zip(ids).map(|(token, id)| token.kept.is_none().then_some(id)));
    }
    Ok(Some(drawn))
}

/// Cuts a word into exactly `pieces` entries of the vocabulary, longest first.
fn cut(word: &str, pieces: usize, vocab: &Vocab) -> Option<Vec<TokenId>> {
    let mut ends: Vec<usize> = word.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    ends.reverse();
    // from the last piece to the first: how the text from each place on can be cut into k pieces
    let mut cuts: HashMap<usize, Vec<TokenId>> = HashMap::from([(word.len(), Vec::new())]);
    for k in (0..pieces).rev() {
        let piece = if k == 0 { Piece::Start } else { Piece::Continuation };
        let starts = if k == 0 { &[0][..] } else { &ends[..] };
        let mut longer = HashMap::new();
        for &start in starts {
            let found = ends.iter().filter(|&&end| end > start).find_map(|end| {
                let rest = cuts.get(end)?;
                Some((vocab.piece_id(&word[start..*end], piece)?, rest))
            });
            if let Some((id, rest)) = found {
                longer.insert(start, std::iter::once(id).chain(rest.iter().copied()).collect());
            }
        }
        cuts = longer;
    }
    cuts.remove(&0)
}
