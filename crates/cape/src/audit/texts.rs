//! The exact loss between two texts of equal structure: key by key.
//!
//! A draw sees its own key and nothing else, so that keys which are equal in both texts have equal rows,
//! integer for integer, and the losses of the others add up.

use super::prompts::Loss;
use crate::levels::Key;
use crate::mechanism::cape::{Cape, Plan};
use crate::text::Level;

/// The loss of a draw between two texts.
#[derive(Clone, Debug)]
pub struct Draw {
    /// The units that are written from it, counted from 1.
    pub units: Vec<usize>,
    /// Its key in each text.
    pub keys: [Key; 2],
    /// The loss between these two.
    pub loss: Loss,
    /// The largest loss between any two keys of this kind and these levels.
    pub most: f64,
}

/// Why two texts are not comparable. Nothing of the texts is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Different {
    /// A text cannot be cut.
    #[error(transparent)]
    Text(#[from] crate::Error),
    /// One text has more units than the other.
    #[error("the texts have {0} and {1} units")]
    Count(usize, usize),
    /// The text before a unit differs.
    #[error("the texts' separators differ before unit {0}")]
    Separator(usize),
    /// The text after the last unit differs.
    #[error("the texts differ after their last unit")]
    End,
    /// A unit has another kind.
    #[error("unit {0} is of another kind in the other text")]
    Kind(usize),
    /// A unit is kept in one text, or is kept and another.
    #[error("unit {0} is kept in one of the texts, or differs though it is kept")]
    Kept(usize),
    /// A unit has the same key as an earlier one in one text, and not in the other.
    #[error("unit {0} repeats an earlier one in one of the texts, and not in the other")]
    Repetition(usize),
}

impl Draw {
    /// Whether the draw is for another word or value in the other text.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.keys[0] != self.keys[1]
    }

    /// Whether it is protected in both texts.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.keys.iter().all(|key| key.level == Level::Protected)
    }
}

/// The loss of every draw of two texts. The draws are independent: the loss of all is the sum
/// ([`Loss::sum`]).
pub fn compare(cape: &Cape, one: &str, other: &str) -> Result<Vec<Draw>, Different> {
    let plans = [cape.plan(one)?, cape.plan(other)?];
    same_structure([one, other], &plans)?;
    let [one, other] = &plans;
    let draw = |(i, (a, b)): (usize, (&Key, &Key))| {
        let places = one.places.iter().enumerate().filter(|(_, place)| place.key == Some(i));
        let loss = match (cape.row(a), cape.row(b)) {
            (Some(a), Some(b)) => Loss::between(&a, &b),
            // a uniform draw does not look at its key
            _ => Loss { forth: 0.0, back: 0.0 },
        };
        Draw {
            units: places.map(|(at, _)| at + 1).collect(),
            keys: [a.clone(), b.clone()],
            loss,
            most: most(cape, a, b),
        }
    };
    Ok(one.keys.iter().zip(&other.keys).enumerate().map(draw).collect())
}

/// Compares all that everybody may see.
fn same_structure(texts: [&str; 2], plans: &[Plan; 2]) -> Result<(), Different> {
    let [one, other] = plans.each_ref().map(|plan| &plan.places);
    let mut at = [0; 2];
    for (number, (a, b)) in (1..).zip(one.iter().zip(other)) {
        let units = [a.unit, b.unit];
        let before = [0, 1].map(|i| &texts[i][at[i]..units[i].start]);
        let own = [0, 1].map(|i| units[i].of(texts[i]));
        if before[0] != before[1] {
            return Err(Different::Separator(number));
        }
        if units[0].kind != units[1].kind {
            return Err(Different::Kind(number));
        }
        if a.key.is_some() != b.key.is_some() || a.key.is_none() && own[0] != own[1] {
            return Err(Different::Kept(number));
        }
        if a.key != b.key {
            return Err(Different::Repetition(number));
        }
        at = units.map(|unit| unit.end);
    }
    if one.len() != other.len() {
        return Err(Different::Count(one.len(), other.len()));
    }
    if texts[0][at[0]..] != texts[1][at[1]..] {
        return Err(Different::End);
    }
    Ok(())
}

/// The largest loss between keys with these laws.
fn most(cape: &Cape, a: &Key, b: &Key) -> f64 {
    match (cape.law_of(a), cape.law_of(b)) {
        _ if a == b => 0.0,
        (Some(a_law), Some(_)) if a.level == b.level => a_law.epsilon(),
        (Some(a_law), Some(b_law)) => a_law.loss(b_law),
        _ => 0.0,
    }
}
