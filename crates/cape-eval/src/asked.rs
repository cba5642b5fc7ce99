//! What a chat model makes of a release: the data's task, a continuation, and the prompt restored.

use std::sync::OnceLock;

use cape::text::ReleasedToken;
use cape_models::sentence::cosine;

use crate::Result;
use crate::chat::{Client, Options};
use crate::data::{Data, Item};
use crate::measure::Meaning;
use crate::record::Record;
use crate::tasks::{self, restore};

/// A chat model, and what it is asked.
pub struct Chat {
    client: Client,
    /// What it writes after each original prompt, once it was asked; none where prompts are not
    /// continued.
    expected: Option<Vec<OnceLock<String>>>,
}

/// How it classifies, how it restores and how it continues: always in the same way.
const CLASSIFY: Options = Options { temperature: 0.0, max_tokens: 8, seed: Some(0) };
const RESTORE: Options = Options { temperature: 0.0, max_tokens: 256, seed: Some(0) };
const CONTINUE: Options = Options { temperature: 0.0, max_tokens: 100, seed: Some(0) };

impl Chat {
    /// With this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, expected: None }
    }

    /// It continues the prompts as well, for coherence and alignment.
    #[must_use]
    pub fn continuing(self, data: &Data) -> Self {
        let expected = data.items.iter().map(|_| OnceLock::new()).collect();
        Self { expected: Some(expected), ..self }
    }

    /// Whether it was asked all that it would be asked about a release.
    pub(crate) fn asked(&self, record: &Record) -> bool {
        record.attacks.contains_key("llm")
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
        let guess = restore::guess(&self.client, text, &RESTORE)?;
        let restored = restore::restored(&item.text, released, &guess);
        record.attacks.insert("llm".into(), restored.words);
        record.guessed.insert("llm".into(), restored.rouge_l);
        if let (Some(expected), Some(meaning)) = (&self.expected, meaning) {
            self.continued(item, text, &expected[record.prompt], meaning, record)?;
        }
        Ok(())
    }

    /// The paper's open-ended generation: the service continues the release, and a local model makes of
    /// it a continuation of the prompt. (Here one model is both.)
    fn continued(
        &self,
        item: &Item,
        text: &str,
        expected: &OnceLock<String>,
        meaning: &Meaning,
        record: &mut Record,
    ) -> Result<()> {
        let y = if let Some(y) = expected.get() {
            y
        } else {
            let y = tasks::generation(&self.client, &item.text, &CONTINUE)?;
            expected.get_or_init(|| y)
        };
        let noisy = tasks::generation(&self.client, text, &CONTINUE)?;
        let extracted = tasks::extraction(&self.client, &item.text, &noisy, &CONTINUE)?;
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
