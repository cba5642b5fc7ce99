//! `cape bench`

mod timed;
mod words;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cape::Epsilon;
use cape::mechanism::Mechanism;
use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::rng::{self, CryptoRng, Generator};
use cape::tokens::{Context, KeepList, Piece, Tokenizer, Tokens, assemble};
use cape_models::{Device, Options, Spent, Stage};
use serde::Serialize;

use crate::args::BenchArgs;
use crate::commands::perturb::SIDE_BY_SIDE;
use crate::failure::{Done, Failure, io};
use crate::{load, output};

use self::timed::Timed;

/// Public sentences written for this purpose.
const TEXT: &str = include_str!("bench/text.txt");

/// The fewest runs of a row, the first of which warms up, however long they take.
const RUNS: usize = 2;

pub(crate) fn run(args: &BenchArgs) -> Done {
    if !(args.seconds >= 0.0 && args.seconds <= 3600.0) {
        return Err(Failure::usage("--seconds is out of range", "it takes 0 to 3600"));
    }
    let text = match &args.file {
        None => TEXT.to_owned(),
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| io(format!("cannot read {}", path.display()), &error))?,
    };
    if args.model.is_empty() {
        let report = words::WordBench::new(args, &text)?;
        return output::print(&if args.json {
            output::json_pretty(&report)
        } else {
            report.table()
        });
    }
    let options =
        Options { arithmetic: args.arithmetic, kernel: load::kernel(args.kernel.as_deref())? };
    let reports = args.model.iter().map(|model| ModelBench::new(model, args, options, &text));
    let reports: Vec<ModelBench> = reports.collect::<Done<_>>()?;
    if args.json {
        return output::print(&output::json_pretty(&reports));
    }
    output::print(&reports.iter().map(table).collect::<Vec<_>>().join("\n"))
}

/// The measurements of one model.
#[derive(Serialize)]
struct ModelBench {
    model: String,
    shape: String,
    arithmetic: &'static str,
    kernel: &'static str,
    threads: usize,
    load_ms: f64,
    /// The most memory while it was loaded; none where the system does not say.
    load_peak_bytes: Option<u64>,
    rows: Vec<ModelRow>,
}

/// Prompts of one length, alone or side by side. Times are per prompt.
#[derive(Serialize)]
struct ModelRow {
    context: &'static str,
    side_by_side: usize,
    tokens: f64,
    sensitive_tokens: f64,
    runs: usize,
    ms_p50: f64,
    ms_p99: f64,
    tokens_per_second: f64,
    stages_ms: Stages,
    /// The mean time of the stages of a pass, outside of layers and in each of them, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    layers_ms: Option<Vec<LayerTimes>>,
    peak_bytes: Option<u64>,
}

/// The time of each stage of a layer.
type LayerTimes = BTreeMap<&'static str, f64>;

/// Where the time goes: the median of each stage.
#[derive(Serialize)]
struct Stages {
    tokenize: f64,
    logits: f64,
    distances: f64,
    /// Everything else: utilities, the draw, and the text put together.
    draw: f64,
}

impl ModelBench {
    fn new(model: &str, args: &BenchArgs, options: Options, text: &str) -> Done<Self> {
        forget_peak();
        let start = Instant::now();
        let device = cape_models::load_with(model, options)?;
        let load_ms = ms(start.elapsed());
        let load_peak_bytes = peak();
        let contexts = match args.context {
            Some(context) => vec![context],
            None => Context::ALL.to_vec(),
        };
        let waiting = output::spinner("measuring");
        let mut rows = Vec::new();
        for context in contexts {
            for &length in &args.lengths {
                let prompts = prompts(text, &device.tokenizer, length.into())?;
                for side_by_side in [1, SIDE_BY_SIDE] {
                    let work = || measure(&device, context, &prompts, side_by_side, args.seconds);
                    rows.push(if args.profile {
                        let (row, spent) = cape_models::profiled(work);
                        row?.with_layers(&spent)
                    } else {
                        work()?
                    });
                }
            }
        }
        waiting.finish_and_clear();
        Ok(Self {
            model: model.to_owned(),
            shape: device.shape,
            arithmetic: device.arithmetic.name(),
            kernel: options.kernel.name(),
            threads: rayon::current_num_threads(),
            load_ms,
            load_peak_bytes,
            rows,
        })
    }
}

