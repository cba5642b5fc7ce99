//! What is wrong with a command line?

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::Failure;

/// What clap says without any word that the user typed: it may be the prompt in the wrong place.
pub(super) fn failure(error: &clap::Error) -> Failure {
    let known = |kind| match error.get(kind) {
        Some(ContextValue::String(one)) => Some(one.clone()),
        Some(ContextValue::Strings(several)) => Some(several.join(", ")),
        _ => None,
    };
    let flag = known(ContextKind::InvalidArg).unwrap_or_default();
    let command = known(ContextKind::InvalidSubcommand);
    let help = "`cape help` lists the commands, and `cape perturb --help` every setting";
    match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let values = known(ContextKind::ValidValue).filter(|values| !values.is_empty());
            let names = ["FILE", "DIR", "WORD", "TEXT", "NAME", "URL", "COMMAND"];
            let kind = if flag.contains("<ADDRESS>") {
                "an address with a port, such as 127.0.0.1:8787"
            } else if names.iter().any(|name| flag.contains(name)) {
                "a value"
            } else {
                "a number"
            };
            let hint = values.map_or_else(
                || format!("it takes {kind}; check the flag and its CAPE_ variable"),
                |values| format!("it takes one of: {values}"),
            );
            Failure::usage(format!("the value of {flag} is missing or was not understood"), hint)
        }
        ErrorKind::InvalidUtf8 => {
            Failure::usage("an argument is not UTF-8", "pipe the text in and convert it with iconv")
        }
        ErrorKind::ArgumentConflict => {
            let other = known(ContextKind::PriorArg).unwrap_or_default();
            if let Some(command) = command {
                return Failure::usage(
                    format!("{command} and {other} do not go together"),
                    format!("its flags come after {command}; a file of that name is ./{command}"),
                );
            }
            Failure::usage(format!("{flag} and {other} do not go together"), help)
        }
        ErrorKind::MissingRequiredArgument => Failure::usage(format!("{flag} is missing"), help),
        ErrorKind::NoEquals | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            Failure::usage(format!("{flag} needs a value"), help)
        }
        ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand => Failure::usage(
            "there is no such command",
            "to perturb a prompt: cape perturb \"…\"; `cape help` lists the commands",
        ),
        _ => Failure::usage(
            "an argument was not understood",
            match known(ContextKind::SuggestedArg) {
                Some(suggested) => format!("did you mean {suggested}?"),
                None => "put the prompt in quotes: cape perturb \"…\"; and -- before one that \
                         begins with a dash"
                    .into(),
            },
        ),
    }
}
