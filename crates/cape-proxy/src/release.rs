//! What is sent in the place of each text: what was sent before, or a draw that is paid for first.

use std::time::{Instant, SystemTime};

use cape::terms::Terms;
use cape::text::{Outcome, Release, TokenId, Tokens};
use cape_ledger::{Conversation, Cost, Error, Fresh, Spender};
use serde::{Deserialize, Serialize};

use crate::body::Said;
use crate::error::Fault;
use crate::service::Service;

/// The texts of a conversation that may be sent.
pub(crate) struct Released {
    /// Those that are perturbed, as they are sent.
    pub(crate) texts: Vec<String>,
    /// What that cost: nothing where they were sent before.
    pub(crate) spent: Cost,
    /// The conversation up to here.
    pub(crate) after: Conversation,
}

/// What is sent of a conversation. An error means that nothing may be sent.
pub(crate) async fn conversation(
    service: &Service,
    who: &Spender,
    said: &[Said],
) -> Result<Released, Fault> {
    let started = Instant::now();
    let released = if service.consistent_terms {
        one_by_one(service, who, said).await?
    } else {
        together(service, who, said).await?
    };
    service.metrics.perturbed(started.elapsed());
    service.metrics.spent(released.spent);
    Ok(released)
}

/// Each text for itself: all that are new are drawn for and paid for together.
async fn together(service: &Service, who: &Spender, said: &[Said]) -> Result<Released, Fault> {
    let now = SystemTime::now();
    let mut conversation = service.ledger.conversation(who, &service.settings);
    let (mut sent, mut new, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for said in said {
        if said.begins {
            conversation = service.ledger.conversation(who, &service.settings);
        }
        let place = conversation.next(said.field.key(), &said.text);
        if said.passes {
            continue;
        }
        let known = service.ledger.recall(&place, now).await?;
        if known.is_none() {
            new.push(said.text.clone());
            places.push((sent.len(), place));
        }
        sent.push(known.unwrap_or_default());
    }
    if new.is_empty() {
        return Ok(Released { texts: sent, spent: Cost::default(), after: conversation });
    }
    let releases = service.perturber.perturb(new, None).await?;
    let (mut fresh, mut drawn) = (Vec::new(), Vec::new());
    for (release, (i, place)) in releases.into_iter().zip(places) {
        if release.privacy.sensitive == 0 {
            // nothing was drawn: it comes out the same every time, and need not be remembered
            sent[i] = release.text;
        } else {
            fresh.push(Fresh { place, cost: cost(&release), text: release.text });
            drawn.push(i);
        }
    }
    let receipt = service.ledger.release(who, fresh, &service.limits, now).await?;
    for (i, text) in drawn.into_iter().zip(receipt.texts) {
        sent[i] = text;
    }
    Ok(Released { texts: sent, spent: receipt.spent, after: conversation })
}

/// A text as it is remembered where words are to become the same again: what was drawn for those
/// that are new in it, and not the words themselves.
#[derive(Serialize, Deserialize)]
struct Remembered {
    text: String,
    drawn: Vec<u32>,
}

/// One text after the other, each with the words of those before it. What is written down for one
/// decides what the next is drawn with: it may be another proxy's draw.
async fn one_by_one(service: &Service, who: &Spender, said: &[Said]) -> Result<Released, Fault> {
    let now = SystemTime::now();
    let mut conversation = service.ledger.conversation(who, &service.settings);
    let (mut sent, mut spent, mut terms) = (Vec::new(), Cost::default(), Terms::default());
    for Said { field, text, passes, begins } in said {
        if *begins {
            conversation = service.ledger.conversation(who, &service.settings);
            terms = Terms::default();
        }
        let place = conversation.next(field.key(), text);
        if *passes {
            continue;
        }
        let tokens = service.perturber.tokens(text, Some(&terms)).map_err(Fault::Text)?;
        let remembered = if let Some(known) = service.ledger.recall(&place, now).await? {
            known
        } else {
            let texts = vec![text.clone()];
            let mut releases = service.perturber.perturb(texts, Some(terms.clone())).await?;
            let release = releases.pop().ok_or(Fault::Perturber)?;
            let (cost, drawn) = (cost(&release), drawn(&tokens, &release));
            let remembered = Remembered { text: release.text, drawn };
            let text = serde_json::to_string(&remembered).map_err(|_| Fault::Perturber)?;
            let fresh = vec![Fresh { place, text, cost }];
            let receipt = service.ledger.release(who, fresh, &service.limits, now).await?;
            spent = spent.plus(receipt.spent);
            receipt.texts.into_iter().next().unwrap_or_default()
        };
        let Remembered { text: release, drawn } = serde_json::from_str(&remembered)
            .map_err(|_| Error::Damaged("a remembered text is not what was written"))?;
        let drawn: Vec<TokenId> = drawn.into_iter().map(TokenId).collect();
        terms.learn(text, &tokens, &drawn);
        sent.push(release);
    }
    Ok(Released { texts: sent, spent, after: conversation })
}

/// A text for which nothing was drawn, as it is remembered: its words teach no terms.
pub(crate) fn undrawn(service: &Service, text: String) -> Option<String> {
    if !service.consistent_terms {
        return Some(text);
    }
    serde_json::to_string(&Remembered { text, drawn: Vec::new() }).ok()
}

fn drawn(tokens: &Tokens, release: &Release) -> Vec<u32> {
    let outcome = |i: usize| match release.tokens.get(i)?.outcome {
        Outcome::Drawn { id, .. } => Some(id.0),
        _ => None,
    };
    tokens.sensitive().filter_map(outcome).collect()
}

/// A release of one text that is paid for and not remembered: to ask again is to spend again.
pub(crate) async fn once(
    service: &Service,
    who: &Spender,
    text: &str,
) -> Result<(Release, Cost), Fault> {
    let started = Instant::now();
    let terms = service.consistent_terms.then(Terms::default);
    let mut releases = service.perturber.perturb(vec![text.to_owned()], terms).await?;
    let release = releases.pop().ok_or(Fault::Perturber)?;
    let cost = cost(&release);
    service.ledger.spend(who, cost, &service.limits, SystemTime::now()).await?;
    service.metrics.perturbed(started.elapsed());
    service.metrics.spent(cost);
    Ok((release, cost))
}

/// What holds for a draw, for each of them.
fn cost(release: &Release) -> Cost {
    Cost::new(release.privacy.sensitive as u64, release.privacy.guarantee.bound)
}
