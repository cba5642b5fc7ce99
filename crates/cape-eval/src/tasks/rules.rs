//! Whether an answer does what a prompt asked for, by rules: facts that it must hold, and its form.

use serde::Deserialize;
use serde_json::Value;

/// The rules for an answer to a prompt.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Rules {
    /// The facts in it: of each, one of the alternatives, which are in lower case.
    pub facts: Vec<Vec<String>>,
    /// Private values of the prompt that a good answer repeats.
    #[serde(default)]
    pub details: Vec<String>,
    /// Its form.
    #[serde(default)]
    pub format: Format,
}

/// The form of an answer. What is not given does not matter.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Format {
    /// The most words.
    pub max_words: Option<usize>,
    /// The fewest words.
    pub min_words: Option<usize>,
    /// One of these is its first word.
    pub one_of: Option<Vec<String>>,
    /// It begins so, after white space and marks of emphasis.
    pub starts_with: Option<String>,
    /// It has a JSON object with these keys.
    pub json_keys: Option<Vec<String>>,
    /// The exact number of list items.
    pub bullets: Option<usize>,
}

impl Rules {
    /// Whether all facts and all rules of form hold.
    pub(crate) fn pass(&self, answer: &str) -> bool {
        let lower = answer.to_lowercase();
        let holds = |fact: &Vec<String>| fact.iter().any(|words| lower.contains(words.as_str()));
        self.facts.iter().all(holds) && self.format.holds(answer)
    }

    /// The share of the details that an answer has; none if there are none.
    pub(crate) fn details(&self, answer: &str) -> Option<f64> {
        let lower = answer.to_lowercase();
        let there = self.details.iter().filter(|detail| lower.contains(&detail.to_lowercase()));
        (!self.details.is_empty()).then(|| there.count() as f64 / self.details.len() as f64)
    }
}

impl Format {
    fn holds(&self, answer: &str) -> bool {
        let words = answer.split_whitespace().count();
        let lower = answer.to_lowercase();
        let mut runs = lower.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
        let first = runs.next().unwrap_or_default();
        let emphasis = |c: char| c.is_whitespace() || "*_#`\"'".contains(c);
        let lead = lower.trim_start_matches(emphasis);
        let start = self.starts_with.as_ref().map(|start| start.to_lowercase());
        self.max_words.is_none_or(|most| words <= most)
            && self.min_words.is_none_or(|least| words >= least)
            && self.one_of.as_ref().is_none_or(|right| right.iter().any(|word| word == first))
            && start.is_none_or(|start| lead.starts_with(&start))
            && self.json_keys.as_ref().is_none_or(|keys| has_keys(answer, keys))
            && self
                .bullets
                .is_none_or(|n| answer.lines().filter(|line| is_bullet(line)).count() == n)
    }
}

fn has_keys(answer: &str, keys: &[String]) -> bool {
    let (Some(start), Some(end)) = (answer.find('{'), answer.rfind('}')) else { return false };
    let object = answer.get(start..=end).and_then(|text| serde_json::from_str::<Value>(text).ok());
    object.is_some_and(|object| keys.iter().all(|key| object.get(key).is_some()))
}

/// Whether a line is an item of a list: `- `, `* `, `• `, `1. ` or `1) `.
fn is_bullet(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.strip_prefix(['-', '*', '•']).or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.len()).then(|| rest.strip_prefix(['.', ')'])).flatten()
    });
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(json: &str) -> Rules {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn every_fact_must_be_there_in_one_of_its_forms() {
        let decline =
            rules(r#"{"facts": [["sorry", "cannot"], ["meet"]], "details": ["Zoë", "Ann"]}"#);
        assert!(decline.pass("SORRY, I am not free for the meeting."));
        assert!(!decline.pass("Sorry, no.") && !decline.pass("Let us meet."));
        assert_eq!(decline.details("Dear ZOË, sorry"), Some(0.5));
        assert_eq!(rules(r#"{"facts": []}"#).details("Ann"), None);
        assert!(serde_json::from_str::<Rules>(r#"{"facts": [], "format": {"max": 3}}"#).is_err());
    }

    #[test]
    fn every_rule_of_form_must_hold() {
        for (format, right, wrong) in [
            (r#"{"max_words": 2}"#, "two words", "three words now"),
            (r#"{"min_words": 2}"#, "two words", "one"),
            (r#"{"one_of": ["payroll"]}"#, "**Payroll**.", "IT, not payroll"),
            (r#"{"starts_with": "Dear"}"#, "\n**Dear Ann", "Hello, dear Ann"),
            (r#"{"json_keys": ["a"]}"#, "Here:\n```{\"a\": {\"b\": 1}}```", "{\"b\": {\"a\": 1}}"),
            (r#"{"json_keys": ["a"]}"#, "{\"a\": 1}", "} {"),
            (r#"{"bullets": 2}"#, "So:\n- a\n 12) b", "- a\n-b\n1a. c"),
        ] {
            let rules = rules(&format!(r#"{{"facts": [], "format": {format}}}"#));
            assert!(rules.pass(right), "{format} {right}");
            assert!(!rules.pass(wrong), "{format} {wrong}");
        }
    }
}
