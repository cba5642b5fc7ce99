//! Which law fits a person's prompts: how much of them may be guessed, and how near the drawn words stay.

use cape::law::Law;
use cape::{Cape, Kind, Level};

use crate::Result;
use crate::data::Data;
use crate::summary::Estimate;

/// A law, and what it does to some prompts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// ε₁.
    pub epsilon: f64,
    /// How many of the nearest words are alike.
    pub k: usize,
    /// The share of the protected words that the Bayes attack finds.
    pub guessed: Estimate,
    /// How near a drawn word is to the one that was written: 1 for the word itself, 0 for any word of the list.
    pub closeness: f64,
}

/// Two laws that differ by no more in closeness are alike: the one of the smaller ε₁ is better.
const ALIKE: f64 = 0.03;

/// The law of the smallest ε₁ among those that leave the words about as near as possible, where no more than a
/// share of the protected words is guessed: the interval's upper end counts, and what a smaller ε₁ gives away with the
/// same k, a larger one does too, whatever chance says. None if no law does.
#[must_use]
pub fn best(choices: &[Choice], at_most: f64) -> Option<Choice> {
    let fits = |choice: &&Choice| {
        let less = |other: &&Choice| other.k == choice.k && other.epsilon <= choice.epsilon;
        choices.iter().filter(less).all(|other| other.guessed.high <= at_most)
    };
    let fit = choices.iter().filter(fits);
    let most = fit.clone().map(|choice| choice.closeness).fold(f64::NEG_INFINITY, f64::max);
    let near = fit.filter(|choice| choice.closeness >= most - ALIKE);
    let by = |a: &&Choice, b: &&Choice| {
        a.epsilon.total_cmp(&b.epsilon).then(b.closeness.total_cmp(&a.closeness))
    };
    near.min_by(by).copied()
}

/// How near the words of each rank are, on average over the protected words of some prompts.
pub struct Nearness {
    ranks: Vec<f64>,
    /// How many protected words there are.
    pub words: usize,
}

impl Nearness {
    /// The order of a draw does not depend on the law, so any law will do here.
    pub fn new(cape: &Cape, data: &Data) -> Result<Self> {
        let mut found = Self { ranks: vec![0.0; cape.lexicon().len()], words: 0 };
        for item in &data.items {
            let plan = cape.plan(&item.text)?;
            let protected = |place: &&cape::mechanism::cape::Place| {
                place.key.is_some_and(|key| {
                    let key = &plan.keys[key];
                    key.level == Level::Protected && key.kind == Kind::Word
                })
            };
            for key in plan.places.iter().filter(protected).filter_map(|place| place.key) {
                let key = &plan.keys[key];
                let similarities = cape.lexicon().similarities(&key.form);
                let order = cape.order(key);
                let similarity = |at: usize| f64::from(similarities[order[at].index()]);
                let substitutes = &similarities[..cape.lexicon().substitutes()];
                let sum: f64 = substitutes.iter().map(|&s| f64::from(s)).sum();
                let mean = sum / substitutes.len() as f64;
                // the word itself, or the nearest listed one, also where a protected word hardly ever becomes it
                let best = similarities.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let span = f64::from(best) - mean;
                for (rank, sum) in found.ranks.iter_mut().enumerate() {
                    *sum += (similarity(rank) - mean) / span;
                }
                found.words += 1;
            }
        }
        Ok(found)
    }

    /// The closeness under a law, exactly.
    #[must_use]
    pub fn under(&self, law: &Law) -> f64 {
        let sum: f64 =
            (1..).zip(&self.ranks).map(|(rank, near)| law.probability(rank) * near).sum();
        sum / self.words.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Item;
    use cape::Epsilon;
    use cape::Lexicon;
    use cape::mechanism::cape::Settings;

    #[test]
    fn the_smallest_epsilon_of_the_nearest_is_chosen() {
        let choice = |epsilon, k, high, closeness| Choice {
            epsilon,
            k,
            guessed: Estimate { mean: high / 2.0, low: 0.0, high, n: 100 },
            closeness,
        };
        let all = [
            choice(6.0, 10, 0.04, 0.2),
            choice(10.0, 10, 0.08, 0.6),
            choice(8.0, 40, 0.06, 0.58),
            choice(12.0, 1, 0.9, 0.99),
        ];
        assert_eq!(best(&all, 0.1).map(|best| best.epsilon), Some(8.0));
        assert_eq!(best(&all, 0.05).map(|best| best.epsilon), Some(6.0));
        assert_eq!(best(&all, 1.0).map(|best| best.epsilon), Some(12.0));
        let lucky = [choice(6.0, 10, 0.2, 0.2), choice(8.0, 10, 0.1, 0.5)];
        assert!(best(&lucky, 0.15).is_none());
        assert!(best(&all, 0.01).is_none() && best(&[], 1.0).is_none());
    }

    #[test]
    fn a_law_that_keeps_every_word_leaves_all_of_it() {
        let cape = |epsilon: f64, k: usize| {
            let mut settings =
                Settings { epsilon: Epsilon::new(epsilon).unwrap(), ..Settings::default() };
            settings.shape.k = k;
            Cape::new(Lexicon::embedded(), settings).unwrap()
        };
        let text = "My daughter Alice was diagnosed with asthma in London.".to_owned();
        let item = Item { text, ..Item::default() };
        let data = Data { name: "d".into(), items: vec![item] };
        let nearness = Nearness::new(&cape(8.0, 100), &data).unwrap();
        assert_eq!(nearness.words, 3);
        let under = |epsilon, k| nearness.under(cape(epsilon, k).law(Level::Protected));
        assert!(under(30.0, 1) > 0.999 && under(0.01, 100).abs() < 0.02);
        assert!(under(8.0, 100) < under(10.0, 100) && under(10.0, 100) < under(10.0, 20));
    }
}
