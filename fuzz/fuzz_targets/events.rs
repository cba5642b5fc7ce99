//! Arbitrary streams of events, cut anywhere: `scripts/fuzz events SECONDS`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: (&[u8], &[u8])| {
    let (cuts, bytes) = data;
    cape_proxy::fuzzed::events(cuts, bytes);
});
