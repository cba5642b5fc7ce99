//! The door for fuzzing settings files, a program of its own: `scripts/fuzz settings SECONDS`. The command is no
//! library, so the fuzzer builds these modules once more.

#![no_main]
#![allow(dead_code, unused_imports, unreachable_pub, reason = "the command uses the rest")]

mod failure;
mod settings;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| settings::File::fuzzed(text));
