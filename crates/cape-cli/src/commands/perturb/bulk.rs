//! `cape perturb --input`: every row of a file, in order, a bounded number of them in memory.

mod budget;
mod form;
mod job;
#[cfg(feature = "parquet")]
mod parquet;
mod source;

use std::path::Path;

use cape::{Cape, JobMap, Release, ReleaseJson, Sanitizer, Secret};
use rayon::prelude::*;
use serde::Serialize;

use self::budget::{Account, Draws};
use self::form::{Form, Raw, Reason};
use self::job::{Assemble, Ended, Found, Identity, Job};
use self::source::{Opened, Source, is_pipe};
use super::SIDE_BY_SIDE;
use crate::args::{FileFormat, PerturbArgs};
use crate::failure::{Done, Failure};
use crate::output::{self, RowProgress, Statement, Totals};
use crate::{mechanism, memory, warnings};

/// How much is read before it is perturbed side by side: so many rows, or so many bytes.
const ROWS_AT_ONCE: usize = 2048;
const BYTES_AT_ONCE: usize = 1 << 22;

pub(super) fn run(args: &PerturbArgs, path: &Path) -> Done {
    let mut form = Form::new(&args.files)?;
    check(args, &form)?;
    let opened = Source::open(path, &mut form)?;
    let sanitizer = mechanism::sanitizer(&args.settings)?;
    warnings::of_settings(&sanitizer);
    let account = match &args.ledger.account {
        Some(_) if sanitizer.cape().is_none() => {
            return Err(Failure::usage("the ledger pays for Cape alone", "leave out --mechanism"));
        }
        Some(name) => Some(Account::open(&args.ledger, name, &args.settings.file)?),
        None => None,
    };
    let bulk = Bulk { args, path, form, sanitizer, account };
    match args.files.output.as_deref().filter(|output| !is_pipe(output)) {
        Some(output) => bulk.to_file(opened, output),
        None => bulk.to_stdout(opened),
    }
}

/// What clap cannot check.
fn check(args: &PerturbArgs, form: &Form) -> Done {
    let wrong = |what: &str, hint: &str| Err(Failure::usage(what, hint));
    let to_stdout = args.files.output.as_deref().is_none_or(is_pipe);
    if form.format == FileFormat::Parquet && to_stdout {
        return wrong("Parquet needs a file to write to", "give --output FILE");
    }
    if args.json && form.format != FileFormat::Txt {
        return wrong("--json goes with lines of text alone", "leave it out: --pass copies fields");
    }
    if args.instruction.as_ref().is_some_and(|text| text.contains('\n')) {
        return wrong("an instruction for rows has one line", "leave out the end of line");
    }
    let from_stdin = args.files.input.as_deref().is_some_and(is_pipe);
    match (&args.ledger.account, args.ledger.draws) {
        (Some(_), None) if from_stdin => wrong(
            "--draws is missing",
            "stdin is read once: say for how many different words to reserve at most",
        ),
        (Some(_), Some(_)) if !from_stdin => {
            wrong("--draws has no meaning for a file", "its words are counted")
        }
        _ => Ok(()),
    }
}

/// A job: what is perturbed, and how.
struct Bulk<'a> {
    args: &'a PerturbArgs,
    path: &'a Path,
    form: Form,
    sanitizer: Sanitizer,
    account: Option<Account>,
}

/// What draws come from.
enum Map {
    /// One map for all rows, which may be paid for.
    Shared(Box<JobMap>, Option<Draws>),
    /// A secret for each row, from that of the job.
    Rows(Secret),
    /// A seed for each row, for experiments.
    Seeds(u64),
}

/// Some rows in a row, as they go to the output.
#[derive(Default)]
struct Batch {
    rows: u64,
    released: Vec<u8>,
    /// By the number of the row, from 1.
    refused: Vec<(u64, Reason)>,
    totals: Totals,
}

impl Batch {
    fn append(&mut self, next: Self) {
        self.rows += next.rows;
        self.released.extend(next.released);
        self.refused.extend(next.refused);
        self.totals.merge(next.totals);
    }

