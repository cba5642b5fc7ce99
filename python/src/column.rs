//! Columns of texts, as Arrow has them: from any library in, and to any library out.

use std::sync::Arc;

use arrow_array::builder::{LargeStringBuilder, StringBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_array_pycapsules, to_stream_pycapsule};
use pyo3_arrow::input::AnyArray;

use crate::errors;

/// A column of released texts. `pyarrow.array`, `pyarrow.chunked_array`, `polars.Series` and others take it as it is.
///
/// Where the original had no text, it has none. Which rows these are can be seen.
#[pyclass(frozen, module = "cape_dp")]
pub(crate) struct Column {
    chunks: Vec<ArrayRef>,
    field: FieldRef,
    /// The number of draws of all rows; a word that stands in several rows counts in each of them.
    #[pyo3(get)]
    draws: usize,
}

#[pymethods]
impl Column {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let chunks: Vec<_> = self.chunks.iter().cloned().map(Ok).collect();
        let reader = ArrayIterator::new(chunks, Arc::clone(&self.field));
        to_stream_pycapsule(py, Box::new(reader), requested_schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyTuple>> {
        let chunks: Vec<&dyn Array> = self.chunks.iter().map(AsRef::as_ref).collect();
        let whole = match chunks[..] {
            [] => arrow_array::new_empty_array(self.field.data_type()),
            _ => arrow_select::concat::concat(&chunks)?,
        };
        to_array_pycapsules(py, Arc::clone(&self.field), &whole, requested_schema)
    }

    fn __len__(&self) -> usize {
        self.chunks.iter().map(Array::len).sum()
    }

    fn __repr__(&self) -> String {
        format!("Column({} rows of {})", self.__len__(), self.field.data_type())
    }

    /// The texts as a list, with None where there is none.
    fn to_pylist(&self) -> Vec<Option<String>> {
        let texts = self.chunks.iter().flat_map(|chunk| {
            rows(chunk).into_iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
        });
        texts.collect()
    }
}

impl Column {
    /// The column of what these rows become.
    pub(crate) fn of(
        py: Python<'_>,
        chunks: Vec<ArrayRef>,
        field: &FieldRef,
        release: impl Fn(&[&str]) -> Result<Vec<cape::Release>, (usize, PyErr)>,
    ) -> PyResult<Self> {
        let plain = plain(field.data_type())?;
        let field = Arc::new(Field::new(field.name(), plain.clone(), true));
        let (mut out, mut draws, mut first) = (Vec::with_capacity(chunks.len()), 0, 0);
        for chunk in chunks {
            let chunk = without_dictionary(chunk, &plain)?;
            let rows = rows(&chunk);
            let given: Vec<&str> = rows.iter().copied().flatten().collect();
            let released = release(&given).map_err(|(given, error)| {
                let row = rows.iter().enumerate().filter(|(_, row)| row.is_some()).nth(given);
                errors::in_row(py, first + row.map_or(0, |(row, _)| row), &error)
            })?;
            first += rows.len();
            draws += released.iter().map(|release| release.privacy.draws).sum::<usize>();
            let mut released = released.into_iter().map(|release| release.text);
            let rows = rows.iter().map(|row| row.and_then(|_| released.next()));
            out.push(built(&plain, rows));
        }
        Ok(Self { chunks: out, field, draws })
    }
}

/// The texts of a column, without the rows that have none.
pub(crate) fn texts(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let (chunks, field) = given.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
    let plain = plain(field.data_type())?;
    let mut texts = Vec::new();
    for chunk in chunks {
        let chunk = without_dictionary(chunk, &plain)?;
        texts.extend(rows(&chunk).into_iter().flatten().map(str::to_owned));
    }
    Ok(texts)
}

fn without_dictionary(chunk: ArrayRef, plain: &DataType) -> PyResult<ArrayRef> {
    if chunk.data_type() == plain {
        return Ok(chunk);
    }
    arrow_cast::cast(&chunk, plain).map_err(|error| errors::internal(&error))
}

/// The type of a column of texts without a dictionary.
fn plain(of: &DataType) -> PyResult<DataType> {
    match of {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(of.clone()),
        DataType::Dictionary(_, values) => plain(values),
        // a column without a single row may have no type
        DataType::Null => Ok(DataType::Utf8),
        _ => Err(errors::not_texts()),
    }
}

fn rows(array: &ArrayRef) -> Vec<Option<&str>> {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
        _ => array.as_string_view().iter().collect(),
    }
}

fn built(of: &DataType, rows: impl Iterator<Item = Option<String>>) -> ArrayRef {
    fn all<B: Extend<Option<String>>>(
        mut builder: B,
        rows: impl Iterator<Item = Option<String>>,
    ) -> B {
        builder.extend(rows);
        builder
    }
    match of {
        DataType::Utf8 => Arc::new(all(StringBuilder::new(), rows).finish()),
        DataType::LargeUtf8 => Arc::new(all(LargeStringBuilder::new(), rows).finish()),
        _ => Arc::new(all(StringViewBuilder::new(), rows).finish()),
    }
}
