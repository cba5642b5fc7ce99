//! `cape perturb`

use std::io::BufRead;

use cape::rng::{self, Generator};
use cape::sanitize::{sanitize, sanitize_all};
use cape::text::Release;
use rayon::prelude::*;

use crate::args::PerturbArgs;
use crate::failure::{Done, Failure, io};
use crate::input;
use crate::output::{self, Statement};
use crate::settings::Ready;

/// How many lines are read before they are perturbed side by side.
const LINES_AT_ONCE: usize = 256;

/// How many of them go to the model together.
pub(crate) const SIDE_BY_SIDE: usize = 16;

pub(crate) fn run(args: &PerturbArgs) -> Done {
    if args.lines {
        return lines(args);
    }
    let text = input::text(args.text.as_deref())?;
    let ready = Ready::new(&args.mechanism)?;
    let waiting = output::spinner("perturbing");
    let mut rng = generator(args.seed, 0)?;
    let release = sanitize(&text, &ready.tokenizer, &ready.keep, ready.mechanism(), &mut rng);
    waiting.finish_and_clear();
    let release = release?;
    let form = ready.form();
    if args.json {
        output::print(&output::json_pretty(&output::release(&text, &release, &form)))?;
    } else {
        output::print(&release.text)?;
    }
    if args.diff {
        output::note(&output::diff(&text, &release));
    }
    output::note(&Statement::of(form, &release));
    Ok(())
}

/// One prompt a line, in order, a bounded number of them in memory.
fn lines(args: &PerturbArgs) -> Done {
    let ready = Ready::new(&args.mechanism)?;
    let form = ready.form();
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
        let releases: Vec<Done<Vec<(String, Release)>>> = batch
            .par_chunks(SIDE_BY_SIDE)
            .map(|lines| {
                let done = side_by_side(&ready, lines, args.seed);
                progress.inc(lines.iter().map(|(_, line)| line.len() as u64 + 1).sum());
                done
            })
            .collect();
        progress.set_message((last + 1).to_string());
        // the first line that was refused, whichever was found first
        let releases = releases.into_iter().collect::<Done<Vec<_>>>()?.concat();
        progress.suspend(|| {
            releases.iter().try_for_each(|(line, release)| {
                if args.json {
                    output::print(&output::json(&output::release(line, release, &form)))
                } else {
                    output::print(&release.text)
                }
            })
        })?;
        for (_, release) in &releases {
            match &mut total {
                Some(total) => total.add(release),
                None => total = Some(Statement::of(form.clone(), release)),
            }
        }
    }
    progress.finish_and_clear();
    output::note(&total.ok_or_else(input::empty)?);
    Ok(())
}

/// Some lines side by side.
pub(crate) fn side_by_side(
    ready: &Ready,
    lines: &[(usize, Vec<u8>)],
    seed: Option<u64>,
) -> Done<Vec<(String, Release)>> {
    let refused = |i: usize, failure: Failure| {
        failure.during(format!("line {} of the input was refused", i + 1))
    };
    let text = |(i, line): &(usize, Vec<u8>)| {
        input::utf8(line.clone()).map_err(|failure| refused(*i, failure))
    };
    let texts: Vec<String> = lines.iter().map(text).collect::<Done<_>>()?;
    let rngs = lines.iter().map(|&(i, _)| generator(seed, i as u64));
    let mut rngs: Vec<Generator> = rngs.collect::<Done<_>>()?;
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (tokenizer, keep) = (&ready.tokenizer, &ready.keep);
    let releases = sanitize_all(&borrowed, tokenizer, keep, ready.mechanism(), &mut rngs)
        .map_err(|(i, error)| refused(lines[i].0, error.into()))?;
    Ok(texts.into_iter().zip(releases).collect())
}

/// `stream` keeps the draws of different lines apart where they come from one seed.
fn generator(seed: Option<u64>, stream: u64) -> Done<Generator> {
    Ok(match seed {
        Some(seed) => rng::seeded(seed, stream),
        None => rng::secure()?,
    })
}
