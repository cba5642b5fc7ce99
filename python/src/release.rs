//! A released text, its words, and what is promised of it.

use std::fmt::Write;

use cape::mechanism::cape::Place;
use cape::{ReleasedWord, Restorer, Sanitizer, Wanted};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::engine::Cape;
use crate::errors;
use crate::plan::Chars;
use crate::record::record;

record! {
    /// What is promised of any release with some settings.
    Guarantee {
        /// The ε that was asked for.
        epsilon_nominal: f64,
        /// The loss of one draw between any two protected words.
        epsilon_protected: f64,
        /// The loss of one draw between any two words.
        epsilon_any: f64,
        /// The largest probability with which a protected word stays itself.
        most_kept: f64,
        /// The same for numbers, dates and times; none where a release can have no such value.
        most_kept_value: Option<f64>,
        /// The largest probability with which a guess between two protected words is right.
        most_guessed: f64,
        /// What kind of indistinguishability ε speaks of: "LDP" for Cape.
        notion: String,
        /// Why it is believed: "proof", "bound" or "none".
        evidence: String,
    }
}

impl Guarantee {
    fn shown(&self) -> String {
        format!(
            "Guarantee(epsilon_protected={}, epsilon_any={}, notion='{}', evidence='{}')",
            self.epsilon_protected, self.epsilon_any, self.notion, self.evidence
        )
    }
}

impl From<cape::Guarantee> for Guarantee {
    fn from(guarantee: cape::Guarantee) -> Self {
        Self {
            epsilon_nominal: guarantee.nominal.get(),
            epsilon_protected: guarantee.protected,
            epsilon_any: guarantee.bound,
            most_kept: guarantee.most_kept,
            most_kept_value: guarantee.most_kept_value,
            most_guessed: guarantee.most_guessed,
            notion: guarantee.notion.to_string(),
            evidence: guarantee.evidence.to_string(),
        }
    }
}

record! {
    /// What is promised of one release.
    Privacy {
        /// The name of the mechanism.
        mechanism: String,
        /// The guarantee of each draw; its notion is "none" if the draws came from a seed.
        guarantee: Guarantee,
        /// The loss for two texts that differ in everything that is drawn.
        epsilon_prompt: f64,
        /// How many words are not kept.
        words: usize,
        /// How many draws were made: one for all words that are the same.
        draws: usize,
        /// How many words are protected: as private as the words.
        protected_words: usize,
        /// How many words the guarantee does not cover: none with Cape.
        uncovered_words: usize,
    }
}

impl Privacy {
    fn shown(&self) -> String {
        format!(
            "Privacy(mechanism='{}', epsilon_protected={}, epsilon_any={}, draws={}, epsilon_prompt={:.2}, \
             notion='{}')",
            self.mechanism,
            self.guarantee.epsilon_protected,
            self.guarantee.epsilon_any,
            self.draws,
            self.epsilon_prompt,
            self.guarantee.notion,
        )
    }

    fn of(sanitizer: &Sanitizer, privacy: &cape::Privacy) -> Self {
        Self {
            mechanism: sanitizer.about().mechanism.into(),
            guarantee: privacy.holds().into(),
            epsilon_prompt: privacy.epsilon_prompt(),
            words: privacy.words,
            draws: privacy.draws,
            protected_words: privacy.protected,
            uncovered_words: privacy.uncovered,
        }
    }
}

record! {
    /// One word of a text, and what stands in its place.
    Word {
        /// Where it begins in the original.
        start: usize,
        /// Where it ends.
        end: usize,
        /// The word itself: private.
        original: String,
        /// The text in its place.
        released: String,
        /// "ordinary", "protected" or "kept".
        level: String,
        /// "word", "number", "date" and so on.
        kind: String,
        /// Why it has its level.
        why: String,
    }
}

impl Word {
    fn shown(&self) -> String {
        format!("Word(released={:?}, kind='{}')", self.released, self.kind)
    }
}

/// A released text. `text`, which is also `str(release)`, may be sent; all else is for you alone.
#[pyclass(frozen, module = "cape_dp")]
pub(crate) struct Release {
    /// The mechanism that made it.
    by: Py<PyAny>,
    original: String,
    text: String,
    words: Words,
    privacy: Privacy,
}

/// The words of a release. Most are never looked at, so Python's are made when they are.
enum Words {
    Drawn(Vec<ReleasedWord>),
    Given(Vec<Word>),
}

#[pymethods]
impl Release {
    #[new]
    fn new(
        by: Py<PyAny>,
        original: String,
        text: String,
        words: Vec<Word>,
        privacy: Privacy,
    ) -> Self {
        Self { by, original, text, words: Words::Given(words), privacy }
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Self { by, original, text, privacy, .. } = self;
        (by.clone_ref(py), original, text, self.words(), privacy.clone()).into_pyobject(py)
    }

    /// The words, in order.
    #[getter]
    fn words(&self) -> Vec<Word> {
        match &self.words {
            Words::Given(words) => words.clone(),
            Words::Drawn(words) => {
                let mut chars = Chars::new(&self.original);
                let word = |word: &ReleasedWord| Word {
                    start: chars.at(word.start),
                    end: chars.at(word.end),
                    original: self.original[word.start..word.end].to_owned(),
                    released: word.released.clone(),
                    level: word.level.as_str().to_owned(),
                    kind: word.kind.as_str().to_owned(),
                    why: word.why.as_str().to_owned(),
                };
                words.iter().map(word).collect()
            }
        }
    }

