//! What storing a model in fewer bits costs.
//!
//! `cargo run --release -p cape-models --example precision -- TEXT REFERENCE_DIR DIR…`
//!
//! Masks every sensitive position of every line of TEXT in turn and compares each model with the
//! reference: top-1 accuracy, how often the best candidate is the same, how many of the ten best,
//! how far the reference's hundred best move, and the total variation between the distributions
//! that the mechanism draws from (ranked, ε = 12, raw context).

use std::path::Path;
use std::sync::Arc;

use cape::context::Context;
use cape::keep::KeepList;
use cape::mechanism::cape::{Buckets, Cape, Settings};
use cape::model::LanguageModel;
use cape::privacy::Epsilon;
use cape::utility::Lambdas;
use cape::vocab::Candidates;
use cape_models::{Device, Files};
use rayon::prelude::*;

/// What one position says of one model.
struct Position {
    hit: bool,
    /// Candidates by logit, best first, and by utility, best first.
    by_logit: Vec<u32>,
    by_utility: Vec<u32>,
    weights: Vec<f64>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [text, reference, others @ ..] = &args[..] else {
        return Err("usage: precision TEXT REFERENCE_DIR DIR…".into());
    };
    let text = std::fs::read_to_string(text)?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let reference_positions = positions(reference, &lines)?;
    println!("{} positions in {} lines", reference_positions.len(), lines.len());
    println!(
        "| weights | MB | top-1 | same best | of ten best | moved, of 100 best | total variation |"
    );
    println!("|---|---|---|---|---|---|---|");
    for dir in std::iter::once(reference).chain(others) {
        let own = positions(dir, &lines)?;
        let size = std::fs::metadata(Path::new(dir).join("model.safetensors"))?.len();
        let n = own.len() as f64;
        let mean = |f: fn(&Position, &Position) -> f64| {
            reference_positions.iter().zip(&own).map(|(a, b)| f(a, b)).sum::<f64>() / n
        };
        println!(
            "| {} | {:.1} | {:.4} | {:.3} | {:.2} | {:.4} | {:.4} |",
            Path::new(dir).file_name().unwrap_or_default().to_string_lossy(),
            size as f64 / 1e6,
            mean(|_, b| f64::from(u8::from(b.hit))),
            mean(|a, b| f64::from(u8::from(a.by_logit[0] == b.by_logit[0]))),
            mean(|a, b| {
                let best = &b.by_logit[..10];
                a.by_logit[..10].iter().filter(|c| best.contains(c)).count() as f64
            }),
            mean(moved),
            mean(|a, b| {
                a.weights.iter().zip(&b.weights).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
            }),
        );
    }
    Ok(())
}

/// Mean |ln(rank / rank of the reference)| over the reference's hundred best by utility.
fn moved(a: &Position, b: &Position) -> f64 {
    let mut rank = vec![0; b.by_utility.len()];
    for (r, &c) in b.by_utility.iter().enumerate() {
        rank[c as usize] = r + 1;
    }
    let best = a.by_utility.iter().take(100).enumerate();
    best.map(|(r, &c)| (rank[c as usize] as f64 / (r + 1) as f64).ln().abs()).sum::<f64>() / 100.0
}

fn positions(dir: &str, lines: &[&str]) -> Result<Vec<Position>, Box<dyn std::error::Error>> {
    let device: Device = Files::read(Path::new(dir))?.load()?;
    let settings = Settings {
        epsilon: Epsilon::new(12.0)?,
        buckets: Buckets::Ranked { alpha: None },
        context: Context::Raw,
        candidates: Candidates::Typed,
        lambdas: Lambdas::default(),
    };
    let mechanism = Cape::new(Arc::clone(&device.model) as Arc<dyn LanguageModel>, settings)?;
    let keep = KeepList::default();
    let rows: Vec<Vec<Position>> = lines
        .par_iter()
        .map(|line| {
            let tokens = device.tokenizer.tokenize(line, &keep)?;
            let drawn = vec![None; tokens.as_slice().len()];
            tokens
                .sensitive()
                .map(|i| {
                    let e = mechanism.explain(&tokens, &drawn, i)?;
                    let own = tokens.as_slice()[i].id;
                    let logits = &e.scores.logits;
                    let mut by_logit: Vec<u32> = (0..logits.len() as u32).collect();
                    by_logit.sort_by(|&a, &b| logits[b as usize].total_cmp(&logits[a as usize]));
                    let hit = e.scores.candidates[by_logit[0] as usize] == own;
                    by_logit.truncate(10);
                    let total = e.distribution.total as f64;
                    let weights = e.distribution.weights.iter().map(|&w| w as f64 / total);
                    Ok(Position {
                        hit,
                        by_logit,
                        weights: weights.collect(),
                        by_utility: e.distribution.order,
                    })
                })
                .collect()
        })
        .collect::<cape::Result<_>>()?;
    Ok(rows.into_iter().flatten().collect())
}
