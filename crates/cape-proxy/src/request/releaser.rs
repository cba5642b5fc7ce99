//! The release of each text: its words are paid for, and then drawn; upstream's own go back as they came.

#[cfg(test)]
mod histories;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use cape::sanitizer::Sanitizer;
use cape::text::Release;
use cape_ledger::{
    Account, Answer, Conversation, Cost, Draw, Lasts, Ledger, Limits, Map, Place, Whose,
};

use super::body::BodyText;
use super::perturber::{Perturber, Planned};
use super::policy::Field;
use crate::error::Error;
use crate::fault::Fault;
use crate::settings::{Memory, Settings};

/// Pays for draws, draws, and exchanges what upstream said for its own words.
pub(crate) struct Releaser {
    perturber: Perturber,
    pub(crate) sanitizer: Arc<Sanitizer>,
    pub(crate) ledger: Ledger,
    limits: RwLock<Limits>,
    memory: Memory,
    shared_map: bool,
}

/// The texts of a conversation that may be sent.
pub(crate) struct Released {
    /// Those that do not pass unchanged, as they are sent, in order.
    pub(crate) texts: Vec<ReleasedText>,
    /// Their cost: nothing for words that were drawn for before.
    pub(crate) spent: Cost,
    /// The conversation up to here.
    pub(crate) after: Conversation,
    /// The name of the conversation, where it has maps of its own.
    pub(crate) conversation: Option<String>,
}

/// A text that may be sent.
pub(crate) struct ReleasedText {
    /// Its number among all texts of the body.
    pub(crate) said: usize,
    pub(crate) sent: Sent,
}

/// What is sent for a text.
pub(crate) enum Sent {
    /// The service's own words: the client was given these for them, and sent them back unchanged.
    Own(String),
    /// What its words became, and whose words they are.
    Drawn(Release, Whose),
}

impl AsRef<str> for ReleasedText {
    fn as_ref(&self) -> &str {
        match &self.sent {
            Sent::Own(text) | Sent::Drawn(Release { text, .. }, _) => text,
        }
    }
}

/// A text that must be drawn for: its number, and the conversation that it stands in.
struct New {
    said: usize,
    whose: Whose,
    beginning: usize,
}

/// A conversation, read and not yet paid for.
struct Read {
    /// The texts that are the service's own words.
    known: Vec<ReleasedText>,
    /// The texts that must be drawn for.
    new: Vec<New>,
    beginnings: Vec<Beginning>,
    after: Conversation,
}

/// Texts that are paid for and not yet drawn.
struct Paid {
    planned: Vec<Planned>,
    /// The secret of each key of each text, in order.
    secrets: Vec<[u8; 32]>,
    spent: Cost,
}

impl Releaser {
    pub(crate) fn start(
        sanitizer: Sanitizer,
        ledger: Ledger,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let sanitizer = Arc::new(sanitizer);
        let what = "the thread that perturbs cannot be started";
        let failed = |source| Error::Io { what, source };
        let perturber = Perturber::start(&sanitizer).map_err(failed)?;
        let Settings { limits, memory, shared_map, .. } = *settings;
        let limits = RwLock::new(limits);
        Ok(Self { perturber, sanitizer, ledger, limits, memory, shared_map })
    }

