//! `cape_dp.attack`: what adversaries make of a release.

use std::sync::Arc;

use cape::attack;
use cape::lexicon::{Listed, fold};
use cape::{Kind, Level, Lexicon};
use cape_eval::Attacker;
use pyo3::prelude::*;

use crate::errors;
use crate::record::record;
use crate::release::Release;
use crate::threads::compute;

record! {
    /// A guess of a protected word.
    Guess {
        /// The number of the word in the release.
        word: usize,
        /// The guess; None where nothing is expected.
        guess: Option<String>,
        /// Whether it is the word that was written.
        right: bool,
        /// Whether every word was looked at that could be more probable.
        exact: bool,
    }
}

impl Guess {
    fn shown(&self) -> String {
        format!("Guess(word={}, right={}, exact={})", self.word, self.right, self.exact)
    }
}

/// The Bayes attack: an adversary who knows Cape to the last bit, and expects at each place what a masked language
/// model expects there.
#[pyclass(frozen, module = "cape_dp.attack")]
pub(crate) struct Bayes {
    attacker: Attacker,
}

#[pymethods]
impl Bayes {
    /// With this masked model: the embedded one, a folder, or a model in the hub's cache.
    #[new]
    #[pyo3(signature = (model="default"))]
    fn new(py: Python<'_>, model: &str) -> PyResult<Self> {
        let device = compute(py, || cape_models::load(model))?;
        let device = device.map_err(|error| errors::models(&error))?;
        Ok(Self { attacker: Attacker::new(device) })
    }

    /// Guesses each protected word of a release. Numbers and addresses are left out.
    fn guesses(&self, py: Python<'_>, release: &Bound<'_, Release>) -> PyResult<Vec<Guess>> {
        let release = release.get();
        let cape = release.cape(py)?;
        let cape = cape.get().cape();
        let guesses = compute(py, || {
            let plain = release.plain(cape)?;
            self.attacker.guesses(cape, release.original(), &plain)
        })?;
        let guesses = guesses.map_err(|error| errors::eval(&error))?.into_iter();
        let guess = |guess: cape_eval::WordGuess| Guess {
            word: guess.word,
            guess: guess.guess,
            right: guess.right,
            exact: guess.exact,
        };
        Ok(guesses.map(guess).collect())
    }

    fn __repr__(&self) -> &'static str {
        "Bayes()"
    }
}

record! {
    /// How near the true word is to the one that was released.
    Nearness {
        /// The number of the word in the release.
        word: usize,
        /// How many listed words are nearer to the released word than the true one: an attack that tries the k nearest
        /// finds it if this is less than k.
        rank: usize,
    }
}

impl Nearness {
    fn shown(&self) -> String {
        format!("Nearness(word={}, rank={})", self.word, self.rank)
    }
}

/// The attack by nearest neighbours on each protected word of a release, for every k at once.
#[pyfunction]
pub(crate) fn nearest(py: Python<'_>, release: &Bound<'_, Release>) -> PyResult<Vec<Nearness>> {
    let release = release.get();
    let cape = release.cape(py)?;
    let lexicon = cape.get().cape().lexicon();
    let plain = release.plain(cape.get().cape()).map_err(|error| errors::cape(&error))?;
    compute(py, || {
        let attack = attack::Nearest::new(Arc::clone(lexicon));
        let words = plain.words.iter().enumerate();
        let wanted =
            words.filter(|(_, word)| word.level == Level::Protected && word.kind == Kind::Word);
        let near = wanted.filter_map(|(i, word)| {
            let released = listed(lexicon, &word.released)?;
            let original = &release.original()[word.start..word.end];
            Some(Nearness { word: i, rank: attack.rank(released, original) })
        });
        near.collect()
    })
}

/// The listed word that was released, which its place may have given a capital.
fn listed(lexicon: &Lexicon, released: &str) -> Option<Listed> {
    let forms = || lexicon.case_forms(&fold(released)).find_map(|(form, _)| lexicon.listed(form));
    lexicon.listed(released).or_else(forms)
}
