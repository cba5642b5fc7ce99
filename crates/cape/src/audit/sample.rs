#![doc = include_str!("sample.md")]

mod binomial;
mod columns;
mod dependence;
mod event;
mod fit;
mod power;

pub use columns::Place;
pub use dependence::{Dependence, Pairing};
pub use event::Event;
pub use fit::{Departure, Outcomes, WordDistribution};
pub use power::Power;

use columns::Columns;

/// The releases of two prompts: those of the first run choose what is tested on those of the second.
pub struct Draws {
    /// The two runs.
    pub runs: [Run; 2],
}

/// Releases in the order in which they were drawn.
#[derive(Default)]
pub struct Run {
    /// Releases of the prompt, and of the other prompt: one of each in turn, as many of each.
    pub of: [Vec<String>; 2],
}

/// The claim about the releases.
pub struct Claim {
    /// The log-ratio that the probabilities of no event exceed.
    pub epsilon: f64,
    /// The distribution of a word of each prompt, where it is known.
    pub distributions: Option<[WordDistribution; 2]>,
}

/// The findings of an audit by samples.
pub struct SampleFindings {
    /// How many releases of each prompt there were.
    pub draws: u64,
    /// ε is at least this, but for a chance of a third of one minus the confidence.
    pub epsilon: f64,
    /// The event that shows it; none where nothing varies.
    pub event: Option<Event>,
    /// How many events were tested.
    pub events: usize,
    /// The power of the test of ε.
    pub power: Power,
    /// Releases that depend on each other.
    pub dependence: Option<Dependence>,
    /// How many tests of independence there were.
    pub pairings: usize,
    /// A word that does not follow its distribution.
    pub departure: Option<Departure>,
    /// How many tests of fit there were; none if no distribution is known.
    pub fit_tests: Option<usize>,
}

/// Tests a claim on releases.
///
/// # Panics
/// If a run has not as many releases of the one prompt as of the other, or less than two of each; if
/// the confidence is not between 0 and 1.
#[must_use]
pub fn audit(draws: &Draws, claim: &Claim, confidence: f64) -> SampleFindings {
    assert!(confidence > 0.0 && confidence < 1.0, "a confidence lies between 0 and 1");
    for Run { of: [one, other] } in &draws.runs {
        assert!(one.len() == other.len() && one.len() > 1, "as many of the one as of the other");
    }
    // ε, independence and fit share what may go wrong
    let alpha = (1.0 - confidence) / 3.0;
    let columns = Columns::new(draws);
    let chosen = event::choose(&columns, claim.distributions.as_ref());
    let events = chosen.len();
    let each = alpha / event::MOST_EVENTS as f64;
    let tested = chosen.into_iter().map(|chosen| chosen.test(&columns, each));
    let event = tested.max_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
    let (dependence, pairings) = dependence::test(&columns, alpha);
    let fit =
        claim.distributions.as_ref().map(|distributions| fit::test(distributions, draws, alpha));
    let (departure, fit_tests) = fit.unzip();
    let count = |run: &Run| run.of[0].len() as u64;
    SampleFindings {
        draws: draws.runs.iter().map(count).sum(),
        epsilon: event.as_ref().map_or(0.0, |event| event.epsilon.max(0.0)),
        event,
        events,
        power: Power::new(claim.epsilon, count(&draws.runs[1]), each),
        dependence,
        pairings,
        departure: departure.flatten(),
        fit_tests,
    }
}

impl SampleFindings {
    /// Whether the claim was found wanting.
    #[must_use]
    pub fn refutes(&self, claim: &Claim) -> bool {
        self.epsilon > claim.epsilon || self.dependence.is_some() || self.departure.is_some()
    }
}
