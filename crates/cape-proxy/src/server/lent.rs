//! What the proxy lends to its playground: the ledger, the service and the extractor.

use std::sync::Arc;
use std::time::Instant;

use axum::http::Method;
use cape_ledger::{Draw, Lasts, Map, Whose};

use super::service::Service;
use crate::fault::{Fault, Refusal};
use crate::playground::{About, Asked, Exchange, Later, Owed};
use crate::upstream;

/// The API key that stands in the ledger for the playground.
const KEY: &[u8] = b"cape playground";

/// The parts of a proxy for its playground. They do not keep the proxy alive: it has the playground.
pub(super) fn exchange(service: &Arc<Service>) -> Exchange {
    let weak = Arc::downgrade(service);
    let proxy = move || weak.upgrade().ok_or(Fault::Perturber);
    let (describer, payer, asker, rewriter) = (proxy.clone(), proxy.clone(), proxy.clone(), proxy);
    let about = move || {
        let Ok(service) = describer() else { return About::default() };
        let live = service.live();
        About {
            upstream: live.upstream.address().to_owned(),
            extractor: live.extractor.is_some(),
            token: live.token.is_some(),
            restore: live.settings.restore.clone(),
        }
    };
    let pay = move |owed: Owed| -> Later<()> {
        let service = payer();
        Box::pin(async move { service?.pay(owed).await })
    };
    let ask = move |Asked { model, headers, body }: Asked| -> Later<(u16, Vec<u8>)> {
        let service = asker();
        Box::pin(async move {
            let service = service?;
            let (live, _permit) = (service.live(), service.permit()?);
            if !live.policy.allows(&model) {
                let (path, why) = ("model".into(), "the operator allows other models");
                return Err(Refusal::Blocked { path, why, key: "models" }.into());
            }
            let asked = live.upstream.ask(Method::POST, "chat/completions", headers, Some(body));
            let answer = asked.await?;
            Ok((answer.status().as_u16(), upstream::whole(answer).await?))
        })
    };
    let rewrite = move |prompt: String, answer: String| -> Later<Option<String>> {
        let service = rewriter();
        Box::pin(async move {
            match &service?.live().extractor {
                Some(extractor) => extractor.whole(&prompt, &answer).await.map(Some),
                None => Ok(None),
            }
        })
    };
    Exchange {
        about: Box::new(about),
        pay: Box::new(pay),
        ask: Box::new(ask),
        rewrite: Box::new(rewrite),
    }
}

impl Service {
    /// Pays for draws of the playground before they are made. Each of its maps is an account's.
    async fn pay(&self, owed: Owed) -> Result<(), Fault> {
        let started = Instant::now();
        let account = self.releaser.ledger.account(KEY, &owed.map);
        let map = Map { whose: Whose::User, lasts: Lasts::Account };
        let draws = owed.draws.into_iter().map(|(from, word)| Draw { map, from, word });
        let draws: Vec<Draw> = draws.collect();
        let spent = self.observed(self.releaser.charge(&account, &draws, owed.bound).await)?;
        self.metrics.released(started.elapsed(), spent);
        Ok(())
    }
}
