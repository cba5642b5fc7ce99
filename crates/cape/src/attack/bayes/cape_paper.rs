//! The adversary of the threat model, who knows the mechanism to the last bit: the most probable token
//! given what was released.
//!
//! The posterior of t at a position is `prior(t) · P(y | t)`. The prior is what a masked model expects
//! there, given all that was released around it; P(y | t) is the mechanism's own probability, computed
//! from the same integers as its draws. In the released context it is exact. In the raw context the
//! true neighbours, which the mechanism saw, are not known: what was released stands in for them.
//!
//! No attack with the same prior finds the token more often.

use std::sync::Arc;

use crate::Result;
use crate::attack::mask::{MaskedUnit, scores};
use crate::context::{Context, earlier, seen};
use crate::mechanism::cape_paper::CapePaper;
use crate::model::{LanguageModel, Memory, View};
use crate::recent::Recent;
use crate::text::{TokenId, Tokens};
use crate::utility::Utility;

/// The attack on the paper's mechanism with some settings, at any ε.
pub struct PaperBayes {
    prior: Arc<dyn LanguageModel>,
    near: Recent<TokenId, [f32]>,
    most: usize,
}

/// A guess.
pub struct TokenGuess {
    /// The token that is most probable.
    pub id: TokenId,
    /// Whether every token that could be more probable was looked at.
    pub exact: bool,
}

/// How many numbers the rows of nearness that are kept may have together: 512 MB.
const RECENT: usize = 1 << 27;

impl PaperBayes {
    /// The attack with this prior, which must have the mechanism's vocabulary; at most `most` tokens are
    /// looked at for a position, by falling prior.
    #[must_use]
    pub fn new(prior: Arc<dyn LanguageModel>, most: usize) -> Self {
        let n = prior.vocab().drawable().len();
        Self { prior, near: Recent::new(RECENT / n.max(1)), most }
    }

    /// The guess at each sensitive position, in order. `drawn` says what was released there. The
    /// mechanism is always of the same model and utility; its ε may differ.
    pub fn guesses(
        &self,
        cape: &CapePaper,
        tokens: &Tokens,
        drawn: &[Option<TokenId>],
    ) -> Result<Vec<TokenGuess>> {
        let units: Vec<MaskedUnit> = tokens
            .as_slice()
            .iter()
            .zip(drawn)
            .map(|(token, drawn)| MaskedUnit {
                ids: vec![drawn.unwrap_or(token.id)],
                asked: token.kept.is_none().then_some(token.piece),
            })
            .collect();
        let priors = scores(&*self.prior, &units)?;
        tokens
            .sensitive()
            .zip(priors)
            .map(|(i, prior)| self.guess(cape, tokens, drawn, i, &prior))
            .collect()
    }

    fn guess(
        &self,
        cape: &CapePaper,
        tokens: &Tokens,
        drawn: &[Option<TokenId>],
        i: usize,
        prior: &[f32],
    ) -> Result<TokenGuess> {
        let (model, settings) = (cape.model(), cape.settings());
        let piece = tokens.as_slice()[i].piece;
        // what the mechanism saw, as far as it is known
        let known = match settings.context {
            Context::Released => earlier(model, tokens, drawn, i),
            Context::Raw => drawn.to_vec(),
        };
        let (ids, position) = seen(model, Context::Released, tokens, &known, i);
        let mut memory = Memory::default();
        let view = View { ids: &ids, positions: &[position], memory: &mut memory };
        let logits = model.logits(&mut [view])?.swap_remove(0);
        let context = settings.utility.context(&logits, model.calibration());

        let candidates = model.vocab().drawable();
        let released = drawn[i].and_then(|y| candidates.binary_search(&y).ok());
        let believed = self.prior.vocab().of_kind(piece);
        let mut order: Vec<u32> = (0..believed.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| prior[b as usize].total_cmp(&prior[a as usize]));
        let top = order.first().map_or(0.0, |&best| prior[best as usize]);
        let most = cape.most_kept();
        let (mut best, mut guess) =
            (f64::NEG_INFINITY, TokenGuess { id: believed[0], exact: true });
        let Some(y) = released else { return Ok(guess) };
        let own = believed.iter().position(|&id| id == candidates[y]);
        let first = own.map(|own| own as u32).into_iter();
        for (count, t) in first.chain(order).enumerate() {
            let weight = f64::from(prior[t as usize] - top).exp();
            // nothing that follows can be more probable; the first one stands out of order
            if count > 0 && weight * most < best {
                break;
            }
            if count > self.most {
                guess.exact = false;
                break;
            }
            let id = believed[t as usize];
            let near =
                self.near.get_or(id, || settings.utility.nearness(&model.distances(id)).into());
            let utilities = Utility::combined(&context, &near);
            let posterior = weight * cape.probability(&utilities, y)?;
            if posterior > best {
                (best, guess.id) = (posterior, id);
            }
        }
        Ok(guess)
    }
}
