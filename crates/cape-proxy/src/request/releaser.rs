//! The release of each text: the one that was sent before, or a new draw that is paid for first.

use std::sync::Arc;
use std::time::SystemTime;

use cape::sanitizer::Sanitizer;
use cape::text::Release;
use cape_ledger::{Conversation, Cost, Fresh, Ledger, Limits, Spender};

use super::body::BodyText;
use super::perturber::Perturber;
use crate::error::Error;
use crate::fault::Fault;

/// Draws releases, pays for them and remembers them.
pub(crate) struct Releaser {
    perturber: Perturber,
    pub(crate) sanitizer: Arc<Sanitizer>,
    pub(crate) ledger: Ledger,
    limits: Limits,
}

/// The texts of a conversation that may be sent.
pub(crate) struct Released {
    /// Those that are perturbed, as they are sent.
    pub(crate) texts: Vec<String>,
    /// Their cost: nothing where they were sent before.
    pub(crate) spent: Cost,
    /// The conversation up to here.
    pub(crate) after: Conversation,
}

impl Releaser {
    pub(crate) fn start(
        sanitizer: Sanitizer,
        ledger: Ledger,
        limits: Limits,
    ) -> Result<Self, Error> {
        let sanitizer = Arc::new(sanitizer);
        let what = "the thread that perturbs cannot be started";
        let failed = |source| Error::Io { what, source };
        let perturber = Perturber::start(&sanitizer).map_err(failed)?;
        Ok(Self { perturber, sanitizer, ledger, limits })
    }

    /// Releases the texts of a conversation: all that are new are drawn and paid for together. An
    /// error means that nothing may be sent.
    pub(crate) async fn conversation(
        &self,
        who: &Spender,
        said: &[BodyText],
    ) -> Result<Released, Fault> {
        let now = SystemTime::now();
        // a release under other settings is another release
        let begin = || self.ledger.conversation(who, &self.sanitizer.about().fingerprint);
        let mut conversation = begin();
        let (mut sent, mut new, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for said in said {
            if said.begins {
                conversation = begin();
            }
            let place = conversation.next(said.field.key(), &said.text);
            if said.passes {
                continue;
            }
            let known = self.ledger.recall(&place, now).await?;
            if known.is_none() {
                new.push(said.text.clone());
                places.push((sent.len(), place));
            }
            sent.push(known.unwrap_or_default());
        }
        if new.is_empty() {
            return Ok(Released { texts: sent, spent: Cost::default(), after: conversation });
        }
        let releases = self.perturber.perturb(new).await?;
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
        let receipt = self.ledger.release(who, fresh, &self.limits, now).await?;
        for (i, text) in drawn.into_iter().zip(receipt.texts) {
            sent[i] = text;
        }
        Ok(Released { texts: sent, spent: receipt.spent, after: conversation })
    }

    /// Releases one text that is paid for and not remembered: to ask again is to spend again.
    pub(crate) async fn once(&self, who: &Spender, text: &str) -> Result<(Release, Cost), Fault> {
        let mut releases = self.perturber.perturb(vec![text.to_owned()]).await?;
        let release = releases.pop().ok_or(Fault::Perturber)?;
        let cost = cost(&release);
        self.ledger.spend(who, cost, &self.limits, SystemTime::now()).await?;
        Ok((release, cost))
    }

    /// Pays for draws that are made elsewhere, or refuses.
    pub(crate) async fn pay(&self, who: &Spender, cost: Cost) -> Result<(), Fault> {
        self.ledger.spend(who, cost, &self.limits, SystemTime::now()).await?;
        Ok(())
    }

    /// Remembers answers, which cost nothing.
    pub(crate) async fn remember(
        &self,
        who: &Spender,
        answers: Vec<Fresh>,
    ) -> Result<(), cape_ledger::Error> {
        self.ledger.release(who, answers, &self.limits, SystemTime::now()).await.map(drop)
    }

    /// Whether a text could be perturbed and paid for now. Nothing is released, so nothing is spent.
    pub(crate) async fn try_out(&self) -> Result<(), Fault> {
        self.perturber.perturb(vec!["the".into()]).await?;
        let nobody = self.ledger.spender(b"");
        self.ledger.left(&nobody, &self.limits, SystemTime::now()).await?;
        Ok(())
    }
}

/// The cost of a release: the bound of one draw, for each of them.
fn cost(release: &Release) -> Cost {
    Cost::new(release.privacy.draws as u64, release.privacy.guarantee.bound)
}
