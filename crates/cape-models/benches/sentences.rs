//! How long a sentence encoder takes, on request, for `benches/peers/sentences.py` to measure others in
//! between.
//!
//! `cargo bench -p cape-models --bench sentences -- MODEL SENTENCES [ARITHMETIC]`
//!
//! Loads the model and the lines of a file, and prints `ready`. Then, for each line of stdin, it encodes
//! all of them, or the first alone where the line is `one`, and prints milliseconds.

use std::error::Error;
use std::io::BufRead;
use std::time::Instant;

use cape_models::{Arithmetic, Options, SentenceEncoder};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [model, file, rest @ ..] = &args[..] else {
        return Err("usage: sentences MODEL SENTENCES [ARITHMETIC]".into());
    };
    let arithmetic = Arithmetic::named(rest.first().map_or("f32", String::as_str))
        .ok_or("the arithmetic is auto, f32, int16 or int8")?;
    let start = Instant::now();
    let encoder = SentenceEncoder::load(model, Options { arithmetic, ..Options::default() })?;
    eprintln!("loaded in {:.3} s", start.elapsed().as_secs_f64());
    let text = std::fs::read_to_string(file)?;
    let sentences: Vec<&str> = text.lines().collect();
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let some = if line? == "one" { sentences.get(..1) } else { Some(&sentences[..]) };
        let start = Instant::now();
        encoder.encode(some.ok_or("there is no sentence")?)?;
        println!("{:.3}", start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}
