//! Flags, `CAPE_*` variables and `cape.toml` made into the mechanism's settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cape::context::Context;
use cape::distance::Distance;
use cape::keep::KeepList;
use cape::mechanism::cape::{Buckets, Cape, Settings};
use cape::mechanism::{Baseline, Mechanism, Unknown};
use cape::privacy::Epsilon;
use cape::tokenizer::{Split, Tokenizer};
use cape::utility::Utility;
use cape::vocab::Candidates;
use cape_models::baselines::{self, Kind, Prepared, Source};
use cape_models::vectors::{self, Cache, Phase, Vectors};
use cape_models::{Arithmetic, Device, Kernel, Options};
use serde::Deserialize;

use crate::args::{
    ArithmeticArg, BucketsArg, CandidatesArg, ContextArg, DistanceArg, MechanismArg, MechanismArgs,
    UnknownArg, UtilityArg, WordsArg,
};
use crate::failure::{Done, Failure, io};
use crate::output::{self, note};

const FILE: &str = "cape.toml";
const EPSILON: f64 = 12.0;
const BUCKET_COUNT: usize = 50;

/// What `cape.toml` may hold; the flags of the same names come first.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    mechanism: Option<MechanismArg>,
    epsilon: Option<f64>,
    buckets: Option<BucketsArg>,
    context: Option<ContextArg>,
    candidates: Option<CandidatesArg>,
    alpha: Option<f64>,
    utility: Option<UtilityArg>,
    distance: Option<DistanceArg>,
    lambda_l: Option<f64>,
    lambda_d: Option<f64>,
    bucket_count: Option<usize>,
    model: Option<String>,
    arithmetic: Option<ArithmeticArg>,
    kernel: Option<String>,
    keep: Option<PathBuf>,
    vectors: Option<PathBuf>,
    corpus: Option<PathBuf>,
    unknown: Option<UnknownArg>,
    words: Option<WordsArg>,
    list_size: Option<usize>,
    sensitive_share: Option<f64>,
    frequent_drawn: Option<f64>,
    proxy: Option<cape_proxy::Settings>,
}

/// A mechanism with its tokenizer and its keep list, ready for prompts.
pub(crate) struct Ready {
    pub(crate) tokenizer: Arc<Tokenizer>,
    pub(crate) keep: KeepList,
    pub(crate) chosen: Chosen,
    /// The user's own list of words to keep.
    listed: Option<String>,
}

/// The mechanism that was asked for.
pub(crate) enum Chosen {
    Cape(Box<Cape>, Device),
    Baseline(Box<Baseline>, Kind, String),
}

impl Ready {
    /// Settings, model and lists from the arguments. What is wrong with the settings is found
    /// before the model is loaded.
    pub(crate) fn new(args: &MechanismArgs) -> Done<Self> {
        let file = File::read(args.config.as_deref())?;
        let kind = match args.mechanism.or(file.mechanism).unwrap_or(MechanismArg::Cape) {
            MechanismArg::Cape => None,
            MechanismArg::Santext => Some(Kind::Santext),
            MechanismArg::SantextPlus => Some(Kind::SantextPlus),
            MechanismArg::Custext => Some(Kind::Custext),
            MechanismArg::CustextPlus => Some(Kind::CustextPlus),
            MechanismArg::Inferdpt => Some(Kind::Inferdpt),
        };
        fitting(args, kind)?;
        let epsilon = Epsilon::new(args.epsilon.or(file.epsilon).unwrap_or(EPSILON))?;
        let settings = settings(args, &file, epsilon)?;
        let keep_file = args.keep.as_deref().or(file.keep.as_deref());
        let keep_list = keep_file.map(read_keep).transpose()?;
        let options = options(args, &file)?;
        let model = args.model.as_deref().or(file.model.as_deref());
        let model = || load(model.unwrap_or(cape_models::DEFAULT), options);
        let (tokenizer, mut keep, chosen) = match kind {
            None => {
                let device = model()?;
                let cape = Cape::new(Arc::clone(&device.model), settings)?;
                let tokenizer = Arc::clone(&device.tokenizer);
                (tokenizer, KeepList::default(), Chosen::Cape(Box::new(cape), device))
            }
            Some(kind) => {
                let prepared = prepared(kind, args, &file, model)?;
                let mechanism = Box::new(prepared.mechanism(epsilon)?);
                let chosen = Chosen::Baseline(mechanism, kind, prepared.about);
                (prepared.tokenizer, prepared.keep, chosen)
            }
        };
        if let Some(list) = &keep_list {
            let list = list.strip_prefix('\u{feff}').unwrap_or(list);
            tokenizer.keep(list, &mut keep).map_err(|error| {
                Failure::from(error).during("the list of words to keep cannot be used")
            })?;
        }
        Ok(Self { tokenizer, keep, chosen, listed: keep_list })
    }

