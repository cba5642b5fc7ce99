//! The measures of releases: their names, which way is better, and which comes first.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _, IntoDeserializer, value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An attack on releases, the most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attack {
    /// The true word is among the ten nearest to the released one.
    #[serde(rename = "knn-10")]
    Knn10,
    /// The true word is the nearest to the released one.
    #[serde(rename = "knn-1")]
    Knn1,
    /// Masked token inference.
    Mti,
    /// The adversary who knows the mechanism.
    Bayes,
    /// A chat model.
    Llm,
}

/// How good the answers of a chat model are, the most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Score {
    /// The share of true labels, of the answers that could be read.
    Accuracy,
    /// Whether an answer passes the rules of its task.
    Task,
    /// How many of the private values that a good answer repeats it has.
    Details,
    /// The first of these with all that can be put back, not only what is by default.
    #[serde(rename = "task, all put back")]
    TaskAllBack,
    /// The second of these with the same.
    #[serde(rename = "details, all put back")]
    DetailsAllBack,
    /// Whether an answer is preferred to the one without Cape.
    Preferred,
    /// Whether rules and judge mean the same answer.
    Agreement,
    /// Similarity of a prompt and its continuation.
    Coherence,
    /// Similarity of the continuations of a prompt and of its release.
    Alignment,
    /// Alignment of what the service itself wrote.
    #[serde(rename = "alignment without extraction")]
    AlignmentWithoutExtraction,
    /// Coherence of what the service itself wrote.
    #[serde(rename = "coherence without extraction")]
    CoherenceWithoutExtraction,
    /// Alignment of what the service wrote with the user's own names put back.
    #[serde(rename = "alignment restored")]
    AlignmentRestored,
    /// Coherence of the same.
    #[serde(rename = "coherence restored")]
    CoherenceRestored,
}

/// A measure, the most telling first; all of them are shares from 0 to 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// ROUGE-L of prompt and release.
    RougeL,
    /// Similarity of meaning of prompt and release.
    Similarity,
    /// How good answers to releases are.
    Score(Score),
    /// The share of words that are protected.
    Protected,
    /// The same outside of labelled spans.
    ProtectedElsewhere,
    /// The same in labelled spans.
    ProtectedInSpans,
    /// The same in spans with this label.
    ProtectedOn(String),
    /// One minus the share of words that an attack finds.
    Privacy(Attack),
    /// The same in spans with this label.
    PrivacyOn(Attack, String),
    /// The share of words that were sent as they were.
    Unchanged,
    /// ROUGE-L of the prompt and what an attack takes it for.
    Guessed(Attack),
    /// The share of answers that could not be read.
    Unread,
}

/// The meaning of a high value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Good {
    /// An attack fails.
    Private,
    /// The release is of use.
    Useful,
    /// The release tells more: of use, and to the attacker.
    Revealing,
}

impl Attack {
    fn meaning(self) -> &'static str {
        match self {
            Self::Knn1 => "KNN-1 takes the word nearest to the one that was sent.",
            Self::Knn10 => {
                "KNN-10 finds a word that is among the ten nearest to the one that was sent."
            }
            Self::Mti => {
                "MTI masks the word that was sent, and takes what a masked language model expects there."
            }
            Self::Bayes => {
                "Bayes knows the mechanism, expects what a masked language model expects, and takes the word that \
                 most probably was there."
            }
            Self::Llm => {
                "LLM: a chat model writes what it takes the whole prompt to have been; a word is found if that has it."
            }
        }
    }
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Score {
    fn meaning(self) -> Option<&'static str> {
        Some(match self {
            Self::Accuracy => {
                "Accuracy: a chat model classifies the release; the share of true labels."
            }
            Self::Task => {
                "Tasks done: a chat model answers the release, names are put back, and the answer holds all facts \
                 and has the form that was asked for."
            }
            Self::Details => {
                "Details: of the private values that a good answer repeats, those that it has."
            }
            Self::TaskAllBack | Self::DetailsAllBack => {
                "All put back: the same with places, organisations, numbers and dates put back, too, as masks are undone."
            }
            Self::Preferred => {
                "Preferred: of this answer and the one to the prompt itself a model calls this one better; a half where the \
                 order decides."
            }
            Self::Agreement => {
                "Agreement: where the rules pass one answer only and the model is sure, how often they mean the same."
            }
            Self::Coherence => {
                "Coherence is the similarity of a prompt and what continues it in the end."
            }
            Self::Alignment => {
                "Alignment is the similarity of that and of what the service writes after the prompt itself."
            }
            Self::AlignmentRestored | Self::CoherenceRestored => {
                "Restored: the service’s continuation of the release with the user’s own names put back, without a \
                 local model."
            }
            Self::AlignmentWithoutExtraction | Self::CoherenceWithoutExtraction => return None,
        })
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Measure {
    /// The name in records, tables for machines and charts' data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RougeL => f.write_str("rouge_l"),
            Self::Similarity => f.write_str("similarity"),
            Self::Score(score) => score.fmt(f),
            Self::Protected => f.write_str("protected"),
            Self::ProtectedElsewhere => f.write_str("protected elsewhere"),
            Self::ProtectedInSpans => f.write_str("protected in spans"),
            Self::ProtectedOn(label) => write!(f, "protected on {label}"),
            Self::Privacy(attack) => write!(f, "privacy {attack}"),
            Self::PrivacyOn(attack, label) => write!(f, "privacy {attack} on {label}"),
            Self::Unchanged => f.write_str("unchanged"),
            Self::Guessed(attack) => write!(f, "guessed {attack}"),
            Self::Unread => f.write_str("unread answers"),
        }
    }
}