    /// The rows that were refused, as they are listed.
    fn list(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Refused<'a> {
            row: u64,
            reason: &'a str,
        }
        let line =
            |(row, reason): &(u64, Reason)| output::json(&Refused { row: *row, reason }) + "\n";
        self.refused.iter().map(line).collect::<String>().into_bytes()
    }
}

impl Bulk<'_> {
    /// The output is a file, which appears when all is done. A run that was killed goes on if the input can be read
    /// again and the same draws come out again.
    fn to_file(&self, mut opened: Opened, output: &Path) -> Done {
        let resumes = !is_pipe(self.path) && self.sanitizer.cape().is_some();
        let identity = resumes.then(|| Identity::of(self.path)).transpose()?;
        let mut job = match Job::open(output, &self.settings()?, identity)? {
            Found::Done(ended) => return self.end(ended),
            Found::Going(job) => job,
        };
        // its id must be known before anything is reserved for it
        job.begin(&opened.head)?;
        let own = resumes.then(|| job.secret());
        if own.as_ref().is_some_and(|own| job.state.rows > 0 && self.is_own() && !own.exists()) {
            return Err(Failure::new(
                "the secret of the job is gone: the rest would be drawn from another one",
                "remove the job's folder, and begin anew",
            ));
        }
        let map = self.map(&job.state.id, own.as_deref())?;
        if job.state.rows > 0 {
            output::note(&format!("going on after row {}\n", job.state.rows));
            opened.source.skip_to(self.path, job.state.at)?;
        }
        let progress = RowProgress::new(opened.end, opened.source.at(), job.state.rows);
        let rows = job.state.rows;
        let written = self.each(&mut opened.source, rows, &map, |batch, at| {
            job.append(&batch.released, &batch.list())?;
            job.state.rows += batch.rows;
            job.state.at = at;
            job.state.refused += batch.refused.len() as u64;
            job.state.totals.merge(batch.totals);
            progress.at(at, job.state.rows);
            job.tick()
        });
        progress.finish();
        if let Map::Shared(_, Some(draws)) = &map {
            job.state.drawn = draws.count();
        }
        if let (Err(_), Some(account), false) = (&written, &self.account, resumes) {
            account.settle(&job.state.id, job.state.drawn)?;
        }
        written?;
        self.end(job.end()?)
    }

    /// The output is stdout: there is nothing to go on with.
    fn to_stdout(&self, mut opened: Opened) -> Done {
        let id = job::sum(&Secret::bytes()?);
        let map = self.map(&id, None)?;
        let progress = RowProgress::new(opened.end, 0, 0);
        output::print_bytes(&opened.head)?;
        let (mut rows, mut refused, mut totals) = (0, 0, Totals::default());
        let written = self.each(&mut opened.source, 0, &map, |batch, at| {
            progress.hide(|| {
                for (row, reason) in &batch.refused {
                    warnings::warn(&format!("row {row} was refused: {reason}"));
                }
                output::print_bytes(&batch.released)
            })?;
            rows += batch.rows;
            refused += batch.refused.len() as u64;
            totals.merge(batch.totals);
            progress.at(at, rows);
            Ok(())
        });
        progress.finish();
        if let (Map::Shared(_, Some(draws)), Some(account)) = (&map, &self.account) {
            account.settle(&id, draws.count())?;
        }
        written?;
        output::note(&Statement::new(&self.sanitizer, totals));
        if refused == 0 {
            return Ok(());
        }
        // a pipe has no second file: whoever reads it must be told by the exit code
        Err(Failure::new(
            format!("{refused} of {rows} rows were refused"),
            "they are empty in the output; --output FILE lists them in a file beside it",
        ))
    }

    /// Puts the files of a job in their places, settles it and removes its secret.
    fn end(&self, ended: Ended) -> Done {
        #[cfg(feature = "parquet")]
        let assemble =
            |rows: &Path, output: &Path| parquet::assemble(self.path, &self.form, rows, output);
        #[cfg(not(feature = "parquet"))]
        let assemble = |_: &Path, _: &Path| Ok(());
        let is_parquet = self.form.format == FileFormat::Parquet;
        ended.publish(is_parquet.then_some(&assemble as Assemble<'_>))?;
        if let Some(account) = &self.account {
            account.settle(&ended.state.id, ended.state.drawn)?;
        }
        let rejected = job::rejected(ended.output());
        let state = ended.clear()?;
        if state.refused > 0 {
            warnings::warn(&format!(
                "{} of {} rows were refused, and are empty in the output; {} has the reasons",
                state.refused,
                state.rows,
                rejected.display(),
            ));
        }
        output::note(&Statement::new(&self.sanitizer, state.totals));
        Ok(())
    }

    /// A sum of all that the release of a row depends on.
    fn settings(&self) -> Done<String> {
        let args = self.args;
        let memory = match &args.memory {
            Some(path) => {
                let mut generator = memory::open(path)?.generator(b"which memory is it?");
                cape::sample::below(u64::MAX, &mut generator).to_string()
            }
            None => String::new(),
        };
        let any_script = self.sanitizer.cape().is_some_and(|cape| cape.settings().any_script);
        let all = (
            (env!("CARGO_PKG_VERSION"), &self.sanitizer.about().fingerprint, any_script, memory),
            (&self.form.field, &self.form.pass, format!("{:?}", self.form.format)),
            (&args.instruction, args.json, args.files.separate, args.seed, &args.ledger.account),
        );
        Ok(job::sum(output::json(&all).as_bytes()))
    }

    /// Whether the secret lies in the folder of the job.
    fn is_own(&self) -> bool {
        self.args.memory.is_none() && self.args.seed.is_none() && self.account.is_none()
    }

    /// What the draws of a job come from, once they are paid for. The secret of a job that may be killed is
    /// in a file of its own.
    fn map(&self, id: &str, own: Option<&Path>) -> Done<Map> {
        if let (Some(account), Some(cape)) = (&self.account, self.sanitizer.cape()) {
            let draws = match self.args.ledger.draws {
                Some(most) => Draws::default().at_most(most),
                None => self.count(cape)?,
            };
            let most = draws.most().unwrap_or_default();
            let secret = account.reserve(id, most, self.sanitizer.guarantee().bound)?;
            return Ok(Map::Shared(Box::new(JobMap::new(secret)), Some(draws)));
        }
        let is_shared = self.sanitizer.cape().is_some() && !self.args.files.separate;
        let secret = match (self.args.seed, &self.args.memory, own) {
            (Some(seed), ..) if !is_shared => return Ok(Map::Seeds(seed)),
            (Some(seed), ..) => Secret::seeded(seed, 0),
            (None, Some(memory), _) => memory::open(memory)?,
            (None, None, Some(own)) => memory::open(own)?,
            (None, None, None) => Secret::fresh()?,
        };
        Ok(if is_shared {
            Map::Shared(Box::new(JobMap::new(secret)), None)
        } else {
            Map::Rows(secret)
        })
    }

    /// Counts the different draws of the whole input, without drawing.
    fn count(&self, cape: &Cape) -> Done<Draws> {
        let draws = Draws::default();
        let mut form = Form::new(&self.args.files)?;
        let Opened { mut source, end, .. } = Source::open(self.path, &mut form)?;
        let progress = RowProgress::new(end, 0, 0);
        let mut rows = 0;
        loop {
            let raws = read(&mut source, self.path)?;
            if raws.is_empty() {
                break;
            }
            rows += raws.len() as u64;
            raws.into_par_iter().try_for_each(|raw| match form.parse(raw).1 {
                // a row that is refused draws nothing
                Ok(text) => cape.plan(&text).map_or(Ok(()), |plan| draws.admit(cape, &plan)),
                Err(_) => Ok(()),
            })?;
            progress.at(source.at(), rows);
        }
        progress.finish();
        let most = draws.count();
        Ok(draws.at_most(most))
    }

    /// Perturbs all rows from here on, some at a time.
    fn each(
        &self,
        source: &mut Source,
        mut row: u64,
        map: &Map,
        mut write: impl FnMut(Batch, u64) -> Done,
    ) -> Done {
        loop {
            let raws = read(source, self.path)?;
            if raws.is_empty() {
                return Ok(());
            }
            let parts = raws.into_par_iter().chunks(SIDE_BY_SIDE).enumerate();
            let parts: Vec<Batch> = parts
                .map(|(i, raws)| self.part(raws, row + (i * SIDE_BY_SIDE) as u64, map))
                .collect::<Done<_>>()?;
            let batch = parts.into_iter().fold(Batch::default(), |mut batch, part| {
                batch.append(part);
                batch
            });
            row += batch.rows;
            write(batch, source.at())?;
        }
    }

    /// A few rows, the first of which has this number, from 0.
    fn part(&self, raws: Vec<Raw>, first: u64, map: &Map) -> Done<Batch> {
        let mut batch = Batch { rows: raws.len() as u64, ..Batch::default() };
        let (rests, texts): (Vec<_>, Vec<_>) =
            raws.into_iter().map(|raw| self.form.parse(raw)).unzip();
        let releases = self.releases(&texts, first, map)?;
        for (((row, rest), text), release) in (first + 1..).zip(&rests).zip(texts).zip(releases) {
            match (text, release) {
                (Ok(text), Ok(release)) => {
                    batch.totals.add(&release);
                    let written = self.written(&text, &release);
                    self.form.render(rest, Some(&written), &mut batch.released);
                }
                (Err(reason), _) | (_, Err(reason)) => {
                    self.form.render(rest, None, &mut batch.released);
                    batch.refused.push((row, reason));
                }
            }
        }
        Ok(batch)
    }

    /// A release as it stands in a row.
    fn written(&self, text: &str, release: &Release) -> String {
        match &self.args.instruction {
            _ if self.args.json => output::json(&ReleaseJson::new(&self.sanitizer, text, release)),
            Some(instruction) => format!("{instruction} {}", release.text),
            None => release.text.clone(),
        }
    }

    /// The releases of some texts; those that are none, or that the mechanism refuses, have none.
    fn releases(
        &self,
        texts: &[Result<String, Reason>],
        first: u64,
        map: &Map,
    ) -> Done<Vec<Result<Release, Reason>>> {
        if let (Map::Shared(map, draws), Some(cape)) = (map, self.sanitizer.cape()) {
            let release = |text: &Result<String, Reason>| {
                let Ok(text) = text else { return Ok(Err(Reason::default())) };
                let plan = match cape.plan(text) {
                    Ok(plan) => plan,
                    Err(error) => return reason(error).map(Err),
                };
                if let Some(draws) = draws {
                    draws.admit(cape, &plan)?;
                }
                Ok(Ok(map.release(cape, text, &plan)))
            };
            return texts.iter().map(release).collect();
        }
        let mut releases: Vec<Result<Release, Reason>> =
            texts.iter().map(|_| Err(Reason::default())).collect();
        let mut left: Vec<usize> = (0..texts.len()).filter(|&i| texts[i].is_ok()).collect();
        loop {
            let secret = |&i: &usize| match map {
                Map::Seeds(seed) => Secret::seeded(*seed, first + i as u64),
                Map::Rows(secret) => secret.part(first + i as u64),
                Map::Shared(map, _) => map.secret().part(first + i as u64),
            };
            let secrets: Vec<Secret> = left.iter().map(secret).collect();
            let secrets: Vec<&Secret> = secrets.iter().collect();
            let some: Vec<&str> = left.iter().filter_map(|&i| texts[i].as_deref().ok()).collect();
            match self.sanitizer.releases(&some, &secrets) {
                Ok(done) => {
                    for (&i, release) in left.iter().zip(done) {
                        releases[i] = Ok(release);
                    }
                    return Ok(releases);
                }
                // the others without the one that was refused
                Err((which, error)) => releases[left.remove(which)] = Err(reason(error)?),
            }
        }
    }
}

/// Why a row was refused; an error that has nothing to do with the row ends the job.
fn reason(error: cape::Error) -> Done<Reason> {
    match error {
        cape::Error::ControlCharacter { .. } | cape::Error::Script => Ok(error.to_string().into()),
        other => Err(other.into()),
    }
}

/// Some rows.
fn read(source: &mut Source, path: &Path) -> Done<Vec<Raw>> {
    let (mut raws, mut bytes) = (Vec::new(), 0);
    while raws.len() < ROWS_AT_ONCE && bytes < BYTES_AT_ONCE {
        let Some(raw) = source.next(path)? else { break };
        bytes += raw.len();
        raws.push(raw);
    }
    Ok(raws)
}
