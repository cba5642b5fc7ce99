//! The mechanisms that are evaluated: Cape on words, the paper's, and the baselines.

use std::path::Path;

use cape::mechanism::cape::{SHAPE, Settings};
use cape::mechanism::cape_paper;
use cape::tokens::Utility;
use cape::{Cape, Epsilon, Lexicon, Profile, Shape};
use cape_eval::Method;
use cape_eval::cost::{self, Span};
use cape_eval::data::Data;
use cape_eval::report::Efficiency;
use cape_models::{BaselineKind, BaselineSettings, PreparedBaseline};
use cape_models::{Device, Options};

use crate::failure::Done;
use crate::load;

/// How many tokens the Bayes attack looks at for a position.
pub(super) const BAYES_MOST: usize = 2000;

/// The same for mechanisms on words, where each costs a sum over all words: the most promising.
const BAYES_WORDS: usize = 100;

/// The paper's N_b and λ_L.
pub(super) const BUCKETS: usize = 50;
pub(super) const LAMBDA_L: f64 = 0.5;

/// How many prompts are released to see how long they take.
const TIMED: usize = 20;

/// A device model.
pub(super) struct Model {
    /// A name that changes with it.
    pub(super) id: String,
    pub(super) device: Device,
    /// Seconds and megabytes that loading took.
    took: (f64, f64),
}

impl Model {
    pub(super) fn load(name: &str) -> Done<Self> {
        let span = Span::begin();
        let device = load::device(name, Options::default())?;
        let took = (span.seconds(), span.rise_mb());
        let id = format!("{name} {}", cape_models::short(&device.checksum()));
        Ok(Self { id, device, took })
    }
}

/// Mechanisms, made one after another, and what each costs on the first prompts of some data.
pub(super) struct Made<'a> {
    pub(super) subjects: Vec<Method>,
    pub(super) costs: Vec<Efficiency>,
    data: &'a Data,
    epsilon: f64,
}

impl<'a> Made<'a> {
    pub(super) fn new(data: &'a Data, epsilon: f64) -> Self {
        Self { subjects: Vec::new(), costs: Vec::new(), data, epsilon }
    }

    /// Makes one more, which uses this model if any.
    pub(super) fn add(
        &mut self,
        model: Option<&Model>,
        make: impl FnOnce() -> Done<Method>,
    ) -> Done {
        let span = Span::begin();
        let subject = make()?;
        let cost = cost::efficiency(&subject, self.data, TIMED, self.epsilon, &span);
        let (load_s, load_mb) = model.map_or((0.0, 0.0), |model| model.took);
        // an ε that was refused is said elsewhere
        self.costs.extend(cost.ok().map(|cost| Efficiency {
            set_up_s: cost.set_up_s + load_s,
            memory_mb: cost.memory_mb + load_mb,
            ..cost
        }));
        self.subjects.push(subject);
        Ok(())
    }
}

/// Where the other mechanisms have their words from, and how frequent those are.
#[derive(Clone, Copy)]
pub(super) struct WordFiles<'a> {
    pub(super) vectors: Option<&'a Path>,
    pub(super) corpus: Option<&'a Path>,
}

impl WordFiles<'_> {
    /// The model that the words are of, where they are not of a file.
    pub(super) fn model<'a>(&self, model: &'a Model) -> Option<&'a Model> {
        self.vectors.is_none().then_some(model)
    }
}

/// Cape on words with this profile and a law of this shape, which its name tells where it is not the default.
pub(super) fn words(profile: Profile, shape: Shape) -> Done<Method> {
    let name = match profile {
        Profile::Everything => "cape-everything",
        Profile::Names => "cape-names",
        Profile::Personal => "cape",
    };
    named(name, profile, shape)
}

/// Profile personal, with the instructions of prompts sent as they are.
pub(super) fn instructed(shape: Shape) -> Done<Method> {
    Ok(named("cape-instructed", Profile::Personal, shape)?.instructed())
}

fn named(name: &str, profile: Profile, shape: Shape) -> Done<Method> {
    let name = match shape {
        SHAPE => name.to_owned(),
        Shape { k, alpha: None } => format!("{name} k={k}"),
        Shape { k, alpha: Some(alpha) } => format!("{name} k={k} α={alpha}"),
    };
    let settings = Settings { profile, shape, ..Default::default() };
    // what cannot be is said before anything is run
    Cape::new(Lexicon::embedded(), settings.clone())?;
    Ok(Method::cape(&name, Lexicon::embedded(), settings))
}

/// The paper's mechanism with so many buckets and this λ_L; the Bayes attack looks at so many tokens.
pub(super) fn papers(
    name: &str,
    model: &Model,
    count: usize,
    lambda_l: f64,
    most: usize,
) -> Done<Method> {
    let utility = Utility::new(lambda_l, Utility::PAPER.distance_weight())?;
    let settings = cape_paper::Settings { bucket_count: count, utility, ..form()? };
    Ok(Method::cape_paper(name, &model.id, &model.device, settings, Some(most)))
}

/// A baseline on word vectors or, without them, on the embeddings of a model.
pub(super) fn baseline(kind: BaselineKind, model: &Model, words: WordFiles<'_>) -> Done<Method> {
    let corpus = words.corpus.map(Path::to_owned);
    let own = BaselineSettings { corpus, ..BaselineSettings::new(kind) };
    let (id, source) = if let Some(path) = words.vectors {
        let vectors = Box::new(load::word_vectors(path)?);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let id = format!("{name} {}", cape_models::short(&vectors.checksum));
        (id, cape_models::WordSource::Vectors(vectors, path))
    } else {
        (model.id.clone(), cape_models::WordSource::Device(&model.device))
    };
    let prepared = PreparedBaseline::new(&own, source, &mut |_, _| {})?;
    load::warn_of_lists(&prepared);
    Ok(Method::baseline(&id, prepared, BAYES_WORDS))
}

/// The paper's settings; the ε is chosen later.
pub(super) fn form() -> Done<cape_paper::Settings> {
    Ok(cape_paper::Settings::new(Epsilon::new(1.0)?))
}