impl Measure {
    pub(crate) fn good(&self) -> Good {
        match self {
            Self::Privacy(_) | Self::PrivacyOn(..) => Good::Private,
            Self::Unchanged | Self::Guessed(_) | Self::Unread => Good::Revealing,
            _ => Good::Useful,
        }
    }

    /// Whether it is how well a task is done; the others say nothing of what has no mechanism.
    pub(crate) fn is_task(&self) -> bool {
        self.good() == Good::Useful && !matches!(self, Self::RougeL | Self::Similarity)
    }

    /// The name in text.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::RougeL => "ROUGE-L".into(),
            Self::Similarity => "similarity of meaning".into(),
            Self::Unchanged => "tokens that stay the same".into(),
            Self::Score(Score::Task) => "tasks done".into(),
            Self::Score(Score::Details) => "details in the answer".into(),
            Self::Score(Score::TaskAllBack) => "tasks done, all put back".into(),
            Self::Score(Score::DetailsAllBack) => "details in the answer, all put back".into(),
            Self::Score(Score::Preferred) => "preferred to the answer without Cape".into(),
            Self::Score(Score::Agreement) => "agreement of rules and judge".into(),
            Self::Privacy(attack) => format!("privacy against {attack}"),
            Self::Guessed(attack) => format!("ROUGE-L of what {attack} guesses"),
            _ => self.to_string(),
        }
    }

    /// The name at the beginning of a line.
    pub(crate) fn title(&self) -> String {
        let label = self.label();
        let mut letters = label.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect())
            .unwrap_or_default()
    }

    /// The name of an axis or a column.
    pub(crate) fn axis(&self) -> String {
        format!("{} (%)", self.label())
    }

    /// A sentence that defines it.
    pub(crate) fn meaning(&self) -> Option<&'static str> {
        Some(match self {
            Self::Privacy(attack) | Self::Guessed(attack) => attack.meaning(),
            Self::Score(score) => return score.meaning(),
            Self::RougeL => {
                "ROUGE-L is the longest common subsequence of the words of prompt and release, as a share."
            }
            Self::Similarity => {
                "Similarity is the cosine of a sentence encoder’s vectors of prompt and release."
            }
            Self::Unread => "Unread: the share of its answers that are no label.",
            Self::Unchanged => {
                "Stays the same: of the words that attacks count, those that were sent as they were."
            }
            Self::Protected => {
                "Protected: of the words that attacks count, those that the profile protects."
            }
            _ => return None,
        })
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| D::Error::custom("unknown measure"))
    }
}

impl Measure {
    fn named(name: &str) -> Option<Self> {
        let plain = [Self::RougeL, Self::Similarity, Self::Protected, Self::ProtectedElsewhere];
        let mut plain =
            plain.into_iter().chain([Self::ProtectedInSpans, Self::Unchanged, Self::Unread]);
        if let Some(measure) = plain.find(|measure| measure.to_string() == name) {
            return Some(measure);
        }
        Some(match name.split_once(' ') {
            Some(("guessed", attack)) => Self::Guessed(read(attack)?),
            Some(("privacy", privacy)) => match privacy.split_once(" on ") {
                Some((attack, label)) => Self::PrivacyOn(read(attack)?, label.to_owned()),
                None => Self::Privacy(read(privacy)?),
            },
            Some(("protected", on)) => Self::ProtectedOn(on.strip_prefix("on ")?.to_owned()),
            _ => Self::Score(read(name)?),
        })
    }
}

/// An attack or a score of this name.
pub(crate) fn read<T: DeserializeOwned>(name: &str) -> Option<T> {
    let name: value::StrDeserializer<'_, value::Error> = name.into_deserializer();
    T::deserialize(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let on = "on PERSON on duty".to_owned();
        let spans = [Measure::ProtectedOn(on.clone()), Measure::PrivacyOn(Attack::Knn10, on)];
        for measure in spans {
            assert_eq!(Measure::named(&measure.to_string()), Some(measure));
        }
        for name in ["rouge_l", "unread answers", "alignment without extraction", "guessed mti"] {
            assert_eq!(Measure::named(name).unwrap().to_string(), name);
        }
        for name in ["", "privacy", "privacy knn-2", "privacy knn-2 on X", "on X", "protected x"] {
            assert_eq!(Measure::named(name), None, "{name}");
        }
    }
}
