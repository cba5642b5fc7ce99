//! Mechanisms × ε × seeds × prompts, written down as it goes, and taken up again after a kill.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use rayon::prelude::*;

use crate::data::{Data, Item};
use crate::evaluate::{Tools, evaluate};
use crate::method::{AtEpsilon, EPSILON_ANY, Method};
use crate::record::{Cell, Record};
use crate::{Error, Result};

/// A grid of runs.
pub struct Grid<'a> {
    /// The prompts.
    pub data: &'a Data,
    /// The mechanisms.
    pub methods: &'a [Method],
    /// The values of ε.
    pub epsilons: &'a [f64],
    /// The seeds: every prompt is released once for each.
    pub seeds: &'a [u64],
    /// The tools that measure.
    pub tools: &'a Tools,
}

/// How many prompts go through a model side by side.
const SIDE_BY_SIDE: usize = 16;

/// Which release it is.
type Key = (String, u64, u64, usize);

fn key(record: &Record) -> Key {
    let cell = &record.cell;
    (cell.mechanism.clone(), cell.epsilon.to_bits(), record.seed, record.prompt)
}

impl Grid<'_> {
    /// How many releases there are in all.
    #[must_use]
    pub fn releases(&self) -> usize {
        let cells: usize = self.methods.iter().map(|method| self.epsilons(method).len()).sum();
        self.data.items.len() * cells * self.seeds.len()
    }

    /// The values of ε for a mechanism: one is enough where ε changes nothing.
    fn epsilons(&self, method: &Method) -> &[f64] {
        if method.is_reference() {
            &self.epsilons[..1.min(self.epsilons.len())]
        } else {
            self.epsilons
        }
    }

    /// Runs what the file does not hold yet, and adds it there. `progress` hears how many releases are
    /// done. A mechanism that refuses an ε is left out there: the refusals come back with the records.
    pub fn run(
        &self,
        path: &Path,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<(Vec<Record>, Vec<Refused>)> {
        let (file, records) = open(path)?;
        self.check(path, &records)?;
        let file = Mutex::new(file);
        let known = self.known(records);
        // a thread waits while a chat model thinks
        let asked = self.tools.chat.as_ref().map_or(0, |chat| chat.at_once);
        let threads = asked.max(rayon::current_num_threads());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        pool.install(|| self.go_on(known, &|new| append(&file, path, new), progress))
    }

    /// Runs all of it, and writes nothing down.
    pub fn run_unwritten(
        &self,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<(Vec<Record>, Vec<Refused>)> {
        self.go_on(Vec::new(), &|_| Ok(()), progress)
    }

    /// Runs what is not known yet.
    fn go_on(
        &self,
        mut records: Vec<Record>,
        keep: &(dyn Fn(&[Record]) -> Result<()> + Sync),
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<(Vec<Record>, Vec<Refused>)> {
        let done: HashSet<Key> = records.iter().map(key).collect();
        let mut refused = Vec::new();
        let mut count = 0;
        for method in self.methods {
            for &epsilon in self.epsilons(method) {
                let here = self.data.items.len() * self.seeds.len();
                let at = match method.at(epsilon) {
                    Ok(at) => at,
                    Err(error) => {
                        let why = error.to_string();
                        refused.push(Refused { mechanism: method.name.clone(), epsilon, why });
                        count += here;
                        progress(count);
                        continue;
                    }
                };
                let cell = self.cell(method, epsilon, &at);
                for &seed in self.seeds {
                    let left: Vec<(usize, &Item)> = self
                        .data
                        .items
                        .iter()
                        .enumerate()
                        .filter(|&(prompt, _)| {
                            let key = (method.name.clone(), epsilon.to_bits(), seed, prompt);
                            !done.contains(&key)
                        })
                        .collect();
                    count += self.data.items.len() - left.len();
                    let finished = std::sync::atomic::AtomicUsize::new(count);
                    let new: Vec<Vec<Record>> = left
                        .par_chunks(self.side_by_side())
                        .map(|prompts| {
                            let new = evaluate(method, &at, &cell, seed, prompts, self.tools)?;
                            keep(&new)?;
                            let order = std::sync::atomic::Ordering::Relaxed;
                            progress(finished.fetch_add(new.len(), order) + new.len());
                            Ok(new)
                        })
                        .collect::<Result<_>>()?;
                    count += left.len();
                    records.extend(new.into_iter().flatten());
                }
            }
        }
        records.sort_by_cached_key(|record| {
            let cell = &record.cell;
            let method = self.methods.iter().position(|method| method.name == cell.mechanism);
            let epsilon = self.epsilons.iter().position(|&epsilon| epsilon == cell.epsilon);
            (method, epsilon, record.seed, record.prompt)
        });
        Ok((records, refused))
    }

    /// How many prompts are released together, and written down together. Where a chat model is asked it is one, so that
    /// no answer is lost when the run is stopped: its time hides what releasing them one by one costs.
    fn side_by_side(&self) -> usize {
        if self.tools.chat.is_some() { 1 } else { SIDE_BY_SIDE }
    }

    /// The work left beside this file, and about how long that takes: a few prompts are released
    /// and measured on trial.
    pub fn outlook(&self, path: &Path) -> Result<Outlook> {
        let records = if path.exists() { open(path)?.1 } else { Vec::new() };
        let mut done: HashMap<String, usize> = HashMap::new();
        for record in self.known(records) {
            *done.entry(record.cell.mechanism).or_default() += 1;
        }
        // spread over the data, as many as go side by side
        let items = &self.data.items;
        let tried = rayon::current_num_threads().min(items.len());
        let prompts: Vec<(usize, &Item)> =
            (0..tried).map(|i| (i + 1) * items.len() / tried - 1).map(|i| (i, &items[i])).collect();
        let mut outlook = Outlook { done: done.values().sum(), left: 0, seconds: 0.0 };
        for method in self.methods {
            // what is refused takes no time
            let at = |&epsilon: &f64| method.at(epsilon).ok().map(|at| (epsilon, at));
            let mut accepted: Vec<(f64, AtEpsilon)> =
                self.epsilons(method).iter().filter_map(at).collect();
            let here = items.len() * accepted.len() * self.seeds.len();
            let here = here.saturating_sub(done.get(&method.name).copied().unwrap_or_default());
            outlook.left += here;
            if here > 0 {
                let (epsilon, at) = accepted.swap_remove(accepted.len() / 2);
                let (cell, start) = (self.cell(method, epsilon, &at), Instant::now());
                evaluate(method, &at, &cell, 0, &prompts, self.tools)?;
                outlook.seconds += start.elapsed().as_secs_f64() / tried as f64 * here as f64;
            }
        }
        Ok(outlook)
    }

    /// The records that are of this grid and have all that it measures, the latest of each release.
    fn known(&self, records: Vec<Record>) -> Vec<Record> {
        let wanted: HashSet<(&str, u64)> = self
            .methods
            .iter()
            .flat_map(|method| {
                self.epsilons(method).iter().map(|e| (method.name.as_str(), e.to_bits()))
            })
            .collect();
        let mut latest: HashMap<Key, Record> = HashMap::new();
        for record in records {
            let cell = (record.cell.mechanism.as_str(), record.cell.epsilon.to_bits());
            if wanted.contains(&cell)
                && self.seeds.contains(&record.seed)
                && record.prompt < self.data.items.len()
                && self.tools.measured(&record)
            {
                latest.insert(key(&record), record);
            }
        }
        latest.into_values().collect()
    }

    fn cell(&self, method: &Method, epsilon: f64, at: &AtEpsilon) -> Cell {
        let mut cell = self.cell_of(method, epsilon, at.proven());
        cell.settings.extend(at.settings());
        cell
    }

    /// The cell without the settings that follow from ε.
    fn cell_of(&self, method: &Method, epsilon: f64, proven: Option<f64>) -> Cell {
        Cell {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            data: self.data.name.clone(),
            mechanism: method.name.clone(),
            epsilon,
            proven,
            model: method.model.clone(),
            settings: method.settings.clone(),
        }
    }

    /// Records that are there must be of the same data and settings: others would mix.
    fn check(&self, path: &Path, records: &[Record]) -> Result<()> {
        for record in records {
            let cell = &record.cell;
            let Some(method) = self.methods.iter().find(|method| method.name == cell.mechanism)
            else {
                continue;
            };
            let wanted = self.cell_of(method, cell.epsilon, cell.proven);
            let mut own = cell.clone();
            own.settings.remove(EPSILON_ANY);
            if wanted != own {
                let why = format!("{} was run with other settings", cell.mechanism);
                return Err(Error::Records { path: path.to_owned(), why });
            }
        }
        Ok(())
    }
}

/// How far a grid is.
pub struct Outlook {
    /// Releases that are done.
    pub done: usize,
    /// Releases to come.
    pub left: usize,
    /// About how many seconds they take.
    pub seconds: f64,
}

/// An ε that a mechanism cannot have.
pub struct Refused {
    /// The mechanism.
    pub mechanism: String,
    /// The ε.
    pub epsilon: f64,
    /// Why.
    pub why: String,
}

/// The file, ready to be added to, and what it holds; half a line, which a killed run left, is cut off.
fn open(path: &Path) -> Result<(File, Vec<Record>)> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(io)?;
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    file.set_len(whole as u64).map_err(io)?;
    file.seek(SeekFrom::End(0)).map_err(io)?;
    let mut records = Vec::new();
    for (number, line) in text[..whole].lines().enumerate() {
        records.push(serde_json::from_str(line).map_err(|_| Error::Records {
            path: path.to_owned(),
            why: format!("line {} is no record", number + 1),
        })?);
    }
    Ok((file, records))
}

fn append(file: &Mutex<File>, path: &Path, records: &[Record]) -> Result<()> {
    let io = |source| Error::Io { path: PathBuf::from(path), source };
    let mut lines = String::new();
    for record in records {
        lines += &serde_json::to_string(record).map_err(|error| io(error.into()))?;
        lines.push('\n');
    }
    let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    file.write_all(lines.as_bytes()).map_err(io)
}
