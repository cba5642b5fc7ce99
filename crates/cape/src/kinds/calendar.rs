//! Days and months by their names: 14 June, June 2014, July, Monday.

use super::number;

/// The months, with their days in a leap year.
const MONTHS: [(&str, usize); 12] = [
    ("January", 31),
    ("February", 29),
    ("March", 31),
    ("April", 30),
    ("May", 31),
    ("June", 30),
    ("July", 31),
    ("August", 31),
    ("September", 30),
    ("October", 31),
    ("November", 30),
    ("December", 31),
];
/// The months whose names are nothing else, so that a name by itself is a month. The others are names of
/// persons or common words, too: whoever is called April must not become a month.
const ALWAYS_MONTHS: [usize; 7] = [0, 1, 6, 8, 9, 10, 11];
/// The months that are released with a year. A sentence can begin with the words "may" and "march", and a number follow:
/// they go to the month before.
const WITH_YEAR: [usize; 10] = [0, 1, 3, 5, 6, 7, 8, 9, 10, 11];
const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The first year of the months of a year, and how many years there are.
const FIRST_YEAR: usize = 1930;
const YEARS: usize = 121;

/// How many values each grid has.
pub(super) const DAYS: usize = 366;
pub(super) const MONTHS_OF_YEARS: usize = WITH_YEAR.len() * YEARS;
pub(super) const MONTH_NAMES: usize = ALWAYS_MONTHS.len();
pub(super) const WEEKDAY_NAMES: usize = WEEKDAYS.len();

/// The month that a name or its abbreviation stands for beside a number. Names that are common words, too, need their
/// capital.
pub(super) fn month(name: &str) -> Option<usize> {
    if ["may", "march", "mar"].contains(&name) {
        return None;
    }
    let is = |(month, _): &(&str, usize)| {
        let four = if *month == "September" { 4 } else { 3 };
        [month, &month[..3], &month[..four]].iter().any(|form| name.eq_ignore_ascii_case(form))
    };
    MONTHS.iter().position(is)
}

/// Whether the name of a month is an abbreviation. No release has one.
pub(super) fn is_abbreviation(name: &str) -> bool {
    (3..=4).contains(&name.len())
        && !["May", "June", "July"].iter().any(|month| name.eq_ignore_ascii_case(month))
}

/// The number of a name that is a month wherever it stands.
pub(super) fn month_name(text: &str) -> Option<usize> {
    ALWAYS_MONTHS.iter().position(|&month| MONTHS[month].0.eq_ignore_ascii_case(text))
}

/// The number of a weekday.
pub(super) fn weekday(text: &str) -> Option<usize> {
    WEEKDAYS.iter().position(|day| day.eq_ignore_ascii_case(text))
}

/// The month in a text.
fn month_of(text: &str) -> Option<usize> {
    text.split(|c: char| !c.is_ascii_alphabetic()).find_map(month)
}

/// The index of a day and month in a text.
pub(super) fn day(text: &str) -> usize {
    let month = month_of(text).unwrap_or(0);
    let before: usize = MONTHS[..month].iter().map(|(_, days)| days).sum();
    let day = number::value(text).clamp(1.0, MONTHS[month].1 as f64) as usize;
    before + day - 1
}

/// The index of a month and year in a text.
pub(super) fn month_of_year(text: &str) -> usize {
    let last = (FIRST_YEAR + YEARS - 1) as f64;
    let year = number::value(text).clamp(FIRST_YEAR as f64, last) as usize;
    let month = month_of(text).unwrap_or(0);
    (year - FIRST_YEAR) * WITH_YEAR.len() + WITH_YEAR.partition_point(|&m| m <= month) - 1
}

/// The day at an index.
pub(super) fn day_text(index: usize) -> String {
    let mut day = index + 1;
    for (month, days) in MONTHS {
        if day <= days {
            return format!("{day} {month}");
        }
        day -= days;
    }
    unreachable!("a day of the grid")
}

/// The month and year at an index.
pub(super) fn month_of_year_text(index: usize) -> String {
    let n = WITH_YEAR.len();
    format!("{} {}", MONTHS[WITH_YEAR[index % n]].0, FIRST_YEAR + index / n)
}

/// The name of the month at an index.
pub(super) fn month_text(index: usize) -> String {
    MONTHS[ALWAYS_MONTHS[index]].0.to_owned()
}

/// The weekday at an index.
pub(super) fn weekday_text(index: usize) -> String {
    WEEKDAYS[index].to_owned()
}