/// Stretches of so many tokens, from one beginning of a word to another.
fn prompts(text: &str, tokenizer: &Tokenizer, length: usize) -> Done<Vec<String>> {
    let (mut long, keep) = (text.to_owned(), KeepList::default());
    let mut tokens = tokenizer.tokenize(&long, &keep)?;
    let most = 4 * length + 1024;
    while !tokens.as_slice().is_empty() && tokens.as_slice().len() < most {
        long = format!("{long} {long}");
        tokens = tokenizer.tokenize(&long, &keep)?;
    }
    let tokens = tokens.as_slice();
    let begins = |i: usize| tokens.get(i).is_some_and(|token| token.piece == Piece::Start);
    let starts = (0..tokens.len()).filter(|&i| begins(i) && begins(i + length));
    let stretch = |i: usize| long[tokens[i].start..tokens[i + length - 1].end].to_owned();
    let prompts: Vec<String> = starts.step_by(7).take(SIDE_BY_SIDE).map(stretch).collect();
    if prompts.len() < SIDE_BY_SIDE {
        return Err(Failure::new(
            format!("no prompts of {length} tokens can be cut from the text"),
            "it takes some sentences of plain text; there is one built in, without --file",
        ));
    }
    Ok(prompts)
}

/// Runs over the prompts in turn, each with a mechanism that has met no token yet.
fn measure(
    device: &Device,
    context: Context,
    prompts: &[String],
    side_by_side: usize,
    seconds: f64,
) -> Done<ModelRow> {
    let model = Arc::new(Timed::new(&device.model));
    let (tokenizer, keep) = (&device.tokenizer, KeepList::default());
    let settings = Settings { context, ..Settings::new(Epsilon::new(6.0)?) };
    let (mut tokens, mut sensitive) = (0, 0);
    let mut times: [Vec<f64>; 5] = Default::default();
    forget_peak();
    let (begin, each) = (Instant::now(), 1.0 / side_by_side as f64);
    // the first run warms up and does not count
    for run in 0.. {
        if run >= RUNS && begin.elapsed().as_secs_f64() > seconds {
            break;
        }
        let texts = in_turn(prompts, run, side_by_side);
        let mut rngs: Vec<Generator> =
            (0..side_by_side).map(|i| rng::seeded(run as u64, i as u64)).collect();
        let mechanism = CapePaper::new(Arc::clone(&model) as _, settings)?;
        model.spent();
        let start = Instant::now();
        let cut = texts.iter().map(|text| tokenizer.tokenize(text, &keep));
        let cut: Vec<Tokens> = cut.collect::<cape::Result<_>>()?;
        let mut drawn: Vec<(&Tokens, &mut dyn CryptoRng)> =
            cut.iter().zip(rngs.iter_mut()).map(|(tokens, rng)| (tokens, rng as _)).collect();
        let outcomes = mechanism.perturb_all(&mut drawn)?;
        for ((text, tokens), outcomes) in texts.iter().zip(&cut).zip(&outcomes) {
            std::hint::black_box(assemble(text, tokens, outcomes, tokenizer.vocab()));
        }
        let whole = ms(start.elapsed());
        let start = Instant::now();
        for text in &texts {
            tokenizer.tokenize(text, &keep)?;
        }
        let (tokenize, (logits, distances)) = (ms(start.elapsed()), model.spent());
        if run == 0 {
            continue;
        }
        tokens += cut.iter().map(|tokens| tokens.as_slice().len()).sum::<usize>();
        sensitive += cut.iter().map(|tokens| tokens.sensitive().count()).sum::<usize>();
        let draw = (whole - tokenize - logits - distances).max(0.0);
        for (all, one) in times.iter_mut().zip([whole, tokenize, logits, distances, draw]) {
            all.push(one * each);
        }
    }
    let total: f64 = times[0].iter().sum::<f64>() / each;
    let runs = times[0].len();
    let per_prompt = |count: usize| count as f64 / (runs * side_by_side) as f64;
    for all in &mut times {
        all.sort_by(f64::total_cmp);
    }
    let [whole, stages @ ..] = &times;
    let [tokenize, logits, distances, draw] = stages.each_ref().map(|all| quantile(all, 0.5));
    Ok(ModelRow {
        context: context.as_str(),
        side_by_side,
        tokens: per_prompt(tokens),
        sensitive_tokens: per_prompt(sensitive),
        runs,
        ms_p50: quantile(whole, 0.5),
        ms_p99: quantile(whole, 0.99),
        tokens_per_second: tokens as f64 / total * 1e3,
        stages_ms: Stages { tokenize, logits, distances, draw },
        layers_ms: None,
        peak_bytes: peak(),
    })
}

