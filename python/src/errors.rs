//! Errors as Python's exceptions, which `cape_dp/_errors.py` declares.

use std::error::Error as StdError;
use std::fmt::Write;

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyType;

mod python {
    use pyo3::import_exception;

    import_exception!(cape_dp._errors, BudgetError);
    import_exception!(cape_dp._errors, CapeError);
    import_exception!(cape_dp._errors, ControlCharacterError);
    import_exception!(cape_dp._errors, EntropyError);
    import_exception!(cape_dp._errors, EpsilonError);
    import_exception!(cape_dp._errors, KeyFileError);
    import_exception!(cape_dp._errors, LedgerError);
    import_exception!(cape_dp._errors, ModelError);
    import_exception!(cape_dp._errors, PhraseError);
    import_exception!(cape_dp._errors, ProxyError);
    import_exception!(cape_dp._errors, ScriptError);
    import_exception!(cape_dp._errors, SecretError);
    import_exception!(cape_dp._errors, SettingError);
}
use python::{
    BudgetError, CapeError, ControlCharacterError, EntropyError, EpsilonError, KeyFileError,
    LedgerError, ModelError, PhraseError, ProxyError, ScriptError, SecretError, SettingError,
};

/// An error with its causes, in one line.
fn line(error: &dyn StdError) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

/// A fault of this program, or of the machine.
pub(crate) fn internal(error: &dyn StdError) -> PyErr {
    CapeError::new_err(line(error))
}

/// A setting that cannot be used.
pub(crate) fn setting(what: impl Into<String>) -> PyErr {
    SettingError::new_err(what.into())
}

/// Something else where texts are wanted.
pub(crate) fn not_texts() -> PyErr {
    PyTypeError::new_err("expected a str, several str, or an Arrow column of strings")
}

/// The number of a word that is not there.
pub(crate) fn no_word(what: String) -> PyErr {
    PyIndexError::new_err(what)
}

/// Something that must not be done with a secret.
pub(crate) fn secret(what: &'static str) -> PyErr {
    SecretError::new_err(what)
}

/// An error of the mathematics.
pub(crate) fn cape(error: &cape::Error) -> PyErr {
    use cape::Error as E;
    let text = line(error);
    match error {
        E::Epsilon(_) | E::Underflow { .. } => EpsilonError::new_err(text),
        E::Setting { .. } => SettingError::new_err(text),
        E::Phrase(_) => PhraseError::new_err(text),
        E::ControlCharacter { .. } => ControlCharacterError::new_err(text),
        E::Script => ScriptError::new_err(text),
        E::Entropy(_) => EntropyError::new_err(text),
        _ => CapeError::new_err(text),
    }
}

/// An error of a device model, of word vectors or of a sentence encoder.
pub(crate) fn models(error: &cape_models::Error) -> PyErr {
    match error {
        cape_models::Error::Cape(error) => cape(error),
        error => ModelError::new_err(line(error)),
    }
}

/// An error of an evaluation.
pub(crate) fn eval(error: &cape_eval::Error) -> PyErr {
    match error {
        cape_eval::Error::Cape(error) => cape(error),
        error => CapeError::new_err(line(error)),
    }
}

/// An error of the ledger: nothing was released.
pub(crate) fn ledger(error: &cape_ledger::Error) -> PyErr {
    use cape_ledger::Error as E;
    let text = line(error);
    match error {
        E::Refused(_) => BudgetError::new_err(text),
        E::Key(_) | E::WrongKey => KeyFileError::new_err(text),
        E::Entropy => EntropyError::new_err(text),
        _ => LedgerError::new_err(text),
    }
}

/// An error at the start of a proxy.
pub(crate) fn proxy(error: &cape_proxy::Error) -> PyErr {
    ProxyError::new_err(line(error))
}

/// Something that another process opened.
pub(crate) fn forked() -> PyErr {
    LedgerError::new_err(
        "this was opened before the process was forked: open it again in each process",
    )
}

/// The same for one of several texts, whose number becomes the exception's `row`.
pub(crate) fn in_row(py: Python<'_>, row: usize, error: &PyErr) -> PyErr {
    let text = format!("row {row}: {}", error.value(py));
    let kind: Bound<'_, PyType> = error.get_type(py);
    let raised = PyErr::from_type(kind, text);
    match raised.value(py).setattr("row", row) {
        Ok(()) => raised,
        Err(error) => error,
    }
}
