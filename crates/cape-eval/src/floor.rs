//! Floors: the values of measures where nothing is left of a prompt. A curve is to be read from there, not from zero.

use std::collections::HashMap;

use cape::metric::rouge_l;
use cape::tokens::is_stopword;

use crate::data::Data;
use crate::measure::{Measure, Score};
use crate::report::Floor;

/// The floors of the measures that have one on this data.
#[must_use]
pub fn floors(data: &Data) -> Vec<Floor> {
    let floor = |measure: Measure, name: &str, value: f64| Floor {
        data: data.name.clone(),
        measure,
        name: name.into(),
        value,
    };
    let kept: f64 =
        data.items.iter().map(|item| rouge_l(&item.text, &stopwords_alone(&item.text))).sum();
    let mut all =
        vec![floor(Measure::RougeL, "stopwords alone kept", kept / data.items.len().max(1) as f64)];
    let mut labels: HashMap<&str, usize> = HashMap::new();
    for label in data.items.iter().filter_map(|item| item.label.as_deref()) {
        *labels.entry(label).or_default() += 1;
    }
    let (most, of) = (labels.values().max(), labels.values().sum::<usize>());
    all.extend(most.map(|&most| {
        let accuracy = Measure::Score(Score::Accuracy);
        floor(accuracy, "always the same answer", most as f64 / of as f64)
    }));
    all
}

/// A text in which every word but stopwords became one that is nowhere else.
fn stopwords_alone(text: &str) -> String {
    let word = |word: &str| {
        let own = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let stays = own.is_empty() || is_stopword(&own);
        if stays { word.to_owned() } else { "\u{fffd}x".to_owned() }
    };
    text.split_whitespace().map(word).collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Item;

    #[test]
    fn floors_are_of_stopwords_and_of_the_commoner_label() {
        let item = |text: &str, label: &str| Item {
            text: text.into(),
            label: Some(label.into()),
            ..Item::default()
        };
        let items = vec![item("the film is a mess", "0"), item("the joy", "1"), item("no", "1")];
        let floors = floors(&Data { name: "d".into(), items });
        let found: Vec<(Measure, f64)> =
            floors.into_iter().map(|floor| (floor.measure, floor.value)).collect();
        // three of five words, one of two, and the one
        assert!((found[0].1 - (0.6 + 0.5 + 1.0) / 3.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found[1], (Measure::Score(Score::Accuracy), 2.0 / 3.0));
    }
}
