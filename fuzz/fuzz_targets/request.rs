//! Arbitrary bodies of requests, on every route: `scripts/fuzz request SECONDS`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: (u8, bool, &[u8])| {
    let (route, open, body) = data;
    cape_proxy::fuzzed::request(route, open, body);
});
