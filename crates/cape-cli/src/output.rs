//! What people and machines read: the privacy statement, JSON, the side-by-side view, progress.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use cape::context::Context;
use cape::mechanism::Mechanism;
use cape::mechanism::cape::{Buckets, Settings};
use cape::privacy::{Evidence, Guarantee, Reach};
use cape::text::{Outcome, Release};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::settings::Ready;

/// The privacy statement over one or more releases.
pub(crate) struct Statement {
    settings: Settings,
    guarantee: Guarantee,
    prompts: usize,
    sensitive: usize,
    /// The most sensitive tokens in any one prompt.
    most: usize,
    kept: BTreeMap<&'static str, usize>,
    retention: f64,
}

impl Statement {
    pub(crate) fn new(ready: &Ready, seeded: bool) -> Self {
        let guarantee = ready.mechanism.guarantee();
        Self {
            settings: *ready.mechanism.settings(),
            guarantee: if seeded { guarantee.void() } else { guarantee },
            prompts: 0,
            sensitive: 0,
            most: 0,
            kept: BTreeMap::new(),
            retention: 0.0,
        }
    }

    pub(crate) fn add(&mut self, release: &Release) {
        let sensitive = release.sensitive();
        self.prompts += 1;
        self.sensitive += sensitive;
        self.most = self.most.max(sensitive);
        self.retention += release.expected_kept().unwrap_or(0.0) * sensitive as f64;
        for token in &release.tokens {
            if let Outcome::Kept(why) = token.outcome {
                *self.kept.entry(why.as_str()).or_default() += 1;
            }
        }
    }

    fn expected_kept(&self) -> Option<f64> {
        (self.sensitive > 0).then(|| self.retention / self.sensitive as f64)
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Guarantee {
            nominal,
            bound,
            evidence,
            reach,
            ..
        } = self.guarantee;
        let form = format!(
            "{}, {} context",
            buckets(&self.settings),
            context(&self.settings)
        );
        if self.sensitive == 0 {
            return writeln!(
                f,
                "privacy: no sensitive token; returned as it is, nothing spent"
            );
        }
        match evidence {
            Evidence::Proof => writeln!(f, "privacy: ε = {bound} per token, proven ({form})")?,
            Evidence::Bound => writeln!(
                f,
                "privacy: ε = {} was asked; what is proven is at most {} per draw ({form})",
                nominal.get(),
                up(bound)
            )?,
            _ => writeln!(
                f,
                "privacy: NONE: drawn with --seed, for experiments only \
                 (ε = {bound} per token without it; {form})"
            )?,
        }
        let (all, one) = (
            self.guarantee.prompt(self.most),
            self.guarantee.one_token(self.most),
        );
        if self.prompts == 1 {
            let tokens = plural(self.sensitive, "sensitive token");
            writeln!(f, "         {tokens}: ε = {} for the whole prompt", up(all))?;
        } else {
            let (prompts, tokens) = (self.prompts, self.sensitive);
            writeln!(
                f,
                "         {prompts} prompts, {tokens} sensitive tokens; the longest spends ε = {}",
                up(all)
            )?;
        }
        if reach == Reach::EveryDraw {
            writeln!(
                f,
                "         raw context: two prompts that differ in one token are within {} only",
                up(one)
            )?;
        }
        if !self.kept.is_empty() {
            let kept = plural(self.kept.values().sum(), "token");
            let reasons = self.kept.iter().map(|(why, n)| match *why {
                "stopword" => plural(*n, why),
                "punctuation" => plural(*n, "punctuation mark"),
                other => format!("{n} {other}"),
            });
            let reasons = reasons.collect::<Vec<_>>().join(", ");
            writeln!(f, "         {kept} kept as they are: {reasons}")?;
        }
        if let Some(expected) = self.expected_kept() {
            let percent = expected * 100.0;
            writeln!(
                f,
                "         {percent:.0}% of the sensitive tokens are expected to stay the same"
            )?;
        }
        Ok(())
    }
}

/// A loss for people: two decimals at the most, never below the true value.
fn up(loss: f64) -> String {
    let shown = (loss * 100.0 - 1e-9).ceil() / 100.0;
    format!("{}", if shown >= loss { shown } else { loss })
}

fn plural(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A release for machines.
#[derive(Serialize)]
pub(crate) struct ReleaseJson<'a> {
    text: &'a str,
    tokens: Vec<TokenJson<'a>>,
    privacy: PrivacyJson,
}

