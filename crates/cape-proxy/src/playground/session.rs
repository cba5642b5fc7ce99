//! What was drawn since the program started: a map, and counts by keyed hashes. Of prompts the last alone is kept, for
//! its answer.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use cape::levels::Key;
use cape::mechanism::cape::{Drawn, Plan};
use cape::{Cape, Level, Release, Secret};
use serde::Serialize;

/// The map in use, and what all maps have spent.
pub(super) struct Session {
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

/// The release that was drawn last, and what it was drawn for.
pub(super) struct Last {
    pub(super) text: String,
    pub(super) release: Release,
    pub(super) cape: Arc<Cape>,
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
        let is_fresh = |key: &&Key| !self.drawn.contains(&self.of_law(cape, key));
        let fresh = plan.keys.iter().filter(is_fresh).count();
        let protected = plan.keys.iter().filter(|key| key.level == Level::Protected);
        let spent = protected.filter_map(|key| self.spent.get(&self.hasher.hash_one(key)));
        Price { fresh, most_spent: spent.copied().fold(0.0, f64::max) }
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
            if self.drawn.insert(self.of_law(cape, key)) {
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

    /// A key under the laws of a mechanism: under others it is another draw.
    fn of_law(&self, cape: &Cape, key: &Key) -> u64 {
        self.hasher.hash_one((cape.tag(), key))
    }
}
