//! The limits on spending: by one key or all keys, for a day or in total, of ε and of maps.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::cost::Cost;
use crate::day::until_tomorrow;
use crate::micros::Micros;

/// One value for each of the four accounts that a release is written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Each<T> {
    /// This key, this day.
    pub key_day: T,
    /// This key, ever.
    pub key: T,
    /// All keys, this day.
    pub day: T,
    /// All keys, ever.
    pub total: T,
}

/// The limits on what is spent. Without one, ε is limited by the largest number that can be counted, and
/// maps are not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// The most ε for this key on this day.
    pub key_day: Option<Micros>,
    /// The most ε for this key ever.
    pub key: Option<Micros>,
    /// The most ε for all keys on this day.
    pub day: Option<Micros>,
    /// The most ε for all keys ever.
    pub total: Option<Micros>,
    /// The most maps that may be opened.
    pub maps: Each<Option<u64>>,
}

/// The rest of each limit; none where there is no limit.
pub type Left = Limits;

/// One of the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// For one key on one day.
    KeyDay,
    /// For one key in total.
    Key,
    /// For all keys on one day.
    Day,
    /// For all keys in total.
    Total,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeyDay => "this key for today",
            Self::Key => "this key",
            Self::Day => "all keys for today",
            Self::Total => "all keys",
        })
    }
}

/// What a request asks for, and what a limit leaves of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The ε of its draws.
    Epsilon {
        /// The number of draws.
        draws: u64,
        /// Their cost.
        asked: Micros,
        /// The rest of the limit.
        left: Micros,
    },
    /// The maps that it opens.
    Maps {
        /// Their number.
        asked: u64,
        /// The rest of the limit.
        left: u64,
    },
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Epsilon { draws, asked, left } => {
                let draws = if *draws == 1 {
                    "1 new draw costs"
                } else {
                    &format!("{draws} new draws cost")
                };
                write!(f, "{draws} ε = {asked}, which is more than the {left} left")
            }
            Self::Maps { asked, left } => {
                let maps =
                    if *asked == 1 { "1 new map is" } else { &format!("{asked} new maps are") };
                write!(f, "{maps} more than the {left} left")
            }
        }
    }
}

/// The refusal of a request that exceeds a limit. Nothing was spent or drawn, and nothing may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{over} to {limit}")]
pub struct Refusal {
    /// The limit that is exceeded; where several are, one that does not end with the day.
    pub limit: Limit,
    /// By what.
    pub over: Over,
    /// The rest of every limit.
    pub all_left: Left,
    /// The time until the same request is allowed if nobody spends; none if it never is.
    pub retry_after: Option<Duration>,
}

impl<T: Copy> Each<T> {
    /// With their names, the lasting ones first.
    fn named(self) -> [(Limit, T); 4] {
        [
            (Limit::Total, self.total),
            (Limit::Key, self.key),
            (Limit::Day, self.day),
            (Limit::KeyDay, self.key_day),
        ]
    }
}

impl Limits {
    fn epsilon(&self) -> Each<Option<Micros>> {
        let Self { key_day, key, day, total, .. } = *self;
        Each { key_day, key, day, total }
    }

    /// The rest of each limit after some spending.
    #[must_use]
    pub fn left(&self, spent: &Each<Cost>) -> Left {
        let epsilon =
            |limit: Option<Micros>, spent: Cost| limit.map(|most| most.less(spent.epsilon));
        let maps =
            |limit: Option<u64>, spent: Cost| limit.map(|most| most.saturating_sub(spent.maps));
        Left {
            key_day: epsilon(self.key_day, spent.key_day),
            key: epsilon(self.key, spent.key),
            day: epsilon(self.day, spent.day),
            total: epsilon(self.total, spent.total),
            maps: Each {
                key_day: maps(self.maps.key_day, spent.key_day),
                key: maps(self.maps.key, spent.key),
                day: maps(self.maps.day, spent.day),
                total: maps(self.maps.total, spent.total),
            },
        }
    }

