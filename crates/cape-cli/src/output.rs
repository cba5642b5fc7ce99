//! What people and machines read: the privacy statement, JSON, the side-by-side view, progress.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{ErrorKind, Write as _};

use cape::context::Context;
use cape::mechanism::Mechanism;
use cape::mechanism::cape::{Buckets, Settings};
use cape::privacy::{Evidence, Guarantee, Reach};
use cape::text::{Outcome, Release};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::failure::{Done, io};
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

    /// Whether there was no prompt at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.prompts == 0
    }

    fn expected_kept(&self) -> Option<f64> {
        (self.sensitive > 0).then(|| self.retention / self.sensitive as f64)
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Guarantee { nominal, bound, evidence, reach, .. } = self.guarantee;
        let form = format!("{}, {} context", buckets(&self.settings), context(&self.settings));
        if self.sensitive == 0 {
            return writeln!(f, "privacy: no sensitive token; returned as it is, nothing spent");
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
        let (all, one) = (self.guarantee.prompt(self.most), self.guarantee.one_token(self.most));
        let spent = if evidence == Evidence::None { "it would be " } else { "" };
        if self.prompts == 1 {
            let tokens = plural(self.sensitive, "sensitive token");
            writeln!(f, "         {tokens}: {spent}ε = {} for the whole prompt", up(all))?;
        } else {
            let prompts = plural(self.prompts, "prompt");
            let tokens = plural(self.sensitive, "sensitive token");
            let (longest, sum) = (up(all), up(self.guarantee.prompt(self.sensitive)));
            writeln!(
                f,
                "         {prompts}, {tokens}: {spent}ε = {longest} for the longest, {sum} in all"
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
            let count = self.kept.values().sum();
            let (kept, is) =
                (plural(count, "token"), if count == 1 { "it is" } else { "they are" });
            let reasons = self.kept.iter().map(|(why, n)| match *why {
                "stopword" => plural(*n, why),
                "punctuation" => plural(*n, "punctuation mark"),
                other => format!("{n} {other}"),
            });
            let reasons = reasons.collect::<Vec<_>>().join(", ");
            writeln!(f, "         {kept} kept as {is}: {reasons}")?;
        }
        let percent = (self.guarantee.most_kept * 100.0).ceil();
        writeln!(
            f,
            "         each sensitive token stays the same with probability {percent}% at most"
        )?;
        Ok(())
    }
}

/// A loss for people: two decimals at the most, never below the true value.
fn up(loss: f64) -> String {
    // what floats add to a product (3 × 0.1) is not worth a digit
    let shown = ((loss * 100.0 - 1e-9).ceil() / 100.0).max(0.0);
    format!("{shown}")
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
    most_kept: f64,
    /// Depends on the true tokens: private, like `original`.
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
            most_kept: guarantee.most_kept,
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

/// Writes a line to stdout; an end of line that is there already is not doubled. A reader that has
/// seen enough and closed its end is no failure.
pub(crate) fn print(text: &str) -> Done {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let mut stdout = std::io::stdout().lock();
    match write!(stdout, "{text}{end}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(io("cannot write to stdout".into(), &error))
        }
        _ => Ok(()),
    }
}

/// Writes to stderr. Where that is closed there is nobody to tell.
pub(crate) fn note(text: &impl fmt::Display) {
    let _ = write!(std::io::stderr().lock(), "{text}");
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
        } else if original.to_lowercase() == token.released {
            (format!("~{original}~"), format!("~{original}~"))
        } else {
            (format!("[{original}]"), format!("[{}]", token.released))
        };
        let wide = |row: &str, more: &str| row.width() + more.width() + 1 > COLUMN;
        let new_line = gap.contains('\n');
        if let Some((l, r)) = rows.last_mut() {
            if !new_line && !wide(l, &left) && !wide(r, &right) {
                let gap = if gap.is_empty() || l.is_empty() { "" } else { " " };
                let _ = (write!(l, "{gap}{left}"), write!(r, "{gap}{right}"));
            } else {
                rows.push((left, right));
            }
        }
        at = token.end;
    }
    let mut out = format!("{:COLUMN$} | {}\n", "original", "released");
    for (left, right) in rows {
        let pad = COLUMN.saturating_sub(left.width());
        let _ = writeln!(out, "{left}{:pad$} | {right}", "");
    }
    out.push_str("[replaced]  ~drawn, but the same~  kept\n");
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
