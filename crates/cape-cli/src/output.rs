//! Output for people and machines: the privacy statement, the view of what was replaced, progress.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{ErrorKind, IsTerminal, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cape::{Evidence, Guarantee, Level, Notion, Reach, Release, Sanitizer};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use crate::failure::{Done, Failure, io};

/// What one or more releases add up to.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Totals {
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
    kept: BTreeMap<String, usize>,
    /// The largest numbers of any guarantee: each release states what its own kinds of words need.
    bound: f64,
    bound_protected: f64,
    most_kept: f64,
    most_kept_value: Option<f64>,
    most_guessed: f64,
}

impl Totals {
    pub(crate) fn add(&mut self, release: &Release) {
        let privacy = &release.privacy;
        let guarantee = privacy.guarantee;
        let mut kept = BTreeMap::new();
        for word in release.words.iter().filter(|word| word.level == Level::Kept) {
            *kept.entry(word.why.as_str().to_owned()).or_default() += 1;
        }
        self.merge(Self {
            seeded: privacy.seeded,
            prompts: 1,
            words: privacy.words,
            protected: privacy.protected,
            draws: privacy.draws,
            uncovered: privacy.uncovered,
            longest: privacy.draws,
            kept,
            bound: guarantee.bound,
            bound_protected: guarantee.protected,
            most_kept: guarantee.most_kept,
            most_kept_value: guarantee.most_kept_value,
            most_guessed: guarantee.most_guessed,
        });
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.seeded |= other.seeded;
        self.prompts += other.prompts;
        self.words += other.words;
        self.protected += other.protected;
        self.draws += other.draws;
        self.uncovered += other.uncovered;
        self.longest = self.longest.max(other.longest);
        for (why, count) in other.kept {
            *self.kept.entry(why).or_default() += count;
        }
        self.bound = self.bound.max(other.bound);
        self.bound_protected = self.bound_protected.max(other.bound_protected);
        self.most_kept = self.most_kept.max(other.most_kept);
        let values = [self.most_kept_value, other.most_kept_value];
        self.most_kept_value = values.into_iter().flatten().reduce(f64::max);
        self.most_guessed = self.most_guessed.max(other.most_guessed);
    }
}

/// The privacy statement over one or more releases.
pub(crate) struct Statement<'a> {
    sanitizer: &'a Sanitizer,
    guarantee: Guarantee,
    totals: Totals,
}

impl<'a> Statement<'a> {
    pub(crate) fn of(sanitizer: &'a Sanitizer, release: &Release) -> Self {
        let mut totals = Totals::default();
        totals.add(release);
        Self::new(sanitizer, totals)
    }

    pub(crate) fn new(sanitizer: &'a Sanitizer, totals: Totals) -> Self {
        let Totals { bound, bound_protected, most_kept, most_kept_value, most_guessed, .. } =
            totals;
        let guarantee = Guarantee {
            bound,
            protected: bound_protected,
            most_kept,
            most_kept_value,
            most_guessed,
            ..sanitizer.guarantee()
        };
        Self { sanitizer, guarantee, totals }
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
            return if self.totals.seeded {
                format!(
                    "NONE: drawn with --seed, for experiments only\n         \
                         ({epsilons} without it; {form})"
                )
            } else {
                format!("{epsilons}: proven ({form})")
            };
        }
        match (notion, evidence) {
            (Notion::Ldp, _) if self.totals.seeded => format!(
                "NONE: drawn with --seed, for experiments only \
                 (ε = {at_most} per token without it; {name})"
            ),
            _ if self.totals.seeded => {
                format!("NONE: drawn with --seed, for experiments only ({name})")
            }
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
        let prompts = match self.totals.prompts {
            1 => String::new(),
            n => format!("{}, ", plural(n, "prompt")),
        };
        let words = if self.sanitizer.cape().is_some() {
            let words = plural(self.totals.words, "word");
            format!(
                "{words}, {} of them protected (which you alone should know)",
                self.totals.protected
            )
        } else {
            plural(self.totals.words - self.totals.uncovered, "sensitive token")
        };
        if self.guarantee.bound.is_infinite() || self.totals.draws == 0 {
            return format!("{prompts}{words} drawn for");
        }
        let would = if self.totals.seeded { "it would be " } else { "" };
        let longest = up(self.guarantee.prompt(self.totals.longest));
        let sum = up(self.guarantee.prompt(self.totals.draws));
        match self.totals.prompts {
            1 => format!("{words}: {would}ε = {longest} for the whole prompt"),
            _ => format!(
                "{prompts}{words}: {would}ε = {longest} for the longest, at most {sum} in all"
            ),
        }
    }

