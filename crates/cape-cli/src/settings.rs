//! Flags, `CAPE_*` variables and `cape.toml` made into a mechanism's settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cape::context::Context;
use cape::keep::KeepList;
use cape::law::Shape;
use cape::levels::Profile;
use cape::lexicon::Lexicon;
use cape::mechanism::cape::{self as words, Cape};
use cape::mechanism::cape_paper::{self, CapePaper};
use cape::mechanism::{Baseline, Mechanism, Unknown};
use cape::privacy::{Epsilon, Guarantee};
use cape::sanitizer::{About, Sanitizer};
use cape::tokenizer::{Split, Tokenizer};
use cape::utility::Utility;
use cape_models::baselines::{self, Kind, Prepared, Source};
use cape_models::vectors::{self, Cache, Phase, Vectors};
use cape_models::{Arithmetic, Device, Kernel, Options};
use serde::Deserialize;

use crate::args::{
    ArithmeticArg, ContextArg, FormatArg, MechanismArg, MechanismArgs, ProfileArg, UnknownArg,
    WordsArg,
};
use crate::failure::{Done, Failure, io};
use crate::output::{self, note};

const FILE: &str = "cape.toml";

/// ε of the mechanisms on tokens: the paper's usual.
const EPSILON: f64 = 6.0;

/// What `cape.toml` may hold; the flags of the same names come first.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    mechanism: Option<MechanismArg>,
    epsilon: Option<f64>,
    profile: Option<ProfileArg>,
    #[serde(default)]
    protect: Words,
    #[serde(default)]
    ordinary: Words,
    #[serde(default)]
    keep: Words,
    k: Option<usize>,
    alpha: Option<f64>,
    epsilon_ordinary: Option<f64>,
    format: Option<FormatArg>,
    #[serde(default)]
    any_script: bool,
    context: Option<ContextArg>,
    lambda_l: Option<f64>,
    lambda_d: Option<f64>,
    bucket_count: Option<usize>,
    model: Option<String>,
    arithmetic: Option<ArithmeticArg>,
    kernel: Option<String>,
    vectors: Option<PathBuf>,
    corpus: Option<PathBuf>,
    unknown: Option<UnknownArg>,
    words: Option<WordsArg>,
    list_size: Option<usize>,
    sensitive_share: Option<f64>,
    frequent_drawn: Option<f64>,
    proxy: Option<cape_proxy::Settings>,
    /// Where the file lies: its paths begin there.
    #[serde(skip)]
    folder: PathBuf,
}

/// Words, or files of them: one, or a list. What is wrong with it is said without a word of it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a word or a file is missing: write \"…\" or [\"…\", \"…\"]")]
enum Words {
    One(String),
    Several(Vec<String>),
}

impl Default for Words {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Words {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(word) => std::slice::from_ref(word),
            Self::Several(words) => words,
        }
    }
}

/// The mechanism that was asked for, ready for prompts.
pub(crate) enum Ready {
    /// Cape on words.
    Cape(Box<Cape>),
    /// A mechanism on tokens.
    Tokens(Box<OnTokens>),
}

/// A mechanism on tokens, with what cuts texts for it.
pub(crate) struct OnTokens {
    pub(crate) tokenizer: Arc<Tokenizer>,
    pub(crate) keep: KeepList,
    pub(crate) chosen: Chosen,
    /// The user's own list of words to keep.
    listed: Vec<String>,
}

/// Which of them.
pub(crate) enum Chosen {
    CapePaper(CapePaper, Device),
    Baseline(Baseline, Kind, String),
}

impl Ready {
    /// Settings, model and lists from the arguments. What is wrong with the settings is found
    /// before the model is loaded.
    pub(crate) fn new(args: &MechanismArgs) -> Done<Self> {
        let file = File::read(args.config.as_deref())?;
        let mechanism = args.mechanism.or(file.mechanism).unwrap_or(MechanismArg::Cape);
        fitting(args, mechanism)?;
        let keep = listed(&args.keep, file.keep.as_slice(), &file.folder)?;
        let kind = match mechanism {
            MechanismArg::Cape => {
                let settings = on_words(args, &file, keep)?;
                return Ok(Self::Cape(Box::new(Cape::new(Lexicon::embedded(), settings)?)));
            }
            MechanismArg::CapePaper => None,
            MechanismArg::Santext => Some(Kind::Santext),
            MechanismArg::SantextPlus => Some(Kind::SantextPlus),
            MechanismArg::Custext => Some(Kind::Custext),
            MechanismArg::CustextPlus => Some(Kind::CustextPlus),
            MechanismArg::Inferdpt => Some(Kind::Inferdpt),
        };
        let epsilon = Epsilon::new(args.epsilon.or(file.epsilon).unwrap_or(EPSILON))?;
        OnTokens::new(args, &file, kind, epsilon, keep).map(|tokens| Self::Tokens(Box::new(tokens)))
    }

