//! `cape ledger`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::SystemTime;

use cape_ledger::{Account, Book, Day, Each, Left, Limits, Micros};
use serde::Serialize;

use crate::args::{ExportFormat, LedgerArgs, LedgerCommand};
use crate::failure::{Done, Failure, io};
use crate::output;
use crate::settings::{File, LedgerPlace, Setting};

pub(crate) fn run(args: &LedgerArgs) -> Done {
    let file = File::read(None)?.proxy;
    match &args.command {
        LedgerCommand::Show { place, limits, days, json } => {
            let (accounts, remembered) = read(&url(&place.clone().or(file.ledger))?)?;
            let limits = limits.clone().or(file.limits).into();
            let today = Day::of(SystemTime::now());
            let view = View::new(&accounts, remembered, &limits, today, *days);
            output::print(&if *json { output::json_pretty(&view) } else { view.table() })
        }
        LedgerCommand::Export { place, format } => {
            export(&read(&url(&place.clone().or(file.ledger))?)?.0, *format)
        }
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
        None => Ok(data("ledger.db")?.to_string_lossy().into_owned()),
    }
}

/// A file of this name in the user's data folder.
pub(super) fn data(name: &str) -> Done<PathBuf> {
    let folder = dirs::data_dir().ok_or_else(|| {
        Failure::usage("there is no data folder", "give --ledger and --ledger-key, or set HOME")
    })?;
    Ok(folder.join("cape").join(name))
}

/// All accounts, and how many messages are remembered.
fn read(url: &str) -> Done<(Vec<Account>, u64)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| io("cannot wait for the database".into(), &error))?;
    runtime.block_on(async {
        let book = Book::open(url).await?;
        Ok::<_, Failure>((book.accounts().await?, book.remembered().await?))
    })
}

fn export(accounts: &[Account], format: ExportFormat) -> Done {
    let mut out = match format {
        ExportFormat::Jsonl => String::new(),
        ExportFormat::Csv => "key,day,releases,draws,epsilon\n".to_owned(),
    };
    for account in accounts {
        let Account { spender, day, releases, draws, epsilon } = account;
        let line = match format {
            ExportFormat::Jsonl => output::json(&DayRow::of(account)),
            // hexadecimal digits, a date and numbers: nothing to quote
            ExportFormat::Csv => format!("{spender},{day},{releases},{draws},{epsilon}"),
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
    left_today: Option<Micros>,
    left: Option<Micros>,
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
    left_today: Option<Micros>,
    left: Option<Micros>,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Sum {
    releases: u64,
    draws: u64,
    epsilon: Micros,
}

impl Sum {
    fn add(&mut self, account: &Account) {
        self.releases += account.releases;
        self.draws = self.draws.saturating_add(account.draws);
        self.epsilon = self.epsilon.plus(account.epsilon);
    }
}

impl<'a> DayRow<'a> {
    fn of(account: &'a Account) -> Self {
        let mut sum = Sum::default();
        sum.add(account);
        Self { key: &account.spender, day: account.day.to_string(), sum }
    }
}

impl<'a> View<'a> {
    fn new(
        accounts: &'a [Account],
        remembered: u64,
        limits: &Limits,
        today: Day,
        days: Option<u32>,
    ) -> Self {
        let (mut all, mut all_today) = (Sum::default(), Micros::ZERO);
        let mut keys: BTreeMap<&str, (Sum, Micros)> = BTreeMap::new();
        for account in accounts {
            let (sum, spent_today) = keys.entry(&account.spender).or_default();
            sum.add(account);
            all.add(account);
            if account.day == today {
                *spent_today = account.epsilon;
                all_today = all_today.plus(account.epsilon);
            }
        }
        let left = |key: Micros, key_day: Micros| -> Left {
            limits.left(&Each { key_day, key, day: all_today, total: all.epsilon })
        };
        let all_left = left(Micros::ZERO, Micros::ZERO);
        let since = days.map(|days| today.before(days));
        let shown = accounts.iter().filter(|account| since.is_none_or(|since| account.day > since));
        Self {
            today: today.to_string(),
            days: shown.map(DayRow::of).collect(),
            keys: keys
                .into_iter()
                .map(|(key, (sum, spent_today))| {
                    let left = left(sum.epsilon, spent_today);
                    KeyRow { key, sum, left_today: left.key_day, left: left.key }
                })
                .collect(),
            all,
            left_today: all_left.day,
            left: all_left.total,
            remembered,
        }
    }

    fn table(&self) -> String {
        if self.keys.is_empty() {
            return "nothing was spent yet\n".into();
        }
        let mut days = vec![row(["day", "key", "releases", "draws", "ε"])];
        days.extend(self.days.iter().map(|day| {
            let [releases, draws, epsilon] = day.sum.cells();
            [day.day.clone(), name(day.key), releases, draws, epsilon]
        }));
        let mut keys = vec![row(["key", "releases", "draws", "ε", "ε left today", "ε left"])];
        keys.extend(self.keys.iter().map(|key| {
            let [releases, draws, epsilon] = key.sum.cells();
            [name(key.key), releases, draws, epsilon, left(key.left_today), left(key.left)]
        }));
        let [releases, draws, epsilon] = self.all.cells();
        let (today, ever) = (left(self.left_today), left(self.left));
        keys.push(["all keys".into(), releases, draws, epsilon, today, ever]);
        let days = if self.days.is_empty() { String::new() } else { align(&days, 2) + "\n" };
        format!(
            "{days}{}\ntoday is {} (UTC); messages remembered: {}\n",
            align(&keys, 1),
            self.today,
            self.remembered
        )
    }
}

impl Sum {
    fn cells(&self) -> [String; 3] {
        [self.releases.to_string(), self.draws.to_string(), self.epsilon.to_string()]
    }
}

fn row<const N: usize>(cells: [&str; N]) -> [String; N] {
    cells.map(str::to_owned)
}

/// Enough of the hash to tell keys apart.
fn name(spender: &str) -> String {
    spender.chars().take(12).collect()
}

fn left(left: Option<Micros>) -> String {
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
