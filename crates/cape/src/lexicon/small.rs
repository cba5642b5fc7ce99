//! Small lexicons for tests.

use std::sync::Arc;

use super::Lexicon;

/// The files of these words, with vectors that are made from their letters.
pub(crate) fn lexicon(words: &[(&str, &str)]) -> Arc<Lexicon> {
    let mut words = words.to_vec();
    words.sort_unstable();
    let lines: String =
        words.iter().flat_map(|(word, flags)| [*word, "\t", *flags, "\n"]).collect();
    let number = |i: u8, word: &str| super::vectors::fnv(format!("{i}{word}").as_bytes()) as u8;
    let numbers = |word: &str| [0, 1, 2, 3].map(|i| number(i, word));
    let vectors = words.iter().flat_map(|(word, _)| numbers(word)).collect();
    let ngrams = (0..7).flat_map(|i: u8| numbers(&i.to_string())).collect();
    let file = |magic: &[u8], rows: usize, data: Vec<u8>| {
        let sizes = [rows as u32, 4].map(u32::to_le_bytes).concat();
        [magic.to_vec(), sizes, data].concat()
    };
    let vectors = file(b"CAPEVEC1", words.len(), vectors);
    Arc::new(Lexicon::new(&lines, vectors, file(b"CAPENGR1", 7, ngrams)).unwrap())
}
