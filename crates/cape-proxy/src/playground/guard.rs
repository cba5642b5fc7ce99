//! Who may use the playground: its own page on this machine, and elsewhere whoever has the token.
//!
//! - The host that a browser asks for must be an address or `localhost`: the name of a foreign site that
//!   was made to point here (DNS rebinding) is refused.
//! - What asks must be the page itself, by its origin. There are no CORS headers.
//! - Where the server can be reached from other machines, a token is asked for, in a header.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

use super::refused::Refused;

/// The header that carries the token.
pub(super) const TOKEN: &str = "x-cape-token";

/// The host that is asked for, if it cannot be the name of another site.
pub(super) fn host<'a>(headers: &'a HeaderMap, token: Option<&str>) -> Result<&'a str, Refused> {
    let refused = || {
        Refused::page(
            "The playground is asked for by its address or as localhost, by no other name.",
        )
    };
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(refused()) };
    let host = host.to_str().map_err(|_| refused())?;
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    let allowed = match name.parse::<IpAddr>() {
        // without a token the server listens on loopback addresses alone
        Ok(address) => address.is_loopback() || token.is_some(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    };
    if allowed { Ok(host) } else { Err(refused()) }
}

/// Lets requests of the page pass that this host served.
pub(super) fn page(headers: &HeaderMap, token: Option<&str>) -> Result<(), Refused> {
    let host = host(headers, token)?;
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(header::ORIGIN.as_str()).unwrap_or_default();
    let own = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
    let site = text("sec-fetch-site").unwrap_or("same-origin");
    if own != Some(host) || site != "same-origin" {
        return Err(Refused::page("Only the playground’s own page may ask for this."));
    }
    match token {
        Some(token) if !same(token, text(TOKEN).unwrap_or_default()) => Err(Refused::token(
            "This playground can be reached from other machines: it asks for the token that its operator set.",
        )),
        _ => Ok(()),
    }
}

/// Compares without telling by its time where two strings differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn names_of_other_sites_are_refused() {
        let asked = |name: &str, token| host(&headers(&[("host", name)]), token).is_ok();
        for own in ["127.0.0.1:8787", "localhost", "LOCALHOST:1", "[::1]:80", "127.0.0.2"] {
            assert!(asked(own, None), "{own}");
        }
        let foreign = ["evil.example:8787", "127.0.0.1.evil.example", "localhost.evil.example", ""];
        for foreign in foreign {
            assert!(!asked(foreign, None) && !asked(foreign, Some("t")), "{foreign}");
        }
        // an address of this machine in its network, where a token is asked for
        assert!(asked("192.168.1.7:8787", Some("t")) && !asked("192.168.1.7:8787", None));
        assert!(host(&HeaderMap::new(), None).is_err());
    }

    #[test]
    fn other_pages_are_refused() {
        let own = ("host", "127.0.0.1:9");
        let asked = |more: &[(&'static str, &str)], token| {
            page(&headers(&[&[own], more].concat()), token).map_err(|refused| refused.to_string())
        };
        assert!(asked(&[("origin", "http://127.0.0.1:9")], None).is_ok());
        assert!(asked(&[("origin", "https://127.0.0.1:9")], None).is_ok());
        let foreign =
            ["", "null", "http://127.0.0.1:3000", "http://localhost:9", "http://evil.example"];
        for foreign in foreign {
            assert!(asked(&[("origin", foreign)], None).is_err(), "{foreign}");
        }
        assert!(asked(&[], None).is_err());
        let site = |site| [("origin", "http://127.0.0.1:9"), ("sec-fetch-site", site)];
        assert!(asked(&site("same-origin"), None).is_ok());
        assert!(
            asked(&site("cross-site"), None).is_err() && asked(&site("same-site"), None).is_err()
        );
        let with = |token| [("origin", "http://127.0.0.1:9"), (TOKEN, token)];
        assert!(asked(&with("secret"), Some("secret")).is_ok());
        assert!(asked(&with("secreT"), Some("secret")).is_err());
        assert!(asked(&with(""), Some("secret")).is_err());
    }
}
