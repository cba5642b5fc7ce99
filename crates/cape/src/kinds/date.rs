//! Dates: the days from 1930 to 2050, written as 2024-03-15.

use super::is_digits;

/// A day of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    year: i32,
    month: i32,
    day: i32,
}

const FIRST: i32 = (Date { year: 1930, month: 1, day: 1 }).number();
const LAST: i32 = (Date { year: 2050, month: 12, day: 31 }).number();
/// How many days the grid has.
pub(super) const LEN: usize = (LAST - FIRST + 1) as usize;

impl Date {
    /// Days since 0000-03-01: years begin in March, so that the leap day is the last.
    const fn number(self) -> i32 {
        let year = if self.month <= 2 { self.year - 1 } else { self.year };
        let month = (self.month + 9) % 12;
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + self.day - 1
    }

    /// The inverse of `number`.
    fn of_number(number: i32) -> Self {
        let mut year = number / 366;
        while (Date { year: year + 1, month: 3, day: 1 }).number() <= number {
            year += 1;
        }
        let rest = number - Date { year, month: 3, day: 1 }.number();
        let month = (5 * rest + 2) / 153;
        let day = rest - (153 * month + 2) / 5 + 1;
        let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
        Self { year, month, day }
    }

    /// If there is such a day.
    fn new(year: i32, month: i32, day: i32) -> Option<Self> {
        let this = Self { year, month, day };
        let is_day = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && (1..=9999).contains(&year)
            && Self::of_number(this.number()) == this;
        is_day.then_some(this)
    }
}

/// A whole text as a date, perhaps with a time after a T: 2024-03-15, 15/03/2024, 3/15/24,
/// 15.03.2024. Where both readings are a day, a slash has the month first and the others the day.
pub(super) fn parse(text: &str) -> Option<Date> {
    let text = text.split_once('T').map_or(text, |(date, _)| date);
    let mark = text.find(['-', '/', '.']).map(|at| text.as_bytes()[at])? as char;
    let groups: Vec<&str> = text.split(mark).collect();
    let [a, b, c] = groups[..] else { return None };
    if !groups.iter().all(|group| is_digits(group) && group.len() <= 4) {
        return None;
    }
    let number = |group: &str| group.parse::<i32>().ok();
    let (first, second, third) = (number(a)?, number(b)?, number(c)?);
    match (a.len(), b.len(), c.len()) {
        (4, 1..=2, 1..=2) => Date::new(first, second, third),
        (1..=2, 1..=2, 4) => day_and_month(mark, first, second, third),
        // 3.11.12 is a version more often than a day
        (1..=2, 1..=2, 2) if mark == '/' || mark == '.' && a.len() + b.len() == 4 => {
            day_and_month(mark, first, second, third + if third < 50 { 2000 } else { 1900 })
        }
        _ => None,
    }
}

fn day_and_month(mark: char, first: i32, second: i32, year: i32) -> Option<Date> {
    let (day_first, month_first) = (Date::new(year, second, first), Date::new(year, first, second));
    if mark == '/' { month_first.or(day_first) } else { day_first.or(month_first) }
}

/// The index of the first date in a text.
pub(super) fn index(text: &str) -> usize {
    let starts = text.char_indices().filter(|&(i, c)| {
        c.is_ascii_digit() && !text[..i].ends_with(|before: char| before.is_ascii_digit())
    });
    let day = starts.map(|(i, _)| &text[i..]).take(8).find_map(|rest| parse(three_groups(rest)));
    day.map_or(0, |day| (day.number().clamp(FIRST, LAST) - FIRST) as usize)
}

/// The text up to the end of its third group of digits.
fn three_groups(text: &str) -> &str {
    let marks = text.char_indices().filter(|(_, c)| !c.is_ascii_digit());
    marks.map(|(i, _)| &text[..i]).nth(2).unwrap_or(text)
}

/// The date at an index.
pub(super) fn text(index: usize) -> String {
    let number = i32::try_from(index).map_or(LAST, |index| FIRST + index);
    let Date { year, month, day } = Date::of_number(number);
    format!("{year:04}-{month:02}-{day:02}")
}
