//! Patterns of strings that are sent unchanged, and so must not be able to carry text.

/// The name of a model.
pub(crate) fn model(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"._:/@-".contains(&b);
    (1..=128).contains(&name.len()) && name.bytes().all(fits)
}

/// The name of a model as a part of a path, which must not lead elsewhere.
pub(crate) fn model_in_path(name: &str) -> bool {
    model(name) && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// A domain of the web, with a path and wildcards.
pub(crate) fn domain(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"._*/-".contains(&b);
    (1..=128).contains(&name.len()) && name.contains('.') && name.bytes().all(fits)
}

/// The name of a tool.
pub(crate) fn tool(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// A key of a tool's arguments or results.
pub(crate) fn key(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"_-.$@".contains(&b);
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// The id of an earlier answer: hexadecimal digits, which the service chose.
pub(crate) fn response_id(id: &str) -> bool {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let digits = id.strip_prefix("resp_");
    digits.is_some_and(|digits| (32..=64).contains(&digits.len()) && digits.bytes().all(hex))
}

/// A stop sequence of white space and ASCII punctuation, which every release keeps anyway.
pub(crate) fn marks(stop: &str) -> bool {
    stop.len() <= 64 && stop.bytes().all(|b| b.is_ascii_punctuation() || b" \t\r\n".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_name_leads_nowhere_else() {
        for fine in ["gpt-4o", "org/model:free", "claude-sonnet-4-5@20250929", "a/b/c.d"] {
            assert!(model_in_path(fine), "{fine}");
        }
        for wrong in ["", "..", "a/../b", "/a", "a/", "a//b", ".", "my name", "a?b", "a%2fb", "a#b"]
        {
            assert!(!model_in_path(wrong), "{wrong}");
        }
    }
}
