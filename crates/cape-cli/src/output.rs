//! Output for people and machines: the privacy statement, the view of what was replaced, progress.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{ErrorKind, IsTerminal, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cape::{Evidence, Guarantee, Level, Notion, Reach, Release, Sanitizer};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::failure::{Done, Failure, io};

/// The privacy statement over one or more releases.
pub(crate) struct Statement<'a> {
    sanitizer: &'a Sanitizer,
    guarantee: Guarantee,
    seeded: bool,
    prompts: usize,
    words: usize,
    protected: usize,
    /// Draws of all prompts, each for itself.
    draws: usize,
    /// Words that no ε covers.
    uncovered: usize,
    /// The most draws in any one prompt.
    longest: usize,
    kept: BTreeMap<&'static str, usize>,
}

impl<'a> Statement<'a> {
    pub(crate) fn of(sanitizer: &'a Sanitizer, release: &Release) -> Self {
        let mut statement = Self {
            sanitizer,
            guarantee: release.privacy.guarantee,
            seeded: release.privacy.seeded,
            prompts: 0,
            words: 0,
            protected: 0,
            draws: 0,
            uncovered: 0,
            longest: 0,
            kept: BTreeMap::new(),
        };
        statement.add(release);
        statement
    }

    pub(crate) fn add(&mut self, release: &Release) {
        let privacy = &release.privacy;
        self.prompts += 1;
        self.words += privacy.words;
        self.protected += privacy.protected;
        self.draws += privacy.draws;
        self.uncovered += privacy.uncovered;
        self.longest = self.longest.max(privacy.draws);
        // each release states what its own kinds of words need
        let (all, new) = (&mut self.guarantee, privacy.guarantee);
        all.most_kept = all.most_kept.max(new.most_kept);
        all.most_guessed = all.most_guessed.max(new.most_guessed);
        for word in release.words.iter().filter(|word| word.level == Level::Kept) {
            *self.kept.entry(word.why.as_str()).or_default() += 1;
        }
    }

    /// The promise in words.
    fn promise(&self) -> String {
        let Guarantee { nominal, bound, protected, notion, evidence, .. } = self.guarantee;
        let name = self.sanitizer.about().mechanism;
        let (asked, at_most) = (nominal.get(), up(bound));
        if let Some(cape) = self.sanitizer.cape() {
            let form = format!("{name}, profile {}", cape.settings().profile.as_str());
            let epsilons = format!(
                "ε = {} between any two protected words, {at_most} between any two words",
                up(protected)
            );
            return if self.seeded {
                format!(
                    "NONE: drawn with --seed, for experiments only\n         \
                         ({epsilons} without it; {form})"
                )
            } else {
                format!("{epsilons}: proven ({form})")
            };
        }
        match (notion, evidence) {
            (Notion::Ldp, _) if self.seeded => format!(
                "NONE: drawn with --seed, for experiments only \
                 (ε = {at_most} per token without it; {name})"
            ),
            _ if self.seeded => format!("NONE: drawn with --seed, for experiments only ({name})"),
            (Notion::MetricLdp, _) => format!(
                "ε = {asked} per unit of distance, proven ({name});\n         \
                 for two words far apart ε = {at_most}"
            ),
            (Notion::MetricLdpOfSome, _) => format!(
                "ε = {asked} per unit of distance between two rare words, proven ({name});\n         \
                 for two of them far apart ε = {at_most}; nothing for frequent words"
            ),
            (Notion::WithinList, _) => format!(
                "ε = {asked} between two words of one list, proven ({name});\n         \
                 which list it is, everybody can see"
            ),
            (_, Evidence::Proof | Evidence::Bound) => {
                format!(
                    "ε = {asked} was asked; what is proven is at most {at_most} per draw ({name})"
                )
            }
            _ => format!("NONE is proven: ε = {asked} is no more than a setting ({name})"),
        }
    }

    /// The ε of a whole prompt, or of all prompts.
    fn spent(&self) -> String {
        let prompts = match self.prompts {
            1 => String::new(),
            n => format!("{}, ", plural(n, "prompt")),
        };
        let words = if self.sanitizer.cape().is_some() {
            let words = plural(self.words, "word");
            format!("{words}, {} of them protected (which you alone should know)", self.protected)
        } else {
            plural(self.words - self.uncovered, "sensitive token")
        };
        if self.guarantee.bound.is_infinite() || self.draws == 0 {
            return format!("{prompts}{words} drawn for");
        }
        let would = if self.seeded { "it would be " } else { "" };
        let longest = up(self.guarantee.prompt(self.longest));
        let sum = up(self.guarantee.prompt(self.draws));
        match self.prompts {
            1 => format!("{words}: {would}ε = {longest} for the whole prompt"),
            _ => format!("{prompts}{words}: {would}ε = {longest} for the longest, {sum} in all"),
        }
    }