    /// The text that may be sent.
    #[getter]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The original text: private.
    #[getter]
    pub(crate) fn original(&self) -> &str {
        &self.original
    }

    /// What is promised of it.
    #[getter]
    fn privacy(&self) -> Privacy {
        self.privacy.clone()
    }

    /// An answer to the release with your own words in the place of those that were sent.
    #[pyo3(signature = (answer, *, wanted=None))]
    fn restore(
        &self,
        py: Python<'_>,
        answer: &str,
        wanted: Option<Vec<String>>,
    ) -> PyResult<String> {
        let cape = self.cape(py)?;
        let said = [Said::Sent(&self.original, &self.text)];
        restored(py, cape.get().cape(), answer, &said, wanted)
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("Release(text={:?}, draws={})", self.text, self.privacy.draws)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<bool> {
        let other = other.get();
        let same = (&self.original, &self.text, &self.privacy)
            == (&other.original, &other.text, &other.privacy);
        Ok(same && self.words() == other.words() && self.by.bind(py).eq(&other.by)?)
    }

    /// The changes, for a notebook: the original words are in it.
    fn _repr_html_(&self) -> String {
        html(&self.original, &self.words(), &self.privacy)
    }
}

impl Release {
    /// Cape, if that made it.
    pub(crate) fn cape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Cape>> {
        let by = self.by.bind(py).clone();
        by.cast_into::<Cape>().map_err(|_| errors::setting("this takes releases of Cape alone"))
    }

    /// The release as the library has it.
    pub(crate) fn plain(&self, cape: &cape::Cape) -> cape::Result<cape::Release> {
        let words = match &self.words {
            Words::Drawn(words) => words.clone(),
            Words::Given(words) => {
                let plan = cape.plan(&self.original)?;
                if plan.places.len() != words.len() {
                    return Err(cape::Error::Nothing);
                }
                let word = |(place, word): (&Place, &Word)| ReleasedWord {
                    start: place.unit.start,
                    end: place.unit.end,
                    released: word.released.clone(),
                    level: place.level,
                    kind: place.unit.kind,
                    why: place.why,
                };
                plan.places.iter().zip(words).map(word).collect()
            }
        };
        let Privacy { words: count, draws, protected_words, uncovered_words, .. } = self.privacy;
        let privacy = cape::Privacy {
            guarantee: cape.guarantee(),
            seeded: self.privacy.guarantee.notion == "none",
            words: count,
            draws,
            protected: protected_words,
            uncovered: uncovered_words,
        };
        Ok(cape::Release { text: self.text.clone(), words, privacy })
    }

    pub(crate) fn of(
        by: Py<PyAny>,
        sanitizer: &Sanitizer,
        original: String,
        release: cape::Release,
    ) -> Self {
        let privacy = Privacy::of(sanitizer, &release.privacy);
        Self { by, original, text: release.text, words: Words::Drawn(release.words), privacy }
    }
}

/// Something that was said in a conversation.
pub(crate) enum Said<'a> {
    /// A text of the user, and what was sent for it.
    Sent(&'a str, &'a str),
    /// An answer of the service.
    Answered(&'a str),
}

/// An answer with the user's own words, after all that was said before it.
pub(crate) fn restored(
    py: Python<'_>,
    cape: &cape::Cape,
    answer: &str,
    said: &[Said<'_>],
    wanted: Option<Vec<String>>,
) -> PyResult<String> {
    let wanted = match wanted {
        None => Wanted::DEFAULT.to_vec(),
        Some(names) => names.iter().map(|name| named(name)).collect::<PyResult<_>>()?,
    };
    Ok(py.detach(|| {
        let mut restorer = Restorer::default();
        for said in said {
            match said {
                Said::Sent(text, sent) => restorer.learn(cape, text, sent, &wanted),
                Said::Answered(answer) => restorer.answered(answer),
            }
        }
        restorer.restore(answer).0
    }))
}

/// What is put back, by its name.
pub(crate) fn named(name: &str) -> PyResult<Wanted> {
    Wanted::ALL.into_iter().find(|wanted| wanted.as_str() == name).ok_or_else(|| {
        let all = Wanted::ALL.map(Wanted::as_str).join(", ");
        errors::setting(format!("unknown name among wanted, expected any of {all}"))
    })
}

/// The original with each change marked.
fn html(original: &str, words: &[Word], privacy: &Privacy) -> String {
    let chars: Vec<char> = original.chars().collect();
    let between = |from: usize, to: usize| escaped(&chars[from..to].iter().collect::<String>());
    let (mut page, mut at) = (String::from("<div style=\"white-space:pre-wrap\">"), 0);
    for word in words {
        page += &between(at, word.start);
        at = word.end;
        let (own, released) = (escaped(&word.original), escaped(&word.released));
        if own == released {
            page += &released;
        } else {
            let _ = write!(
                page,
                "<del style=\"color:#b31d28\">{own}</del><ins style=\"color:#176f2c\">{released}</ins>"
            );
        }
    }
    page += &between(at, chars.len());
    let Privacy {
        draws, guarantee: Guarantee { epsilon_protected, epsilon_any, notion, .. }, ..
    } = privacy;
    let _ = write!(
        page,
        "</div><small>ε = {epsilon_protected} between protected words, {epsilon_any} between any two words ({}); \
         {draws} draws</small>",
        escaped(notion)
    );
    page
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            c => safe.push(c),
        }
    }
    safe
}
