//! How long word vectors take to load, and from what.
//!
//! `cargo run --release -p cape-models --example vectors -- FILE…`

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use cape_models::vectors::load;

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let (start, mut phases) = (Instant::now(), Vec::new());
        let vectors = load(Path::new(&path), &mut |progress| {
            if phases.last().is_none_or(|&(phase, _)| phase != progress.phase) {
                phases.push((progress.phase, start.elapsed()));
            }
        })?;
        println!("{path}");
        println!("  words    {} of {} numbers", vectors.words.len(), vectors.rows.dim());
        println!("  seconds  {:.2}", start.elapsed().as_secs_f64());
        for (phase, at) in phases {
            println!("           {phase:?} from {:.2}", at.as_secs_f64());
        }
        println!("  cache    {:?}", vectors.cache);
        println!("  skipped  {:?}", vectors.skipped);
        print!("  checksum ");
        vectors.checksum.iter().for_each(|byte| print!("{byte:02x}"));
        println!();
    }
    Ok(())
}