    /// What the proxy perturbs with.
    pub(crate) fn into_sanitizer(self) -> cape_proxy::Sanitizer {
        let listed = self.listed;
        let (mechanism, settings): (Box<dyn Mechanism>, _) = match self.chosen {
            Chosen::Cape(cape, device) => {
                let (settings, model) = (*cape.settings(), device.checksum());
                (cape, format!("cape {settings:?} {model:02x?} {listed:?}"))
            }
            Chosen::Baseline(baseline, kind, about) => {
                let epsilon = baseline.guarantee().nominal;
                (baseline, format!("{} {epsilon:?} {about} {listed:?}", kind.name()))
            }
        };
        cape_proxy::Sanitizer { tokenizer: self.tokenizer, keep: self.keep, mechanism, settings }
    }

    pub(crate) fn mechanism(&self) -> &dyn Mechanism {
        match &self.chosen {
            Chosen::Cape(cape, _) => &**cape,
            Chosen::Baseline(baseline, ..) => &**baseline,
        }
    }

    /// What the mechanism is, for output.
    pub(crate) fn form(&self) -> Form {
        match &self.chosen {
            Chosen::Cape(cape, _) => {
                let settings = cape.settings();
                let (buckets, context) = (settings.buckets.as_str(), settings.context.as_str());
                Form { mechanism: "cape", cape: Some((buckets, context)), words: None }
            }
            Chosen::Baseline(_, kind, about) => {
                Form { mechanism: kind.name(), cape: None, words: Some(about.clone()) }
            }
        }
    }
}

/// The section `[proxy]` of the settings file.
pub(crate) fn proxy(config: Option<&Path>) -> Done<cape_proxy::Settings> {
    Ok(File::read(config)?.proxy.unwrap_or_default())
}

/// What a mechanism is, for output.
#[derive(Clone)]
pub(crate) struct Form {
    pub(crate) mechanism: &'static str,
    /// Cape's buckets and context.
    pub(crate) cape: Option<(&'static str, &'static str)>,
    /// The words of the others.
    pub(crate) words: Option<String>,
}

/// A flag that the mechanism has no use for was given in error.
fn fitting(args: &MechanismArgs, kind: Option<Kind>) -> Done {
    let (cape, other) = (args, &args.baseline);
    let is = |kinds: &[Kind]| kind.is_some_and(|kind| kinds.contains(&kind));
    let flags = [
        ("--buckets", cape.buckets.is_some(), kind.is_none()),
        ("--context", cape.context.is_some(), kind.is_none()),
        ("--candidates", cape.candidates.is_some(), kind.is_none()),
        ("--alpha", cape.alpha.is_some(), kind.is_none()),
        ("--utility", cape.utility.is_some(), kind.is_none()),
        ("--distance", cape.distance.is_some(), kind.is_none()),
        ("--lambda-l", cape.lambda_l.is_some(), kind.is_none()),
        ("--lambda-d", cape.lambda_d.is_some(), kind.is_none()),
        ("--bucket-count", cape.bucket_count.is_some(), kind.is_none()),
        ("--vectors", other.vectors.is_some(), kind.is_some()),
        ("--corpus", other.corpus.is_some(), kind.is_some()),
        ("--unknown", other.unknown.is_some(), kind.is_some()),
        ("--words", other.words.is_some(), kind.is_some()),
        ("--list-size", other.list_size.is_some(), is(&[Kind::Custext, Kind::CustextPlus])),
        ("--sensitive-share", other.sensitive_share.is_some(), is(&[Kind::SantextPlus])),
        ("--frequent-drawn", other.frequent_drawn.is_some(), is(&[Kind::SantextPlus])),
    ];
    match flags.iter().find(|(_, given, fits)| *given && !fits) {
        Some((flag, ..)) => Err(Failure::usage(
            format!("{flag} has no meaning for {}", kind.map_or("cape", Kind::name)),
            "`cape perturb --help` says which settings go with which --mechanism",
        )),
        None => Ok(()),
    }
}