    /// Whether `asked` may be spent as well, or why it may not be.
    pub(crate) fn admit(
        &self,
        spent: &Each<Cost>,
        asked: Cost,
        now: SystemTime,
    ) -> Result<(), Box<Refusal>> {
        let epsilon = self.epsilon().named().into_iter().zip(spent.named());
        let epsilon = epsilon.filter_map(|((limit, most), (_, had))| {
            let most = most.unwrap_or(Micros::FULL).min(Micros::FULL);
            let fits = asked.epsilon == Micros::ZERO || had.epsilon.plus(asked.epsilon) <= most;
            let left = most.less(had.epsilon);
            let over = Over::Epsilon { draws: asked.draws, asked: asked.epsilon, left };
            (!fits).then_some((limit, over))
        });
        let maps = self.maps.named().into_iter().zip(spent.named());
        let maps = maps.filter_map(|((limit, most), (_, had))| {
            let left = most.unwrap_or(u64::MAX).saturating_sub(had.maps);
            (asked.maps > left).then_some((limit, Over::Maps { asked: asked.maps, left }))
        });
        let passes = |limit: Limit| matches!(limit, Limit::Day | Limit::KeyDay);
        // a limit that does not end with the day is told first
        let Some((limit, over)) = epsilon.chain(maps).min_by_key(|(limit, _)| passes(*limit))
        else {
            return Ok(());
        };
        let fits_tomorrow =
            [self.day, self.key_day].into_iter().flatten().all(|most| asked.epsilon <= most)
                && [self.maps.day, self.maps.key_day]
                    .into_iter()
                    .flatten()
                    .all(|most| asked.maps <= most);
        Err(Box::new(Refusal {
            limit,
            over,
            all_left: self.left(spent),
            retry_after: (passes(limit) && fits_tomorrow).then(|| until_tomorrow(now)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use proptest::prelude::*;

    use super::*;

    fn micros() -> impl Strategy<Value = Micros> {
        let small = 0..40_i64;
        let large = (i64::MAX - 40)..i64::MAX;
        prop_oneof![small, large].prop_map(|stored| Micros::from_stored(stored).unwrap())
    }

    fn each<T: Copy + fmt::Debug>(
        one: impl Strategy<Value = T> + Clone,
    ) -> impl Strategy<Value = Each<T>> {
        (one.clone(), one.clone(), one.clone(), one).prop_map(|(key_day, key, day, total)| Each {
            key_day,
            key,
            day,
            total,
        })
    }

    fn costs() -> impl Strategy<Value = Cost> {
        (micros(), 0..9_u64).prop_map(|(epsilon, maps)| Cost { draws: 0, maps, epsilon })
    }

    proptest! {
        #[test]
        fn a_request_is_allowed_where_no_limit_is_exceeded(
            epsilon in each(proptest::option::of(micros().boxed()).boxed()),
            maps in each(proptest::option::of(0..9_u64).boxed()),
            spent in each(costs().boxed()),
            asked in prop_oneof![costs(), costs().prop_map(|cost| Cost { epsilon: Micros::NEVER, ..cost })],
        ) {
            let Each { key_day, key, day, total } = epsilon;
            let limits = Limits { key_day, key, day, total, maps };
            let enough = epsilon.named().into_iter().zip(spent.named()).all(|((_, limit), (_, spent))| {
                let limit = limit.map_or(i64::MAX - 1, Micros::stored);
                i128::from(spent.epsilon.stored()) + i128::from(asked.epsilon.stored()) <= i128::from(limit)
            });
            let few = maps.named().into_iter().zip(spent.named())
                .all(|((_, limit), (_, spent))| limit.is_none_or(|most| spent.maps + asked.maps <= most));
            let admitted = limits.admit(&spent, asked, UNIX_EPOCH);
            let fits = (enough || asked.epsilon == Micros::ZERO) && (few || asked.maps == 0);
            prop_assert_eq!(admitted.is_ok(), fits);
            if let Err(refusal) = admitted {
                match refusal.over {
                    Over::Epsilon { asked, left, .. } => prop_assert!(left < asked),
                    Over::Maps { asked, left } => prop_assert!(left < asked),
                }
                prop_assert_eq!(refusal.all_left, limits.left(&spent));
            }
        }
    }

    #[test]
    fn only_what_fits_an_unspent_day_may_be_tried_again() {
        let some = |epsilon: f64| Some(Micros::at_least(epsilon));
        let maps = Each { key: Some(3), day: Some(2), ..Each::default() };
        let limits = Limits { key_day: some(10.0), total: some(100.0), maps, ..Limits::default() };
        let spent = Each { key_day: Cost::new(1, 4.0), ..Each::default() };
        let refused = |asked: Cost, spent| limits.admit(&spent, asked, UNIX_EPOCH).unwrap_err();
        let today = refused(Cost::new(1, 6.5), spent);
        let left = Micros::at_least(6.0);
        let over = Over::Epsilon { draws: 1, asked: Micros::at_least(6.5), left };
        assert_eq!((today.limit, today.over), (Limit::KeyDay, over));
        assert_eq!(today.retry_after, Some(Duration::from_hours(24)));
        assert_eq!(refused(Cost::new(1, 10.5), spent).retry_after, None);
        let all = Each { total: Cost::new(1, 95.0), ..spent };
        let over = refused(Cost::new(1, 6.5), all);
        assert_eq!((over.limit, over.retry_after), (Limit::Total, None));
        assert_eq!(
            today.to_string(),
            "1 new draw costs ε = 6.5, which is more than the 6 left to this key for today"
        );
        // of maps, and of both: the one that does not end with the day is told
        let two = Each { day: Cost { maps: 1, ..Cost::default() }, ..spent };
        let maps = Cost { maps: 2, ..Cost::new(1, 6.5) };
        let today = refused(Cost { epsilon: Micros::ZERO, ..maps }, two);
        assert_eq!((today.limit, today.retry_after), (Limit::Day, Some(Duration::from_hours(24))));
        let ever = refused(maps, Each { key: Cost { maps: 2, ..Cost::default() }, ..two });
        assert_eq!((ever.limit, ever.over), (Limit::Key, Over::Maps { asked: 2, left: 1 }));
        assert_eq!(ever.to_string(), "2 new maps are more than the 1 left to this key");
    }

    #[test]
    fn what_costs_nothing_is_never_refused() {
        let maps = Each { total: Some(0), ..Each::default() };
        let limits = Limits { total: Some(Micros::ZERO), maps, ..Limits::default() };
        let over = Each { total: Cost { maps: 3, ..Cost::new(1, 3.0) }, ..Each::default() };
        assert!(limits.admit(&over, Cost::default(), UNIX_EPOCH).is_ok());
    }
}
