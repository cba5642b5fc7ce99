//! What people and machines read: the privacy statement, JSON, the side-by-side view, progress.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{ErrorKind, Write as _};
use std::time::Duration;

use cape::privacy::{Evidence, Guarantee, Notion, Reach};
use cape::text::{Outcome, Release, Why};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::failure::{Done, Failure, io};
use crate::settings::Form;

/// The privacy statement over one or more releases.
pub(crate) struct Statement {
    form: Form,
    guarantee: Guarantee,
    seeded: bool,
    prompts: usize,
    sensitive: usize,
    /// Tokens that no ε covers.
    uncovered: usize,
    /// The most sensitive tokens in any one prompt.
    longest: usize,
    most_kept: f64,
    kept: BTreeMap<&'static str, usize>,
}

impl Statement {
    pub(crate) fn of(form: Form, release: &Release) -> Self {
        let mut statement = Self {
            form,
            guarantee: release.privacy.guarantee,
            seeded: release.privacy.seeded,
            prompts: 0,
            sensitive: 0,
            uncovered: 0,
            longest: 0,
            most_kept: 0.0,
            kept: BTreeMap::new(),
        };
        statement.add(release);
        statement
    }

    pub(crate) fn add(&mut self, release: &Release) {
        let privacy = &release.privacy;
        self.prompts += 1;
        self.sensitive += privacy.sensitive;
        self.uncovered += privacy.uncovered;
        self.longest = self.longest.max(privacy.sensitive);
        self.most_kept = self.most_kept.max(privacy.most_kept);
        for token in &release.tokens {
            if let Outcome::Kept(why) = token.outcome
                && why != Why::Space
            {
                *self.kept.entry(why.as_str()).or_default() += 1;
            }
        }
    }

    /// What is promised for one token.
    fn promise(&self) -> String {
        let Guarantee { nominal, bound, notion, evidence, .. } = self.guarantee;
        let form = match self.form.cape {
            Some((buckets, context)) => format!("{buckets}, {context} context"),
            None => self.form.mechanism.to_owned(),
        };
        let (asked, at_most) = (nominal.get(), up(bound));
        match (notion, evidence) {
            (Notion::Ldp, _) if self.seeded => format!(
                "NONE: drawn with --seed, for experiments only \
                 (ε = {at_most} per token without it; {form})"
            ),
            _ if self.seeded => format!("NONE: drawn with --seed, for experiments only ({form})"),
            (Notion::MetricLdp, _) => format!(
                "ε = {asked} per unit of distance, proven ({form});\n         \
                 for two words far apart ε = {at_most}"
            ),
            (Notion::MetricLdpOfSome, _) => format!(
                "ε = {asked} per unit of distance between two rare words, proven ({form});\n         \
                 for two of them far apart ε = {at_most}; nothing for frequent words"
            ),
            (Notion::WithinList, _) => format!(
                "ε = {asked} between two words of one list, proven ({form});\n         \
                 which list it is, everybody can see"
            ),
            (_, Evidence::Proof) => format!("ε = {bound} per token, proven ({form})"),
            (_, Evidence::Bound) => {
                format!(
                    "ε = {asked} was asked; what is proven is at most {at_most} per draw ({form})"
                )
            }
            _ => format!("NONE is proven: ε = {asked} is no more than a setting ({form})"),
        }
    }

