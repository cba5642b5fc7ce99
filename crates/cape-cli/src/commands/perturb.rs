//! `cape perturb`

mod bulk;

use cape::{Release, ReleaseJson, Sanitizer, Secret};

use crate::args::PerturbArgs;
use crate::failure::{Done, Failure};
use crate::output::{self, Statement};
use crate::{input, mechanism, memory, warnings};

/// How many prompts go to a model together.
pub(crate) const SIDE_BY_SIDE: usize = 16;

pub(crate) fn run(args: &PerturbArgs) -> Done {
    if let Some(path) = &args.files.input {
        return bulk::run(args, path);
    }
    if args.text.as_ref().is_some_and(|text| std::path::Path::new(text).is_file()) {
        return Err(Failure::usage(
            "the prompt is the name of a file",
            "to perturb its rows: --input FILE; all of it as one prompt: < FILE; the name itself: pipe it in",
        ));
    }
    let text = input::text(args.text.as_deref())?;
    let sanitizer = mechanism::sanitizer(&args.settings)?;
    warnings::of_settings(&sanitizer);
    let waiting = output::spinner("perturbing");
    let secret = match &args.memory {
        Some(path) => memory::open(path)?,
        None => match args.seed {
            Some(seed) => Secret::seeded(seed, 0),
            None => Secret::fresh()?,
        },
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
        return output::print(&output::json_pretty(&json));
    }
    match &args.instruction {
        Some(instruction) => output::print(&format!("{instruction}\n{}", release.text)),
        None => output::print(&release.text),
    }
}
