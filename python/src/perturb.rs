//! One text, several, or a column of them: released side by side.

use std::collections::HashSet;
use std::sync::Arc;

use cape::{JobMap, Sanitizer};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3_arrow::input::AnyArray;
use rayon::prelude::*;

use crate::column::{self, Column};
use crate::errors;
use crate::ledger::Account;
use crate::release::Release;
use crate::secret::Secret;
use crate::threads::compute;

/// How many texts go to a model together.
const SIDE_BY_SIDE: usize = 16;

/// How many texts are perturbed before Python is asked whether somebody wants to stop.
const AT_ONCE: usize = 4096;

/// What draws come from.
pub(crate) enum Noise {
    Map(Arc<JobMap>),
    /// An account of a ledger, which pays for all texts of the call together.
    Account(Py<Account>),
}

impl Noise {
    /// What was given, which may be one of the two; or a map for the texts of one call.
    pub(crate) fn of(
        secret: Option<&Bound<'_, Secret>>,
        account: Option<&Bound<'_, Account>>,
    ) -> PyResult<Self> {
        match (secret, account) {
            (None, None) => Self::fresh(),
            (Some(secret), None) => Ok(Self::Map(Arc::clone(&secret.get().map))),
            (None, Some(account)) => Ok(Self::Account(account.clone().unbind())),
            (Some(_), Some(_)) => Err(errors::setting(
                "an account has secrets of its own: give secret or account, not both",
            )),
        }
    }

    /// A map for the texts of one call.
    pub(crate) fn fresh() -> PyResult<Self> {
        let secret = cape::Secret::fresh().map_err(|error| errors::cape(&error))?;
        Ok(Self::Map(Arc::new(JobMap::new(secret))))
    }
}

