//! The prompt, from the command line or from stdin.

use std::io::{IsTerminal, Read};

use crate::failure::{Done, Failure, io};
use crate::output::note;

/// The text given, or all of stdin.
pub(crate) fn text(given: Option<&str>) -> Done<String> {
    let text = match given {
        None | Some("-") => stdin()?,
        Some(text) => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(empty());
    }
    Ok(text)
}

/// The same without the end of line that a shell adds to what is piped in.
pub(crate) fn line(given: Option<&str>) -> Done<String> {
    let mut text = text(given)?;
    if given.is_none_or(|given| given == "-") && text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

fn empty() -> Failure {
    Failure::new("the prompt is empty", "give a text in quotes, or pipe one in")
}

/// All of stdin.
pub(crate) fn stdin() -> Done<String> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        note(&"reading from the terminal; end it with Ctrl-D\n");
    }
    let mut bytes = Vec::new();
    stdin.lock().read_to_end(&mut bytes).map_err(|error| io("cannot read stdin".into(), &error))?;
    utf8(bytes)
}

/// The bytes as text, or where they are not.
pub(crate) fn utf8(bytes: Vec<u8>) -> Done<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(
            format!("the input is not UTF-8: byte {at} is the first that is not"),
            "convert it first, for example with: iconv -t UTF-8",
        )
    })
}