    /// What perturbs texts.
    pub(crate) fn into_sanitizer(self) -> Sanitizer {
        match self {
            Self::Cape(cape) => Sanitizer::words(*cape),
            Self::Tokens(tokens) => tokens.into_sanitizer(),
        }
    }
}

impl OnTokens {
    fn new(
        args: &MechanismArgs,
        file: &File,
        kind: Option<Kind>,
        epsilon: Epsilon,
        listed: Vec<String>,
    ) -> Done<Self> {
        let settings = on_pieces(args, file, epsilon)?;
        let options = options(args, file)?;
        let model = args.paper.model.as_deref().or(file.model.as_deref());
        let model = || load(model.unwrap_or(cape_models::DEFAULT), options);
        let (tokenizer, mut keep, chosen) = match kind {
            None => {
                let device = model()?;
                let cape = CapePaper::new(Arc::clone(&device.model), settings)?;
                let tokenizer = Arc::clone(&device.tokenizer);
                (tokenizer, KeepList::default(), Chosen::CapePaper(cape, device))
            }
            Some(kind) => {
                let prepared = prepared(kind, args, file, model)?;
                let mechanism = prepared.mechanism(epsilon)?;
                let chosen = Chosen::Baseline(mechanism, kind, prepared.about);
                (prepared.tokenizer, prepared.keep, chosen)
            }
        };
        tokenizer.keep(&listed.join("\n"), &mut keep).map_err(|error| {
            Failure::from(error).during("the list of words to keep cannot be used")
        })?;
        Ok(Self { tokenizer, keep, chosen, listed })
    }

    fn into_sanitizer(self) -> Sanitizer {
        let name = self.name();
        let listed = self.listed.join("\u{1f}");
        let epsilon = self.guarantee().nominal.get();
        let (mechanism, words, what): (Box<dyn Mechanism>, _, _) = match self.chosen {
            Chosen::CapePaper(cape, device) => {
                let cape_paper::Settings { context, utility, bucket_count, .. } = *cape.settings();
                let (l, d, model) =
                    (utility.context_weight(), utility.distance_weight(), device.checksum());
                let what = format!(
                    "context={} lambda-l={l} lambda-d={d} buckets={bucket_count} model={}",
                    context.as_str(),
                    cape_models::short(&model),
                );
                (Box::new(cape), None, what)
            }
            Chosen::Baseline(baseline, _, about) => {
                (Box::new(baseline), Some(about.clone()), about)
            }
        };
        let fingerprint = format!("{name} epsilon={epsilon} {what} keep={listed}");
        let about = About { mechanism: name, words, fingerprint };
        Sanitizer::tokens(self.tokenizer, self.keep, mechanism, about)
    }

    pub(crate) fn guarantee(&self) -> Guarantee {
        match &self.chosen {
            Chosen::CapePaper(cape, _) => cape.guarantee(),
            Chosen::Baseline(baseline, ..) => baseline.guarantee(),
        }
    }

    /// The mechanism's name, as users write it.
    pub(crate) fn name(&self) -> &'static str {
        match &self.chosen {
            Chosen::CapePaper(..) => "cape-paper",
            Chosen::Baseline(_, kind, _) => kind.name(),
        }
    }
}

/// The section `[proxy]` of the settings file.
pub(crate) fn proxy(config: Option<&Path>) -> Done<cape_proxy::Settings> {
    Ok(File::read(config)?.proxy.unwrap_or_default())
}

/// A flag that the mechanism has no use for was given in error.
fn fitting(args: &MechanismArgs, mechanism: MechanismArg) -> Done {
    use MechanismArg::{Cape, CapePaper, Custext, CustextPlus, SantextPlus};
    let (paper, other) = (&args.paper, &args.baseline);
    let is = |mechanisms: &[MechanismArg]| mechanisms.contains(&mechanism);
    let (cape, on_pieces) = (is(&[Cape]), is(&[CapePaper]));
    let baseline = !cape && !on_pieces;
    let flags = [
        ("--profile", args.profile.is_some(), cape),
        ("--protect", !args.protect.is_empty(), cape),
        ("--ordinary", !args.ordinary.is_empty(), cape),
        ("--k", args.k.is_some(), cape),
        ("--alpha", args.alpha.is_some(), cape),
        ("--epsilon-ordinary", args.epsilon_ordinary.is_some(), cape),
        ("--format", args.format.is_some(), cape),
        ("--any-script", args.any_script, cape),
        ("--context", paper.context.is_some(), on_pieces),
        ("--lambda-l", paper.lambda_l.is_some(), on_pieces),
        ("--lambda-d", paper.lambda_d.is_some(), on_pieces),
        ("--bucket-count", paper.bucket_count.is_some(), on_pieces),
        ("--model", paper.model.is_some(), !cape),
        ("--arithmetic", paper.arithmetic.is_some(), !cape),
        ("--kernel", paper.kernel.is_some(), !cape),
        ("--vectors", other.vectors.is_some(), baseline),
        ("--corpus", other.corpus.is_some(), baseline),
        ("--unknown", other.unknown.is_some(), baseline),
        ("--words", other.words.is_some(), baseline),
        ("--list-size", other.list_size.is_some(), is(&[Custext, CustextPlus])),
        ("--sensitive-share", other.sensitive_share.is_some(), is(&[SantextPlus])),
        ("--frequent-drawn", other.frequent_drawn.is_some(), is(&[SantextPlus])),
    ];
    match flags.iter().find(|(_, given, fits)| *given && !fits) {
        Some((flag, ..)) => {
            let name = clap::ValueEnum::to_possible_value(&mechanism);
            let name = name.map_or_else(String::new, |name| name.get_name().to_owned());
            Err(Failure::usage(
                format!("{flag} has no meaning for {name}"),
                "`cape perturb --help` says which settings go with which --mechanism",
            ))
        }
        None => Ok(()),
    }
}

