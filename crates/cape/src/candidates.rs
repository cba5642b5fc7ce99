//! What a key can become, from the first rank to the last: the draw before it is made.

use crate::kinds::{self, Kind};
use crate::law::Law;
use crate::levels::Key;
use crate::lexicon::Listed;
use crate::mechanism::cape::Cape;

/// The candidates of a key's draw, in the order that the law speaks of.
pub struct Candidates<'a> {
    cape: &'a Cape,
    key: &'a Key,
    law: &'a Law,
    order: Order,
}

enum Order {
    Words {
        order: Vec<Listed>,
        similarities: Vec<f32>,
    },
    /// The value of the key on its grid.
    Values {
        own: usize,
    },
}

/// One of them.
pub struct Candidate {
    /// Its rank, counted from 1.
    pub rank: usize,
    /// Its text.
    pub released: String,
    /// How similar it is to the word; a value has no such number.
    pub similarity: Option<f32>,
    /// Its integer weight.
    pub weight: u64,
    /// Its exact probability.
    pub probability: f64,
}

impl<'a> Candidates<'a> {
    /// Those of a key; none where its kind is drawn uniformly, and does not look at the key.
    #[must_use]
    pub fn new(cape: &'a Cape, key: &'a Key) -> Option<Self> {
        let law = cape.law_of(key)?;
        let order = if key.kind == Kind::Word {
            let similarities = cape.lexicon().similarities(&key.form);
            Order::Words { order: cape.order(key), similarities }
        } else {
            Order::Values { own: key.form.parse().unwrap_or(0) }
        };
        Some(Self { cape, key, law, order })
    }

    /// The law over their ranks.
    #[must_use]
    pub fn law(&self) -> &'a Law {
        self.law
    }

    /// The rank of the key itself, if it is among them: the first, or one of the rest.
    #[must_use]
    pub fn own_rank(&self) -> Option<usize> {
        match &self.order {
            Order::Words { order, .. } => {
                let own = self.cape.itself(self.key)?;
                order.iter().position(|&word| word == own).map(|at| at + 1)
            }
            Order::Values { .. } => Some(1),
        }
    }

    /// The number of the candidate at a rank on the list, or on the grid of values.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn index(&self, rank: usize) -> usize {
        match &self.order {
            Order::Words { order, .. } => order[rank - 1].index(),
            Order::Values { own } => kinds::grid_nth(self.key.kind, *own, rank),
        }
    }

    /// The text of the candidate at a rank.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn text(&self, rank: usize) -> String {
        match &self.order {
            Order::Words { order, .. } => self.cape.lexicon().word(order[rank - 1]).to_owned(),
            Order::Values { .. } => kinds::grid_text(self.key.kind, self.index(rank)),
        }
    }

    /// The candidate at a rank.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn nth(&self, rank: usize) -> Candidate {
        let similarity = match &self.order {
            Order::Words { similarities, .. } => Some(similarities[self.index(rank)]),
            Order::Values { .. } => None,
        };
        let (weight, probability) = (self.law.weight(rank), self.law.probability(rank));
        Candidate { rank, released: self.text(rank), similarity, weight, probability }
    }

    /// The rank of what was released. The place may have given it a capital.
    #[must_use]
    pub fn find(&self, released: &str) -> Option<usize> {
        match &self.order {
            Order::Words { order, .. } => {
                let rank = |of: &dyn Fn(&str) -> bool| {
                    let word = |&word: &Listed| of(self.cape.lexicon().word(word));
                    order.iter().position(word).map(|at| at + 1)
                };
                let lower = released.to_lowercase();
                rank(&|word| word == released)
                    .or_else(|| rank(&|word| word.to_lowercase() == lower))
            }
            Order::Values { .. } => (1..=self.law.len()).find(|&rank| self.text(rank) == released),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lexicon, Settings};

    #[test]
    fn candidates_are_those_of_the_row_that_is_drawn_from() {
        let cape = Cape::new(Lexicon::embedded(), Settings::default()).unwrap();
        let plan = cape.plan("Alice paid 54 for asthma on 3 May 2024, a@b.example.").unwrap();
        let mut uniform = 0;
        for key in &plan.keys {
            let Some(candidates) = Candidates::new(&cape, key) else {
                uniform += 1;
                continue;
            };
            let row = cape.row(key).unwrap();
            assert_eq!(candidates.law().len(), row.len());
            for rank in [1, 2, 20, 101, row.len()] {
                let candidate = candidates.nth(rank);
                assert_eq!(row[candidates.index(rank)].weight, candidate.weight);
                assert_eq!(candidates.find(&candidate.released), Some(rank), "rank {rank}");
            }
        }
        assert_eq!(uniform, 1, "an address looks like any other");
    }
}
