//! `cape perturb`

use std::io::BufRead;

use cape::rng;
use cape::sanitize::sanitize;
use cape::text::Release;
use rayon::prelude::*;

use crate::args::PerturbArgs;
use crate::failure::{Done, Failure, io};
use crate::input;
use crate::output::{self, Statement};
use crate::settings::Ready;

/// How many lines are read before they are perturbed side by side.
const LINES_AT_ONCE: usize = 512;

pub(crate) fn run(args: &PerturbArgs) -> Done {
    if args.lines {
        return lines(args);
    }
    let text = input::text(args.text.as_deref())?;
    let ready = Ready::new(&args.mechanism)?;
    let release = one(&ready, &text, args.seed)?;
    let statement = statement(&ready, args.seed, std::slice::from_ref(&release));
    if args.json {
        output::print(&output::json_pretty(&output::release(&text, &release, &statement)))?;
    } else {
        output::print(&release.text)?;
    }
    if args.diff {
        output::note(&output::diff(&text, &release));
    }
    output::note(&statement);
    Ok(())
}

/// One prompt a line, in order, a bounded number of them in memory.
fn lines(args: &PerturbArgs) -> Done {
    let ready = Ready::new(&args.mechanism)?;
    let reader: Box<dyn BufRead> = match &args.text {
        Some(text) => Box::new(std::io::Cursor::new(text.clone())),
        None => Box::new(std::io::stdin().lock()),
    };
    let mut lines = reader.split(b'\n').enumerate();
    let mut total = Statement::new(&ready, args.seed.is_some());
    let progress = output::counter("prompts");
    loop {
        let batch: Vec<(usize, Vec<u8>)> = lines
            .by_ref()
            .take(LINES_AT_ONCE)
            .map(|(i, line)| line.map(|line| (i, line)))
            .collect::<Result<_, _>>()
            .map_err(|error| io("cannot read stdin".into(), &error))?;
        if batch.is_empty() {
            break;
        }
        let releases: Vec<(String, Release)> = batch
            .into_par_iter()
            .map(|(i, bytes)| {
                let seed = args.seed.map(|seed| seed.wrapping_add(i as u64));
                let release = input::utf8(bytes)
                    .and_then(|line| one(&ready, &line, seed).map(|release| (line, release)));
                progress.inc(1);
                release.map_err(|failure: Failure| {
                    failure.during(format!("line {} of the input was refused", i + 1))
                })
            })
            .collect::<Done<_>>()?;
        for (line, release) in &releases {
            if args.json {
                let own = statement(&ready, args.seed, std::slice::from_ref(release));
                output::print(&output::json(&output::release(line, release, &own)))?;
            } else {
                output::print(&release.text)?;
            }
            total.add(release);
        }
    }
    progress.finish_and_clear();
    if total.is_empty() {
        return Err(input::empty());
    }
    output::note(&total);
    Ok(())
}

fn one(ready: &Ready, text: &str, seed: Option<u64>) -> Done<Release> {
    let go = |rng: &mut dyn cape::rng::CryptoRng| {
        sanitize(text, &ready.device.tokenizer, &ready.keep, &ready.mechanism, rng)
    };
    Ok(match seed {
        Some(seed) => go(&mut rng::seeded(seed)),
        None => go(&mut rng::secure()?),
    }?)
}

fn statement(ready: &Ready, seed: Option<u64>, releases: &[Release]) -> Statement {
    let mut statement = Statement::new(ready, seed.is_some());
    for release in releases {
        statement.add(release);
    }
    statement
}
