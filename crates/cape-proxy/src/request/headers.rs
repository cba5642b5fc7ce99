//! The headers that go to upstream, and those that come back.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::fault::{Dialect, Fault};

/// Tells whether a value may be sent.
type Fits = fn(&str) -> bool;

/// The headers that go to upstream, each with a test of its value. All others are left out: cookies,
/// names of programs and machines, whatever a client's library adds.
const SENT: [(&str, Fits); 6] = [
    ("authorization", credentials),
    ("x-api-key", credentials),
    ("openai-organization", account),
    ("openai-project", account),
    ("anthropic-version", date),
    ("anthropic-beta", features),
];

/// The headers that come back.
const RETURNED: [&str; 5] =
    ["content-type", "retry-after", "x-request-id", "request-id", "x-should-retry"];

/// Credentials are for upstream: they are sent, never stored, never logged.
fn credentials(value: &str) -> bool {
    value.len() <= 4096 && !value.contains('\t')
}

fn account(value: &str) -> bool {
    value.len() <= 64 && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

/// A year, a month and a day.
fn date(value: &str) -> bool {
    let digits =
        |(part, len): (&str, usize)| part.len() == len && part.bytes().all(|b| b.is_ascii_digit());
    value.split('-').count() == 3 && value.split('-').zip([4, 2, 2]).all(digits)
}

/// A few names of features, each of which ends in a date: `-2025-05-14` or `-20250219`.
fn features(value: &str) -> bool {
    let digits = |end: &str| end.len() == 8 && end.bytes().all(|b| b.is_ascii_digit());
    let dated = |name: &str, len: usize| {
        let parts = name.len().checked_sub(len).and_then(|at| name.split_at_checked(at));
        let end = parts.and_then(|(_, end)| end.strip_prefix('-'));
        end.is_some_and(|end| date(end) || digits(end))
    };
    let feature = |name: &str| {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        (dated(name, 11) || dated(name, 9)) && name.len() <= 48 && name.bytes().all(fits)
    };
    value.split(',').count() <= 16 && value.split(',').map(str::trim).all(feature)
}

/// The headers of a client that go to upstream.
pub(crate) fn sent(client: &HeaderMap) -> Result<HeaderMap, Fault> {
    let mut sent = HeaderMap::new();
    // upstream would choose one of them, and another account could be charged
    if client.contains_key("authorization") && client.contains_key("x-api-key") {
        return Err(Fault::TwoKeys);
    }
    for (name, fits) in SENT {
        let Some(value) = client.get(name) else { continue };
        if !value.to_str().is_ok_and(fits) {
            return Err(Fault::Header(name));
        }
        let mut value = value.clone();
        value.set_sensitive(true);
        sent.insert(HeaderName::from_static(name), value);
    }
    Ok(sent)
}

/// The headers of upstream that go to the client.
pub(crate) fn returned(upstream: &HeaderMap) -> HeaderMap {
    let limits = ["x-ratelimit-", "anthropic-ratelimit-"];
    let comes = |name: &str| RETURNED.contains(&name) || limits.iter().any(|l| name.starts_with(l));
    let headers = upstream.iter().filter(|(name, _)| comes(name.as_str()));
    headers.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The service whose form of errors a client expects, where the path does not tell.
pub(crate) fn dialect(client: &HeaderMap) -> Dialect {
    let anthropic = ["anthropic-version", "anthropic-beta", "x-api-key"];
    if anthropic.iter().any(|name| client.contains_key(*name)) {
        Dialect::Anthropic
    } else {
        Dialect::OpenAi
    }
}

/// The client's API key, however it is sent: another spelling is no other account. All requests
/// without a key share one account.
pub(crate) fn key(client: &HeaderMap) -> &[u8] {
    let credentials = client.get("authorization").or_else(|| client.get("x-api-key"));
    let credentials = credentials.map(HeaderValue::as_bytes).unwrap_or_default().trim_ascii();
    match credentials.split_at_checked(7) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case(b"bearer ") => key.trim_ascii_start(),
        _ => credentials,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let header =
            |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        headers.iter().map(header).collect()
    }

    #[test]
    fn only_known_headers_go_on() {
        let client = map(&[
            ("authorization", "Bearer k"),
            ("cookie", "canary"),
            ("user-agent", "canary"),
            ("x-stainless-os", "canary"),
            ("x-forwarded-for", "canary"),
            ("referer", "canary"),
            ("idempotency-key", "canary"),
            ("anthropic-version", "2023-06-01"),
            (
                "anthropic-beta",
                "claude-code-20250219,interleaved-thinking-2025-05-14, a-2024-01-01",
            ),
        ]);
        let sent = sent(&client).unwrap();
        assert_eq!(sent.len(), 3);
        assert!(!format!("{sent:?}").contains("Bearer k"));
    }

    #[test]
    fn a_known_header_cannot_carry_text() {
        for name in ["anthropic-version", "anthropic-beta", "openai-organization", "openai-project"]
        {
            let client = map(&[(name, "my name is canary")]);
            let fault = sent(&client).unwrap_err().to_string();
            assert!(fault.contains(name) && !fault.contains("canary"));
        }
        for beta in [
            "canary",
            "canary---",
            "canary-2025-05",
            "canary-0-0-0",
            "-2025-05-1x",
            "canary20250219",
            "canary-2025021",
        ] {
            assert!(sent(&map(&[("anthropic-beta", beta)])).is_err(), "{beta}");
        }
        assert!(sent(&map(&[("anthropic-version", "0123456789")])).is_err());
        assert!(sent(&map(&[("authorization", "Bearer\tk")])).is_err());
        assert!(sent(&map(&[("authorization", "Bearer k"), ("x-api-key", "l")])).is_err());
    }

    #[test]
    fn another_spelling_is_no_other_key() {
        for spelt in ["Bearer one", "bearer one", "BEARER   one ", "one"] {
            assert_eq!(key(&map(&[("authorization", spelt)])), b"one", "{spelt}");
        }
        assert_eq!(key(&map(&[("x-api-key", "one")])), b"one");
        assert_eq!(key(&HeaderMap::new()), b"");
    }
}