/// Releases whatever was given: text by text, or as a column.
pub(crate) fn perturb<'py>(
    by: &Bound<'py, PyAny>,
    sanitizer: &Arc<Sanitizer>,
    given: &Bound<'py, PyAny>,
    noise: &Noise,
) -> PyResult<Bound<'py, PyAny>> {
    let py = by.py();
    let owned =
        |original: String, release| Release::of(by.clone().unbind(), sanitizer, original, release);
    if let Ok(text) = given.cast::<PyString>() {
        let text = text.to_str()?.to_owned();
        let mut released =
            release_all(py, sanitizer, &[&text], noise).map_err(|(_, error)| error)?;
        let release = released.pop().ok_or_else(|| errors::cape(&cape::Error::Nothing))?;
        return Ok(Bound::new(py, owned(text, release))?.into_any());
    }
    if is_column(given)? {
        let (chunks, field) = given.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
        let rows = |texts: &[&str]| release_all(py, sanitizer, texts, noise);
        return Ok(Bound::new(py, Column::of(py, chunks, &field, rows)?)?.into_any());
    }
    let texts = texts(given)?;
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let released = release_all(py, sanitizer, &borrowed, noise)
        .map_err(|(row, error)| errors::in_row(py, row, &error))?;
    let releases = texts.into_iter().zip(released);
    let releases = releases.map(|(text, release)| Bound::new(py, owned(text, release)));
    Ok(PyList::new(py, releases.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

/// The texts of anything that gives one after the other.
fn texts(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let refused = |_| errors::not_texts();
    let each = given.try_iter().map_err(refused)?;
    each.map(|text| Ok(text?.cast::<PyString>().map_err(|_| errors::not_texts())?.to_string()))
        .collect()
}

/// The releases of some texts on all cores, or the number of one that was refused.
fn release_all(
    py: Python<'_>,
    sanitizer: &Sanitizer,
    texts: &[&str],
    noise: &Noise,
) -> Result<Vec<cape::Release>, (usize, PyErr)> {
    let map = match noise {
        Noise::Map(map) => map,
        Noise::Account(account) => return account.get().release(py, sanitizer, texts),
    };
    let mut all = Vec::with_capacity(texts.len());
    for some in texts.chunks(AT_ONCE) {
        let done = all.len();
        let released = if let [text] = some {
            // alone it needs no other thread
            Ok(py.detach(|| one(sanitizer, text, map).map(|one| vec![one]).map_err(|e| (0, e))))
        } else {
            compute(py, || side_by_side(sanitizer, some, map))
        };
        let released = released.map_err(|error| (done, error))?;
        all.extend(released.map_err(|(row, error)| (done + row, errors::cape(&error)))?);
        py.check_signals().map_err(|error| (done, error))?;
    }
    Ok(all)
}

fn one(sanitizer: &Sanitizer, text: &str, map: &JobMap) -> cape::Result<cape::Release> {
    match sanitizer.cape() {
        Some(cape) => Ok(map.release(cape, text, &cape.plan(text)?)),
        None => sanitizer.release(text, map.secret()),
    }
}

fn side_by_side(
    sanitizer: &Sanitizer,
    texts: &[&str],
    map: &JobMap,
) -> Result<Vec<cape::Release>, (usize, cape::Error)> {
    if sanitizer.cape().is_some() {
        let releases: Vec<cape::Result<cape::Release>> =
            texts.par_iter().map(|text| one(sanitizer, text, map)).collect();
        let numbered = releases.into_iter().enumerate();
        return numbered.map(|(row, release)| release.map_err(|error| (row, error))).collect();
    }
    let parts: Vec<Result<Vec<cape::Release>, (usize, cape::Error)>> = texts
        .par_chunks(SIDE_BY_SIDE)
        .enumerate()
        .map(|(part, texts)| {
            let secrets = vec![map.secret(); texts.len()];
            sanitizer
                .releases(texts, &secrets)
                .map_err(|(row, error)| (part * SIDE_BY_SIDE + row, error))
        })
        .collect();
    // the first that was refused, whichever was found first
    let parts: Vec<Vec<cape::Release>> = parts.into_iter().collect::<Result<_, _>>()?;
    Ok(parts.into_iter().flatten().collect())
}

/// The number of different draws of all texts.
pub(crate) fn count_draws(
    py: Python<'_>,
    cape: &cape::Cape,
    given: &Bound<'_, PyAny>,
) -> PyResult<usize> {
    let texts = if let Ok(text) = given.cast::<PyString>() {
        vec![text.to_string()]
    } else if is_column(given)? {
        column::texts(given)?
    } else {
        texts(given)?
    };
    let keys = |(row, text): (usize, &String)| {
        let plan = cape.plan(text).map_err(|error| (row, error))?;
        Ok(plan.keys.iter().map(|key| cape.drawn_from(key)).collect::<HashSet<_>>())
    };
    let union = |mut one: HashSet<Vec<u8>>, other| {
        one.extend(other);
        one
    };
    let all = compute(py, || {
        texts.par_iter().enumerate().map(keys).try_reduce(HashSet::new, |a, b| Ok(union(a, b)))
    })?;
    Ok(all.map_err(|(row, error)| errors::in_row(py, row, &errors::cape(&error)))?.len())
}

/// Whether something is a column, as Arrow has them.
fn is_column(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(given.hasattr("__arrow_c_stream__")? || given.hasattr("__arrow_c_array__")?)
}

/// The method `perturb` in a thread: a coroutine.
pub(crate) fn in_a_thread<'py>(
    by: &Bound<'py, PyAny>,
    texts: &Bound<'py, PyAny>,
    options: &[(&str, Option<&Bound<'py, PyAny>>)],
) -> PyResult<Bound<'py, PyAny>> {
    let py = by.py();
    let given = PyDict::new(py);
    for (name, value) in options {
        given.set_item(name, value)?;
    }
    let perturb = by.getattr("perturb")?;
    py.import("asyncio")?.call_method("to_thread", (perturb, texts), Some(&given))
}

/// A checksum in hexadecimal digits.
pub(crate) fn fingerprint(of: &str) -> String {
    let sum = ring::digest::digest(&ring::digest::SHA256, of.as_bytes());
    sum.as_ref().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// The same hash in every process, unlike that of a string.
pub(crate) fn hash(fingerprint: &str) -> u64 {
    u64::from_str_radix(&fingerprint[..16], 16).unwrap_or(0)
}
