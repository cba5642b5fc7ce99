//! How fast Cape perturbs words.

use std::fmt::Write as _;
use std::time::Instant;

use cape::levels::Key;
use cape::mechanism::cape::Settings;
use cape::sanitizer::written;
use cape::{Cape, Kind, Level, Lexicon, Sanitizer, Secret, units};
use serde::Serialize;

use super::{RUNS, SIDE_BY_SIDE, forget_peak, in_turn, mb, ms, peak, quantile};
use crate::args::BenchArgs;
use crate::failure::{Done, Failure};

/// The measurements.
#[derive(Serialize)]
pub(super) struct WordBench {
    mechanism: &'static str,
    listed_words: usize,
    load_ms: f64,
    load_peak_bytes: Option<u64>,
    rows: Vec<WordRow>,
}

/// Prompts of one length, alone or side by side. Times are per prompt.
#[derive(Serialize)]
struct WordRow {
    side_by_side: usize,
    words: f64,
    protected_words: f64,
    runs: usize,
    ms_p50: f64,
    ms_p99: f64,
    words_per_second: f64,
    stages_ms: WordStages,
    peak_bytes: Option<u64>,
}

/// Where the time goes, on one core: the mean of each stage.
#[derive(Serialize, Default)]
struct WordStages {
    /// The text is cut into words.
    cut: f64,
    /// Each word gets its level.
    levels: f64,
    /// Products of the vector of each protected word with those of all substitutes.
    products: f64,
    /// All else of a draw: the secret's numbers, and the word of that rank.
    draw: f64,
    /// The release is written.
    write: f64,
}

impl WordStages {
    /// Adds what one prompt takes: of levels and draws also what is done within them and counted alone.
    fn add(&mut self, cape: &Cape, text: &str, secret: &Secret) -> Done {
        spend(&mut self.cut, || units::cut(text, cape.settings().cut))?;
        let plan = spend(&mut self.levels, || cape.plan(text))?;
        let is_long = |key: &&Key| key.level == Level::Protected && key.kind == Kind::Word;
        spend(&mut self.products, || {
            for key in plan.keys.iter().filter(is_long) {
                let (lexicon, count) = (cape.lexicon(), cape.lexicon().substitutes());
                std::hint::black_box(lexicon.fitness(count, &key.form));
            }
        });
        let drawn = spend(&mut self.draw, || cape.draw(&plan, secret));
        spend(&mut self.write, || written(cape, text, &plan, &drawn, true));
        Ok(())
    }

    /// The mean of so many prompts, each thing counted once.
    fn mean(&self, prompts: usize) -> Self {
        let mean = |sum: f64| (sum / prompts as f64).max(0.0);
        Self {
            cut: mean(self.cut),
            levels: mean(self.levels - self.cut),
            products: mean(self.products),
            draw: mean(self.draw - self.products),
            write: mean(self.write),
        }
    }
}

/// Does some work, and adds the milliseconds that it took.
fn spend<T>(sum: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = std::hint::black_box(work());
    *sum += ms(start.elapsed());
    done
}

impl WordBench {
    pub(super) fn new(args: &BenchArgs, text: &str) -> Done<Self> {
        forget_peak();
        let start = Instant::now();
        let cape = Cape::new(Lexicon::embedded(), Settings::default())?;
        let (load_ms, load_peak_bytes) = (ms(start.elapsed()), peak());
        let listed_words = cape.lexicon().len();
        let sanitizer = Sanitizer::words(cape);
        let mut rows = Vec::new();
        for &length in &args.lengths {
            let prompts = prompts(text, length.into())?;
            for side_by_side in [1, SIDE_BY_SIDE] {
                rows.push(measure(&sanitizer, &prompts, side_by_side, args.seconds)?);
            }
        }
        Ok(Self { mechanism: "cape", listed_words, load_ms, load_peak_bytes, rows })
    }

    /// The table for people.
    pub(super) fn table(&self) -> String {
        let mut out = format!(
            "cape: {} listed words, no device model\n\
             loaded in {:.0} ms, {} MB at the most; times in ms per prompt, of stages on one core\n\n\
             {:>7} {:>6} {:>9} {:>8} {:>8} {:>9} | {:>6} {:>6} {:>8} {:>6} {:>6} | {:>5} {:>5}\n",
            self.listed_words,
            self.load_ms,
            mb(self.load_peak_bytes),
            "at once",
            "words",
            "protected",
            "p50",
            "p99",
            "words/s",
            "cut",
            "levels",
            "products",
            "draw",
            "write",
            "MB",
            "runs",
        );
        for row in &self.rows {
            let WordStages { cut, levels, products, draw, write } = row.stages_ms;
            let _ = writeln!(
                out,
                "{:>7} {:>6.1} {:>9.1} {:>8.3} {:>8.3} {:>9.0} | {cut:>6.3} {levels:>6.3} {products:>8.3} \
                 {draw:>6.3} {write:>6.3} | {:>5} {:>5}",
                row.side_by_side,
                row.words,
                row.protected_words,
                row.ms_p50,
                row.ms_p99,
                row.words_per_second,
                mb(row.peak_bytes),
                row.runs,
            );
        }
        out
    }
}

/// Stretches of so many words.
fn prompts(text: &str, length: usize) -> Done<Vec<String>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        return Err(Failure::new(
            "no prompts can be cut from the text",
            "it takes some sentences of plain text; there is one built in, without --file",
        ));
    }
    let stretch = |i: usize| {
        let words = words.iter().cycle().skip(7 * i % words.len()).take(length);
        words.copied().collect::<Vec<_>>().join(" ")
    };
    Ok((0..SIDE_BY_SIDE).map(stretch).collect())
}

fn measure(
    sanitizer: &Sanitizer,
    prompts: &[String],
    side_by_side: usize,
    seconds: f64,
) -> Done<WordRow> {
    let (mut words, mut protected, mut times) = (0, 0, Vec::new());
    let cape = sanitizer.cape().expect("it was made of one");
    let mut stages = WordStages::default();
    forget_peak();
    let (begin, each) = (Instant::now(), 1.0 / side_by_side as f64);
    // the first run warms up and does not count
    for run in 0.. {
        if run >= RUNS && begin.elapsed().as_secs_f64() > seconds {
            break;
        }
        let texts = in_turn(prompts, run, side_by_side);
        let secrets: Vec<Secret> =
            (0..side_by_side).map(|i| Secret::seeded(run as u64, i as u64)).collect();
        let secrets: Vec<&Secret> = secrets.iter().collect();
        let start = Instant::now();
        let releases = sanitizer.releases(&texts, &secrets).map_err(|(_, error)| error)?;
        let whole = ms(start.elapsed());
        if run == 0 {
            continue;
        }
        words += releases.iter().map(|release| release.privacy.words).sum::<usize>();
        protected += releases.iter().map(|release| release.privacy.protected).sum::<usize>();
        times.push(whole * each);
        for (text, secret) in texts.iter().zip(secrets) {
            stages.add(cape, text, secret)?;
        }
    }
    let (total, runs) = (times.iter().sum::<f64>() / each, times.len());
    let per_prompt = |count: usize| count as f64 / (runs * side_by_side) as f64;
    times.sort_by(f64::total_cmp);
    Ok(WordRow {
        side_by_side,
        words: per_prompt(words),
        protected_words: per_prompt(protected),
        runs,
        ms_p50: quantile(&times, 0.5),
        ms_p99: quantile(&times, 0.99),
        words_per_second: words as f64 / total * 1e3,
        stages_ms: stages.mean(runs * side_by_side),
        peak_bytes: peak(),
    })
}