/// Words and phrases that were given one by one or as files, one a line; flags before those of the
/// settings file, whose paths begin in its folder.
fn listed(flags: &[String], file: &[String], folder: &Path) -> Done<Vec<String>> {
    let (given, folder) = if flags.is_empty() { (file, folder) } else { (flags, Path::new("")) };
    let mut words = Vec::new();
    for word_or_file in given {
        let path = folder.join(word_or_file);
        if path.is_file() {
            let text = std::fs::read_to_string(&path)
                .map_err(|error| io(format!("cannot read {}", path.display()), &error))?;
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            words.extend(lines.map(str::to_owned));
        } else if looks_like_a_file(word_or_file) {
            return Err(Failure::usage(
                // its name may be a word that is not to be shown
                "a file of words that was given is not there",
                "to give words themselves, write each of them, without a path or an ending",
            ));
        } else {
            words.push(word_or_file.trim().to_owned());
        }
    }
    Ok(words)
}

/// Whether a word can only be meant as the name of a file: taken as a word, it would protect nothing.
fn looks_like_a_file(word: &str) -> bool {
    let ending = Path::new(word).extension().and_then(|ending| ending.to_str());
    ["/", "./", "../", "~/"].iter().any(|start| word.starts_with(start))
        || ending.is_some_and(|ending| FILE_ENDINGS.contains(&ending))
}

/// How files with words end.
const FILE_ENDINGS: [&str; 6] = ["txt", "csv", "tsv", "list", "lst", "words"];

/// The settings of Cape on words.
fn on_words(args: &MechanismArgs, file: &File, keep: Vec<String>) -> Done<words::Settings> {
    let epsilon = |given: Option<f64>| given.map(Epsilon::new).transpose();
    let defaults = words::Settings::default();
    Ok(words::Settings {
        profile: args.profile.or(file.profile).map_or(Profile::Personal, Profile::from),
        epsilon: epsilon(args.epsilon.or(file.epsilon))?.unwrap_or(defaults.epsilon),
        shape: Shape {
            k: args.k.or(file.k).unwrap_or(defaults.shape.k),
            alpha: args.alpha.or(file.alpha).or(defaults.shape.alpha),
        },
        epsilon_ordinary: epsilon(args.epsilon_ordinary.or(file.epsilon_ordinary))?,
        protect: listed(&args.protect, file.protect.as_slice(), &file.folder)?,
        ordinary: listed(&args.ordinary, file.ordinary.as_slice(), &file.folder)?,
        keep,
        any_script: args.any_script || file.any_script,
        cut: match args.format.or(file.format) {
            Some(FormatArg::Prose) | None => cape::units::Options::default(),
            Some(FormatArg::Code) => cape::units::Options { code: true, json: false },
            Some(FormatArg::Json) => cape::units::Options { code: false, json: true },
        },
    })
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
    let arithmetic = args.paper.arithmetic.or(file.arithmetic).unwrap_or(ArithmeticArg::Auto);
    Ok(Options {
        arithmetic: arithmetic.into(),
        kernel: kernel(args.paper.kernel.as_deref().or(file.kernel.as_deref()))?,
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

/// The settings of the paper's mechanism.
fn on_pieces(args: &MechanismArgs, file: &File, epsilon: Epsilon) -> Done<cape_paper::Settings> {
    let (args, paper) = (&args.paper, cape_paper::Settings::new(epsilon));
    Ok(cape_paper::Settings {
        epsilon,
        bucket_count: args.bucket_count.or(file.bucket_count).unwrap_or(paper.bucket_count),
        context: match args.context.or(file.context) {
            Some(ContextArg::Raw) => Context::Raw,
            Some(ContextArg::Released) => Context::Released,
            None => paper.context,
        },
        utility: Utility::new(
            args.lambda_l.or(file.lambda_l).unwrap_or(paper.utility.context_weight()),
            args.lambda_d.or(file.lambda_d).unwrap_or(paper.utility.distance_weight()),
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
        file.folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let own = [&mut file.vectors, &mut file.corpus];
        for named in own.into_iter().chain(tls.into_iter().flatten()) {
            *named = named.take().map(beside);
        }
        Ok(file)
    }
}
