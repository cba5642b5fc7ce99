//! The secret of a map, which decides what words become.

use std::sync::Arc;

use cape::JobMap;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;

/// What words are drawn from: with the same secret, a word becomes the same in all texts, on every machine and in
/// every process. It remembers what was drawn from it lately, so the time that a text takes tells which of its words
/// came before: it is for the texts of one person or one job, and not for a service with many users.
///
/// Whoever has it can undo the draws. It is never shown, compared, hashed or pickled; a job on several processes gets
/// it through `reveal` and `from_bytes`, by a way that you choose.
#[pyclass(frozen, module = "cape_dp")]
pub(crate) struct Secret {
    /// Its map, which remembers draws for as long as the secret lives.
    pub(crate) map: Arc<JobMap>,
    /// None for a seed, which has none to keep.
    bytes: Option<[u8; 32]>,
}

#[pymethods]
impl Secret {
    /// A new one, from the operating system.
    #[new]
    fn new() -> PyResult<Self> {
        let bytes = cape::Secret::bytes().map_err(|error| errors::cape(&error))?;
        Ok(Self::of(bytes))
    }

    /// One that was revealed before.
    #[staticmethod]
    fn from_bytes(secret: &[u8]) -> PyResult<Self> {
        let bytes = secret.try_into().map_err(|_| errors::secret("a secret is 32 bytes"))?;
        Ok(Self::of(bytes))
    }

    /// One for experiments and tests only: a release from it carries no guarantee.
    #[staticmethod]
    fn seeded(seed: u64) -> Self {
        Self { map: Arc::new(JobMap::new(cape::Secret::seeded(seed, 0))), bytes: None }
    }

    /// Its 32 bytes, to be kept to oneself.
    fn reveal<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.bytes.as_ref().ok_or_else(|| errors::secret("a seed is no secret"))?;
        Ok(PyBytes::new(py, bytes))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(errors::secret(
            "a secret is not pickled: send secret.reveal() by a way that you trust, and use Secret.from_bytes there",
        ))
    }

    fn __repr__(&self) -> &'static str {
        if self.bytes.is_some() { "Secret(…)" } else { "Secret.seeded(…)" }
    }
}

impl Secret {
    pub(crate) fn of(bytes: [u8; 32]) -> Self {
        Self { map: Arc::new(JobMap::new(cape::Secret::from_bytes(&bytes))), bytes: Some(bytes) }
    }
}
