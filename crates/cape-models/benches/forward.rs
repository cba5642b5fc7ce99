//! How long a model takes, on request: whoever asks can measure something else in between, which is
//! how `benches/peers` compares in one run.
//!
//! `cargo bench -p cape-models --bench forward -- MODEL [auto|f32|int16|int8] [KERNEL]`
//!
//! Loads the model and prints `ready`. Then it prints milliseconds for each line of stdin:
//!
//! - `forward COPIES TOKENS`: the logits of the whole vocabulary at the masked position of so many
//!   copies of so many tokens, special ones included;
//! - `released TEXT`, `raw TEXT`: a prompt perturbed as in the paper, in this context, by a mechanism
//!   that has met no token yet.

use std::error::Error;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Instant;

use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::tokens::{Context, KeepList, LanguageModel, Memory, Piece, TokenId, View};
use cape::{About, Epsilon, Sanitizer, Secret};
use cape_models::{Arithmetic, Device, Kernel, Options, load_with};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let (model, rest) = args.split_first().ok_or("usage: forward MODEL [ARITHMETIC] [KERNEL]")?;
    let arithmetic = Arithmetic::named(rest.first().map_or("auto", String::as_str))
        .ok_or("the arithmetic is auto, f32, int16 or int8")?;
    let kernel = match rest.get(1) {
        Some(name) => Kernel::named(name).ok_or("this machine has no such kernel")?,
        None => Kernel::best(),
    };
    let device = load_with(model, Options { arithmetic, kernel })?;
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (what, rest) = line.split_once(' ').ok_or("a line has two words at least")?;
        let ms = match what {
            "forward" => {
                let (copies, tokens) = rest.split_once(' ').ok_or("forward COPIES TOKENS")?;
                forward(&*device.model, copies.parse()?, tokens.parse()?)?
            }
            "released" => perturb(&device, Context::Released, rest)?,
            "raw" => perturb(&device, Context::Raw, rest)?,
            _ => return Err("a line begins with forward, released or raw".into()),
        };
        println!("{ms:.3}");
    }
    Ok(())
}

fn forward(model: &dyn LanguageModel, copies: usize, tokens: usize) -> Result<f64, Box<dyn Error>> {
    let len = tokens.checked_sub(2).filter(|len| (1..=model.window()).contains(len));
    let len = len.ok_or("so many tokens the model cannot see")?;
    let words = model.vocab().of_kind(Piece::Start);
    let ids: Vec<TokenId> = (0..len).map(|i| words[(i * 37 + 11) % words.len()]).collect();
    let positions: Vec<usize> = (0..copies).map(|i| i % len).collect();
    let view = View { ids: &ids, positions: &positions, memory: &mut Memory::default() };
    let start = Instant::now();
    let rows = model.logits(&mut [view])?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    if rows.iter().flatten().all(|logit| logit.is_finite()) {
        Ok(ms)
    } else {
        Err("a logit is not finite".into())
    }
}

fn perturb(device: &Device, context: Context, text: &str) -> Result<f64, Box<dyn Error>> {
    let settings = Settings { context, ..Settings::new(Epsilon::new(6.0)?) };
    let mechanism = CapePaper::new(Arc::clone(&device.model), settings)?;
    let (tokenizer, keep) = (Arc::clone(&device.tokenizer), KeepList::default());
    let about = About { mechanism: "cape-paper", words: None, fingerprint: String::new() };
    let sanitizer = Sanitizer::tokens(tokenizer, keep, Box::new(mechanism), about);
    let start = Instant::now();
    sanitizer.release(text, &Secret::seeded(1, 0))?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
