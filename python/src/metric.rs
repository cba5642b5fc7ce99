//! `cape_dp.metric`: how much of a text is left.

use cape_models::{Options, cosine};
use pyo3::prelude::*;

use crate::errors;
use crate::threads::compute;

/// ROUGE-L F1 between two texts, from 0 to 1: the longest common subsequence of their words.
#[pyfunction]
pub(crate) fn rouge_l(py: Python<'_>, original: &str, released: &str) -> f64 {
    py.detach(|| cape::metric::rouge_l(original, released))
}

/// Compares texts by their meaning, with a sentence encoder in the Hugging Face layout.
#[pyclass(frozen, module = "cape_dp.metric")]
pub(crate) struct SentenceEncoder {
    encoder: cape_models::SentenceEncoder,
}

#[pymethods]
impl SentenceEncoder {
    /// From a folder, or from the hub's cache by its name there.
    #[new]
    fn new(py: Python<'_>, model: &str) -> PyResult<Self> {
        let encoder =
            compute(py, || cape_models::SentenceEncoder::load(model, Options::default()))?;
        Ok(Self { encoder: encoder.map_err(|error| errors::models(&error))? })
    }

    /// The length of its vectors.
    #[getter]
    fn dim(&self) -> usize {
        self.encoder.dim()
    }

    /// A vector for each text.
    fn encode(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<Vec<Vec<f32>>> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        compute(py, || self.encoder.encode(&texts))?.map_err(|error| errors::models(&error))
    }

    /// The cosine of the vectors of two texts, at most 1.
    fn similarity(&self, py: Python<'_>, original: &str, released: &str) -> PyResult<f64> {
        let vectors = compute(py, || self.encoder.encode(&[original, released]))?;
        let vectors = vectors.map_err(|error| errors::models(&error))?;
        Ok(cosine(&vectors[0], &vectors[1]))
    }
}
