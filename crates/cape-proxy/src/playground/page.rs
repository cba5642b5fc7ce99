//! The files of the page, embedded, and the headers that keep a browser from asking anybody else.

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};

/// Nothing is loaded from anywhere else, nothing is sent anywhere else, and no other page can frame this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
pub(super) struct File {
    pub(super) path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

macro_rules! file {
    ($path:literal, $name:literal, $kind:literal) => {
        File {
            path: $path,
            kind: $kind,
            bytes: include_bytes!(concat!("../../playground/", $name)),
        }
    };
}

/// All of them; the page itself is the first.
pub(super) const FILES: [File; 4] = [
    file!("/playground/", "index.html", "text/html; charset=utf-8"),
    file!("/playground/app.js", "app.js", "text/javascript; charset=utf-8"),
    file!("/playground/app.css", "app.css", "text/css; charset=utf-8"),
    file!("/playground/icon.svg", "icon.svg", "image/svg+xml"),
];

impl File {
    pub(super) fn response(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.bytes));
        let headers = response.headers_mut();
        for (name, value) in [
            (header::CONTENT_TYPE.as_str(), self.kind),
            (header::CONTENT_SECURITY_POLICY.as_str(), POLICY),
            (header::CACHE_CONTROL.as_str(), "no-store"),
            (header::REFERRER_POLICY.as_str(), "no-referrer"),
            (header::X_CONTENT_TYPE_OPTIONS.as_str(), "nosniff"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
