//! The limits on spending: by one key or all keys, for a day or in total.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::Serialize;

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

/// The limits; an account without one is limited only by the largest number it can hold.
pub type Limits = Each<Option<Micros>>;

/// The rest of each limit; none where there is no limit.
pub type Left = Each<Option<Micros>>;

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

/// The refusal of a release that exceeds a limit. Nothing was spent, and nothing may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a release of ε = {asked} is more than the {left} left to {limit}")]
pub struct Refusal {
    /// The limit that is exceeded; where several are, one that does not end with the day.
    pub limit: Limit,
    /// The cost of the release.
    pub asked: Micros,
    /// The rest of that limit.
    pub left: Micros,
    /// The rest of every limit.
    pub all_left: Left,
    /// The time until the same release is allowed if nobody spends; none if it never is.
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
    /// The rest of each limit after some spending.
    #[must_use]
    pub fn left(&self, spent: &Each<Micros>) -> Left {
        let left = |limit: Option<Micros>, spent| limit.map(|limit| limit.less(spent));
        Left {
            key_day: left(self.key_day, spent.key_day),
            key: left(self.key, spent.key),
            day: left(self.day, spent.day),
            total: left(self.total, spent.total),
        }
    }

    /// The rest of each limit after `asked` is spent as well, or why it may not be.
    pub(crate) fn admit(
        &self,
        spent: &Each<Micros>,
        asked: Micros,
        now: SystemTime,
    ) -> Result<Left, Refusal> {
        let refused =
            self.named().into_iter().zip(spent.named()).find_map(|((name, limit), had)| {
                let limit = limit.unwrap_or(Micros::FULL).min(Micros::FULL);
                (had.1.plus(asked) > limit && asked > Micros::ZERO).then_some((name, limit, had.1))
            });
        let Some((limit, most, had)) = refused else {
            let after = |spent: Micros| spent.plus(asked);
            return Ok(self.left(&Each {
                key_day: after(spent.key_day),
                key: after(spent.key),
                day: after(spent.day),
                total: after(spent.total),
            }));
        };
        let passes = matches!(limit, Limit::Day | Limit::KeyDay);
        let fits_tomorrow =
            [self.day, self.key_day].into_iter().flatten().all(|most| asked <= most);
        Err(Refusal {
            limit,
            asked,
            left: most.less(had),
            all_left: self.left(spent),
            retry_after: (passes && fits_tomorrow).then(|| until_tomorrow(now)),
        })
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

    proptest! {
        #[test]
        fn a_release_is_allowed_where_no_account_goes_over(
            limits in each(proptest::option::of(micros().boxed()).boxed()),
            spent in each(micros().boxed()),
            asked in prop_oneof![micros(), Just(Micros::NEVER)],
        ) {
            let fits = limits.named().into_iter().zip(spent.named()).all(|((_, limit), (_, spent))| {
                let limit = limit.map_or(i64::MAX - 1, Micros::stored);
                i128::from(spent.stored()) + i128::from(asked.stored()) <= i128::from(limit)
            });
            let admitted = limits.admit(&spent, asked, UNIX_EPOCH);
            prop_assert_eq!(admitted.is_ok(), fits || asked == Micros::ZERO);
            match admitted {
                Ok(left) => for ((_, left), (_, before)) in
                    left.named().into_iter().zip(limits.left(&spent).named())
                {
                    prop_assert_eq!(left, before.map(|before| before.less(asked)));
                },
                Err(refusal) => {
                    prop_assert!(refusal.left < asked);
                    prop_assert_eq!(refusal.all_left, limits.left(&spent));
                }
            }
        }
    }

    #[test]
    fn only_what_fits_an_unspent_day_may_be_tried_again() {
        let some = |epsilon: f64| Some(Micros::at_least(epsilon));
        let limits = Limits { key_day: some(10.0), total: some(100.0), ..Limits::default() };
        let spent = Each { key_day: Micros::at_least(4.0), ..Each::default() };
        let refused = |asked: f64, spent| {
            limits.admit(&spent, Micros::at_least(asked), UNIX_EPOCH).unwrap_err()
        };
        let today = refused(6.5, spent);
        assert_eq!((today.limit, today.left), (Limit::KeyDay, Micros::at_least(6.0)));
        assert_eq!(today.retry_after, Some(Duration::from_hours(24)));
        assert_eq!(refused(10.5, spent).retry_after, None);
        let all = Each { total: Micros::at_least(95.0), ..spent };
        assert_eq!((refused(6.5, all).limit, refused(6.5, all).retry_after), (Limit::Total, None));
        assert_eq!(
            today.to_string(),
            "a release of ε = 6.5 is more than the 6 left to this key for today"
        );
    }

    #[test]
    fn what_costs_nothing_is_never_refused() {
        let limits = Limits { total: Some(Micros::ZERO), ..Limits::default() };
        let over = Each { total: Micros::at_least(3.0), ..Each::default() };
        assert!(limits.admit(&over, Micros::ZERO, UNIX_EPOCH).is_ok());
    }
}