    /// The meaning for one word, from the law's integers.
    fn in_practice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| {
            let percent = (share * 1000.0).ceil() / 10.0;
            // 99.5 is not 100
            if percent < 10.0 || percent > 99.0 && percent < 100.0 {
                format!("{percent:.1}%")
            } else {
                format!("{:.0}%", percent.ceil())
            }
        };
        let Guarantee { most_kept, most_kept_value, near, most_guessed, .. } = self.guarantee;
        let Some((k, near)) = near else {
            if self.totals.draws > 0 && most_kept < 0.995 {
                let percent = percent(most_kept);
                writeln!(
                    f,
                    "         each sensitive token stays the same with probability {percent} at most"
                )?;
            }
            return Ok(());
        };
        if self.totals.protected > 0 {
            writeln!(
                f,
                "         a protected word stays itself with probability {} at most, and becomes one of its\n         \
                 {k} nearest with {}; whoever must choose between two given words is right in {} of cases at most,\n         \
                 and in fewer the more of their nearest words are the same",
                percent(most_kept),
                // how useful it is: never above the true value
                format_args!("{}%", (1000.0 * near).floor() / 10.0),
                percent(most_guessed),
            )?;
            if let Some(kept) = most_kept_value {
                let percent = percent(kept);
                writeln!(
                    f,
                    "         a number, date, time or weekday stays itself with probability {percent} at most"
                )?;
            }
        }
        writeln!(
            f,
            "         ordinary words are sent unchanged but for case; spaces, punctuation, how many words there are,\n         \
             which of them are equal, and what is a number, a date or an address are not hidden"
        )
    }
}

impl fmt::Display for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.totals.draws + self.totals.uncovered == 0 {
            return writeln!(f, "privacy: nothing was drawn; returned as it is, nothing spent");
        }
        writeln!(f, "privacy: {}", self.promise())?;
        writeln!(f, "         {}", self.spent())?;
        if self.guarantee.reach == Reach::EveryDraw {
            writeln!(
                f,
                "         raw context: two prompts that differ in one token are within {} only",
                up(self.guarantee.one_token(self.totals.longest))
            )?;
        }
        if !self.totals.kept.is_empty() {
            let what = if self.sanitizer.cape().is_some() { "word" } else { "token" };
            let count = self.totals.kept.values().sum();
            let (kept, is) = (plural(count, what), if count == 1 { "it is" } else { "they are" });
            let reasons = self.totals.kept.iter().map(|(why, n)| match why.as_str() {
                "stopword" => plural(*n, "stopword"),
                "punctuation" => plural(*n, "punctuation mark"),
                "frequent" => plural(*n, "frequent word"),
                "unknown" => plural(*n, "unknown word"),
                "listed" => format!("{n} on your list"),
                other => format!("{n} {other}"),
            });
            let reasons = reasons.collect::<Vec<_>>().join(", ");
            writeln!(f, "         {kept} sent as {is}: {reasons}")?;
        }
        if self.totals.uncovered > 0 {
            writeln!(f, "         {} that no ε covers", plural(self.totals.uncovered, "token"))?;
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
    print_bytes(format!("{text}{end}").as_bytes())
}

/// The same for what ends as it does.
pub(crate) fn print_bytes(bytes: &[u8]) -> Done {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
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

#[cfg_attr(not(feature = "eval"), expect(dead_code, reason = "the evaluation is what takes long"))]
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

/// Progress through the rows of an input: a bar where its end is known, else a counter; a line from time to time where there is
/// no terminal.
pub(crate) struct RowProgress {
    bar: ProgressBar,
    begun: (Instant, u64),
    said: Option<Mutex<Instant>>,
}

impl RowProgress {
    /// An input of which so much was read, and so many rows are done.
    pub(crate) fn new(end: Option<u64>, at: u64, rows: u64) -> Self {
        let style = match end {
            Some(_) => "{bar:40} {percent}% of the input, {msg}  {elapsed}, {eta} left",
            None => "{spinner} {msg}  {elapsed}",
        };
        let bar = end.map_or_else(ProgressBar::no_length, ProgressBar::new);
        let bar = bar.with_style(ProgressStyle::with_template(style).expect("a fixed template"));
        bar.set_position(at);
        bar.reset_eta();
        let said = (!std::io::stderr().is_terminal()).then(|| Mutex::new(Instant::now()));
        Self { bar, begun: (Instant::now(), rows), said }
    }

    pub(crate) fn at(&self, at: u64, rows: u64) {
        self.bar.set_position(at);
        let (begun, before) = self.begun;
        let rate = (rows - before) as f64 / begun.elapsed().as_secs_f64().max(1e-3);
        let message = format!("{}, {rate:.0} a second", plural(rows as usize, "row"));
        if let Some(said) = &self.said {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            if said.elapsed() >= SILENCE {
                *said = Instant::now();
                let left = indicatif::HumanDuration(self.bar.eta());
                let left = match self.bar.length() {
                    Some(_) => format!(", about {left} left"),
                    None => String::new(),
                };
                note(&format!("{message}{left}\n"));
            }
        }
        self.bar.set_message(message);
    }

    /// Writes something else while the bar is away.
    pub(crate) fn hide<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
