//! `cape calibrate`

use std::path::Path;

use indicatif::ProgressBar;

use crate::args::CalibrateArgs;
use crate::failure::{Done, Failure, io};
use crate::output::{bar, print};

pub(crate) fn run(args: &CalibrateArgs) -> Done {
    let bytes = std::fs::read(&args.file)
        .map_err(|error| io(format!("cannot read {}", args.file.display()), &error))?;
    let text = crate::input::utf8(bytes)?;
    let texts: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if args.model == cape_models::DEFAULT && !Path::new(&args.model).is_dir() {
        return Err(Failure::usage(
            "the embedded model is calibrated already",
            "the calibration is stored beside a model: give another, or a folder, with --model",
        ));
    }
    let dir = cape_models::folder(&args.model)?;
    let device = cape_models::Files::read(&dir)?.load_uncalibrated()?;
    let progress: ProgressBar = bar(texts.len() as u64, "passages");
    let calibration = cape_models::calibrate(&device, &texts, &|| progress.inc(1))?;
    progress.finish_and_clear();
    let path = cape_models::save_calibration(&dir, calibration)?;
    let (lo, hi) = (calibration.lo(), calibration.hi());
    print(&format!("lo {lo:.3}  hi {hi:.3}  written to {}", path.display()))
}