    /// The meaning for one word, from the law's integers.
    fn in_practice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| {
            let percent = (share * 1000.0).ceil() / 10.0;
            if percent < 10.0 {
                format!("{percent:.1}%")
            } else {
                format!("{:.0}%", percent.ceil())
            }
        };
        let Guarantee { most_kept, near, most_guessed, .. } = self.guarantee;
        let Some((k, near)) = near else {
            if self.draws > 0 && most_kept < 0.995 {
                let percent = percent(most_kept);
                writeln!(
                    f,
                    "         each sensitive token stays the same with probability {percent} at most"
                )?;
            }
            return Ok(());
        };
        if self.protected > 0 {
            writeln!(
                f,
                "         a protected word stays itself with probability {} at most, and becomes one of its\n         \
                 {k} nearest with {}; whoever must choose between two given words is right in {} of cases at most",
                percent(most_kept),
                // how useful it is: never above the true value
                format_args!("{:.0}%", (100.0 * near).floor()),
                percent(most_guessed),
            )?;
        }
        writeln!(
            f,
            "         ordinary words are sent unchanged but for case; spaces, punctuation, how many words there are\n         \
             and which of them are equal are not hidden"
        )
    }
}

impl fmt::Display for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.draws + self.uncovered == 0 {
            return writeln!(f, "privacy: nothing was drawn; returned as it is, nothing spent");
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
            let what = if self.sanitizer.cape().is_some() { "word" } else { "token" };
            let count = self.kept.values().sum();
            let (kept, is) = (plural(count, what), if count == 1 { "it is" } else { "they are" });
            let reasons = self.kept.iter().map(|(why, n)| match *why {
                "stopword" => plural(*n, why),
                "punctuation" => plural(*n, "punctuation mark"),
                "frequent" => plural(*n, "frequent word"),
                "unknown" => plural(*n, "unknown word"),
                "listed" => format!("{n} on your list"),
                other => format!("{n} {other}"),
            });
            let reasons = reasons.collect::<Vec<_>>().join(", ");
            writeln!(f, "         {kept} sent as {is}: {reasons}")?;
        }
        if self.uncovered > 0 {
            writeln!(f, "         {} that no ε covers", plural(self.uncovered, "token"))?;
        }
        self.in_practice(f)?;
        match &self.sanitizer.about().words {
            Some(words) => writeln!(f, "         drawn from {words}"),
            None => Ok(()),
        }
    }
}

/// A loss for people: two decimals at the most, never below the true value.
pub(crate) fn up(loss: f64) -> String {
    // what floats add to a product (3 × 0.1) is not worth a digit
    let shown = ((loss * 100.0 - 1e-9).ceil() / 100.0).max(0.0);
    format!("{shown}")
}

fn plural(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}

pub(crate) fn json_pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("plain data")
}

/// Prints a report as JSON or for people.
pub(crate) fn print_report(report: &(impl Serialize + fmt::Display), json: bool) -> Done {
    print(&if json { json_pretty(report) } else { report.to_string() })
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

/// The original and what is sent in its place, line by line; words that were replaced are in colour on a
/// terminal, and else in brackets.
pub(crate) fn diff(text: &str, release: &Release) -> String {
    diff_with(text, release, std::io::stderr().is_terminal())
}

fn diff_with(text: &str, release: &Release, colour: bool) -> String {
    let mark = |word: &str, code: &str| {
        if colour { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { format!("[{word}]") }
    };
    let (mut original, mut sent, mut at) = (String::new(), String::new(), 0);
    for word in &release.words {
        let (gap, own) = (&text[at..word.start], &text[word.start..word.end]);
        original.push_str(gap);
        sent.push_str(gap);
        if own == word.released {
            original.push_str(own);
            sent.push_str(own);
        } else {
            original.push_str(&mark(own, "31"));
            sent.push_str(&mark(&word.released, "32"));
        }
        at = word.end;
    }
    original.push_str(&text[at..]);
    sent.push_str(&text[at..]);
    // a replaced word has no line break in it, but what it replaced may have had one
    let mut out = String::new();
    for line in original.lines() {
        let _ = writeln!(out, "- {line}");
    }
    for line in sent.lines() {
        let _ = writeln!(out, "+ {line}");
    }
    out
}

/// A progress bar of known length, on stderr where that is a terminal.
pub(crate) fn bar(len: u64, what: &str) -> ProgressBar {
    let style = format!("{{bar:40}} {{pos}}/{{len}} {what}  {{elapsed}}, {{eta}} left");
    ProgressBar::new(len)
        .with_style(ProgressStyle::with_template(&style).expect("a fixed template"))
}

/// How far a long run is: a bar on a terminal, elsewhere a line from time to time.
pub(crate) struct Progress {
    bar: ProgressBar,
    what: String,
    /// When the last line was written; none on a terminal.
    said: Option<Mutex<Instant>>,
}

/// How long a run is silent where there is no terminal.
const SILENCE: Duration = Duration::from_secs(15);

impl Progress {
    pub(crate) fn new(len: usize, what: &str) -> Self {
        let said = (!std::io::stderr().is_terminal()).then(|| Mutex::new(Instant::now()));
        Self { bar: bar(len as u64, what), what: what.to_owned(), said }
    }

    /// So many are done.
    pub(crate) fn at(&self, done: usize) {
        self.bar.set_position(done as u64);
        let Some(said) = &self.said else { return };
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.elapsed() >= SILENCE {
            *said = Instant::now();
            let (len, what) = (self.bar.length().unwrap_or_default(), &self.what);
            let left = indicatif::HumanDuration(self.bar.eta());
            note(&format!("{done} of {len} {what}, about {left} left\n"));
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
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