impl ModelRow {
    /// The same with the time of stages. The first run, which does not count, is as long as another.
    fn with_layers(mut self, spent: &Spent) -> Self {
        let prompts = ((self.runs + 1) * self.side_by_side) as f64;
        let layer = |times: &[Duration; Stage::ALL.len()]| {
            let stages = Stage::ALL.iter().zip(times);
            stages.map(|(stage, &time)| (stage.as_str(), ms(time) / prompts)).collect()
        };
        self.layers_ms = Some(spent.iter().map(layer).collect());
        self
    }
}

/// The smallest number with at least this share of the sorted ones at or below it.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share).ceil() as usize;
    sorted[at.saturating_sub(1)]
}

/// The prompts of a run: so many side by side, and others in the next run.
fn in_turn(prompts: &[String], run: usize, side_by_side: usize) -> Vec<&str> {
    let chunks = prompts.len() / side_by_side;
    let texts = &prompts[run % chunks * side_by_side..][..side_by_side];
    texts.iter().map(String::as_str).collect()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn mb(bytes: Option<u64>) -> String {
    bytes.map_or("-".into(), |bytes| format!("{:.0}", bytes as f64 / 1e6))
}

/// The report as a person reads it.
fn table(report: &ModelBench) -> String {
    let ModelBench { model, shape, arithmetic, kernel, threads, load_ms, load_peak_bytes, rows } =
        report;
    let mut out = format!(
        "{model}: {shape}; arithmetic {arithmetic}, kernel {kernel}, threads {threads}\n\
         loaded in {load_ms:.0} ms, {} MB at the most; times in ms per prompt\n\n\
         {:9} {:>7} {:>6} {:>5} {:>8} {:>8} {:>9} | {:>8} {:>8} {:>9} {:>8} | {:>5} {:>5}\n",
        mb(*load_peak_bytes),
        "context",
        "at once",
        "tokens",
        "drawn",
        "p50",
        "p99",
        "tokens/s",
        "tokenize",
        "logits",
        "distances",
        "draw",
        "MB",
        "runs",
    );
    for row in rows {
        let Stages { tokenize, logits, distances, draw } = row.stages_ms;
        let _ = writeln!(
            out,
            "{:9} {:>7} {:>6.1} {:>5.1} {:>8.2} {:>8.2} {:>9.0} | {tokenize:>8.2} {logits:>8.2} \
             {distances:>9.2} {draw:>8.2} | {:>5} {:>5}",
            row.context,
            row.side_by_side,
            row.tokens,
            row.sensitive_tokens,
            row.ms_p50,
            row.ms_p99,
            row.tokens_per_second,
            mb(row.peak_bytes),
            row.runs,
        );
    }
    for row in rows {
        out += &layers(row);
    }
    out
}

/// The stages of a pass, a line for each layer.
fn layers(row: &ModelRow) -> String {
    let Some(layers) = &row.layers_ms else { return String::new() };
    let mut out = format!(
        "\na pass, ms per prompt: context {}, {} at once, {:.1} tokens\n{:9}",
        row.context, row.side_by_side, row.tokens, "layer"
    );
    for stage in Stage::ALL {
        let _ = write!(out, " {:>13}", stage.as_str());
    }
    let line = |out: &mut String, name: &str, times: &[f64]| {
        let _ = write!(out, "\n{name:9}");
        for time in times {
            let _ = write!(out, " {time:>13.3}");
        }
    };
    let mut all = [0.0; Stage::ALL.len()];
    for (i, layer) in layers.iter().enumerate() {
        let times = Stage::ALL.map(|stage| layer[stage.as_str()]);
        for (sum, time) in all.iter_mut().zip(times) {
            *sum += time;
        }
        line(&mut out, &if i == 0 { "outside".into() } else { i.to_string() }, &times);
    }
    line(&mut out, "all", &all);
    out + "\n"
}

/// The most memory that this process had resident, where the system says so.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Counts the peak anew from here. Where the system refuses, it stays that of the whole process.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
