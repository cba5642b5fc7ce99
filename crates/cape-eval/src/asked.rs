//! Asks a chat model about releases: the data's task, an answer, a continuation, and the prompt restored.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use cape::tokens::ReleasedToken;
use cape_models::cosine;

use crate::Result;
use crate::chat::{Client, Options};
use crate::data::{Data, Item, Span};
use crate::draft::Back;
use crate::meaning::Meaning;
use crate::measure::{Attack, Score};
use crate::record::{Hits, LABELLED_SPANS, Record};
use crate::tasks::rules::Rules;
use crate::tasks::{self, Case, restore};

/// A chat model, and what it is asked.
pub struct Chat {
    client: Client,
    /// How many prompts, from the first, it attacks.
    attacked: usize,
    /// How many questions are under way at a time.
    pub(crate) at_once: usize,
    /// Its labels of sentences: at a large ε many releases are the same.
    classified: Mutex<HashMap<String, String>>,
    /// The one that sees prompts and what was made of their releases; the same one without it.
    local: Option<Client>,
    /// The use of the original prompts.
    originals: Originals,
}

/// The service's answers to the original prompts, once it was asked.
enum Originals {
    /// It does not see them.
    Unseen,
    /// It continues them.
    Continued(Vec<OnceLock<String>>),
    /// It answers them, and its answers are compared with those to releases.
    Answered(Vec<OnceLock<String>>),
}

/// A release, as far as it concerns a chat model.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'a> {
    /// The released text.
    pub(crate) text: &'a str,
    /// The outcome of each token.
    pub(crate) tokens: &'a [ReleasedToken],
    /// How its answer gets the user's own words back.
    pub(crate) back: &'a Back,
}

/// How it classifies, how it restores, how it continues and how it answers: always in the same
/// way.
const CLASSIFY: Options = Options { temperature: 0.0, max_tokens: 8, seed: Some(0) };
const RESTORE: Options = Options { temperature: 0.0, max_tokens: 256, seed: Some(0) };
const CONTINUE: Options = Options { temperature: 0.0, max_tokens: 100, seed: Some(0) };
const ANSWER: Options = Options { temperature: 0.0, max_tokens: 120, seed: Some(0) };

impl Chat {
    /// Asks this client, which attacks the first `attacked` prompts.
    #[must_use]
    pub fn new(client: Client, attacked: usize) -> Self {
        Self {
            client,
            attacked,
            at_once: 1,
            classified: Mutex::default(),
            local: None,
            originals: Originals::Unseen,
        }
    }

    /// Asks `at_once` questions at a time.
    #[must_use]
    pub fn at_once(self, at_once: usize) -> Self {
        Self { at_once, ..self }
    }

    /// It continues the prompts as well, for coherence and alignment.
    #[must_use]
    pub fn continuing(self, data: &Data) -> Self {
        Self { originals: Originals::Continued(unasked(data)), ..self }
    }

    /// It answers the prompts themselves as well, and the local model compares.
    #[must_use]
    pub fn comparing(self, data: &Data) -> Self {
        Self { originals: Originals::Answered(unasked(data)), ..self }
    }

    /// Another model is the one on this machine.
    #[must_use]
    pub fn with_local(self, local: Client) -> Self {
        Self { local: Some(local), ..self }
    }

    /// Whether it was asked all that it would be asked about a release.
    pub(crate) fn asked(&self, record: &Record) -> bool {
        let has = |score: Score| record.scores.contains_key(&score);
        record.asked
            && (record.prompt >= self.attacked || record.attacks.contains_key(&Attack::Llm))
            && match self.originals {
                Originals::Unseen => true,
                Originals::Continued(_) => has(Score::Coherence),
                Originals::Answered(_) => !has(Score::Task) || has(Score::Preferred),
            }
    }

    /// Asks all that there is to ask about a release, and writes down what the answers are worth.
    pub(crate) fn ask(
        &self,
        item: &Item,
        sent: Sent<'_>,
        meaning: Option<&Meaning>,
        record: &mut Record,
    ) -> Result<()> {
        if let Some(case) = item.case(sent.text) {
            let correct = case.correct(&self.classified(&case)?);
            tasks::note(record, &case, correct);
        }
        if let Some(rules) = &item.rules {
            self.answered(item, rules, sent, record)?;
        }
        if record.prompt < self.attacked {
            let guess = restore::guess(&self.client, sent.text, &RESTORE)?;
            let restored = restore::restored(&item.text, sent.tokens, &guess);
            record.attacks.insert(Attack::Llm, restored.words);
            record.guessed.insert(Attack::Llm, restored.rouge_l);
            for (label, attacks) in &mut record.spans {
                let labelled = |span: &&Span| label == LABELLED_SPANS || span.label == *label;
                let spans = item.spans.iter().filter(labelled);
                let places: Vec<_> = spans.map(|span| span.start..span.end).collect();
                if !places.is_empty() {
                    attacks.insert(Attack::Llm, restore::recall(&item.text, &places, &guess));
                }
            }
        }
        if let (Originals::Continued(expected), Some(meaning)) = (&self.originals, meaning) {
            self.continued(item, sent, &expected[record.prompt], meaning, record)?;
        }
        Ok(())
    }

