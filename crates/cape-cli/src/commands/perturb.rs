//! `cape perturb`

use std::io::BufRead;

use cape::{Release, ReleaseJson, Sanitizer, Secret};
use rayon::prelude::*;

use crate::args::PerturbArgs;
use crate::failure::{Done, Failure, io};
use crate::output::{self, Statement};
use crate::{input, mechanism, memory, warnings};

/// How many lines are read before they are perturbed side by side.
const LINES_AT_ONCE: usize = 256;

/// How many of them go to a model together.
pub(crate) const SIDE_BY_SIDE: usize = 16;

pub(crate) fn run(args: &PerturbArgs) -> Done {
    if args.lines {
        return lines(args);
    }
    let text = input::text(args.text.as_deref())?;
    let sanitizer = mechanism::sanitizer(&args.settings)?;
    warnings::of_settings(&sanitizer);
    let waiting = output::spinner("perturbing");
    let secret = match &args.memory {
        Some(path) => memory::open(path)?,
        None => secret(args.seed, 0)?,
    };
    let release = sanitizer.release(&text, &secret);
    waiting.finish_and_clear();
    let release = release?;
    print(args, &sanitizer, &text, &release)?;
    if args.diff {
        output::note(&output::diff(&text, &release));
    }
    warnings::of_release(&sanitizer, &text, &release);
    output::note(&Statement::of(&sanitizer, &release));
    Ok(())
}

/// The release on stdout, after the instruction if there is one.
fn print(args: &PerturbArgs, sanitizer: &Sanitizer, text: &str, release: &Release) -> Done {
    if args.json {
        let json = ReleaseJson::new(sanitizer, text, release);
        return output::print(&if args.lines {
            output::json(&json)
        } else {
            output::json_pretty(&json)
        });
    }
    match &args.instruction {
        Some(instruction) if args.lines => {
            output::print(&format!("{instruction} {}", release.text))
        }
        Some(instruction) => output::print(&format!("{instruction}\n{}", release.text)),
        None => output::print(&release.text),
    }
}

/// One prompt a line, in order, a bounded number of them in memory.
fn lines(args: &PerturbArgs) -> Done {
    let sanitizer = mechanism::sanitizer(&args.settings)?;
    warnings::of_settings(&sanitizer);
    // the map of all lines
    let map = match &args.memory {
        Some(path) => Some(memory::open(path)?),
        None if args.separate || sanitizer.cape().is_none() => None,
        None => Some(secret(args.seed, 0)?),
    };
    let (reader, bytes) = input::lines(args.text.as_deref());
    let mut lines = reader.split(b'\n').enumerate();
    let mut total: Option<Statement<'_>> = None;
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
                let done = side_by_side(&sanitizer, lines, map.as_ref(), args.seed);
                progress.inc(lines.iter().map(|(_, line)| line.len() as u64 + 1).sum());
                done
            })
            .collect();
        progress.set_message((last + 1).to_string());
        // the first line that was refused, whichever was found first
        let releases = releases.into_iter().collect::<Done<Vec<_>>>()?.concat();
        progress.suspend(|| {
            releases.iter().try_for_each(|(line, release)| print(args, &sanitizer, line, release))
        })?;
        for (_, release) in &releases {
            match &mut total {
                Some(total) => total.add(release),
                None => total = Some(Statement::of(&sanitizer, release)),
            }
        }
    }
    progress.finish_and_clear();
    output::note(&total.ok_or_else(input::empty)?);
    Ok(())
}

/// Some lines side by side, with a map for all of them or one for each.
pub(crate) fn side_by_side(
    sanitizer: &Sanitizer,
    lines: &[(usize, Vec<u8>)],
    map: Option<&Secret>,
    seed: Option<u64>,
) -> Done<Vec<(String, Release)>> {
    let refused = |i: usize, failure: Failure| {
        failure.during(format!("line {} of the input was refused", i + 1))
    };
    let text = |(i, line): &(usize, Vec<u8>)| {
        input::utf8(line.clone()).map_err(|failure| refused(*i, failure))
    };
    let texts: Vec<String> = lines.iter().map(text).collect::<Done<_>>()?;
    let own = lines.iter().filter(|_| map.is_none()).map(|&(i, _)| secret(seed, i as u64));
    let own: Vec<Secret> = own.collect::<Done<_>>()?;
    let secrets: Vec<&Secret> = match map {
        Some(map) => vec![map; lines.len()],
        None => own.iter().collect(),
    };
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let releases = sanitizer
        .releases(&borrowed, &secrets)
        .map_err(|(i, error)| refused(lines[i].0, error.into()))?;
    Ok(texts.into_iter().zip(releases).collect())
}

/// `stream` keeps the draws of different lines apart where they come from one seed.
fn secret(seed: Option<u64>, stream: u64) -> Done<Secret> {
    Ok(match seed {
        Some(seed) => Secret::seeded(seed, stream),
        None => Secret::fresh()?,
    })
}
