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
const LINES_AT_ONCE: usize = 256;

pub(crate) fn run(args: &PerturbArgs) -> Done {
    if args.lines {
        return lines(args);
    }
    let text = input::text(args.text.as_deref())?;
    let ready = Ready::new(&args.mechanism)?;
    let waiting = output::spinner("perturbing");
    let release = one(&ready, &text, args.seed, 0);
    waiting.finish_and_clear();
    let release = release?;
    let settings = ready.mechanism.settings();
    if args.json {
        output::print(&output::json_pretty(&output::release(&text, &release, settings)))?;
    } else {
        output::print(&release.text)?;
    }
    if args.diff {
        output::note(&output::diff(&text, &release));
    }
    output::note(&Statement::of(settings, &release));
    Ok(())
}

/// One prompt a line, in order, a bounded number of them in memory.
fn lines(args: &PerturbArgs) -> Done {
    let ready = Ready::new(&args.mechanism)?;
    let settings = ready.mechanism.settings();
    let (reader, bytes) = input::lines(args.text.as_deref());
    let mut lines = reader.split(b'\n').enumerate();
    let mut total: Option<Statement> = None;
    let progress = output::stream(bytes);
    loop {
        let batch: Vec<(usize, Vec<u8>)> = lines
            .by_ref()
            .take(LINES_AT_ONCE)
            .map(|(i, line)| line.map(|line| (i, line)))
            .collect::<Result<_, _>>()
            .map_err(|error| io("cannot read stdin".into(), &error))?;
        let Some(&(last, _)) = batch.last() else { break };
        let releases: Vec<Done<(String, Release)>> = batch
            .into_par_iter()
            .map(|(i, bytes)| {
                progress.inc(bytes.len() as u64 + 1);
                input::utf8(bytes)
                    .and_then(|line| {
                        one(&ready, &line, args.seed, i as u64).map(|release| (line, release))
                    })
                    .map_err(|failure: Failure| {
                        failure.during(format!("line {} of the input was refused", i + 1))
                    })
            })
            .collect();
        progress.set_message((last + 1).to_string());
        // the first line that was refused, whichever was found first
        let releases = releases.into_iter().collect::<Done<Vec<_>>>()?;
        progress.suspend(|| {
            releases.iter().try_for_each(|(line, release)| {
                if args.json {
                    output::print(&output::json(&output::release(line, release, settings)))
                } else {
                    output::print(&release.text)
                }
            })
        })?;
        for (_, release) in &releases {
            match &mut total {
                Some(total) => total.add(release),
                None => total = Some(Statement::of(settings, release)),
            }
        }
    }
    progress.finish_and_clear();
    output::note(&total.ok_or_else(input::empty)?);
    Ok(())
}

/// One release; `stream` keeps the draws of different lines apart where they come from one seed.
fn one(ready: &Ready, text: &str, seed: Option<u64>, stream: u64) -> Done<Release> {
    let mut rng = match seed {
        Some(seed) => rng::seeded(seed, stream),
        None => rng::secure()?,
    };
    Ok(sanitize(text, &ready.device.tokenizer, &ready.keep, &ready.mechanism, &mut rng)?)
}
