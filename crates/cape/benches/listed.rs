//! The time of a draw for a protected word against the number of listed words: `cargo bench --bench listed` prints both.

use std::time::Instant;

use cape::mechanism::cape::Settings;
use cape::{Cape, Kind, Lexicon, Secret, Shape};

/// Names that are on no list: each is drawn for by its letters.
const WORDS: [&str; 4] = ["Krzysztof", "Zbigniewska", "Oulankajoki", "Quixarvion"];

const DRAWS: u64 = 200;

/// The embedded lexicon with one word in so many.
fn thinned(one_in: usize) -> Lexicon {
    let words = include_str!("../lexicon/words.tsv").lines().step_by(one_in);
    let words: String = words.flat_map(|line| [line, "\n"]).collect();
    let vectors: &[u8] = include_bytes!("../lexicon/vectors.bin");
    let dim = u32::from_le_bytes([vectors[12], vectors[13], vectors[14], vectors[15]]) as usize;
    let rows: Vec<&[u8]> = vectors[16..].chunks(dim).step_by(one_in).collect();
    let head = [&vectors[..8], &(rows.len() as u32).to_le_bytes(), &vectors[12..16]].concat();
    let ngrams: &[u8] = include_bytes!("../lexicon/ngrams.bin");
    Lexicon::new(&words, [head, rows.concat()].concat(), ngrams)
        .expect("a part of a lexicon is one")
}

fn main() {
    for one_in in [16, 8, 4, 2, 1] {
        let settings = Settings { shape: Shape { k: 20, alpha: None }, ..Settings::default() };
        let cape = Cape::new(thinned(one_in).into(), settings).expect("the settings are good");
        let keys = WORDS.map(|word| cape.key(Kind::Word, word, false).0);
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            for i in 0..DRAWS {
                let key = &keys[i as usize % keys.len()];
                std::hint::black_box(cape.draw_one(key, &Secret::seeded(i, 0)));
            }
            best = best.min(start.elapsed().as_secs_f64() * 1e6 / DRAWS as f64);
        }
        println!("{} {best:.1}", cape.lexicon().len());
    }
}
