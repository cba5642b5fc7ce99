//! How long word vectors take to load, and from what.
//!
//! `cargo bench -p cape-models --bench vectors -- FILE…`

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use cape_models::Vectors;

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1).filter(|arg| arg != "--bench") {
        let (start, mut phases) = (Instant::now(), Vec::new());
        let vectors = Vectors::load(Path::new(&path), &mut |progress| {
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
        println!("  compact  {:?}", vectors.compact);
        println!("  skipped  {:?}", vectors.skipped);
        print!("  checksum ");
        vectors.checksum.iter().for_each(|byte| print!("{byte:02x}"));
        println!();
    }
    Ok(())
}