#[derive(Serialize)]
struct TokenJson<'a> {
    start: usize,
    end: usize,
    original: &'a str,
    released: &'a str,
    kept: Option<&'static str>,
}

#[derive(Serialize)]
struct PrivacyJson {
    mechanism: &'static str,
    buckets: &'static str,
    context: &'static str,
    epsilon_nominal: f64,
    epsilon_per_token: f64,
    epsilon_one_token: f64,
    sensitive_tokens: usize,
    epsilon_prompt: f64,
    notion: String,
    evidence: String,
    expected_kept: Option<f64>,
}

pub(crate) fn release<'a>(
    text: &'a str,
    release: &'a Release,
    statement: &Statement,
) -> ReleaseJson<'a> {
    let guarantee = statement.guarantee;
    let tokens = release.tokens.iter().map(|token| TokenJson {
        start: token.start,
        end: token.end,
        original: &text[token.start..token.end],
        released: &token.released,
        kept: match token.outcome {
            Outcome::Kept(why) => Some(why.as_str()),
            Outcome::Drawn { .. } => None,
        },
    });
    ReleaseJson {
        text: &release.text,
        tokens: tokens.collect(),
        privacy: PrivacyJson {
            mechanism: "cape",
            buckets: buckets(&statement.settings),
            context: context(&statement.settings),
            epsilon_nominal: guarantee.nominal.get(),
            epsilon_per_token: guarantee.bound,
            epsilon_one_token: guarantee.one_token(statement.sensitive),
            sensitive_tokens: statement.sensitive,
            epsilon_prompt: guarantee.prompt(statement.sensitive),
            notion: guarantee.notion.to_string(),
            evidence: guarantee.evidence.to_string(),
            expected_kept: statement.expected_kept(),
        },
    }
}

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}

pub(crate) fn json_pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("plain data")
}

pub(crate) fn buckets(settings: &Settings) -> &'static str {
    match settings.buckets {
        Buckets::Ranked { .. } => "ranked",
        Buckets::EqualWidth { .. } => "equal-width",
    }
}

pub(crate) fn context(settings: &Settings) -> &'static str {
    match settings.context {
        Context::Released => "released",
        Context::Raw => "raw",
    }
}

/// The width of a column of the side-by-side view.
const COLUMN: usize = 44;

/// Original and release side by side, replaced tokens in brackets.
pub(crate) fn diff(text: &str, release: &Release) -> String {
    let mut rows: Vec<(String, String)> = vec![(String::new(), String::new())];
    let mut at = 0;
    for token in &release.tokens {
        let gap = &text[at..token.start];
        let original = &text[token.start..token.end];
        let (left, right) = if matches!(token.outcome, Outcome::Kept(_)) {
            (original.to_owned(), original.to_owned())
        } else if original == token.released {
            (format!("~{original}~"), format!("~{original}~"))
        } else {
            (format!("[{original}]"), format!("[{}]", token.released))
        };
        let wide = |row: &str, more: &str| row.chars().count() + more.chars().count() + 1 > COLUMN;
        let new_line = gap.contains('\n');
        if let Some((l, r)) = rows.last_mut() {
            if !new_line && !wide(l, &left) && !wide(r, &right) {
                let gap = if gap.is_empty() || l.is_empty() {
                    ""
                } else {
                    " "
                };
                let _ = (write!(l, "{gap}{left}"), write!(r, "{gap}{right}"));
            } else {
                rows.push((left, right));
            }
        }
        at = token.end;
    }
    let mut out = format!("{:COLUMN$} | {}\n", "original", "released");
    for (left, right) in rows {
        let pad = COLUMN.saturating_sub(left.chars().count());
        let _ = writeln!(out, "{left}{:pad$} | {right}", "");
    }
    out.push_str("[replaced]  ~drawn, but the same~  kept");
    out
}

/// A progress bar of known length, on stderr where that is a terminal.
pub(crate) fn bar(len: u64, what: &str) -> ProgressBar {
    let style = format!("{{bar:40}} {{pos}}/{{len}} {what}  {{elapsed}}, {{eta}} left");
    ProgressBar::new(len)
        .with_style(ProgressStyle::with_template(&style).expect("a fixed template"))
}

/// A counter for input whose length is not known.
pub(crate) fn counter(what: &str) -> ProgressBar {
    let style = format!("{{spinner}} {{pos}} {what}  {{elapsed}}, {{per_sec}}");
    ProgressBar::no_length()
        .with_style(ProgressStyle::with_template(&style).expect("a fixed template"))
}
