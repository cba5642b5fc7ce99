//! `cape perturb --input -` with a planted fault, for the tests of `cape audit sample --command`:
//! `faulty FAULT MODEL EPSILON`. Not for releases.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../cape/tests/common/faults.rs"]
mod faults;

use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use cape::Epsilon;
use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::tokens::{Context, KeepList};
use faults::{Fault, release};
use rand::Rng;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, model, epsilon] = &args[..] else { panic!("faulty FAULT MODEL EPSILON") };
    let (mut factor, mut context) = (1.0, Context::Released);
    let fault = match name.as_str() {
        "silent" => return std::thread::sleep(Duration::from_mins(10)),
        "fails" => std::process::exit(3),
        "larger-epsilon" => {
            factor = 1.2;
            Fault::LargerEpsilon
        }
        "raw-context" => {
            context = Context::Raw;
            Fault::RawContext
        }
        "biased-generator" => Fault::BiasedGenerator,
        "seed-per-run" => Fault::SeedPerRun,
        "seed-for-all-runs" => Fault::SeedForAllRuns,
        "seed-per-pair" => Fault::SeedPerPair,
        "copied-token" => Fault::CopiedToken,
        "off-by-one" => Fault::OffByOne,
        "healthy" | "short" | "long" => Fault::Healthy,
        _ => panic!("there is no such fault"),
    };
    let device = cape_models::load(model).unwrap();
    let epsilon = Epsilon::new(factor * epsilon.parse::<f64>().unwrap()).unwrap();
    let settings = Settings { context, ..Settings::new(epsilon) };
    let cape = CapePaper::new(Arc::clone(&device.model), settings).unwrap();
    let seed = cape::rng::secure().unwrap().next_u64();
    for (line, text) in (0..).zip(std::io::stdin().lock().lines()) {
        let text = text.unwrap();
        let tokens = device.tokenizer.tokenize(&text, &KeepList::default()).unwrap();
        let vocab = device.tokenizer.vocab();
        let released = release(fault, &cape, vocab, (&text, &tokens), (seed, line));
        match name.as_str() {
            "short" if line % 2 == 1 => {}
            "long" => println!("{released}\n{released}"),
            _ => println!("{released}"),
        }
    }
}
