//! Arbitrary Unicode cut into units, and any draws in their place: `scripts/fuzz words SECONDS`.

#![no_main]

use std::sync::LazyLock;

use cape::kinds;
use cape::lexicon::Listed;
use cape::mechanism::cape::{Drawn, Settings};
use cape::rng::seeded;
use cape::sample::below;
use cape::sanitizer::written;
use cape::units::{Options, Unit, cut};
use cape::{Cape, Kind, Level, Lexicon, Release, Secret};
use libfuzzer_sys::fuzz_target;

/// For prose, for code and for JSON.
static CAPES: LazyLock<[Cape; 3]> = LazyLock::new(|| {
    [(false, false), (true, false), (false, true)].map(|(code, json)| {
        let cut = Options { code, json };
        let settings = Settings { cut, any_script: true, ..Settings::default() };
        Cape::new(Lexicon::embedded(), settings).unwrap()
    })
});

fuzz_target!(|data: (u8, u64, &str)| {
    let (which, seed, text) = data;
    let cape = &CAPES[usize::from(which) % CAPES.len()];
    let Ok(plan) = cape.plan(text) else {
        assert!(text.chars().any(char::is_control), "only control characters are refused");
        return;
    };
    let units: Vec<Unit> = plan.places.iter().map(|place| place.unit).collect();
    in_order(text, &units);
    // any draws, far from those that the law likes
    let mut rng = seeded(seed, 0);
    let any = plan.keys.iter().map(|key| match key.kind {
        Kind::Word => Drawn::Word(Listed(below(cape.lexicon().len() as u64, &mut rng) as u32)),
        kind if kinds::grid_len(kind) == 0 => Drawn::Value(kinds::uniform(kind, &mut rng)),
        kind => {
            let n = kinds::grid_len(kind) as u64;
            // small ones as often as all: they are what lists and times are made of
            let n = if below(2, &mut rng) == 0 { n } else { 61.min(n) };
            Drawn::Value(kinds::grid_text(kind, below(n, &mut rng) as usize))
        }
    });
    let any: Vec<Drawn> = any.collect();
    check(cape, text, &units, &written(cape, text, &plan, &any, true));
    // and, seldom since they take far longer, those that it makes
    if seed % 256 == 0 && plan.keys.len() < 20 {
        let drawn = cape.draw(&plan, &Secret::seeded(seed, 1));
        check(cape, text, &units, &written(cape, text, &plan, &drawn, true));
    }
});

/// Units are in order, on character borders, not empty, and something lies between any two.
fn in_order(text: &str, units: &[Unit]) {
    let mut at = None;
    for unit in units {
        assert!(unit.start < unit.end && at.is_none_or(|at| at < unit.start));
        assert!(text.is_char_boundary(unit.start) && text.is_char_boundary(unit.end));
        at = Some(unit.end);
    }
    assert!(at.unwrap_or(0) <= text.len());
}

/// What stands before the first unit, between two, and after the last.
fn separators<'a>(text: &'a str, units: &[Unit]) -> Vec<&'a str> {
    let ends = std::iter::once(0).chain(units.iter().map(|unit| unit.end));
    let starts = units.iter().map(|unit| unit.start).chain([text.len()]);
    ends.zip(starts).map(|(end, start)| &text[end..start]).collect()
}

/// A release has a word for each unit, what stood between them, and is cut as its prompt was.
fn check(cape: &Cape, text: &str, units: &[Unit], release: &Release) {
    assert_eq!(release.words.len(), units.len());
    let mut expected = separators(text, units)[0].to_owned();
    for (word, between) in release.words.iter().zip(&separators(text, units)[1..]) {
        assert!(word.level != Level::Kept && !word.released.is_empty());
        expected += &word.released;
        expected += between;
    }
    assert_eq!(release.text, expected);
    // bare words of JSON are no words
    let literal = |word: &str| ["true", "false", "null"].contains(&word);
    let options = cape.settings().cut;
    if options.json && release.words.iter().any(|word| literal(&word.released)) {
        return;
    }
    let again = cut(&release.text, options).expect("a release has no control characters");
    let shape = |unit: &Unit| (unit.kind, unit.first);
    assert!(
        again.iter().map(shape).eq(units.iter().map(shape)),
        "{text:?} became {:?}",
        release.text
    );
    assert_eq!(separators(&release.text, &again), separators(text, units));
}
