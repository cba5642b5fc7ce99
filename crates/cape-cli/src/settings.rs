//! Flags, `CAPE_*` variables and `cape.toml` made into the mechanism's settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cape::context::Context;
use cape::keep::KeepList;
use cape::mechanism::cape::{Buckets, Cape, Settings};
use cape::privacy::Epsilon;
use cape::utility::Lambdas;
use cape::vocab::Candidates;
use cape_models::{Arithmetic, Device, Kernel, Options};
use serde::Deserialize;

use crate::args::{ArithmeticArg, BucketsArg, CandidatesArg, ContextArg, MechanismArgs};
use crate::failure::{Done, Failure, io};
use crate::output::note;

const FILE: &str = "cape.toml";
const EPSILON: f64 = 12.0;
const BUCKET_COUNT: usize = 50;

/// What `cape.toml` may hold; the flags of the same names come first.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    epsilon: Option<f64>,
    buckets: Option<BucketsArg>,
    context: Option<ContextArg>,
    candidates: Option<CandidatesArg>,
    alpha: Option<f64>,
    lambda_l: Option<f64>,
    lambda_d: Option<f64>,
    bucket_count: Option<usize>,
    model: Option<String>,
    arithmetic: Option<ArithmeticArg>,
    kernel: Option<String>,
    keep: Option<PathBuf>,
}

/// A mechanism with its tokenizer and its keep list, ready for prompts.
pub(crate) struct Ready {
    pub(crate) device: Device,
    pub(crate) keep: KeepList,
    pub(crate) mechanism: Cape,
}

impl Ready {
    /// Settings, model and lists from the arguments. What is wrong with the settings is found
    /// before the model is loaded.
    pub(crate) fn new(args: &MechanismArgs) -> Done<Self> {
        let file = File::read(args.config.as_deref())?;
        let settings = settings(args, &file)?;
        let keep_file = args.keep.as_deref().or(file.keep.as_deref());
        let keep_list = keep_file.map(read_keep).transpose()?;
        let options = options(args, &file)?;
        let model = args.model.as_deref().or(file.model.as_deref());
        let device = load(model.unwrap_or(cape_models::DEFAULT), options)?;
        let mut keep = KeepList::default();
        if let Some(list) = keep_list {
            let list = list.strip_prefix('\u{feff}').unwrap_or(&list);
            device.tokenizer.keep(list, &mut keep).map_err(|error| {
                Failure::from(error).during("the list of words to keep cannot be used")
            })?;
        }
        let mechanism = Cape::new(Arc::clone(&device.model) as _, settings)?;
        Ok(Self { device, keep, mechanism })
    }
}

/// Loads a model and warns where it has no calibration.
fn load(name_or_dir: &str, options: Options) -> Done<Device> {
    let device = cape_models::load_with(name_or_dir, options)?;
    if !device.calibrated {
        let (lo, hi) = (device.model.calibration().lo(), device.model.calibration().hi());
        note(&format!(
            "warning: this model has no cape.json; its logits are taken to lie between {lo} and {hi}\n\
             hint: `cape calibrate --model {name_or_dir} FILE` finds their range on public text\n"
        ));
    }
    Ok(device)
}

fn options(args: &MechanismArgs, file: &File) -> Done<Options> {
    let arithmetic = args.arithmetic.or(file.arithmetic).unwrap_or(ArithmeticArg::Auto);
    Ok(Options {
        arithmetic: arithmetic.into(),
        kernel: kernel(args.kernel.as_deref().or(file.kernel.as_deref()))?,
    })
}

impl From<ArithmeticArg> for Arithmetic {
    fn from(arg: ArithmeticArg) -> Self {
        match arg {
            ArithmeticArg::Auto => Self::Auto,
            ArithmeticArg::F32 => Self::F32,
            ArithmeticArg::Int16 => Self::Int16,
            ArithmeticArg::Int8 => Self::Int8,
        }
    }
}

/// The kernel of this name, or the best.
pub(crate) fn kernel(name: Option<&str>) -> Done<Kernel> {
    let Some(name) = name else { return Ok(Kernel::best()) };
    Kernel::named(name).ok_or_else(|| {
        let here: Vec<&str> = Kernel::available().map(Kernel::name).collect();
        Failure::usage(
            "this machine has no such kernel",
            format!("it has: {}; without --kernel the first is used", here.join(", ")),
        )
    })
}

fn settings(args: &MechanismArgs, file: &File) -> Done<Settings> {
    let alpha = args.alpha.or(file.alpha);
    let count = args.bucket_count.or(file.bucket_count);
    let buckets = match args.buckets.or(file.buckets).unwrap_or(BucketsArg::Ranked) {
        BucketsArg::Ranked if args.bucket_count.is_some() => {
            return Err(Failure::usage(
                "--bucket-count has no meaning for ranked",
                "it goes with --buckets equal-width",
            ));
        }
        BucketsArg::EqualWidth if args.alpha.is_some() => {
            return Err(Failure::usage(
                "--alpha has no meaning for equal-width buckets",
                "it goes with --buckets ranked",
            ));
        }
        BucketsArg::Ranked => Buckets::Ranked { alpha },
        BucketsArg::EqualWidth => Buckets::EqualWidth { count: count.unwrap_or(BUCKET_COUNT) },
    };
    let defaults = Lambdas::default();
    Ok(Settings {
        epsilon: Epsilon::new(args.epsilon.or(file.epsilon).unwrap_or(EPSILON))?,
        buckets,
        context: match args.context.or(file.context) {
            Some(ContextArg::Raw) => Context::Raw,
            Some(ContextArg::Released) | None => Context::Released,
        },
        candidates: match args.candidates.or(file.candidates) {
            Some(CandidatesArg::All) => Candidates::All,
            Some(CandidatesArg::Typed) | None => Candidates::Typed,
        },
        lambdas: Lambdas::new(
            args.lambda_l.or(file.lambda_l).unwrap_or(defaults.l()),
            args.lambda_d.or(file.lambda_d).unwrap_or(defaults.d()),
        )?,
    })
}

impl File {
    /// The file named, or `cape.toml` where there is one.
    fn read(named: Option<&Path>) -> Done<Self> {
        let path = match named {
            Some(path) => path,
            None if Path::new(FILE).exists() => Path::new(FILE),
            None => return Ok(Self::default()),
        };
        let text = std::fs::read_to_string(path)
            .map_err(|error| io(format!("cannot read {}", path.display()), &error))?;
        let mut file: Self = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            Failure::usage(
                format!("{}, line {line}: {}", path.display(), error.message()),
                "its keys are those under Settings in `cape perturb --help`, except config",
            )
        })?;
        // its paths are relative to where it lies
        let beside = |keep: PathBuf| path.parent().map(|dir| dir.join(&keep)).unwrap_or(keep);
        file.keep = file.keep.map(beside);
        Ok(file)
    }
}

fn read_keep(path: &Path) -> Done<String> {
    std::fs::read_to_string(path).map_err(|error| {
        io(format!("cannot read the list of words to keep, {}", path.display()), &error)
    })
}
