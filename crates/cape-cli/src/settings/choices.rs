//! Settings that are one of a few names, and what help says of each.

use std::str::FromStr;

use cape::tokens::Context;
use cape::{Profile, Wanted, units};
use cape_models::Arithmetic;
use cape_models::BaselineKind;
use cape_proxy::Memory;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Deserialize;

/// One of these values by its name; help says something about each.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
    about: [&'static str; N],
) -> impl TypedValueParser<Value = T> {
    let values = all.iter().zip(about);
    let values = values.map(|(&value, about)| PossibleValue::new(name(value)).help(about));
    let named = move |given: String| all.into_iter().find(|&value| name(value) == given);
    PossibleValuesParser::new(values).try_map(move |given| named(given).ok_or("no such name"))
}

pub(crate) fn profiles() -> impl TypedValueParser<Value = Profile> {
    let personal = "Names, numbers, uncommon words, and words about illness, religion, politics, sex, \
                    crime and money";
    let everything = "All words but stopwords, as in the paper";
    one_of(
        Profile::ALL,
        Profile::as_str,
        [personal, everything, "Names, numbers and uncommon words"],
    )
}

pub(crate) fn memories() -> impl TypedValueParser<Value = Memory> {
    let about = [
        "For an API key and a user id, as long as they last",
        "In one conversation: what a word becomes in several can be compared",
        "In one request: all words are drawn, and paid for, again each time",
    ];
    one_of(Memory::ALL, Memory::as_str, about)
}

pub(crate) fn contexts() -> impl TypedValueParser<Value = Context> {
    let released = "What was released so far and the kept words: a token costs the bound once";
    let raw = "The true prompt, as in the paper: a token costs the bound at every position";
    one_of(Context::ALL, Context::as_str, [released, raw])
}

pub(crate) fn arithmetics() -> impl TypedValueParser<Value = Arithmetic> {
    let about = [
        "int16 for a model stored as integers where that is fast, else f32",
        "Floats of 32 bits",
        "Weights of 8 bits, activations of 16",
        "Weights and activations of 8 bits: the fastest and the least exact",
    ];
    one_of(Arithmetic::ALL, Arithmetic::name, about)
}

/// What is put back into answers: a list in the file, names with commas between them as a flag.
#[derive(Clone, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(crate) struct Restored(pub(super) Vec<Wanted>);

impl TryFrom<Vec<String>> for Restored {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, String> {
        let named = |name: &String| Wanted::ALL.into_iter().find(|own| own.as_str() == name);
        let unknown = || {
            let all = Wanted::ALL.map(Wanted::as_str).join(", ");
            format!("unknown name, expected any of {all}")
        };
        names.iter().map(|name| named(name).ok_or_else(unknown)).collect::<Result<_, _>>().map(Self)
    }
}

impl FromStr for Restored {
    type Err = String;

    fn from_str(names: &str) -> Result<Self, String> {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        Self::try_from(names.map(str::to_owned).collect::<Vec<_>>())
    }
}

/// The kind of a text.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    Prose,
    Code,
    Json,
}

impl Format {
    pub(super) const ALL: [Self; 3] = [Self::Prose, Self::Code, Self::Json];

    pub(super) fn as_str(self) -> &'static str {
        units::Options::from(self).as_str()
    }
}

impl From<Format> for units::Options {
    fn from(format: Format) -> Self {
        Self { code: matches!(format, Format::Code), json: matches!(format, Format::Json) }
    }
}

/// A mechanism that can be run.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum MechanismName {
    Cape,
    CapePaper,
    Baseline(BaselineKind),
}

impl MechanismName {
    pub(super) const ALL: [Self; 7] = {
        use MechanismName::Baseline as B;
        let [a, b, c, d, e] = BaselineKind::ALL;
        [Self::Cape, Self::CapePaper, B(a), B(b), B(c), B(d), B(e)]
    };

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Cape => "cape",
            Self::CapePaper => "cape-paper",
            Self::Baseline(kind) => kind.name(),
        }
    }
}

impl TryFrom<String> for MechanismName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|mechanism| mechanism.as_str() == name);
        found.ok_or_else(|| {
            format!("unknown mechanism, expected one of {}", Self::ALL.map(Self::as_str).join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_to_put_back_are_listed() {
        let read = |names: &str| names.parse::<Restored>().map(|Restored(wanted)| wanted);
        assert_eq!(read("").unwrap(), []);
        assert_eq!(read("values, persons").unwrap(), [Wanted::Values, Wanted::Persons]);
        let error = read("persons,people").unwrap_err();
        assert!(error.contains("persons, identifiers, other-names, values"), "{error}");
    }
}