    /// What it comes to for a prompt, or for all of them.
    fn spent(&self) -> String {
        let tokens = plural(self.sensitive, "sensitive token");
        let prompts = match self.prompts {
            1 => String::new(),
            n => format!("{}, ", plural(n, "prompt")),
        };
        if self.guarantee.bound.is_infinite() || self.sensitive == 0 {
            return format!("{prompts}{tokens} drawn for");
        }
        let would = if self.seeded { "it would be " } else { "" };
        let longest = up(self.guarantee.prompt(self.longest));
        let sum = up(self.guarantee.prompt(self.sensitive));
        match self.prompts {
            1 => format!("{tokens}: {would}ε = {longest} for the whole prompt"),
            _ => format!("{prompts}{tokens}: {would}ε = {longest} for the longest, {sum} in all"),
        }
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sensitive + self.uncovered == 0 {
            return writeln!(f, "privacy: no sensitive token; returned as it is, nothing spent");
        }
        writeln!(f, "privacy: {}", self.promise())?;
        writeln!(f, "         {}", self.spent())?;
        if self.guarantee.reach == Reach::EveryDraw {
            writeln!(
                f,
                "         raw context: two prompts that differ in one token are within {} only",
                up(self.guarantee.one_token(self.longest))
            )?;
        }
        if !self.kept.is_empty() {
            let count = self.kept.values().sum();
            let (kept, is) =
                (plural(count, "token"), if count == 1 { "it is" } else { "they are" });
            let reasons = self.kept.iter().map(|(why, n)| match *why {
                "stopword" => plural(*n, why),
                "punctuation" => plural(*n, "punctuation mark"),
                "frequent" => plural(*n, "frequent word"),
                "unknown" => plural(*n, "unknown word"),
                other => format!("{n} {other}"),
            });
            let reasons = reasons.collect::<Vec<_>>().join(", ");
            writeln!(f, "         {kept} kept as {is}: {reasons}")?;
        }
        if self.uncovered > 0 {
            writeln!(f, "         {} that no ε covers", plural(self.uncovered, "token"))?;
        }
        if self.sensitive > 0 && self.most_kept < 0.995 {
            let percent = (self.most_kept * 100.0).ceil();
            writeln!(
                f,
                "         each sensitive token stays the same with probability {percent}% at most"
            )?;
        }
        match &self.form.words {
            Some(words) => writeln!(f, "         drawn from {words}"),
            None => Ok(()),
        }
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
    #[serde(skip_serializing_if = "Option::is_none")]
    buckets: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<String>,
    epsilon_nominal: f64,
    epsilon_per_token: f64,
    epsilon_one_token: f64,
    sensitive_tokens: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncovered_tokens: Option<usize>,
    epsilon_prompt: f64,
    notion: String,
    evidence: String,
    most_kept: f64,
    /// Depends on the true tokens: private, like `original`.
    expected_kept: Option<f64>,
}

pub(crate) fn release<'a>(text: &'a str, release: &'a Release, form: &Form) -> ReleaseJson<'a> {
    let privacy = &release.privacy;
    // the space before a word is no token to a reader: it has no text
    let shown = release.tokens.iter().filter(|token| token.outcome != Outcome::Kept(Why::Space));
    let tokens = shown.map(|token| TokenJson {
        start: token.start,
        end: token.end,
        original: &text[token.start..token.end],
        released: &token.released,
        kept: match token.outcome {
            Outcome::Kept(why) => Some(why.as_str()),
            _ => None,
        },
    });
    ReleaseJson {
        text: &release.text,
        tokens: tokens.collect(),
        privacy: PrivacyJson {
            mechanism: form.mechanism,
            buckets: form.cape.map(|(buckets, _)| buckets),
            context: form.cape.map(|(_, context)| context),
            words: form.words.clone(),
            epsilon_nominal: privacy.guarantee.nominal.get(),
            epsilon_per_token: privacy.guarantee.bound,
            epsilon_one_token: privacy.epsilon_one_token(),
            sensitive_tokens: privacy.sensitive,
            uncovered_tokens: form.words.is_some().then_some(privacy.uncovered),
            epsilon_prompt: privacy.epsilon_prompt(),
            notion: privacy.holds().notion.to_string(),
            evidence: privacy.holds().evidence.to_string(),
            most_kept: privacy.most_kept,
            expected_kept: privacy.expected_kept,
        },
    }
}

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}

pub(crate) fn json_pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("plain data")
}

/// Writes a line to stdout; an end of line that is there already is not doubled. A reader that has
/// seen enough and closed its end stops the command, and that is no failure.
pub(crate) fn print(text: &str) -> Done {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let mut stdout = std::io::stdout().lock();
    match write!(stdout, "{text}{end}").and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::reader_gone()),
        Err(error) => Err(io("cannot write to stdout".into(), &error)),
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
        } else if original == token.released || original.to_lowercase() == token.released {
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

/// Progress through a file that is fetched.
pub(crate) fn download(len: u64, file: &str) -> ProgressBar {
    let style = "{msg}  {bar:30} {bytes}/{total_bytes}  {bytes_per_sec}, {eta} left";
    ProgressBar::new(len)
        .with_style(ProgressStyle::with_template(style).expect("a fixed template"))
        .with_message(file.to_owned())
}

/// A sign of life while a long prompt is perturbed.
pub(crate) fn spinner(what: &str) -> ProgressBar {
    let style = format!("{{spinner}} {what}  {{elapsed}}");
    let spinner = ProgressBar::no_length()
        .with_style(ProgressStyle::with_template(&style).expect("a fixed template"));
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}

/// Progress through a stream of lines: a bar where its length in bytes is known, else a counter.
pub(crate) fn stream(bytes: Option<u64>) -> ProgressBar {
    let style = match bytes {
        Some(_) => "{bar:40} {percent}% of the input, {msg} prompts  {elapsed}, {eta} left",
        None => "{spinner} {msg} prompts  {elapsed}",
    };
    let bar = bytes.map_or_else(ProgressBar::no_length, ProgressBar::new);
    bar.with_style(ProgressStyle::with_template(style).expect("a fixed template")).with_message("0")
}
