//! What `Cape` can be set to, and asked.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use cape::{Epsilon, Lexicon, Profile, Sanitizer, Settings, Shape, units};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::engine::{Cape, one_of};
use crate::errors;
use crate::ledger::Account;
use crate::perturb::{self, Noise};
use crate::plan::{Explanation, Plan};
use crate::release::{Guarantee, Release, Said, restored};
use crate::secret::Secret;

#[pymethods]
impl Cape {
    #[new]
    #[pyo3(signature = (
        epsilon=8.0, profile="personal", *, k=100, alpha=None, epsilon_ordinary=None, protect=Vec::new(),
        ordinary=Vec::new(), keep=Vec::new(), format="prose", any_script=false,
    ))]
    #[allow(clippy::too_many_arguments, reason = "one per setting")]
    fn new(
        py: Python<'_>,
        epsilon: f64,
        profile: &str,
        k: usize,
        alpha: Option<f64>,
        epsilon_ordinary: Option<f64>,
        protect: Vec<String>,
        ordinary: Vec<String>,
        keep: Vec<String>,
        format: &str,
        any_script: bool,
    ) -> PyResult<Self> {
        let budget = |given: f64| Epsilon::new(given).map_err(|error| errors::cape(&error));
        let settings = Settings {
            profile: one_of("profile", profile, Profile::ALL, Profile::as_str)?,
            epsilon: budget(epsilon)?,
            shape: Shape { k, alpha },
            epsilon_ordinary: epsilon_ordinary.map(budget).transpose()?,
            protect,
            ordinary,
            keep,
            cut: one_of("format", format, FORMATS, units::Options::as_str)?,
            any_script,
        };
        let sanitizer = py.detach(|| shared(settings)).map_err(|error| errors::cape(&error))?;
        Ok(Self { sanitizer })
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
        let settings = PyDict::new(py);
        let given = self.given();
        settings.set_item("epsilon", given.epsilon.get())?;
        settings.set_item("profile", given.profile.as_str())?;
        settings.set_item("k", given.shape.k)?;
        settings.set_item("alpha", given.shape.alpha)?;
        settings.set_item("epsilon_ordinary", given.epsilon_ordinary.map(Epsilon::get))?;
        settings.set_item("protect", &given.protect)?;
        settings.set_item("ordinary", &given.ordinary)?;
        settings.set_item("keep", &given.keep)?;
        settings.set_item("format", given.cut.as_str())?;
        settings.set_item("any_script", given.any_script)?;
        Ok(settings)
    }

    /// What is promised of any release.
    #[getter]
    fn guarantee(&self) -> Guarantee {
        self.sanitizer.guarantee().into()
    }

    /// A checksum of all that a release depends on beside the text and the secret.
    #[getter]
    fn fingerprint(&self) -> String {
        let script = if self.given().any_script { " any-script" } else { "" };
        perturb::fingerprint(&format!("{}{script}", self.sanitizer.about().fingerprint))
    }

    /// Releases one text, several, or a column of them.
    ///
    /// All texts of a call share one map, in which a word becomes the same: a new one, that of a secret, or that of an
    /// account, which pays for new words first.
    #[pyo3(signature = (texts, *, secret=None, account=None))]
    fn perturb<'py>(
        slf: &Bound<'py, Self>,
        texts: &Bound<'py, PyAny>,
        secret: Option<&Bound<'py, Secret>>,
        account: Option<&Bound<'py, Account>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let noise = Noise::of(secret, account)?;
        perturb::perturb(slf.as_any(), &slf.get().sanitizer, texts, &noise)
    }

    /// `perturb` in a thread, to be awaited.
    #[pyo3(signature = (texts, *, secret=None, account=None))]
    fn perturb_async<'py>(
        slf: &Bound<'py, Self>,
        texts: &Bound<'py, PyAny>,
        secret: Option<&Bound<'py, Secret>>,
        account: Option<&Bound<'py, Account>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options =
            [("secret", secret.map(Bound::as_any)), ("account", account.map(Bound::as_any))];
        perturb::in_a_thread(slf.as_any(), texts, &options)
    }

    /// An answer with your own words in the place of those that were sent, after a conversation: releases, and as texts
    /// the service's answers to them.
    #[pyo3(signature = (answer, said, *, wanted=None))]
    fn restore(
        &self,
        py: Python<'_>,
        answer: &str,
        said: Vec<Bound<'_, PyAny>>,
        wanted: Option<Vec<String>>,
    ) -> PyResult<String> {
        let mut all = Vec::with_capacity(said.len());
        for said in &said {
            all.push(match said.cast::<Release>() {
                Ok(release) => Said::Sent(release.get().original(), release.get().text()),
                Err(_) => Said::Answered(said.extract()?),
            });
        }
        restored(py, self.cape(), answer, &all, wanted)
    }

    /// How many different draws some texts need together, whatever becomes of them: what a job reserves.
    fn count_draws(&self, py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<usize> {
        perturb::count_draws(py, self.cape(), texts)
    }

    /// A text's words before any draw: nothing is spent.
    fn plan(&self, py: Python<'_>, text: &str) -> PyResult<Plan> {
        py.detach(|| Plan::of(self.cape(), text)).map_err(|error| errors::cape(&error))
    }

    /// The exact distribution of one word of a text, by its number in the plan; at most so many candidates.
    #[pyo3(signature = (text, word, *, most=Some(20)))]
    fn explain(
        &self,
        py: Python<'_>,
        text: &str,
        word: usize,
        most: Option<usize>,
    ) -> PyResult<Explanation> {
        py.detach(|| Explanation::of(self.cape(), text, word, most))
    }

    fn __eq__(&self, other: &Bound<'_, Self>) -> bool {
        self.given() == other.get().given()
    }

    fn __hash__(&self) -> u64 {
        perturb::hash(&self.fingerprint())
    }

    fn __repr__(&self) -> String {
        let given = self.given();
        // lists of words may be private: they are counted
        let lists =
            [("protect", &given.protect), ("ordinary", &given.ordinary), ("keep", &given.keep)];
        let lists = lists.iter().filter(|(_, words)| !words.is_empty());
        let lists = lists.fold(String::new(), |all, (name, words)| {
            format!("{all}, {name}=<{} words>", words.len())
        });
        let alpha = given.shape.alpha.map_or(String::new(), |alpha| format!(", alpha={alpha}"));
        format!(
            "Cape(epsilon={}, profile='{}', k={}{alpha}{lists})",
            given.epsilon.get(),
            given.profile.as_str(),
            given.shape.k,
        )
    }
}

const FORMATS: [units::Options; 3] = [
    units::Options { code: false, json: false },
    units::Options { code: true, json: false },
    units::Options { code: false, json: true },
];

/// Those that are in use: one that is unpickled for each row must not be made for each row.
static SHARED: Mutex<Vec<(Settings, Weak<Sanitizer>)>> = Mutex::new(Vec::new());

/// The sanitizer with these settings.
fn shared(settings: Settings) -> cape::Result<Arc<Sanitizer>> {
    let known = || SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known().iter().find(|(own, _)| *own == settings).and_then(|(_, it)| it.upgrade());
    if let Some(sanitizer) = found {
        return Ok(sanitizer);
    }
    let cape = cape::Cape::new(Lexicon::embedded(), settings.clone())?;
    let sanitizer = Arc::new(Sanitizer::words(cape));
    let mut known = known();
    known.retain(|(_, it)| it.strong_count() > 0);
    known.push((settings, Arc::downgrade(&sanitizer)));
    Ok(sanitizer)
}
