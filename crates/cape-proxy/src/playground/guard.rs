//! Who may use the playground: its own page.
//!
//! - The host that a browser asks for must be an address or `localhost`: the name of a foreign site that
//!   was made to point here (DNS rebinding) is refused. Where the proxy asks for a token, which such a site
//!   does not have, names are allowed.
//! - What asks must be the page itself, by its origin. There are no CORS headers.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

use super::refused::Refused;

/// The host that is asked for, if it cannot be the name of another site.
pub(super) fn host(headers: &HeaderMap, names: bool) -> Result<&str, Refused> {
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
    let own = name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost");
    if own || names { Ok(host) } else { Err(refused()) }
}

/// Lets requests of the page pass that this host served.
pub(super) fn page(headers: &HeaderMap, names: bool) -> Result<(), Refused> {
    let host = host(headers, names)?;
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(header::ORIGIN.as_str()).unwrap_or_default();
    let own = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
    let site = text("sec-fetch-site").unwrap_or("same-origin");
    if own == Some(host) && site == "same-origin" {
        return Ok(());
    }
    Err(Refused::page("Only the playground’s own page may ask for this."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn names_of_other_sites_are_refused() {
        let asked = |name: &str, names| host(&headers(&[("host", name)]), names).is_ok();
        for own in ["127.0.0.1:8787", "localhost", "LOCALHOST:1", "[::1]:80", "192.168.1.7:8787"] {
            assert!(asked(own, false), "{own}");
        }
        let foreign = ["evil.example:8787", "127.0.0.1.evil.example", "localhost.evil.example", ""];
        for foreign in foreign {
            assert!(!asked(foreign, false) && asked(foreign, true), "{foreign}");
        }
        assert!(host(&HeaderMap::new(), true).is_err());
    }

    #[test]
    fn other_pages_are_refused() {
        let own = ("host", "127.0.0.1:9");
        let asked =
            |more: &[(&'static str, &str)]| page(&headers(&[&[own], more].concat()), false).is_ok();
        assert!(asked(&[("origin", "http://127.0.0.1:9")]));
        assert!(asked(&[("origin", "https://127.0.0.1:9")]));
        let foreign =
            ["", "null", "http://127.0.0.1:3000", "http://localhost:9", "http://evil.example"];
        for foreign in foreign {
            assert!(!asked(&[("origin", foreign)]), "{foreign}");
        }
        assert!(!asked(&[]));
        let site = |site| [("origin", "http://127.0.0.1:9"), ("sec-fetch-site", site)];
        assert!(asked(&site("same-origin")));
        assert!(!asked(&site("cross-site")) && !asked(&site("same-site")));
    }
}
