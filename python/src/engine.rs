//! `Cape`, the class: what all others know of it.

use std::sync::Arc;

use cape::{Sanitizer, Settings};
use pyo3::prelude::*;

use crate::errors;

/// Perturbs texts: their private words become random ones that fit.
///
/// Two with the same settings are equal, have the same hash in every process, and are pickled by their settings.
#[pyclass(frozen, module = "cape_dp")]
pub(crate) struct Cape {
    pub(crate) sanitizer: Arc<Sanitizer>,
}

impl Cape {
    /// Cape itself, which its constructor put there.
    pub(crate) fn cape(&self) -> &cape::Cape {
        self.sanitizer.cape().expect("a sanitizer of words")
    }

    /// Its settings.
    pub(crate) fn given(&self) -> &Settings {
        self.cape().settings()
    }
}

/// The value of this name.
pub(crate) fn one_of<T: Copy, const N: usize>(
    what: &str,
    given: &str,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> PyResult<T> {
    all.into_iter().find(|&value| name(value) == given).ok_or_else(|| {
        errors::setting(format!("unknown {what}, expected one of {}", all.map(name).join(", ")))
    })
}
