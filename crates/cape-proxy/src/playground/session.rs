//! What was drawn since the program started: a map, and counts by keyed hashes. Of prompts the last alone is kept, for
//! its answer.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use cape::levels::Key;
use cape::mechanism::cape::{Drawn, Plan};
use cape::rng::{self, CryptoRng};
use cape::{Cape, Level, Secret};
use serde::Serialize;

use super::exchange::{Last, Owed};

/// The map in use, and what all maps have spent.
pub(super) struct Session {
    /// Tells this run's maps from those of others, in a ledger.
    name: String,
    secret: Secret,
    /// Hides the words in the two tables below.
    hasher: RandomState,
    /// The keys that were drawn from this map, by law.
    drawn: HashSet<u64>,
    /// The loss of each protected key over all its draws.
    spent: HashMap<u64, f64>,
    counts: Counts,
    last: Option<Arc<Last>>,
}

/// The totals, for the user.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Counts {
    draws: u64,
    maps: u64,
    epsilon: f64,
}

/// The cost of a plan, before or after its draw.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Price {
    /// The keys that this map has not drawn yet.
    pub(super) fresh: usize,
    /// The largest loss that one protected key of the plan has spent so far.
    pub(super) most_spent: f64,
}

impl Session {
    pub(super) fn new() -> cape::Result<Self> {
        Ok(Self {
            name: name()?,
            secret: Secret::fresh()?,
            hasher: RandomState::new(),
            drawn: HashSet::new(),
            spent: HashMap::new(),
            counts: Counts { draws: 0, maps: 1, epsilon: 0.0 },
            last: None,
        })
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn price(&self, cape: &Cape, plan: &Plan) -> Price {
        let is_fresh =
            |key: &&Key| !self.drawn.contains(&self.hasher.hash_one(cape.drawn_from(key)));
        let fresh = plan.keys.iter().filter(is_fresh).count();
        let protected = plan.keys.iter().filter(|key| key.level == Level::Protected);
        let spent = protected.filter_map(|key| self.spent.get(&self.hasher.hash_one(key)));
        Price { fresh, most_spent: spent.copied().fold(0.0, f64::max) }
    }

    /// The draws of a plan that are not paid for, from this map or from another.
    pub(super) fn owed(&self, cape: &Cape, plan: &Plan, bound: f64, fresh: bool) -> Owed {
        let is_owed = |from: &Vec<u8>| fresh || !self.drawn.contains(&self.hasher.hash_one(from));
        let draws = plan.keys.iter().map(|key| (cape.drawn_from(key), key.word()));
        let draws = draws.filter(|(from, _)| is_owed(from)).collect();
        let map = format!("{} {}", self.name, self.counts.maps + u64::from(fresh));
        Owed { map, draws, bound }
    }

    /// Forgets the map: every word is drawn anew, and counted anew.
    pub(super) fn another_map(&mut self) -> cape::Result<()> {
        self.secret = Secret::fresh()?;
        self.drawn.clear();
        self.counts.maps += 1;
        Ok(())
    }

    /// Draws for a plan whose draws cost `bound` each. What this map has drawn before comes out the same and
    /// costs nothing.
    pub(super) fn draw(&mut self, cape: &Cape, plan: &Plan, bound: f64) -> Vec<Drawn> {
        for key in &plan.keys {
            if self.drawn.insert(self.hasher.hash_one(cape.drawn_from(key))) {
                self.counts.draws += 1;
                self.counts.epsilon += bound;
                if let (Level::Protected, Some(law)) = (key.level, cape.law_of(key)) {
                    *self.spent.entry(self.hasher.hash_one(key)).or_default() += law.epsilon();
                }
            }
        }
        cape.draw(plan, &self.secret)
    }

    /// Keeps a release for its answer, in the place of the one before.
    pub(super) fn keep(&mut self, last: Last) {
        self.last = Some(Arc::new(last));
    }

    pub(super) fn last(&self) -> Option<Arc<Last>> {
        self.last.clone()
    }
}

/// A name that says nothing.
fn name() -> cape::Result<String> {
    let mut generator = rng::secure()?;
    let rng: &mut dyn CryptoRng = &mut generator;
    Ok(format!("{:016x}{:016x}", rng.next_u64(), rng.next_u64()))
}
