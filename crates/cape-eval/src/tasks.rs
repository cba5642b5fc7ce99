//! The tasks of a chat model, and how its answers are scored.

pub mod labels;
pub mod prompts;
pub mod restore;
pub mod rules;

use std::cmp::Ordering;

use crate::chat::{ChatError, Client, Message, Options};
use crate::measure::Score;
use crate::record::Record;
use labels::{Entailed, Sentiment};

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

/// Whether the second of two answers does better what a prompt asks for: 1 or 0, and a half where nothing is known. Asked in
/// both orders, a model says how much more likely it would call each the better one. A small model nearly always names
/// the place that it likes, whatever stands there; where it likes it less, it prefers the other answer. It sees the
/// prompt itself, so the model must be on the device.
pub fn preferred(
    client: &Client,
    prompt: &str,
    [first, second]: [&str; 2],
) -> Result<f64, ChatError> {
    let ask = |a: &str, b: &str| client.margin(&prompts::comparison(prompt, a, b), ["A", "B"]);
    if first == second {
        return Ok(0.5);
    }
    let (Some(forth), Some(back)) = (ask(first, second)?, ask(second, first)?) else {
        return Ok(0.5);
    };
    Ok(match back.total_cmp(&forth) {
        Ordering::Greater => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Less => 0.0,
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
