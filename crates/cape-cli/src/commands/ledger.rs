//! `cape ledger`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::SystemTime;

use cape::lexicon::Lexicon;
use cape::mechanism::cape::Cape;
use cape_ledger::{
    Book, Cost, DataFolder, Day, Each, Forget, Job, Key, Ledger, Left, Limits, Micros, Spending,
};
use serde::Serialize;

use crate::args::{ExportFormat, ForgetArgs, LedgerArgs, LedgerCommand, SettleArgs};
use crate::failure::{Done, Failure, io};
use crate::settings::{File, LedgerPlace, ProxySettings, Setting};
use crate::{input, output};

pub(crate) fn run(args: &LedgerArgs) -> Done {
    let file = File::read(None)?.proxy;
    match &args.command {
        LedgerCommand::Show { place, limits, days, json } => {
            let (spending, answers) = read(&url(&place.clone().or(file.ledger))?)?;
            let limits = limits.clone().or(file.limits).into();
            let today = Day::of(SystemTime::now());
            let view = View::new(&spending, answers, &limits, today, *days);
            output::print(&if *json { output::json_pretty(&view) } else { view.table() })
        }
        LedgerCommand::Export { place, format } => {
            export(&read(&url(&place.clone().or(file.ledger))?)?.0, *format)
        }
        LedgerCommand::Forget(args) => forget(args, file),
        LedgerCommand::Jobs { place, json } => {
            let url = url(&place.clone().or(file.ledger))?;
            let jobs = wait(async { Ok(Book::open(&url).await?.jobs().await?) })?;
            let rows: Vec<JobRow<'_>> = jobs.iter().map(JobRow::of).collect();
            output::print(&if *json { output::json_pretty(&rows) } else { job_table(&rows) })
        }
        LedgerCommand::Settle(args) => settle(args, file),
    }
}

/// The ledger for a page: what `cape ledger show --json` shows, of the last 90 days.
pub(super) fn view(place: &LedgerPlace, limits: &Limits) -> Done<serde_json::Value> {
    let (accounts, remembered) = read(&url(place)?)?;
    let today = Day::of(SystemTime::now());
    let view = View::new(&accounts, remembered, limits, today, Some(90));
    serde_json::to_value(view)
        .map_err(|_| Failure::new("the ledger cannot be shown", "see `cape ledger show`"))
}

/// The ledger's file or URL.
pub(super) fn url(place: &LedgerPlace) -> Done<String> {
    match &place.ledger {
        Some(url) => Ok(url.clone()),
        None => Ok(data_folder()?.ledger()),
    }
}

/// Where the ledger and its key are if nobody says so.
pub(super) fn data_folder() -> Done<DataFolder> {
    DataFolder::of_user().ok_or_else(|| {
        Failure::usage("there is no data folder", "give --ledger and --ledger-key, or set HOME")
    })
}

/// The ledger's key file.
pub(super) fn key(place: Option<&PathBuf>) -> Done<PathBuf> {
    place.map_or_else(|| Ok(data_folder()?.key()), |key| Ok(key.clone()))
}

/// What was spent, and how many answers are remembered.
fn read(url: &str) -> Done<(Vec<Spending>, u64)> {
    wait(async {
        let book = Book::open(url).await?;
        Ok::<_, Failure>((book.spending().await?, book.remembered().await?))
    })
}

/// Runs what waits for the database, to its end.
pub(super) fn wait<T>(work: impl Future<Output = Done<T>>) -> Done<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| io("cannot wait for the database".into(), &error))?;
    runtime.block_on(work)
}

/// Has the next use of a map open another one.
fn forget(args: &ForgetArgs, file: ProxySettings) -> Done {
    let url = url(&args.place.clone().or(file.ledger))?;
    let key = key(args.ledger_key.as_ref().or(file.ledger_key.as_ref()))?;
    let words = if args.word { words(&input::stdin()?)? } else { Vec::new() };
    let what = match &args.conversation {
        Some(name) => Forget::Conversation(name),
        None if args.word => Forget::Words(&words),
        None => Forget::Maps,
    };
    let accounts = wait(async {
        let ledger = Ledger::open_existing(&url, Key::open_existing(&key)?).await?;
        let accounts = ledger.forget(&args.name, what).await?;
        ledger.close().await;
        Ok::<_, Failure>(accounts)
    })?;
    output::print(&format!("accounts: {accounts}; what was spent stays spent\n"))
}

