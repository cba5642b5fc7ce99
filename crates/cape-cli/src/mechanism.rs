//! Settings made into a mechanism.

use cape::mechanism::cape as words;
use cape::mechanism::cape_paper;
use cape::tokens::Utility;
use cape::{Cape, Epsilon, Lexicon, Sanitizer, Shape, units};
use cape_models::{
    BaselineKind, BaselineSettings, Device, OnTokens, Options, PreparedBaseline, WordSource,
};

use crate::failure::{Done, Failure};
use crate::settings::{
    self, CapeSettings, File, MechanismName, PaperSettings, Settings, VectorSettings,
};
use crate::{load, output};

/// The sanitizer that these flags and the settings file ask for.
pub(crate) fn sanitizer(flags: &Settings) -> Done<Sanitizer> {
    Ok(match Loaded::new(flags)? {
        Loaded::Cape(cape) => Sanitizer::words(*cape),
        Loaded::Tokens(tokens) => tokens.into_sanitizer(),
    })
}

/// The paper's mechanism on the embedded model, with its usual settings.
pub(crate) fn paper() -> Done<Sanitizer> {
    let tokens = on_tokens(MechanismName::CapePaper, &Settings::default(), Vec::new())?;
    Ok(tokens.into_sanitizer())
}

/// A mechanism whose distributions can be looked at, which a sanitizer hides.
pub(crate) enum Loaded {
    /// Cape on words.
    Cape(Box<Cape>),
    /// A mechanism on tokens.
    Tokens(Box<OnTokens>),
}

impl Loaded {
    /// The mechanism that these flags and the settings file ask for. Mistakes in settings are found before
    /// a model is loaded.
    pub(crate) fn new(flags: &Settings) -> Done<Self> {
        let settings = flags.clone().or(File::read(flags.file.config.as_deref())?.settings);
        let mechanism = settings.other.mechanism.unwrap_or(MechanismName::Cape);
        flags.fit(mechanism)?;
        if mechanism == MechanismName::Baseline(BaselineKind::Inferdpt)
            && settings.baseline.vectors.is_none()
        {
            on_pieces(&flags.baseline)?;
        }
        let keep = settings::words(&settings.cape.keep)?;
        if mechanism == MechanismName::Cape {
            let settings = words_settings(&settings.cape, keep)?;
            return Ok(Self::Cape(Box::new(Cape::new(Lexicon::embedded(), settings)?)));
        }
        on_tokens(mechanism, &settings, keep).map(Self::Tokens)
    }
}

/// InferDPT without word vectors draws from the pieces of the device model, where these have no meaning.
fn on_pieces(flags: &VectorSettings) -> Done {
    let given = [("--corpus", flags.corpus.is_some()), ("--words", flags.words.is_some())];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::usage(
            format!("{flag} has no meaning for inferdpt on the pieces of the device model"),
            "it goes with --vectors",
        )),
        None => Ok(()),
    }
}

/// A mechanism on tokens.
fn on_tokens(
    mechanism: MechanismName,
    settings: &Settings,
    listed: Vec<String>,
) -> Done<Box<OnTokens>> {
    let epsilon = Epsilon::new(settings.cape.epsilon.unwrap_or(OnTokens::EPSILON))?;
    let paper = paper_settings(&settings.paper, epsilon)?;
    let other = &settings.other;
    let options = Options {
        arithmetic: other.arithmetic.unwrap_or_default(),
        kernel: load::kernel(other.kernel.as_deref())?,
    };
    let model = || load::device(other.model.as_deref().unwrap_or(cape_models::DEFAULT), options);
    let tokens = if let MechanismName::Baseline(kind) = mechanism {
        OnTokens::baseline(prepared(kind, &settings.baseline, model)?, epsilon)?
    } else {
        OnTokens::paper(model()?, paper)?
    };
    let kept = tokens
        .keeping(listed)
        .map_err(|error| Failure::from(error).during("the list of words to keep cannot be used"))?;
    Ok(Box::new(kept))
}

/// The settings of Cape.
fn words_settings(given: &CapeSettings, keep: Vec<String>) -> Done<words::Settings> {
    let epsilon = |given: Option<f64>| given.map(Epsilon::new).transpose();
    let default = words::Settings::default();
    Ok(words::Settings {
        profile: given.profile.unwrap_or_default(),
        epsilon: epsilon(given.epsilon)?.unwrap_or(default.epsilon),
        shape: Shape {
            k: given.k.unwrap_or(default.shape.k),
            alpha: given.alpha.or(default.shape.alpha),
        },
        epsilon_ordinary: epsilon(given.epsilon_ordinary)?,
        protect: settings::words(&given.protect)?,
        ordinary: settings::words(&given.ordinary)?,
        keep,
        any_script: given.any_script,
        cut: given.format.map(units::Options::from).unwrap_or_default(),
    })
}

/// The settings of the paper's mechanism.
fn paper_settings(given: &PaperSettings, epsilon: Epsilon) -> Done<cape_paper::Settings> {
    let default = cape_paper::Settings::new(epsilon);
    Ok(cape_paper::Settings {
        epsilon,
        bucket_count: given.bucket_count.unwrap_or(default.bucket_count),
        context: given.context.unwrap_or(default.context),
        utility: Utility::new(
            given.lambda_l.unwrap_or(default.utility.context_weight()),
            given.lambda_d.unwrap_or(default.utility.distance_weight()),
        )?,
    })
}

/// A baseline with its words: from a file, or from the device model.
fn prepared(
    kind: BaselineKind,
    given: &VectorSettings,
    model: impl FnOnce() -> Done<Device>,
) -> Done<PreparedBaseline> {
    let default = BaselineSettings::new(kind);
    let settings = BaselineSettings {
        unknown: given.unknown,
        split: given.words.unwrap_or_default(),
        corpus: given.corpus.clone(),
        list_size: given.list_size.unwrap_or(default.list_size),
        sensitive_share: given.sensitive_share.unwrap_or(default.sensitive_share),
        frequent_drawn: given.frequent_drawn.unwrap_or(default.frequent_drawn),
        ..default
    };
    let lists = output::bar(0, "words on lists");
    let mut progress = |done, total| {
        lists.set_length(total);
        lists.set_position(done);
    };
    let prepared = match &given.vectors {
        Some(path) => {
            let vectors = Box::new(load::word_vectors(path)?);
            PreparedBaseline::new(&settings, WordSource::Vectors(vectors, path), &mut progress)
        }
        None => PreparedBaseline::new(&settings, WordSource::Device(&model()?), &mut progress),
    };
    lists.finish_and_clear();
    let prepared = prepared?;
    load::warn_of_lists(&prepared);
    Ok(prepared)
}
