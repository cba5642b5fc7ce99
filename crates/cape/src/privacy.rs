//! The promise: ε, the notion it holds under, and the evidence for it.

use std::fmt;

use crate::{Error, Result};

/// A privacy budget: positive and finite.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Epsilon {
    value: f64,
}

impl Epsilon {
    /// Takes a positive, finite number.
    pub fn new(value: f64) -> Result<Self> {
        if value.is_finite() && value > 0.0 {
            Ok(Self { value })
        } else {
            Err(Error::Epsilon(value))
        }
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.value
    }
}

/// Which kind of indistinguishability ε speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notion {
    /// Local differential privacy: any two tokens.
    Ldp,
    /// ε for each unit of distance between two words: near ones are protected, far ones less.
    MetricLdp,
    /// The same between two words that are both sensitive; others are mostly kept.
    MetricLdpOfSome,
    /// Two words on the same list only: which list it is, is not protected.
    WithinList,
    /// Nothing is promised.
    None,
}

/// Why the promise is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// ε was asked for, and a proof says that it holds as asked.
    Proof,
    /// A proven upper bound that is not the ε that was asked for.
    Bound,
    /// There is none.
    None,
}

impl fmt::Display for Notion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ldp => "LDP",
            Self::MetricLdp => "metric LDP",
            Self::MetricLdpOfSome => "metric LDP among rare words",
            Self::WithinList => "within a list",
            Self::None => "none",
        })
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Proof => "proof",
            Self::Bound => "bound",
            Self::None => "none",
        })
    }
}

/// Which draws one token of the prompt can influence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Its own draw only: everything else depends on it through what was released.
    OwnDraw,
    /// The draw at every sensitive position.
    EveryDraw,
}

/// The privacy statement of a mechanism, as a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guarantee {
    /// The ε that was asked for.
    pub nominal: Epsilon,
    /// The bound of one draw: the log-ratio of the probabilities of any output, for any two
    /// true tokens (of those that the notion speaks of) and any two contexts, is at most this;
    /// infinite where nothing is known. For words, ε_any: whatever their levels.
    pub bound: f64,
    /// The same for any two true words that are both protected; the bound itself where a mechanism has
    /// but one level.
    pub protected: f64,
    /// The largest probability with which a draw falls on the true token or protected word, whatever
    /// the prompt: as public as the settings.
    pub most_kept: f64,
    /// The same for numbers, dates and all else that lies on a grid, where a release can have such.
    pub most_kept_value: Option<f64>,
    /// k, and the probability with which a protected word becomes one of the k nearest.
    pub near: Option<(usize, f64)>,
    /// The largest probability with which somebody who must decide between two given, equally likely
    /// protected words is right by one draw.
    pub most_guessed: f64,
    /// The notion under which the bound holds.
    pub notion: Notion,
    /// The evidence for it.
    pub evidence: Evidence,
    /// How far a token's influence reaches.
    pub reach: Reach,
}

impl Guarantee {
    /// For a mechanism that treats all that it draws for alike: the reach is its own draw, unless
    /// another is set.
    #[must_use]
    pub fn uniform(
        nominal: Epsilon,
        bound: f64,
        most_kept: f64,
        notion: Notion,
        evidence: Evidence,
    ) -> Self {
        Self {
            nominal,
            bound,
            protected: bound,
            most_kept,
            most_kept_value: None,
            near: None,
            most_guessed: guessed_within(bound),
            notion,
            evidence,
            reach: Reach::OwnDraw,
        }
    }

    /// The loss for two prompts that differ in **one** sensitive token, of `sensitive` in all.
    #[must_use]
    pub fn one_token(&self, sensitive: usize) -> f64 {
        self.differing(1, sensitive)
    }

    /// The loss for two prompts that differ in `differing` of their `sensitive` tokens.
    #[must_use]
    pub fn differing(&self, differing: usize, sensitive: usize) -> f64 {
        match self.reach {
            _ if differing == 0 => 0.0,
            Reach::OwnDraw => self.prompt(differing.min(sensitive)),
            Reach::EveryDraw => self.prompt(sensitive),
        }
    }

    /// The loss for two prompts that differ in all of their `sensitive` tokens.
    #[must_use]
    pub fn prompt(&self, sensitive: usize) -> f64 {
        // no loss at all without a draw, even where the bound is infinite
        if sensitive == 0 { 0.0 } else { self.bound * sensitive as f64 }
    }

    /// The same mechanism driven by a seed that others may know: nothing is promised.
    pub(crate) fn void(self) -> Self {
        Self { notion: Notion::None, evidence: Evidence::None, ..self }
    }
}

/// The largest probability with which somebody decides rightly between two equally likely inputs that
/// are within ε: e^ε / (1 + e^ε).
pub(crate) fn guessed_within(epsilon: f64) -> f64 {
    1.0 / (1.0 + (-epsilon).exp())
}

/// The privacy statement of one release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Privacy {
    /// The guarantee of the mechanism, if its draws did not come from a seed.
    pub guarantee: Guarantee,
    /// Whether the draws came from a seed.
    pub seeded: bool,
    /// How many words, or tokens, are not kept.
    pub words: usize,
    /// How many draws were made: each of them spends the bound.
    pub draws: usize,
    /// How many of the words are protected. It depends on the words and is as private as they are.
    pub protected: usize,
    /// How many tokens the bound says nothing about, though they could be anything: words that the
    /// mechanism does not know or leaves alone, and numbers that were moved.
    pub uncovered: usize,
}

impl Privacy {
    /// The guarantee that holds: none if the draws came from a seed.
    #[must_use]
    pub fn holds(&self) -> Guarantee {
        if self.seeded { self.guarantee.void() } else { self.guarantee }
    }

    /// The loss for two prompts that differ in one draw.
    #[must_use]
    pub fn epsilon_one(&self) -> f64 {
        self.guarantee.one_token(self.draws)
    }

    /// The loss for two prompts that differ in everything that is drawn.
    #[must_use]
    pub fn epsilon_prompt(&self) -> f64 {
        self.guarantee.prompt(self.draws)
    }
}

/// Rounds a loss up to six decimals, for stating it: never below the true value.
pub(crate) fn round_up(loss: f64) -> f64 {
    let stated = (loss * 1e6).ceil() / 1e6;
    if stated >= loss { stated } else { loss.next_up() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epsilon_is_positive_and_finite() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Epsilon::new(bad).is_err());
        }
        assert_eq!(Epsilon::new(0.5).unwrap().get(), 0.5);
    }

    #[test]
    fn raw_context_costs_every_draw() {
        let guarantee = Guarantee {
            nominal: Epsilon::new(2.0).unwrap(),
            bound: 2.0,
            protected: 2.0,
            most_kept: 0.5,
            most_kept_value: None,
            near: None,
            most_guessed: guessed_within(2.0),
            notion: Notion::Ldp,
            evidence: Evidence::Proof,
            reach: Reach::OwnDraw,
        };
        assert_eq!(guarantee.one_token(5), 2.0);
        assert_eq!(guarantee.prompt(5), 10.0);
        assert_eq!(guarantee.one_token(0), 0.0);
        let raw = Guarantee { reach: Reach::EveryDraw, ..guarantee };
        assert_eq!(raw.one_token(5), 10.0);
    }

    #[test]
    fn rounding_never_goes_down() {
        for loss in [1e-9, 0.1, 11.999_999_97, 17.123_456_789_1] {
            assert!(round_up(loss) >= loss && round_up(loss) < loss + 2e-6);
        }
    }
}
