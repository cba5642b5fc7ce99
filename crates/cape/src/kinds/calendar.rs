//! Days and months by their names: 14 June, June 2014, July, Monday.

use super::{is_digits, number};

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
/// persons or common words, too: they are words, unless the number of a day or a year stands beside them.
const ALWAYS_MONTHS: [usize; 7] = [0, 1, 6, 8, 9, 10, 11];
const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The first year of the months of a year, and how many years there are.
const FIRST_YEAR: usize = 1930;
const YEARS: usize = 121;

/// How many values each grid has.
pub(super) const DAYS: usize = 366;
pub(super) const MONTHS_OF_YEARS: usize = 12 * YEARS;
pub(super) const MONTH_NAMES: usize = ALWAYS_MONTHS.len();
pub(super) const WEEKDAY_NAMES: usize = WEEKDAYS.len();

/// The month that a name or its abbreviation stands for beside a number. The common words "may", "march" and "mar" need
/// a capital, and abbreviations have no more than one: APR is a rate.
fn month(name: &str) -> Option<usize> {
    let common = ["may", "march", "mar"].contains(&name);
    let short = |month: &str| {
        let letters = name.len() == 3 || name.len() == 4 && month == "September";
        letters
            && month.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
            && !name[1..].contains(|c: char| c.is_ascii_uppercase())
    };
    let is = |(month, _): &(&str, usize)| month.eq_ignore_ascii_case(name) || short(month);
    if common || !name.is_ascii() { None } else { MONTHS.iter().position(is) }
}

/// Whether a word is the name of a month, or its abbreviation, if a number stands beside it.
pub(crate) fn is_month(name: &str) -> bool {
    month(name).is_some()
}

/// Whether the name of a month is an abbreviation. No release has one.
pub(crate) fn is_abbreviation(name: &str) -> bool {
    month(name).is_some_and(|month| MONTHS[month].0.len() > name.len())
}

/// Whether a number can be that of a day.
pub(crate) fn is_day_of_month(text: &str) -> bool {
    is_digits(text) && text.len() <= 2 && (1.0..=31.0).contains(&number::value(text))
}

/// Whether a number can be a year.
pub(crate) fn is_year(text: &str) -> bool {
    is_digits(text) && text.len() == 4 && (1900.0..=2100.0).contains(&number::value(text))
}

/// Whether a word is the ordinal number of a day: 1st, 22nd.
pub(crate) fn is_ordinal(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let ending = text[digits.len()..].to_ascii_lowercase();
    is_day_of_month(digits) && ["st", "nd", "rd", "th"].contains(&ending.as_str())
}

/// The index of a name that is a month wherever it stands.
pub(super) fn month_name(text: &str) -> Option<usize> {
    ALWAYS_MONTHS.iter().position(|&month| MONTHS[month].0.eq_ignore_ascii_case(text))
}

/// The index of a weekday.
pub(super) fn weekday(text: &str) -> Option<usize> {
    WEEKDAYS.iter().position(|day| day.eq_ignore_ascii_case(text))
}

/// The month in a text.
fn month_of(text: &str) -> usize {
    text.split(|c: char| !c.is_ascii_alphabetic()).find_map(month).unwrap_or(0)
}

/// The index of a day and month in a text.
pub(super) fn day(text: &str) -> usize {
    let month = month_of(text);
    let before: usize = MONTHS[..month].iter().map(|(_, days)| days).sum();
    let day = number::value(text).clamp(1.0, MONTHS[month].1 as f64) as usize;
    before + day - 1
}

/// The index of a month and year in a text.
pub(super) fn month_of_year(text: &str) -> usize {
    let last = (FIRST_YEAR + YEARS - 1) as f64;
    let year = number::value(text).clamp(FIRST_YEAR as f64, last) as usize;
    (year - FIRST_YEAR) * 12 + month_of(text)
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
    format!("{} {}", MONTHS[index % 12].0, FIRST_YEAR + index / 12)
}

/// The name of the month at an index.
pub(super) fn month_text(index: usize) -> String {
    MONTHS[ALWAYS_MONTHS[index]].0.to_owned()
}

/// The weekday at an index.
pub(super) fn weekday_text(index: usize) -> String {
    WEEKDAYS[index].to_owned()
}