/// Closes a job that will never go on.
fn settle(args: &SettleArgs, file: ProxySettings) -> Done {
    let url = url(&args.place.clone().or(file.ledger))?;
    let key = key(args.ledger_key.as_ref().or(file.ledger_key.as_ref()))?;
    let back = wait(async {
        let ledger = Ledger::open_existing(&url, Key::open_existing(&key)?).await?;
        let back = ledger.settle_named(&args.name, args.draws).await?;
        ledger.close().await;
        Ok::<_, Failure>(back)
    })?;
    output::print(&format!("given back: {} draws, ε = {}\n", back.draws, back.epsilon))
}

/// A job as it is shown.
#[derive(Serialize)]
struct JobRow<'a> {
    job: &'a str,
    key: &'a str,
    day: String,
    draws: u64,
    maps: u64,
    epsilon: Micros,
}

impl<'a> JobRow<'a> {
    fn of(job: &'a Job) -> Self {
        let Cost { draws, maps, epsilon } = job.reserved;
        let day = job.day.to_string();
        Self { job: &job.name, key: &job.spender, day, draws, maps, epsilon }
    }
}

fn job_table(jobs: &[JobRow<'_>]) -> String {
    if jobs.is_empty() {
        return "all jobs are settled\n".into();
    }
    let mut rows = vec![row(["day", "job", "key", "draws reserved", "ε reserved"])];
    rows.extend(jobs.iter().map(|job| {
        let cells = [job.draws.to_string(), job.epsilon.to_string()];
        let [draws, epsilon] = cells;
        [job.day.clone(), name(job.job), name(job.key), draws, epsilon]
    }));
    align(&rows, 3)
}

/// The words of a text, as the ledger names them: whatever their case, and with any profile.
fn words(text: &str) -> Done<Vec<Vec<u8>>> {
    let settings = cape::mechanism::cape::Settings { any_script: true, ..Default::default() };
    let plan = Cape::new(Lexicon::embedded(), settings)?.plan(text)?;
    let words: Vec<Vec<u8>> = plan.keys.iter().map(cape::levels::Key::word).collect();
    if words.is_empty() {
        return Err(Failure::usage(
            "there is no word on standard input",
            "give the word to forget there",
        ));
    }
    Ok(words)
}

fn export(spending: &[Spending], format: ExportFormat) -> Done {
    let mut out = match format {
        ExportFormat::Jsonl => String::new(),
        ExportFormat::Csv => "key,day,releases,draws,maps,epsilon\n".to_owned(),
    };
    for spent in spending {
        let Spending { spender, day, releases, cost: Cost { draws, maps, epsilon } } = spent;
        let line = match format {
            ExportFormat::Jsonl => output::json(&DayRow::of(spent)),
            // hexadecimal digits, a date and numbers: nothing to quote
            ExportFormat::Csv => format!("{spender},{day},{releases},{draws},{maps},{epsilon}"),
        };
        let _ = writeln!(out, "{line}");
    }
    if out.is_empty() { Ok(()) } else { output::print(&out) }
}

/// The ledger as it is shown.
#[derive(Serialize)]
struct View<'a> {
    today: String,
    days: Vec<DayRow<'a>>,
    keys: Vec<KeyRow<'a>>,
    all: Sum,
    #[serde(flatten)]
    left: Rest,
    remembered: u64,
}

#[derive(Serialize)]
struct DayRow<'a> {
    key: &'a str,
    day: String,
    #[serde(flatten)]
    sum: Sum,
}

#[derive(Serialize)]
struct KeyRow<'a> {
    key: &'a str,
    #[serde(flatten)]
    sum: Sum,
    #[serde(flatten)]
    left: Rest,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Sum {
    releases: u64,
    draws: u64,
    maps: u64,
    epsilon: Micros,
}

/// What limits leave: of ε, and of maps.
#[derive(Serialize)]
struct Rest {
    left_today: Option<Micros>,
    left: Option<Micros>,
    maps_left_today: Option<u64>,
    maps_left: Option<u64>,
}

impl Sum {
    fn add(&mut self, spent: &Spending) {
        let Cost { draws, maps, epsilon } = self.cost().plus(spent.cost);
        *self = Self { releases: self.releases + spent.releases, draws, maps, epsilon };
    }

    fn cost(&self) -> Cost {
        Cost { draws: self.draws, maps: self.maps, epsilon: self.epsilon }
    }

    fn cells(&self) -> [String; 4] {
        let Self { releases, draws, maps, epsilon } = self;
        [releases.to_string(), draws.to_string(), maps.to_string(), epsilon.to_string()]
    }
}

