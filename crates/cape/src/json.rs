//! A release for machines.

use serde::Serialize;

use crate::sanitizer::Sanitizer;
use crate::text::Release;

/// A release as JSON: for the user alone, since it holds the original words too.
#[derive(Serialize)]
pub struct ReleaseJson<'a> {
    text: &'a str,
    words: Vec<WordJson<'a>>,
    privacy: PrivacyJson<'a>,
}

#[derive(Serialize)]
struct WordJson<'a> {
    start: usize,
    end: usize,
    original: &'a str,
    released: &'a str,
    level: &'static str,
    kind: &'static str,
    why: &'static str,
}

#[derive(Serialize)]
struct PrivacyJson<'a> {
    mechanism: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    law: Option<LawJson>,
    /// Where the words of a mechanism on tokens come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    drawn_from: Option<&'a str>,
    /// The ε that was asked for, where it is not what holds between protected words.
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon_nominal: Option<f64>,
    epsilon_protected: f64,
    epsilon_any: f64,
    words: usize,
    /// How many draws there were: one for all words that are the same, and none for kept ones.
    draws: usize,
    /// Depends on the true words: private, like `original`.
    protected_words: usize,
    #[serde(skip_serializing_if = "is_zero")]
    uncovered_words: usize,
    epsilon_prompt: f64,
    most_kept: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_kept_value: Option<f64>,
    most_guessed: f64,
    notion: String,
    evidence: String,
}

/// The law of protected words.
#[derive(Serialize)]
struct LawJson {
    k: usize,
    alpha: Option<f64>,
    listed_words: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl<'a> ReleaseJson<'a> {
    /// The JSON form of a text's release by this sanitizer.
    #[must_use]
    pub fn new(sanitizer: &'a Sanitizer, text: &'a str, release: &'a Release) -> Self {
        let (privacy, about) = (&release.privacy, sanitizer.about());
        let on_tokens = sanitizer.cape().is_none();
        let words = release.words.iter().map(|word| WordJson {
            start: word.start,
            end: word.end,
            original: &text[word.start..word.end],
            released: &word.released,
            level: word.level.as_str(),
            kind: word.kind.as_str(),
            why: word.why.as_str(),
        });
        let law = sanitizer.cape().map(|cape| LawJson {
            k: cape.settings().shape.k,
            alpha: cape.settings().shape.alpha,
            listed_words: cape.lexicon().len(),
        });
        Self {
            text: &release.text,
            words: words.collect(),
            privacy: PrivacyJson {
                mechanism: about.mechanism,
                profile: sanitizer.cape().map(|cape| cape.settings().profile.as_str()),
                law,
                drawn_from: about.words.as_deref(),
                epsilon_nominal: on_tokens.then(|| privacy.guarantee.nominal.get()),
                epsilon_protected: privacy.guarantee.protected,
                epsilon_any: privacy.guarantee.bound,
                words: privacy.words,
                draws: privacy.draws,
                protected_words: privacy.protected,
                uncovered_words: privacy.uncovered,
                epsilon_prompt: privacy.epsilon_prompt(),
                most_kept: privacy.guarantee.most_kept,
                most_kept_value: privacy.guarantee.most_kept_value,
                most_guessed: privacy.guarantee.most_guessed,
                notion: privacy.holds().notion.to_string(),
                evidence: privacy.holds().evidence.to_string(),
            },
        }
    }
}
