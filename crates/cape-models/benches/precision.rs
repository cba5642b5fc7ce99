//! The cost of storing a model in fewer bits, or of computing in fewer.
//!
//! `cargo bench -p cape-models --bench precision -- TEXT REFERENCE MODEL…`
//!
//! A model is `default` or a folder, with `:f32`, `:int16` or `:int8` behind it for the arithmetic.
//! Masks every sensitive position of every line of TEXT in turn and compares each model with the
//! reference: top-1 accuracy, how often the best candidate by logit is the same, how many of the ten
//! best, how far the reference's hundred best by utility move, Spearman's correlation of all ranks,
//! the total variation between the distributions that the mechanism draws from (raw context),
//! and the largest and the mean difference of a utility.

use std::error::Error;
use std::sync::Arc;

use cape::Epsilon;
use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::tokens::{EqualWidth, KeepList, LanguageModel};
use cape_models::{Arithmetic, Options, load_with};
use rayon::prelude::*;

/// A model's answer at one position.
struct Position {
    hit: bool,
    /// The ten best candidates by logit.
    best: Vec<u32>,
    utilities: Vec<f32>,
    /// The rank of each candidate by utility, from 1.
    ranks: Vec<u32>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [text, reference, others @ ..] = &args[..] else {
        return Err("usage: precision TEXT REFERENCE MODEL…".into());
    };
    let text = std::fs::read_to_string(text)?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let reference_positions = positions(reference, &lines)?;
    println!("{} positions in {} lines", reference_positions.len(), lines.len());
    println!(
        "| model | top-1 | same best | of ten best | moved, of 100 best | Spearman \
         | total variation, ε = 6 | ε = 12 | utility, largest error | mean error |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for model in std::iter::once(reference).chain(others) {
        let own = positions(model, &lines)?;
        let n = own.len() as f64;
        let mean = |f: &(dyn Fn(&Position, &Position) -> f64 + Sync)| {
            let pairs = reference_positions.par_iter().zip(&own);
            pairs.map(|(a, b)| f(a, b)).sum::<f64>() / n
        };
        let pairs = reference_positions.iter().zip(&own);
        let largest = pairs.flat_map(|(a, b)| errors(a, b)).fold(0.0, f64::max);
        println!(
            "| {model} | {:.4} | {:.3} | {:.2} | {:.4} | {:.5} | {:.4} | {:.4} | {largest:.1e} \
             | {:.1e} |",
            mean(&|_, b| f64::from(u8::from(b.hit))),
            mean(&|a, b| f64::from(u8::from(a.best[0] == b.best[0]))),
            mean(&|a, b| a.best.iter().filter(|c| b.best.contains(c)).count() as f64),
            mean(&moved),
            mean(&spearman),
            mean(&|a, b| total_variation(a, b, 6.0)),
            mean(&|a, b| total_variation(a, b, 12.0)),
            mean(&|a, b| errors(a, b).sum::<f64>() / a.utilities.len() as f64),
        );
    }
    Ok(())
}

/// The differences of the utilities.
fn errors<'a>(a: &'a Position, b: &'a Position) -> impl Iterator<Item = f64> + 'a {
    a.utilities.iter().zip(&b.utilities).map(|(a, b)| f64::from((a - b).abs()))
}

/// Mean |ln(rank / rank of the reference)| over the reference's hundred best by utility.
fn moved(a: &Position, b: &Position) -> f64 {
    let ranks = a.ranks.iter().zip(&b.ranks).filter(|&(&a, _)| a <= 100);
    ranks.map(|(&a, &b)| (f64::from(b) / f64::from(a)).ln().abs()).sum::<f64>() / 100.0
}

/// The correlation of the ranks of all candidates.
fn spearman(a: &Position, b: &Position) -> f64 {
    let n = a.ranks.len() as f64;
    let ranks = a.ranks.iter().zip(&b.ranks);
    let squares: f64 = ranks.map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum();
    1.0 - 6.0 * squares / (n * (n * n - 1.0))
}

/// Between the distributions of the drawn token.
fn total_variation(a: &Position, b: &Position, epsilon: f64) -> f64 {
    let rule = Epsilon::new(epsilon).and_then(|e| EqualWidth::new(50, e)).expect("in its range");
    let [a, b] = [a, b].map(|at| rule.apply(&at.utilities).expect("so few candidates"));
    let apart = |candidate| (a.probability(candidate) - b.probability(candidate)).abs();
    (0..a.bucket.len()).map(apart).sum::<f64>() / 2.0
}

fn positions(model: &str, lines: &[&str]) -> Result<Vec<Position>, Box<dyn Error>> {
    let (model, arithmetic) = match model.rsplit_once(':') {
        Some((model, name)) => (model, Arithmetic::named(name).ok_or("no such arithmetic")?),
        None => (model, Arithmetic::Auto),
    };
    let device = load_with(model, Options { arithmetic, ..Options::default() })?;
    let settings = Settings::new(Epsilon::new(6.0)?);
    let mechanism = CapePaper::new(Arc::clone(&device.model) as Arc<dyn LanguageModel>, settings)?;
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
                    let mut best: Vec<u32> = (0..logits.len() as u32).collect();
                    best.sort_by(|&a, &b| logits[b as usize].total_cmp(&logits[a as usize]));
                    best.truncate(10);
                    let mut ranks = vec![0; logits.len()];
                    for (&c, rank) in e.distribution.order.iter().zip(1..) {
                        ranks[c as usize] = rank;
                    }
                    let hit = e.scores.candidates[best[0] as usize] == own;
                    Ok(Position { hit, best, utilities: e.scores.utilities, ranks })
                })
                .collect()
        })
        .collect::<cape::Result<_>>()?;
    Ok(rows.into_iter().flatten().collect())
}
