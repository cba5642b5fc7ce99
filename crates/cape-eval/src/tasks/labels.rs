//! Which label is an answer?
//!
//! An answer counts if it is the label alone, or begins with it and a mark that ends a clause. White
//! space, quotes and other punctuation around it do not matter. An answer that names the other label
//! too has not decided. Whatever else a model says is not interpreted.

/// The label of a sentence of SST-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sentiment {
    /// It praises.
    Positive,
    /// It does not.
    Negative,
}

impl Sentiment {
    /// The label that an answer gives, if it can be read.
    pub(crate) fn read(answer: &str) -> Option<Self> {
        either(answer, ("positive", Self::Positive), ("negative", Self::Negative))
    }
}

/// The label of a question and a sentence of QNLI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entailed {
    /// The sentence answers the question.
    Yes,
    /// It does not.
    No,
}

impl Entailed {
    /// The label that an answer gives, if it can be read.
    pub(crate) fn read(answer: &str) -> Option<Self> {
        either(answer, ("yes", Self::Yes), ("no", Self::No))
    }
}

fn either<T>(answer: &str, a: (&str, T), b: (&str, T)) -> Option<T> {
    if alone(answer, a.0, b.0) {
        return Some(a.1);
    }
    alone(answer, b.0, a.0).then_some(b.1)
}

/// Whether an answer is a label, and is not the other one too.
fn alone(answer: &str, label: &str, other: &str) -> bool {
    let answer = answer.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = answer.find(|c: char| !c.is_alphanumeric()).unwrap_or(answer.len());
    let (word, rest) = answer.split_at(end);
    if !word.eq_ignore_ascii_case(label) {
        return false;
    }
    let mut words = rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let clause = ends_clause(rest);
    words.clone().next().is_none() || clause && words.all(|word| !word.eq_ignore_ascii_case(other))
}

/// Whether what follows a word begins with a mark that ends a clause, after closing quotes or emphasis.
fn ends_clause(rest: &str) -> bool {
    let rest = rest.trim_start_matches(|c: char| c == ' ' || "\"'`*_)]}”’»".contains(c));
    let after = rest.trim_start_matches(|c| ".,;:!?–—-…".contains(c));
    // not in the middle of a word, as in `yes-man` and `no.5`
    after.len() < rest.len() && !after.starts_with(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_alone_is_read() {
        for answer in [
            "positive",
            "Positive",
            "POSITIVE",
            " positive\n",
            "positive.",
            "Positive!",
            "\"positive\"",
            "'Positive'.",
            "“Positive.”",
            "«positive»",
            "**Positive**",
            "`positive`",
            "(positive)",
            "- positive",
            "----\"positive\"",
            "positive…",
            "\u{a0}positive\u{2003}",
            "positive 🙂",
        ] {
            assert_eq!(Sentiment::read(answer), Some(Sentiment::Positive), "{answer}");
        }
        assert_eq!(Sentiment::read("\tNegative .\r\n"), Some(Sentiment::Negative));
    }

    #[test]
    fn a_label_may_be_explained() {
        for answer in [
            "Yes.",
            "Yes, the context says when.",
            "Yes. The context says when.",
            "Yes: the context says when.",
            "Yes; it does.",
            "Yes! It does.",
            "Yes - it does.",
            "Yes — it does.",
            "\"Yes\", it does.",
            "\"Yes.\" It does.",
            "**Yes**: it does.",
            "Yes, yes.",
            "Yes.\n\nThe context says when.",
        ] {
            assert_eq!(Entailed::read(answer), Some(Entailed::Yes), "{answer}");
        }
        assert_eq!(Entailed::read("No, the year is missing."), Some(Entailed::No));
        // `not` and `none` are not `no`
        assert_eq!(Entailed::read("Yes, but not when; none is named"), Some(Entailed::Yes));
    }

    #[test]
    fn whatever_else_is_unread() {
        for answer in [
            "",
            " ",
            "...",
            "positively",
            "positives",
            "positivo",
            "non-positive",
            "not positive",
            "The sentence is positive.",
            "Sentiment: positive",
            "positive sentiment",
            "positive\nThe sentence praises.",
            "\"positive\" is the answer",
            "positive-ish",
            "positive-leaning, mostly",
            "positive.txt",
            "positive's",
            "positive1",
            "1. positive",
            "positive, negative",
            "positive/negative",
            "Positive or negative?",
            "Positive. Not negative.",
            "positive and negative",
            "neutral",
            "mixed",
            "yes",
            "1",
            "true",
            "p o s i t i v e",
            "позитивный",
            "ｐｏｓｉｔｉｖｅ",
        ] {
            assert_eq!(Sentiment::read(answer), None, "{answer}");
        }
        for answer in
            ["Yes and no", "Yes, no", "yes/no", "No... yes!", "Nope", "yeah", "None", "y", "no.5"]
        {
            assert_eq!(Entailed::read(answer), None, "{answer}");
        }
    }
}
