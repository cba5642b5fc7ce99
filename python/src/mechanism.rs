//! `Mechanism`: the paper's own, and those that Cape is compared with.

use std::path::PathBuf;
use std::sync::Arc;

use cape::mechanism::Unknown;
use cape::mechanism::cape_paper;
use cape::tokens::{Context, Split, Utility};
use cape::{Epsilon, JobMap, Sanitizer};
use cape_models::{
    BaselineKind, BaselineSettings, OnTokens, PreparedBaseline, Vectors, WordSource,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::engine::one_of;
use crate::errors;
use crate::perturb::{self, Noise};
use crate::release::Guarantee;
use crate::threads::compute;

/// A mechanism on tokens, to compare Cape with: it promises less, and each release says what.
#[pyclass(frozen, module = "cape_dp")]
pub(crate) struct Mechanism {
    sanitizer: Arc<Sanitizer>,
    given: Given,
}

/// The settings; None stands for the mechanism's own.
#[derive(Clone, PartialEq)]
struct Given {
    name: String,
    epsilon: f64,
    model: String,
    keep: Vec<String>,
    context: Option<String>,
    lambda_l: Option<f64>,
    lambda_d: Option<f64>,
    bucket_count: Option<usize>,
    vectors: Option<PathBuf>,
    corpus: Option<PathBuf>,
    unknown: Option<String>,
    words: Option<String>,
    list_size: Option<usize>,
    sensitive_share: Option<f64>,
    frequent_drawn: Option<f64>,
}

#[pymethods]
impl Mechanism {
    #[new]
    #[pyo3(signature = (
        name, epsilon=6.0, *, model="default".to_owned(), keep=Vec::new(), context=None, lambda_l=None, lambda_d=None,
        bucket_count=None, vectors=None, corpus=None, unknown=None, words=None, list_size=None,
        sensitive_share=None, frequent_drawn=None,
    ))]
    #[allow(clippy::too_many_arguments, reason = "one per setting")]
    fn new(
        py: Python<'_>,
        name: String,
        epsilon: f64,
        model: String,
        keep: Vec<String>,
        context: Option<String>,
        lambda_l: Option<f64>,
        lambda_d: Option<f64>,
        bucket_count: Option<usize>,
        vectors: Option<PathBuf>,
        corpus: Option<PathBuf>,
        unknown: Option<String>,
        words: Option<String>,
        list_size: Option<usize>,
        sensitive_share: Option<f64>,
        frequent_drawn: Option<f64>,
    ) -> PyResult<Self> {
        let given = Given {
            name,
            epsilon,
            model,
            keep,
            context,
            lambda_l,
            lambda_d,
            bucket_count,
            vectors,
            corpus,
            unknown,
            words,
            list_size,
            sensitive_share,
            frequent_drawn,
        };
        let sanitizer = compute(py, || given.sanitizer())??;
        Ok(Self { sanitizer: Arc::new(sanitizer), given })
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        Ok((PyTuple::empty(py), self.settings(py)?))
    }

    /// All settings, by the names of the constructor.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (given, settings) = (&self.given, PyDict::new(py));
        settings.set_item("name", &given.name)?;
        settings.set_item("epsilon", given.epsilon)?;
        settings.set_item("model", &given.model)?;
        settings.set_item("keep", &given.keep)?;
        settings.set_item("context", &given.context)?;
        settings.set_item("lambda_l", given.lambda_l)?;
        settings.set_item("lambda_d", given.lambda_d)?;
        settings.set_item("bucket_count", given.bucket_count)?;
        settings.set_item("vectors", &given.vectors)?;
        settings.set_item("corpus", &given.corpus)?;
        settings.set_item("unknown", &given.unknown)?;
        settings.set_item("words", &given.words)?;
        settings.set_item("list_size", given.list_size)?;
        settings.set_item("sensitive_share", given.sensitive_share)?;
        settings.set_item("frequent_drawn", given.frequent_drawn)?;
        Ok(settings)
    }

    /// What is promised of any release.
    #[getter]
    fn guarantee(&self) -> Guarantee {
        self.sanitizer.guarantee().into()
    }

    /// A checksum of all that a release depends on beside the text.
    #[getter]
    fn fingerprint(&self) -> String {
        perturb::fingerprint(&self.sanitizer.about().fingerprint)
    }

    /// Releases one text, several, or a column of them: each token is drawn for anew. A seed is for experiments.
    #[pyo3(signature = (texts, *, seed=None))]
    fn perturb<'py>(
        slf: &Bound<'py, Self>,
        texts: &Bound<'py, PyAny>,
        seed: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let noise = match seed {
            Some(seed) => Noise::Map(Arc::new(JobMap::new(cape::Secret::seeded(seed, 0)))),
            None => Noise::fresh()?,
        };
        perturb::perturb(slf.as_any(), &slf.get().sanitizer, texts, &noise)
    }

    /// `perturb` in a thread, to be awaited.
    #[pyo3(signature = (texts, *, seed=None))]
    fn perturb_async<'py>(
        slf: &Bound<'py, Self>,
        texts: &Bound<'py, PyAny>,
        seed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        perturb::in_a_thread(slf.as_any(), texts, &[("seed", seed)])
    }

    fn __eq__(&self, other: &Bound<'_, Self>) -> bool {
        self.given == other.get().given
    }

    fn __hash__(&self) -> u64 {
        perturb::hash(&self.fingerprint())
    }

    fn __repr__(&self) -> String {
        format!("Mechanism('{}', epsilon={})", self.sanitizer.about().mechanism, self.given.epsilon)
    }
}

