//! The paper's shape on SST-2: share kept, ROUGE-L and the KNN attack as ε grows.
//!
//! `cargo run --release -p cape-models --example sst2 -- SST2_DEV.tsv [MODEL[:ARITHMETIC] [ε,…]]`
//!
//! Runs the paper's mechanism over every sentence of the first column, in the raw and in the released
//! context, with seeded draws; without a model with the default one, without ε at the paper's.

use std::sync::Arc;

use cape::assemble::assemble;
use cape::context::Context;
use cape::keep::KeepList;
use cape::mechanism::Mechanism;
use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::metric::rouge_l;
use cape::model::LanguageModel;
use cape::privacy::Epsilon;
use cape::rng::seeded;
use cape::text::Outcome;
use cape_models::{Arithmetic, DEFAULT, Device, Options, load_with};
use rayon::prelude::*;

/// The paper's values of ε, and its k.
const EPSILONS: [f64; 7] = [1.0, 2.0, 3.0, 6.0, 10.0, 14.0, 20.0];
const K: usize = 10;

/// Sums over sentences.
#[derive(Default, Clone, Copy)]
struct Sums {
    sentences: f64,
    rouge: f64,
    sensitive: f64,
    kept: f64,
    found: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let path = args.first().ok_or("usage: sst2 SST2_DEV.tsv [MODEL[:ARITHMETIC] [ε,…]]")?;
    let model = args.get(1).map_or(DEFAULT, String::as_str);
    let (model, arithmetic) = match model.rsplit_once(':') {
        Some((model, name)) => (model, Arithmetic::named(name).ok_or("no such arithmetic")?),
        None => (model, Arithmetic::Auto),
    };
    let epsilons = match args.get(2) {
        Some(list) => list.split(',').map(str::parse).collect::<Result<_, _>>()?,
        None => EPSILONS.to_vec(),
    };
    let file = std::fs::read_to_string(path)?;
    let sentences: Vec<&str> = file.lines().skip(1).filter_map(|l| l.split('\t').next()).collect();
    let device = load_with(model, Options { arithmetic, ..Options::default() })?;
    println!("{} sentences", sentences.len());
    println!("| context | ε | holds per token | kept % | ROUGE-L % | KNN-10 privacy % |");
    println!("|---|---|---|---|---|---|");
    for context in [Context::Raw, Context::Released] {
        for &epsilon in &epsilons {
            let settings = Settings { context, ..Settings::new(Epsilon::new(epsilon)?) };
            let mechanism =
                CapePaper::new(Arc::clone(&device.model) as Arc<dyn LanguageModel>, settings)?;
            let sums = sentences
                .par_iter()
                .enumerate()
                .map(|(seed, sentence)| one(&device, &mechanism, sentence, seed as u64))
                .try_reduce(Sums::default, |a, b| Ok(a.plus(b)))?;
            println!(
                "| {} | {epsilon} | {:.2} | {:.1} | {:.2} | {:.1} |",
                context.as_str(),
                mechanism.guarantee().bound,
                100.0 * sums.kept / sums.sensitive,
                100.0 * sums.rouge / sums.sentences,
                100.0 * (1.0 - sums.found / sums.sensitive),
            );
        }
    }
    Ok(())
}

fn one(device: &Device, mechanism: &CapePaper, text: &str, seed: u64) -> cape::Result<Sums> {
    let tokens = device.tokenizer.tokenize(text, &KeepList::default())?;
    let outcomes = mechanism.perturb(&tokens, &mut seeded(seed, 0))?;
    let vocab = device.model.vocab();
    let (released, _) = assemble(text, &tokens, &outcomes, vocab);
    let mut sums = Sums { sentences: 1.0, rouge: rouge_l(text, &released), ..Sums::default() };
    let everything = vocab.drawable();
    for (token, outcome) in tokens.as_slice().iter().zip(&outcomes) {
        let Outcome::Drawn { id, .. } = *outcome else {
            continue;
        };
        sums.sensitive += 1.0;
        sums.kept += f64::from(u8::from(id == token.id));
        // the true token is among the k nearest to what was released
        let from = device.model.embeddings().distances(id, everything);
        let own = device.model.embeddings().distances(id, &[token.id])[0];
        let closer = from.iter().filter(|&&d| d < own).count();
        sums.found += f64::from(u8::from(closer < K));
    }
    Ok(sums)
}

impl Sums {
    fn plus(self, other: Self) -> Self {
        Self {
            sentences: self.sentences + other.sentences,
            rouge: self.rouge + other.rouge,
            sensitive: self.sensitive + other.sensitive,
            kept: self.kept + other.kept,
            found: self.found + other.found,
        }
    }
}