impl<'a> DayRow<'a> {
    fn of(spent: &'a Spending) -> Self {
        let mut sum = Sum::default();
        sum.add(spent);
        Self { key: &spent.spender, day: spent.day.to_string(), sum }
    }
}

impl<'a> View<'a> {
    fn new(
        spending: &'a [Spending],
        remembered: u64,
        limits: &Limits,
        today: Day,
        days: Option<u32>,
    ) -> Self {
        let (mut all, mut all_today) = (Sum::default(), Cost::default());
        let mut keys: BTreeMap<&str, (Sum, Cost)> = BTreeMap::new();
        for spent in spending {
            let (sum, spent_today) = keys.entry(&spent.spender).or_default();
            sum.add(spent);
            all.add(spent);
            if spent.day == today {
                *spent_today = spent.cost;
                all_today = all_today.plus(spent.cost);
            }
        }
        let left = |key: Cost, key_day: Cost| -> Left {
            limits.left(&Each { key_day, key, day: all_today, total: all.cost() })
        };
        let of_all = left(Cost::default(), Cost::default());
        let since = days.map(|days| today.before(days));
        let shown = spending.iter().filter(|spent| since.is_none_or(|since| spent.day > since));
        Self {
            today: today.to_string(),
            days: shown.map(DayRow::of).collect(),
            keys: keys
                .into_iter()
                .map(|(key, (sum, spent_today))| {
                    let left = left(sum.cost(), spent_today);
                    let left = Rest {
                        left_today: left.key_day,
                        left: left.key,
                        maps_left_today: left.maps.key_day,
                        maps_left: left.maps.key,
                    };
                    KeyRow { key, sum, left }
                })
                .collect(),
            all,
            left: Rest {
                left_today: of_all.day,
                left: of_all.total,
                maps_left_today: of_all.maps.day,
                maps_left: of_all.maps.total,
            },
            remembered,
        }
    }

    fn table(&self) -> String {
        if self.keys.is_empty() {
            return "nothing was spent yet\n".into();
        }
        let mut days = vec![row(["day", "key", "releases", "draws", "maps", "ε"])];
        days.extend(self.days.iter().map(|day| {
            let [releases, draws, maps, epsilon] = day.sum.cells();
            [day.day.clone(), name(day.key), releases, draws, maps, epsilon]
        }));
        let heads = ["key", "releases", "draws", "maps", "ε"];
        let lefts = ["ε left today", "ε left", "maps left today", "maps left"];
        let mut keys = vec![row([
            heads[0], heads[1], heads[2], heads[3], heads[4], lefts[0], lefts[1], lefts[2],
            lefts[3],
        ])];
        keys.extend(self.keys.iter().map(|key| line(name(key.key), &key.sum, &key.left)));
        keys.push(line("all keys".into(), &self.all, &self.left));
        let days = if self.days.is_empty() { String::new() } else { align(&days, 2) + "\n" };
        format!(
            "{days}{}\n\
             draws: words that were drawn for, once in each map; each costs the same ε, whatever the word\n\
             maps: how often all words could be drawn anew; a forgotten account or word opens another\n\
             today is {} (UTC); answers remembered: {}\n",
            align(&keys, 1),
            self.today,
            self.remembered
        )
    }
}

/// A row of the table of keys.
fn line(name: String, sum: &Sum, rest: &Rest) -> [String; 9] {
    let [releases, draws, maps, epsilon] = sum.cells();
    let left = [left(rest.left_today), left(rest.left)];
    let maps_left = [self::left(rest.maps_left_today), self::left(rest.maps_left)];
    let ([today, ever], [maps_today, maps_ever]) = (left, maps_left);
    [name, releases, draws, maps, epsilon, today, ever, maps_today, maps_ever]
}

fn row<const N: usize>(cells: [&str; N]) -> [String; N] {
    cells.map(str::to_owned)
}

/// Enough of the hash to tell keys apart.
fn name(spender: &str) -> String {
    spender.chars().take(12).collect()
}

fn left(left: Option<impl ToString>) -> String {
    left.map_or_else(|| "no limit".into(), |left| left.to_string())
}

/// Columns two spaces apart, the first few to the left and numbers to the right.
fn align<const N: usize>(rows: &[[String; N]], to_the_left: usize) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column < to_the_left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        let _ = writeln!(out, "{}", cells.collect::<Vec<_>>().join("  "));
    }
    out
}
