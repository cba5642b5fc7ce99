//! Lexicons small enough to enumerate whole releases, the exact law of these, and what it is checked
//! against.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod faults;
pub(crate) mod joint;
pub(crate) mod small;

use std::sync::Arc;

use cape::mechanism::cape::Settings;
use cape::{Cape, Epsilon, Lexicon, Profile, Shape};

/// A lexicon of these words with their flags and vectors, and of vectors for groups of letters.
pub(crate) fn lexicon(words: &[(&str, &str, &[i8])], groups: &[&[i8]]) -> Arc<Lexicon> {
    let mut words = words.to_vec();
    words.sort_unstable();
    let lines: String =
        words.iter().flat_map(|(word, flags, _)| [*word, "\t", *flags, "\n"]).collect();
    let file = |magic: &[u8], rows: &[&[i8]]| {
        let sizes = [rows.len(), rows[0].len()].map(|size| (size as u32).to_le_bytes()).concat();
        let data = rows.concat().iter().map(|v| v.cast_unsigned()).collect();
        [magic.to_vec(), sizes, data].concat()
    };
    let vectors: Vec<&[i8]> = words.iter().map(|(.., vector)| *vector).collect();
    let vectors = file(b"CAPEVEC1", &vectors);
    Arc::new(Lexicon::new(&lines, vectors, file(b"CAPENGR1", groups)).unwrap())
}

/// Eight listed words, each with one that is its opposite: what one ranks first the other ranks last.
/// Two of them are spelled alike but for case. Two more are of the rest.
pub(crate) fn opposites() -> Arc<Lexicon> {
    lexicon(
        &[
            ("the", "lo", &[100, 0]),
            ("Alice", "lf", &[-100, 0]),
            ("table", "lo", &[0, 100]),
            ("asthma", "lI", &[0, -100]),
            ("will", "lo", &[70, 71]),
            ("London", "lp", &[-70, -71]),
            ("Will", "lm", &[71, -70]),
            ("round", "lo", &[-71, 70]),
            ("plain", "lor", &[60, 20]),
            ("rash", "lorI", &[-60, 20]),
            ("Krzysztof", "m", &[-90, 5]),
        ],
        &[&[3, 1], &[-2, 5], &[0, -4], &[-5, -1], &[2, -2]],
    )
}

/// Settings with these laws. "Acme" and "New York" are kept.
pub(crate) fn settings(epsilon: f64, k: usize, alpha: Option<f64>, ordinary: f64) -> Settings {
    Settings {
        profile: Profile::Personal,
        epsilon: Epsilon::new(epsilon).unwrap(),
        shape: Shape { k, alpha },
        epsilon_ordinary: Some(Epsilon::new(ordinary).unwrap()),
        keep: vec!["Acme".into(), "New York".into()],
        ..Settings::default()
    }
}

/// The mechanism on the lexicon of opposites: a plateau of two ranks at ε₁ = 1.5, and ε₂ = 5.
pub(crate) fn opposite_cape() -> Cape {
    Cape::new(opposites(), settings(1.5, 2, None, 5.0)).unwrap()
}