    /// Sets the limits of the releases to come.
    pub(crate) fn set_limits(&self, limits: Limits) {
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    fn limits(&self) -> Limits {
        *self.limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the texts of a conversation: all draws that are new are paid for together, and then
    /// drawn. An error means that nothing may be sent.
    pub(crate) async fn conversation(
        &self,
        account: &Account,
        said: &[BodyText],
    ) -> Result<Released, Fault> {
        let read = self.read(account, said).await?;
        let Paid { planned, secrets, spent } = self.pay(account, said, &read).await?;
        let drawn = self.perturber.draw(planned, secrets).await?;
        let mut texts = read.known;
        let drawn = drawn.into_iter().zip(&read.new).map(|(release, new)| ReleasedText {
            said: new.said,
            sent: Sent::Drawn(release, new.whose),
        });
        texts.extend(drawn);
        texts.sort_by_key(|text| text.said);
        let conversation = match (self.memory, &read.beginnings[..]) {
            (Memory::Conversation, [one]) => one.place.map(|place| place.name()),
            _ => None,
        };
        Ok(Released { texts, spent, after: read.after, conversation })
    }

    /// Goes through a conversation: which texts are the service's own, and which must be drawn for?
    async fn read(&self, account: &Account, said: &[BodyText]) -> Result<Read, Fault> {
        let now = SystemTime::now();
        let mut conversation = self.ledger.conversation(account);
        let (mut known, mut new, mut beginnings) = (Vec::new(), Vec::new(), Vec::new());
        for (i, text) in said.iter().enumerate() {
            if text.begins || beginnings.is_empty() {
                conversation = self.ledger.conversation(account);
                beginnings.push(Beginning::default());
            }
            let place = text.place(&mut conversation);
            if let Some(beginning) = beginnings.last_mut().filter(|_| !text.own) {
                beginning.hear(text.field, place);
            }
            if text.passes {
                continue;
            }
            let own = match text.field {
                // a block that upstream did not give there is left out, and so is an empty text
                _ if text.own => Some(self.ledger.recall(&place, now).await?.unwrap_or_default()),
                Field::Assistant | Field::ToolCalls => self.ledger.recall(&place, now).await?,
                Field::User | Field::System | Field::ToolResults => None,
            };
            if let Some(own) = own {
                known.push(ReleasedText { said: i, sent: Sent::Own(own) });
            } else {
                let (whose, beginning) = (whose(text.field), beginnings.len() - 1);
                new.push(New { said: i, whose, beginning });
            }
        }
        Ok(Read { known, new, beginnings, after: conversation })
    }

    /// Pays for the draws of some texts. What is drawn is decided by the secrets that it gives.
    async fn pay(
        &self,
        account: &Account,
        said: &[BodyText],
        Read { new, beginnings, .. }: &Read,
    ) -> Result<Paid, Fault> {
        if new.is_empty() {
            return Ok(Paid { planned: Vec::new(), secrets: Vec::new(), spent: Cost::default() });
        }
        let texts = new.iter().map(|new| said[new.said].text.clone()).collect();
        let planned = self.perturber.plan(texts).await?;
        let cape = self.sanitizer.cape().ok_or(Fault::Perturber)?;
        let mut draws = Vec::new();
        for (planned, new) in planned.iter().zip(new) {
            let lasts = match (self.memory, beginnings[new.beginning].place) {
                (Memory::Account, _) => Lasts::Account,
                (Memory::Conversation, Some(place)) => Lasts::Conversation(place),
                (Memory::Conversation, None) | (Memory::None, _) => Lasts::Request,
            };
            let whose = if self.shared_map { Whose::User } else { new.whose };
            let map = Map { whose, lasts };
            draws.extend(planned.plan.keys.iter().map(|key| Draw {
                map,
                from: cape.drawn_from(key),
                word: key.word(),
            }));
        }
        let per_draw = self.sanitizer.guarantee().bound;
        let now = SystemTime::now();
        let receipt = self.ledger.charge(account, &draws, per_draw, &self.limits(), now).await?;
        Ok(Paid { planned, secrets: receipt.secrets, spent: receipt.spent })
    }

    /// Releases one text of the user's own.
    pub(crate) async fn text(
        &self,
        account: &Account,
        text: &str,
    ) -> Result<(Release, Released), Fault> {
        let said = BodyText {
            field: Field::User,
            text: text.to_owned(),
            passes: false,
            begins: true,
            own: false,
        };
        let mut released = self.conversation(account, &[said]).await?;
        match released.texts.pop().map(|text| text.sent) {
            Some(Sent::Drawn(release, _)) => Ok((release, released)),
            _ => Err(Fault::Perturber),
        }
    }

    /// Pays for draws that are made elsewhere, or refuses. Those of an account that were paid for before cost
    /// nothing.
    pub(crate) async fn charge(
        &self,
        account: &Account,
        draws: &[Draw],
        per_draw: f64,
    ) -> Result<Cost, Fault> {
        let now = SystemTime::now();
        let receipt = self.ledger.charge(account, draws, per_draw, &self.limits(), now).await?;
        Ok(receipt.spent)
    }

    /// Remembers answers, which cost nothing.
    pub(crate) async fn remember(&self, answers: &[Answer]) -> Result<(), cape_ledger::Error> {
        self.ledger.remember(answers, SystemTime::now()).await
    }

    /// Whether a text could be perturbed and its price written down now. Nothing is released, so
    /// nothing is spent.
    pub(crate) async fn try_out(&self) -> Result<(), Fault> {
        self.perturber.plan(vec!["the".into()]).await?;
        Ok(self.ledger.probe().await?)
    }
}

/// Whose words a text has. A system prompt is the client's own.
fn whose(field: Field) -> Whose {
    match field {
        Field::User | Field::System => Whose::User,
        Field::Assistant | Field::ToolCalls | Field::ToolResults => Whose::Known,
    }
}

/// The beginning of a conversation, by which it is known: all texts up to the user's first.
#[derive(Default)]
struct Beginning {
    place: Option<Place>,
    is_over: bool,
}

impl Beginning {
    fn hear(&mut self, field: Field, place: Place) {
        if !self.is_over {
            self.place = Some(place);
            self.is_over = field == Field::User;
        }
    }
}
