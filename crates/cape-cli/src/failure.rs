//! Errors as a person reads them: `error:`, `caused by:`, `hint:`.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

// the fuzzer of settings builds without the crates whose errors these are
#[cfg(not(fuzzing))]
mod causes;

/// Why a command stopped. Its messages never carry a word of the prompt.
#[derive(Debug)]
pub(crate) struct Failure {
    messages: Vec<String>,
    hint: Option<String>,
    code: u8,
}

/// A result of a command.
pub(crate) type Done<T = ()> = Result<T, Failure>;

impl Failure {
    /// Something was refused or found wanting: exit code 1.
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { messages: vec![message.into()], hint: Some(hint.into()), code: 1 }
    }

    /// The command was used wrongly: exit code 2.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: 2, ..Self::new(message, hint) }
    }

    /// Whoever read our output has seen enough: stop without a word.
    pub(crate) fn reader_gone() -> Self {
        Self { messages: Vec::new(), hint: None, code: 0 }
    }

    /// The same as an answer: it was asked for, so exit code 1.
    pub(crate) fn refused(self, what: impl Into<String>) -> Self {
        if self.messages.is_empty() { self } else { Self { code: 1, ..self.during(what) } }
    }

    /// All of it in one line, for a log.
    pub(crate) fn line(&self) -> String {
        self.messages.join(": ")
    }

    /// Puts what was being done in front.
    pub(crate) fn during(mut self, what: impl Into<String>) -> Self {
        self.messages.insert(0, what.into());
        self
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }

    fn of(error: &(dyn Error + 'static), hint: Option<&str>) -> Self {
        let chain = std::iter::successors(Some(error), |&error| error.source());
        Self {
            messages: chain.map(ToString::to_string).collect(),
            hint: hint.map(str::to_owned),
            code: 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = std::iter::once("error").chain(std::iter::repeat("caused by"));
        for (label, message) in labels.zip(&self.messages) {
            writeln!(f, "{label}: {message}")?;
        }
        match &self.hint {
            Some(hint) => writeln!(f, "hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// A failure to read or write that has to do with the system, not with a model.
pub(crate) fn io(what: String, source: &std::io::Error) -> Failure {
    let hint = match source.kind() {
        std::io::ErrorKind::InvalidData => "it must be UTF-8 text",
        _ => "check the path, the permissions and the space that is left",
    };
    Failure::of(source, Some(hint)).during(what)
}
