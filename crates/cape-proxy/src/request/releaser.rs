//! What is sent in the place of each text: what was sent before, or a draw that is paid for first.

use std::time::{Instant, SystemTime};

use cape::text::Release;
use cape_ledger::{Conversation, Cost, Fresh, Spender};

use crate::error::Fault;
use crate::request::body::Said;
use crate::server::service::Service;

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
    let released = together(service, who, said).await?;
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
    let releases = service.perturber.perturb(new).await?;
    let (mut fresh, mut drawn) = (Vec::new(), Vec::new());
    for (release, (i, place)) in releases.into_iter().zip(places) {
        if release.privacy.draws == 0 {
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

/// A release of one text that is paid for and not remembered: to ask again is to spend again.
pub(crate) async fn once(
    service: &Service,
    who: &Spender,
    text: &str,
) -> Result<(Release, Cost), Fault> {
    let started = Instant::now();
    let mut releases = service.perturber.perturb(vec![text.to_owned()]).await?;
    let release = releases.pop().ok_or(Fault::Perturber)?;
    let cost = cost(&release);
    service.ledger.spend(who, cost, &service.limits, SystemTime::now()).await?;
    service.metrics.perturbed(started.elapsed());
    service.metrics.spent(cost);
    Ok((release, cost))
}

/// What holds for a draw, for each of them.
fn cost(release: &Release) -> Cost {
    Cost::new(release.privacy.draws as u64, release.privacy.guarantee.bound)
}
