//! What is sent in the place of each text: what was sent before, or a draw that is paid for first.

use std::time::{Instant, SystemTime};

use cape::text::Release;
use cape_ledger::{Cost, Fresh, Spender};

use crate::body::Said;
use crate::error::Fault;
use crate::service::Service;

/// The texts of a conversation that are perturbed, as they are sent, and what that cost: nothing
/// where they were sent before. An error means that nothing may be sent.
pub(crate) async fn conversation(
    service: &Service,
    who: &Spender,
    said: &[Said],
) -> Result<(Vec<String>, Cost), Fault> {
    let (started, now) = (Instant::now(), SystemTime::now());
    let mut conversation = service.ledger.conversation(who, &service.settings);
    let (mut sent, mut new, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for said in said {
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
    let mut spent = Cost::default();
    if !new.is_empty() {
        let releases = service.perturber.perturb(new).await?;
        let fresh = releases.into_iter().zip(&places).map(|(release, (_, place))| Fresh {
            place: *place,
            cost: cost(&release),
            text: release.text,
        });
        let receipt = service.ledger.release(who, fresh.collect(), &service.limits, now).await?;
        for ((i, _), text) in places.into_iter().zip(receipt.texts) {
            sent[i] = text;
        }
        spent = receipt.spent;
    }
    service.metrics.perturbed(started.elapsed());
    service.metrics.spent(spent);
    Ok((sent, spent))
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
    Cost::new(release.privacy.sensitive as u64, release.privacy.guarantee.bound)
}
