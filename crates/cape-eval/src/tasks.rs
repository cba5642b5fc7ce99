//! The tasks of a chat model, and how its answers are scored.

pub mod labels;
pub mod prompts;
pub mod restore;
pub mod rules;

use crate::chat::{ChatError, Client, Message, Options};
use crate::measure::Score;
use crate::record::Record;
use labels::{Better, Entailed, Sentiment};

/// A sentence to classify, which may have been released, with its true label.
#[derive(Clone, Copy)]
pub enum Case<'a> {
    /// A sentence of SST-2.
    Sst2 {
        /// The sentence.
        content: &'a str,
        /// Its true label.
        is: Sentiment,
    },
    /// A question and a sentence of QNLI.
    Qnli {
        /// The question.
        question: &'a str,
        /// The sentence that may answer it.
        sentence: &'a str,
        /// Whether it does.
        is: Entailed,
    },
}

impl Case<'_> {
    /// The task's name in records.
    #[must_use]
    pub fn task(&self) -> &'static str {
        match self {
            Self::Sst2 { .. } => "sst2",
            Self::Qnli { .. } => "qnli",
        }
    }

    /// The question.
    #[must_use]
    pub fn messages(&self) -> [Message; 2] {
        match self {
            Self::Sst2 { content, .. } => prompts::sst2(content),
            Self::Qnli { question, sentence, .. } => prompts::qnli(question, sentence),
        }
    }

    /// Whether an answer is the true one; none if it cannot be read.
    #[must_use]
    pub fn correct(&self, answer: &str) -> Option<bool> {
        match self {
            Self::Sst2 { is, .. } => Some(Sentiment::read(answer)? == *is),
            Self::Qnli { is, .. } => Some(Entailed::read(answer)? == *is),
        }
    }
}

/// Writes down whether an answer was the true one. An answer that cannot be read is neither right nor wrong: it is
/// counted apart.
pub(crate) fn note(record: &mut Record, case: &Case<'_>, correct: Option<bool>) {
    match correct {
        Some(correct) => {
            record.scores.insert(Score::Accuracy, f64::from(u8::from(correct)));
        }
        None => *record.unread.entry(case.task().into()).or_default() += 1,
    }
}

/// The model's answer to a prompt, which may have been released.
pub(crate) fn answer(
    client: &Client,
    prompt: &str,
    options: &Options,
) -> Result<String, ChatError> {
    Ok(client.complete(&[Message::user(prompt)], options)?.text)
}

/// Whether the second of two answers does better what a prompt asks for: asked in both orders, 1 if it is
/// preferred in both, 0 if in none, and a half where the place decided or nothing could be read. It sees the
/// prompt itself, so the model must be on the device.
pub fn preferred(
    client: &Client,
    prompt: &str,
    [first, second]: [&str; 2],
    options: &Options,
) -> Result<f64, ChatError> {
    if first == second {
        return Ok(0.5);
    }
    let ask = |a: &str, b: &str| {
        let answer = client.complete(&prompts::comparison(prompt, a, b), options)?.text;
        Ok::<_, ChatError>(Better::read(&answer))
    };
    Ok(match (ask(first, second)?, ask(second, first)?) {
        (Some(Better::B), Some(Better::A)) => 1.0,
        (Some(Better::A), Some(Better::B)) => 0.0,
        _ => 0.5,
    })
}

/// The model's continuation of a prefix, which may have been released.
pub fn generation(client: &Client, prefix: &str, options: &Options) -> Result<String, ChatError> {
    Ok(client.complete(&prompts::generation(prefix), options)?.text)
}

/// The part of a continuation of the released prefix that fits the true one. It sees the prompt itself, so the
/// model must be on the device.
pub fn extraction(
    client: &Client,
    prefix: &str,
    noisy: &str,
    options: &Options,
) -> Result<String, ChatError> {
    Ok(client.complete(&prompts::extraction(prefix, noisy), options)?.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_right_wrong_or_unread() {
        let good = Case::Sst2 { content: "a charming journey", is: Sentiment::Positive };
        assert_eq!(good.correct("Positive."), Some(true));
        assert_eq!(good.correct("negative"), Some(false));
        assert_eq!(good.correct("The sentence is positive."), None);
        assert_eq!(good.correct("yes"), None);
        let qnli = Case::Qnli { question: "Who?", sentence: "He did.", is: Entailed::No };
        assert_eq!(qnli.correct("No"), Some(true));
        assert_eq!(qnli.correct("positive"), None);
    }
}