impl Given {
    fn sanitizer(&self) -> PyResult<Sanitizer> {
        let epsilon = Epsilon::new(self.epsilon).map_err(|error| errors::cape(&error))?;
        let tokens = match BaselineKind::ALL.into_iter().find(|kind| kind.name() == self.name) {
            Some(kind) => {
                let prepared = self.prepared(kind)?;
                OnTokens::baseline(prepared, epsilon).map_err(|error| errors::models(&error))?
            }
            None if self.name == "cape-paper" => {
                Self::fits("cape-paper", &self.of_baselines())?;
                let device =
                    cape_models::load(&self.model).map_err(|error| errors::models(&error))?;
                let paper = self.paper(epsilon)?;
                OnTokens::paper(device, paper).map_err(|error| errors::cape(&error))?
            }
            None => {
                let all = BaselineKind::ALL.map(BaselineKind::name).join(", ");
                return Err(errors::setting(format!(
                    "unknown mechanism, expected one of cape-paper, {all}; Cape itself is cape_dp.Cape"
                )));
            }
        };
        let kept = tokens.keeping(self.keep.clone()).map_err(|error| errors::cape(&error))?;
        Ok(kept.into_sanitizer())
    }

    /// Fails if a setting was given that has no meaning for a mechanism.
    fn fits(name: &str, others: &[(&str, bool)]) -> PyResult<()> {
        match others.iter().find(|(_, given)| *given) {
            Some((setting, _)) => {
                Err(errors::setting(format!("{setting} has no meaning for {name}")))
            }
            None => Ok(()),
        }
    }

    fn of_baselines(&self) -> [(&'static str, bool); 7] {
        [
            ("vectors", self.vectors.is_some()),
            ("corpus", self.corpus.is_some()),
            ("unknown", self.unknown.is_some()),
            ("words", self.words.is_some()),
            ("list_size", self.list_size.is_some()),
            ("sensitive_share", self.sensitive_share.is_some()),
            ("frequent_drawn", self.frequent_drawn.is_some()),
        ]
    }

    fn of_paper(&self) -> [(&'static str, bool); 4] {
        [
            ("context", self.context.is_some()),
            ("lambda_l", self.lambda_l.is_some()),
            ("lambda_d", self.lambda_d.is_some()),
            ("bucket_count", self.bucket_count.is_some()),
        ]
    }

    fn paper(&self, epsilon: Epsilon) -> PyResult<cape_paper::Settings> {
        let default = cape_paper::Settings::new(epsilon);
        let (l, d) = (default.utility.context_weight(), default.utility.distance_weight());
        let utility = Utility::new(self.lambda_l.unwrap_or(l), self.lambda_d.unwrap_or(d));
        let context = self.context.as_deref();
        let context = context.map(|given| one_of("context", given, Context::ALL, Context::as_str));
        Ok(cape_paper::Settings {
            epsilon,
            bucket_count: self.bucket_count.unwrap_or(default.bucket_count),
            context: context.transpose()?.unwrap_or(default.context),
            utility: utility.map_err(|error| errors::cape(&error))?,
        })
    }

    fn prepared(&self, kind: BaselineKind) -> PyResult<PreparedBaseline> {
        use BaselineKind as B;
        Self::fits(kind.name(), &self.of_paper())?;
        let plus = [
            ("sensitive_share", self.sensitive_share.is_some()),
            ("frequent_drawn", self.frequent_drawn.is_some()),
        ];
        if kind != B::SantextPlus {
            Self::fits(kind.name(), &plus)?;
        }
        if !matches!(kind, B::Custext | B::CustextPlus) {
            Self::fits(kind.name(), &[("list_size", self.list_size.is_some())])?;
        }
        if kind == B::Inferdpt && self.vectors.is_none() {
            let on_pieces = [("corpus", self.corpus.is_some()), ("words", self.words.is_some())];
            Self::fits("inferdpt on the pieces of the device model", &on_pieces)?;
        }
        let default = BaselineSettings::new(kind);
        let unknown = self.unknown.as_deref();
        let unknown = unknown.map(|given| one_of("unknown", given, Unknown::ALL, Unknown::as_str));
        let words = self.words.as_deref();
        let words = words.map(|given| one_of("words", given, Split::ALL, Split::as_str));
        let settings = BaselineSettings {
            unknown: unknown.transpose()?,
            split: words.transpose()?.unwrap_or_default(),
            corpus: self.corpus.clone(),
            list_size: self.list_size.unwrap_or(default.list_size),
            sensitive_share: self.sensitive_share.unwrap_or(default.sensitive_share),
            frequent_drawn: self.frequent_drawn.unwrap_or(default.frequent_drawn),
            ..default
        };
        let progress = &mut |_, _| ();
        let prepared = if let Some(path) = &self.vectors {
            let vectors = Vectors::load(path, &mut |_| ());
            let vectors = Box::new(vectors.map_err(|error| errors::models(&error))?);
            PreparedBaseline::new(&settings, WordSource::Vectors(vectors, path), progress)
        } else {
            let device = cape_models::load(&self.model).map_err(|error| errors::models(&error))?;
            PreparedBaseline::new(&settings, WordSource::Device(&device), progress)
        };
        prepared.map_err(|error| errors::models(&error))
    }
}