/// A baseline with its words: from a file, or from the device model.
fn prepared(
    kind: Kind,
    args: &MechanismArgs,
    file: &File,
    model: impl FnOnce() -> Done<Device>,
) -> Done<Prepared> {
    let (args, defaults) = (&args.baseline, baselines::Settings::new(kind));
    let settings = baselines::Settings {
        unknown: args.unknown.or(file.unknown).map(|unknown| match unknown {
            UnknownArg::Replace => Unknown::Replace,
            UnknownArg::Keep => Unknown::Keep,
            UnknownArg::Drop => Unknown::Drop,
        }),
        split: match args.words.or(file.words) {
            Some(WordsArg::Whitespace) => Split::Whitespace,
            Some(WordsArg::Punctuation) | None => Split::Punctuation,
        },
        corpus: args.corpus.clone().or_else(|| file.corpus.clone()),
        list_size: args.list_size.or(file.list_size).unwrap_or(defaults.list_size),
        sensitive_share: args
            .sensitive_share
            .or(file.sensitive_share)
            .unwrap_or(defaults.sensitive_share),
        frequent_drawn: args
            .frequent_drawn
            .or(file.frequent_drawn)
            .unwrap_or(defaults.frequent_drawn),
        ..defaults
    };
    let lists = output::bar(0, "words on lists");
    let mut progress = |done, total| {
        lists.set_length(total);
        lists.set_position(done);
    };
    let path = args.vectors.as_deref().or(file.vectors.as_deref());
    if kind == Kind::Inferdpt && path.is_none() {
        let given = [("--corpus", args.corpus.is_some()), ("--words", args.words.is_some())];
        if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
            return Err(Failure::usage(
                format!("{flag} has no meaning for inferdpt on the pieces of the device model"),
                "it goes with --vectors",
            ));
        }
    }
    let prepared = match path {
        Some(path) => {
            let vectors = Box::new(load_vectors(path)?);
            Prepared::new(&settings, Source::Vectors(vectors, path), &mut progress)
        }
        None => Prepared::new(&settings, Source::Device(&model()?), &mut progress),
    };
    lists.finish_and_clear();
    let prepared = prepared?;
    warn_of_lists(&prepared);
    Ok(prepared)
}

/// Says if lists will have to be made again the next time.
pub(crate) fn warn_of_lists(prepared: &Prepared) {
    if let Some(why) = &prepared.not_stored {
        note(&format!("warning: the lists of words were not stored beside the vectors: {why}\n"));
    }
}

/// Loads word vectors with a bar, and says what is worth knowing about the file.
pub(crate) fn load_vectors(path: &Path) -> Done<Vectors> {
    let bar = output::download(0, "reading the vectors");
    let loaded = vectors::load(path, &mut |progress| {
        bar.set_message(match progress.phase {
            Phase::Reading => "reading the vectors",
            Phase::Checking => "checking the vectors",
            Phase::Comparing => "comparing the vectors with their source",
            Phase::Writing => "writing the vectors",
        });
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    let loaded = loaded?;
    let skipped = loaded.skipped.duplicates + loaded.skipped.unfit + loaded.skipped.not_utf8;
    if loaded.cache == Cache::Made && skipped > 0 {
        note(&format!(
            "note: {skipped} entries of the vectors were left out: they occur twice, have white space \
             in them, or are not UTF-8\n"
        ));
    }
    if let Cache::NotWritten(why) = &loaded.cache {
        note(&format!("warning: the vectors were not stored compactly: {why}\n"));
    }
    Ok(loaded)
}

/// Loads a model and warns where it has no calibration.
pub(crate) fn load(name_or_dir: &str, options: Options) -> Done<Device> {
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

fn settings(args: &MechanismArgs, file: &File, epsilon: Epsilon) -> Done<Settings> {
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
    let utility = match (args.utility.or(file.utility), buckets) {
        (Some(UtilityArg::LogLinear), Buckets::Ranked { .. }) => Utility::LOG_LINEAR,
        (Some(UtilityArg::LogLinear), Buckets::EqualWidth { .. }) if args.utility.is_some() => {
            return Err(Failure::usage(
                "--utility log-linear has no meaning for equal-width buckets",
                "it goes with --buckets ranked",
            ));
        }
        (_, Buckets::Ranked { .. }) => Utility::default(),
        (_, Buckets::EqualWidth { .. }) => Utility::PAPER,
    };
    Ok(Settings {
        epsilon,
        buckets,
        context: match args.context.or(file.context) {
            Some(ContextArg::Raw) => Context::Raw,
            Some(ContextArg::Released) | None => Context::Released,
        },
        candidates: match args.candidates.or(file.candidates) {
            Some(CandidatesArg::All) => Candidates::All,
            Some(CandidatesArg::Typed) => Candidates::Typed,
            Some(CandidatesArg::Common) => Candidates::Common,
            None => Candidates::default(),
        },
        utility: match args.distance.or(file.distance) {
            Some(DistanceArg::Euclidean) => utility.by(Distance::Euclidean),
            Some(DistanceArg::Cosine) => utility.by(Distance::Cosine),
            None => utility,
        }
        .with(
            args.lambda_l.or(file.lambda_l).unwrap_or(utility.l()),
            args.lambda_d.or(file.lambda_d).unwrap_or(utility.d()),
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
        let beside = |file: PathBuf| path.parent().map(|dir| dir.join(&file)).unwrap_or(file);
        let proxy = file.proxy.as_mut();
        let tls = proxy.map(|proxy| [&mut proxy.tls_certificate, &mut proxy.tls_key]);
        let own = [&mut file.keep, &mut file.vectors, &mut file.corpus];
        for named in own.into_iter().chain(tls.into_iter().flatten()) {
            *named = named.take().map(beside);
        }
        Ok(file)
    }
}

fn read_keep(path: &Path) -> Done<String> {
    std::fs::read_to_string(path).map_err(|error| {
        io(format!("cannot read the list of words to keep, {}", path.display()), &error)
    })
}
