//! What is a measure called, which way is better, and which comes first?

use crate::summary::Point;

const ATTACKS: [&str; 5] = ["knn-10", "knn-1", "mti", "bayes", "llm"];
const UTILITIES: [&str; 9] = [
    "rouge_l",
    "similarity",
    "accuracy",
    "task",
    "details",
    "preferred",
    "agreement",
    "coherence",
    "alignment",
];

/// What a high value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Good {
    /// An attack fails.
    Private,
    /// The release is of use.
    Useful,
    /// The release tells more: of use, and to the attacker.
    Revealing,
}

/// What it means if this measure is high.
pub(super) fn good(name: &str) -> Good {
    if name.starts_with("privacy ") {
        Good::Private
    } else if name.starts_with("guessed ") || matches!(name, "unchanged" | "unread answers") {
        Good::Revealing
    } else {
        Good::Useful
    }
}

/// Whether it is how well a task is done; the others say nothing of what has no mechanism.
pub(super) fn is_task(name: &str) -> bool {
    good(name) == Good::Useful && !matches!(name, "rouge_l" | "similarity")
}

/// Attack and label of a measure of labelled spans.
pub(super) fn span(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("privacy ")?.split_once(" on ")
}

/// What it is called in text.
pub(super) fn label(name: &str) -> String {
    match name {
        "rouge_l" => "ROUGE-L".into(),
        "similarity" => "similarity of meaning".into(),
        "unchanged" => "tokens that stay the same".into(),
        "task" => "tasks done".into(),
        "details" => "details in the answer".into(),
        "preferred" => "preferred to the answer without Cape".into(),
        "agreement" => "agreement of rules and judge".into(),
        _ => match (name.strip_prefix("privacy "), name.strip_prefix("guessed ")) {
            (Some(attack), _) => format!("privacy against {attack}"),
            (_, Some(attack)) => format!("ROUGE-L of what {attack} guesses"),
            _ => name.into(),
        },
    }
}

/// What it is, in a sentence.
pub(super) fn meaning(name: &str) -> Option<&'static str> {
    let attack = name.strip_prefix("privacy ").or_else(|| name.strip_prefix("guessed "));
    Some(match attack.unwrap_or(name) {
        "knn-1" => "KNN-1 takes the word nearest to the one that was sent.",
        "knn-10" => "KNN-10 finds a word that is among the ten nearest to the one that was sent.",
        "mti" => {
            "MTI masks the word that was sent, and takes what a masked language model expects there."
        }
        "bayes" => {
            "Bayes knows the mechanism, expects what a masked language model expects, and takes the word that \
             most probably was there."
        }
        "llm" => {
            "LLM: a chat model writes what it takes the whole prompt to have been; a word is found if that has it."
        }
        "rouge_l" => {
            "ROUGE-L is the longest common subsequence of the words of prompt and release, as a share."
        }
        "similarity" => {
            "Similarity is the cosine of a sentence encoder’s vectors of prompt and release."
        }
        "accuracy" => "Accuracy: a chat model classifies the release; the share of true labels.",
        "unread answers" => "Unread: the share of its answers that are no label.",
        "task" => {
            "Tasks done: a chat model answers the release, names are put back, and the answer holds all facts \
             and has the form that was asked for."
        }
        "details" => {
            "Details: of the private values that a good answer repeats, those that it has."
        }
        "preferred" => {
            "Preferred: of this answer and the one to the prompt itself a model calls this one better; a half where the \
             order decides."
        }
        "agreement" => {
            "Agreement: where the rules pass one answer only and the model is sure, how often they mean the same."
        }
        "coherence" => "Coherence is the similarity of a prompt and what continues it in the end.",
        "alignment" => {
            "Alignment is the similarity of that and of what the service writes after the prompt itself."
        }
        "unchanged" => {
            "Stays the same: of the words that attacks count, those that were sent as they were."
        }
        "protected" => {
            "Protected: of the words that attacks count, those that the profile protects."
        }
        _ => return None,
    })
}

/// The same at the beginning of a line.
pub(super) fn title(name: &str) -> String {
    let label = label(name);
    let mut letters = label.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// What an axis or a column of it is called.
pub(super) fn axis(name: &str) -> String {
    format!("{} (%)", label(name))
}

/// The measures of these points but those of spans, the most telling first.
pub(super) fn all<'a>(points: impl IntoIterator<Item = &'a Point>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in points.into_iter().flat_map(|point| point.measures.keys()) {
        if span(name).is_none() && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| (place(name), *name));
    names
}

fn place(name: &str) -> (usize, usize) {
    let among = |list: &[&str], name: &str| {
        list.iter().position(|known| *known == name).unwrap_or(list.len())
    };
    match (good(name), name.split_once(' ')) {
        (Good::Useful, _) => (0, among(&UTILITIES, name)),
        (Good::Private, Some((_, attack))) => (1, among(&ATTACKS, attack)),
        (_, Some((_, attack))) => (2, among(&ATTACKS, attack)),
        _ => (2, 0),
    }
}
