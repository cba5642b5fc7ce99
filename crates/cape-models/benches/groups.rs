//! How long the groups of CUSTEXT take.
//!
//! `cargo bench -p cape-models --bench groups -- WORDS WIDTH [K] [OUT]` takes vectors made up
//! by a fixed rule, in clusters; `-- FILE [K] [OUT]` those of a text file, a word and its numbers on
//! each line. The order of the words is the order of frequency. `OUT.f32` and `OUT.txt` then get the
//! vectors and the groups, for another program to be compared.

use std::error::Error;
use std::io::Write;
use std::time::Instant;

use cape::tokens::Embeddings;
use cape_models::word_groups;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let (unit, rest) = match &args[..] {
        [words, width, rest @ ..] if words.parse::<usize>().is_ok() => {
            (made(words.parse()?, width.parse()?), rest)
        }
        [file, rest @ ..] => (read(&std::fs::read_to_string(file)?)?, rest),
        [] => return Err("usage: groups WORDS WIDTH [K] [OUT] | FILE [K] [OUT]".into()),
    };
    let k = rest.first().map_or(Ok(20), |k| k.parse())?;
    let words = unit.data().len() / unit.dim();
    let order: Vec<u32> = (0..u32::try_from(words)?).collect();

    let start = Instant::now();
    let groups = word_groups(&unit, &order, k, &mut |done, total| eprint!("\r{done}/{total}"));
    let seconds = start.elapsed().as_secs_f64();
    eprintln!();
    println!("{words} × {}, K = {k}: {} groups in {seconds:.2} s", unit.dim(), groups.len());

    if let Some(out) = rest.get(1) {
        let bytes: Vec<u8> = unit.data().iter().flat_map(|number| number.to_le_bytes()).collect();
        std::fs::write(format!("{out}.f32"), bytes)?;
        let mut file = std::io::BufWriter::new(std::fs::File::create(format!("{out}.txt"))?);
        for group in groups {
            let words: Vec<String> = group.iter().map(u32::to_string).collect();
            writeln!(file, "{}", words.join(" "))?;
        }
    }
    Ok(())
}

/// Vectors around centres, one for every fifty words.
fn made(words: usize, width: usize) -> Embeddings {
    let mut state = 1_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 40
    };
    let mut some = |count: usize| -> Vec<f32> {
        (0..count).map(|_| (next() + next()) as f32 / (1 << 24) as f32 - 1.0).collect()
    };
    let centres = some(words.div_ceil(50) * width);
    let mut rows = some(words * width);
    for row in rows.chunks_mut(width) {
        let centre = next() as usize % words.div_ceil(50);
        for (v, centre) in row.iter_mut().zip(&centres[centre * width..]) {
            *v += 0.8 * centre;
        }
    }
    unit(rows, width)
}

fn read(text: &str) -> Result<Embeddings, Box<dyn Error>> {
    let mut rows: Vec<f32> = Vec::new();
    let mut width = 0;
    // some files begin with a line of two numbers, which is no word
    for line in text.lines().filter(|line| line.split(' ').count() > 2) {
        let before = rows.len();
        for number in line.split(' ').skip(1) {
            rows.push(number.parse()?);
        }
        width = rows.len() - before;
    }
    Ok(unit(rows, width))
}

fn unit(mut rows: Vec<f32>, width: usize) -> Embeddings {
    for row in rows.chunks_mut(width) {
        let length = row.iter().map(|v| v * v).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        for v in row {
            *v /= length;
        }
    }
    Embeddings::new(rows, width)
}
