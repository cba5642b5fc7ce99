//! Times a baseline: its set-up from loaded vectors, and each prompt of a file.
//!
//! `cargo bench -p cape-models --bench baselines -- MECHANISM ε VECTORS PROMPTS`
//!
//! Prints seconds of loading, of set-up and of the median prompt, the words there are, and the largest
//! memory.

#![allow(clippy::unwrap_used, reason = "a bench may panic")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cape::{About, Epsilon, Sanitizer, Secret};
use cape_models::{BaselineKind, BaselineSettings, PreparedBaseline, Vectors, WordSource};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [mechanism, epsilon, path, prompts] = &args[..] else {
        panic!("baselines MECHANISM EPSILON VECTORS PROMPTS")
    };
    let kind = BaselineKind::ALL.into_iter().find(|kind| kind.name() == mechanism).unwrap();
    let epsilon = Epsilon::new(epsilon.parse().unwrap()).unwrap();
    let prompts = std::fs::read_to_string(prompts).unwrap();

    let start = Instant::now();
    let loaded = Box::new(Vectors::load(Path::new(path), &mut |_| {}).unwrap());
    let loading = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let source = WordSource::Vectors(loaded, Path::new(path));
    let prepared =
        PreparedBaseline::new(&BaselineSettings::new(kind), source, &mut |_, _| {}).unwrap();
    let mechanism = prepared.mechanism(epsilon).unwrap();
    let set_up = start.elapsed().as_secs_f64();

    let (tokenizer, keep) = (Arc::clone(&prepared.tokenizer), prepared.keep.clone());
    let about = About { mechanism: kind.name(), words: None, fingerprint: String::new() };
    let sanitizer = Sanitizer::tokens(tokenizer, keep, Box::new(mechanism), about);
    let secret = Secret::fresh().unwrap();
    let mut times: Vec<f64> = prompts
        .lines()
        .map(|prompt| {
            let start = Instant::now();
            sanitizer.release(prompt, &secret).unwrap();
            start.elapsed().as_secs_f64()
        })
        .collect();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_by(f64::total_cmp);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    let peak: f64 = peak.trim().trim_end_matches(" kB").parse().unwrap_or(0.0);
    println!(
        "{{\"loading\": {loading}, \"set_up\": {set_up}, \"prompt\": {}, \"mean\": {mean}, \
         \"memory\": {}}}",
        times[times.len() / 2],
        peak / 1024.0
    );
}