    /// Its label of a sentence, which it is asked once.
    fn classified(&self, case: &Case<'_>) -> Result<String> {
        let messages = case.messages();
        let question = messages.each_ref().map(|message| message.text.as_str()).join("\n");
        let known = || self.classified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known().get(&question) {
            return Ok(answer.clone());
        }
        let answer = self.client.complete(&messages, &CLASSIFY)?.text;
        known().insert(question, answer.clone());
        Ok(answer)
    }

    /// The answer to a release, with the user's own words in it: whether it does the task, and whether it is
    /// better than the answer to the prompt itself.
    fn answered(
        &self,
        item: &Item,
        rules: &Rules,
        sent: Sent<'_>,
        record: &mut Record,
    ) -> Result<()> {
        let ask = |text: &str| Ok(tasks::answer(&self.client, text, &ANSWER)?);
        let original = match &self.originals {
            Originals::Answered(known) => Some(once(&known[record.prompt], || ask(&item.text))?),
            _ => None,
        };
        let noisy = match original.filter(|_| sent.text == item.text) {
            Some(original) => original.to_owned(),
            None => ask(sent.text)?,
        };
        let answer = sent.back.restore(&noisy);
        let mut note = |answer: &str, task, details| {
            record.scores.insert(task, f64::from(u8::from(rules.pass(answer))));
            if let Some(share) = rules.details(answer) {
                record.scores.insert(details, share);
            }
        };
        note(&answer, Score::Task, Score::Details);
        if let Some(answer) = sent.back.restore_all(&noisy) {
            note(&answer, Score::TaskAllBack, Score::DetailsAllBack);
        }
        let Some(original) = original else { return Ok(()) };
        let local = self.local.as_ref().unwrap_or(&self.client);
        let preferred = tasks::preferred(local, &item.text, [original, &answer])?;
        record.scores.insert(Score::Preferred, preferred);
        // where the rules see a difference and the model is sure: whether they mean the same answer
        let passes = rules.pass(&answer);
        if rules.pass(original) != passes && preferred != 0.5 {
            let agrees = passes == (preferred == 1.0);
            record.scores.insert(Score::Agreement, f64::from(u8::from(agrees)));
        }
        Ok(())
    }

    /// Asks the local model to continue a prompt that was not sent.
    pub(crate) fn ask_local(
        &self,
        item: &Item,
        meaning: Option<&Meaning>,
        record: &mut Record,
    ) -> Result<()> {
        // whoever attacks has nothing
        let nothing = Hits { found: 0, of: record.sensitive as u32 };
        record.attacks.insert(Attack::Llm, nothing);
        let (Originals::Continued(expected), Some(meaning)) = (&self.originals, meaning) else {
            return Ok(());
        };
        let y = self.expected(item, &expected[record.prompt])?;
        let alone = match &self.local {
            Some(local) => tasks::generation(local, &item.text, &CONTINUE)?,
            None => y.to_owned(),
        };
        let vectors = meaning.vectors(&[&item.text, y, &alone])?;
        let [x, y, alone] = &vectors[..] else { return Ok(()) };
        for (score, other) in [(Score::Coherence, x), (Score::Alignment, y)] {
            record.scores.insert(score, cosine(other, alone));
        }
        Ok(())
    }

    /// The service's continuation of the prompt itself.
    fn expected<'a>(&self, item: &Item, expected: &'a OnceLock<String>) -> Result<&'a str> {
        once(expected, || Ok(tasks::generation(&self.client, &item.text, &CONTINUE)?))
    }

    /// The paper's open-ended generation: the service continues the release, and the local model makes
    /// of it a continuation of the prompt.
    fn continued(
        &self,
        item: &Item,
        sent: Sent<'_>,
        expected: &OnceLock<String>,
        meaning: &Meaning,
        record: &mut Record,
    ) -> Result<()> {
        let y = self.expected(item, expected)?;
        let noisy = tasks::generation(&self.client, sent.text, &CONTINUE)?;
        let restored = sent.back.restore(&noisy);
        let local = self.local.as_ref().unwrap_or(&self.client);
        let extracted = tasks::extraction(local, &item.text, &noisy, &CONTINUE)?;
        let vectors = meaning.vectors(&[&item.text, y, &noisy, &restored, &extracted])?;
        let [x, y, noisy, restored, extracted] = &vectors[..] else { return Ok(()) };
        for (score, a, b) in [
            (Score::Coherence, x, extracted),
            (Score::Alignment, y, extracted),
            (Score::CoherenceWithoutExtraction, x, noisy),
            (Score::AlignmentWithoutExtraction, y, noisy),
            (Score::CoherenceRestored, x, restored),
            (Score::AlignmentRestored, y, restored),
        ] {
            record.scores.insert(score, cosine(a, b));
        }
        Ok(())
    }
}

fn unasked(data: &Data) -> Vec<OnceLock<String>> {
    data.items.iter().map(|_| OnceLock::new()).collect()
}

/// The answer that is known already, or else the one asked for now.
fn once(known: &OnceLock<String>, ask: impl FnOnce() -> Result<String>) -> Result<&str> {
    if let Some(known) = known.get() {
        return Ok(known);
    }
    let asked = ask()?;
    Ok(known.get_or_init(|| asked))
}
