//! What a chat model makes of a release: the data's task, a continuation, and the prompt restored.

use std::sync::OnceLock;

use cape::text::ReleasedToken;
use cape_models::sentence::cosine;

use crate::Result;
use crate::chat::{Client, Options};
use crate::data::{Data, Item};
use crate::measure::Meaning;
use crate::record::{Hits, Record};
use crate::tasks::{self, restore};

/// A chat model, and what it is asked.
pub struct Chat {
    client: Client,
    /// How many prompts, from the first, it attacks.
    attacked: usize,
    /// The one that sees prompts and what was made of their releases; the same one without it.
    local: Option<Client>,
    /// What it writes after each original prompt, once it was asked; none where prompts are not
    /// continued.
    expected: Option<Vec<OnceLock<String>>>,
}

/// How it classifies, how it restores and how it continues: always in the same way.
const CLASSIFY: Options = Options { temperature: 0.0, max_tokens: 8, seed: Some(0) };
const RESTORE: Options = Options { temperature: 0.0, max_tokens: 256, seed: Some(0) };
const CONTINUE: Options = Options { temperature: 0.0, max_tokens: 100, seed: Some(0) };

impl Chat {
    /// With this client, which attacks so many prompts from the first.
    #[must_use]
    pub fn new(client: Client, attacked: usize) -> Self {
        Self { client, attacked, local: None, expected: None }
    }

    /// It continues the prompts as well, for coherence and alignment.
    #[must_use]
    pub fn continuing(self, data: &Data) -> Self {
        let expected = data.items.iter().map(|_| OnceLock::new()).collect();
        Self { expected: Some(expected), ..self }
    }

    /// Another model is the one on this machine.
    #[must_use]
    pub fn with_local(self, local: Client) -> Self {
        Self { local: Some(local), ..self }
    }

    /// Whether it was asked all that it would be asked about a release.
    pub(crate) fn asked(&self, record: &Record) -> bool {
        record.asked
            && (record.prompt >= self.attacked || record.attacks.contains_key("llm"))
            && (self.expected.is_none() || record.scores.contains_key("coherence"))
    }

    /// Asks all that there is to ask about a release, and writes down what the answers are worth.
    pub(crate) fn ask(
        &self,
        item: &Item,
        text: &str,
        released: &[ReleasedToken],
        meaning: Option<&Meaning>,
        record: &mut Record,
    ) -> Result<()> {
        if let Some(case) = item.case(text) {
            let correct = tasks::accuracy(&self.client, &case, &CLASSIFY)?;
            tasks::note(record, &case, correct);
        }
        if record.prompt < self.attacked {
            let guess = restore::guess(&self.client, text, &RESTORE)?;
            let restored = restore::restored(&item.text, released, &guess);
            record.attacks.insert("llm".into(), restored.words);
            record.guessed.insert("llm".into(), restored.rouge_l);
        }
        if let (Some(expected), Some(meaning)) = (&self.expected, meaning) {
            self.continued(item, text, &expected[record.prompt], meaning, record)?;
        }
        Ok(())
    }

    /// What the local model writes after a prompt that was not sent.
    pub(crate) fn ask_local(
        &self,
        item: &Item,
        meaning: Option<&Meaning>,
        record: &mut Record,
    ) -> Result<()> {
        // whoever attacks has nothing
        let nothing = Hits { found: 0, of: record.sensitive as u32 };
        record.attacks.insert("llm".into(), nothing);
        let (Some(expected), Some(meaning)) = (&self.expected, meaning) else { return Ok(()) };
        let y = self.expected(item, &expected[record.prompt])?;
        let alone = match &self.local {
            Some(local) => tasks::generation(local, &item.text, &CONTINUE)?,
            None => y.to_owned(),
        };
        let vectors = meaning.vectors(&[&item.text, y, &alone])?;
        let [x, y, alone] = &vectors[..] else { return Ok(()) };
        for (name, other) in [("coherence", x), ("alignment", y)] {
            record.scores.insert(name.into(), cosine(other, alone));
        }
        Ok(())
    }

    /// What the service writes after the prompt itself; it is asked once.
    fn expected<'a>(&self, item: &Item, expected: &'a OnceLock<String>) -> Result<&'a str> {
        if let Some(y) = expected.get() {
            return Ok(y);
        }
        let y = tasks::generation(&self.client, &item.text, &CONTINUE)?;
        Ok(expected.get_or_init(|| y))
    }

    /// The paper's open-ended generation: the service continues the release, and the local model makes
    /// of it a continuation of the prompt.
    fn continued(
        &self,
        item: &Item,
        text: &str,
        expected: &OnceLock<String>,
        meaning: &Meaning,
        record: &mut Record,
    ) -> Result<()> {
        let y = self.expected(item, expected)?;
        let noisy = tasks::generation(&self.client, text, &CONTINUE)?;
        let local = self.local.as_ref().unwrap_or(&self.client);
        let extracted = tasks::extraction(local, &item.text, &noisy, &CONTINUE)?;
        let vectors = meaning.vectors(&[&item.text, y, &noisy, &extracted])?;
        let [x, y, noisy, extracted] = &vectors[..] else { return Ok(()) };
        for (name, a, b) in [
            ("coherence", x, extracted),
            ("alignment", y, extracted),
            ("coherence without extraction", x, noisy),
            ("alignment without extraction", y, noisy),
        ] {
            record.scores.insert(name.into(), cosine(a, b));
        }
        Ok(())
    }
}
