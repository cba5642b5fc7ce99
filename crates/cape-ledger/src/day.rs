//! Days in UTC: a limit per day must not depend on where a proxy runs.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A day of the calendar, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(i64);

const SECONDS: u64 = 86_400;

impl Day {
    /// The day of a moment; a moment before 1970 counts as the first day.
    #[must_use]
    pub fn of(now: SystemTime) -> Self {
        Self((since_epoch(now).as_secs() / SECONDS).cast_signed())
    }

    /// The day that lies so many days earlier.
    #[must_use]
    pub fn before(self, days: u32) -> Self {
        Self(self.0 - i64::from(days))
    }

    pub(crate) fn from_stored(day: i64) -> Self {
        Self(day)
    }

    pub(crate) fn stored(self) -> i64 {
        self.0
    }
}

/// The time until the next day.
pub(crate) fn until_tomorrow(now: SystemTime) -> Duration {
    Duration::from_secs(SECONDS - since_epoch(now).as_secs() % SECONDS)
}

fn since_epoch(now: SystemTime) -> Duration {
    now.duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl fmt::Display for Day {
    /// As 2026-11-16: months counted from March, so that a leap day ends its year.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CENTURIES_4: i64 = 146_097;
        let since = self.0 + 719_468;
        let (era, day) = (since.div_euclid(CENTURIES_4), since.rem_euclid(CENTURIES_4));
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        write!(f, "{:04}-{month:02}-{day:02}", era * 400 + year + carry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calendar as it is taught: one day after another.
    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for n in 0..150_000 {
            assert_eq!(Day(n).to_string(), format!("{year:04}-{month:02}-{day:02}"));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + i32::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, day) if day == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }

    #[test]
    fn a_day_ends_at_midnight_utc() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(Day::of(at(86_399)), Day(0));
        assert_eq!(Day::of(at(86_400)), Day(1));
        assert_eq!(Day::of(UNIX_EPOCH - Duration::from_secs(5)), Day(0));
        assert_eq!(until_tomorrow(at(86_399)), Duration::from_secs(1));
        assert_eq!(until_tomorrow(at(86_400)), Duration::from_hours(24));
        assert_eq!(Day(40).before(30), Day(10));
    }
}
