//! Kinds of units: words, and what is a number, a date, an address or an identifier.
//!
//! The kind of a unit is public, so the kinds are few, and characters alone decide them. What is
//! released for a unit that is no word has one public format for its kind:
//!
//! - *near* kinds (number, amount, date, time, day, month of a year, month, weekday) have a public
//!   grid of values. A value goes to the nearest one on the grid, and a rank law draws another by its
//!   distance from there. Digits, decimals, sign and currency are not copied: `$` stands for every
//!   currency, because which one it is belongs to the private text as much as the number does.
//! - *uniform* kinds (secret, e-mail, URL, IP, identifier) release a uniform value of one canonical
//!   shape, whatever the text: nothing of it shows. The shapes lie in ranges that are reserved, so
//!   that no value belongs to somebody.

use rand::CryptoRng;

mod address;
mod calendar;
mod date;
mod identifier;
mod number;
mod time;

pub(crate) use calendar::{is_abbreviation, is_day_of_month, is_month, is_ordinal, is_year};
pub(crate) use identifier::{IBAN_LENGTHS, is_iban, is_secret};
pub(crate) use time::is_am_or_pm;

/// The kind of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Everything that is none of the others.
    Word,
    /// A number of fewer than eight digits.
    Number,
    /// A number with a currency sign.
    Amount,
    /// A day, written in digits.
    Date,
    /// A time of day.
    Time,
    /// A day of any year, with the name of its month: 14 June.
    Day,
    /// A month of a year: June 2014.
    MonthOfYear,
    /// The name of a month that is nothing else, by itself: July, but not June.
    Month,
    /// The name of a weekday.
    Weekday,
    /// An e-mail address, or anything else around an @.
    Email,
    /// An address of the web.
    Url,
    /// An address of the internet, version 4 or 6.
    Ip,
    /// Eight characters or more with three digits at least: a card, a phone, an order.
    Identifier,
    /// A key or token with a known prefix.
    Secret,
}

impl Kind {
    /// All kinds.
    pub(crate) const ALL: [Self; 14] = [
        Self::Word,
        Self::Number,
        Self::Amount,
        Self::Date,
        Self::Time,
        Self::Day,
        Self::MonthOfYear,
        Self::Month,
        Self::Weekday,
        Self::Email,
        Self::Url,
        Self::Ip,
        Self::Identifier,
        Self::Secret,
    ];

    /// The name in output for machines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Number => "number",
            Self::Amount => "amount",
            Self::Date => "date",
            Self::Time => "time",
            Self::Day => "day",
            Self::MonthOfYear => "month-of-year",
            Self::Month => "month",
            Self::Weekday => "weekday",
            Self::Email => "email",
            Self::Url => "url",
            Self::Ip => "ip",
            Self::Identifier => "identifier",
            Self::Secret => "secret",
        }
    }

    /// Whether its values lie on a grid.
    pub(crate) fn is_near(self) -> bool {
        use Kind::{Amount, Date, Day, Month, MonthOfYear, Number, Time, Weekday};
        matches!(self, Number | Amount | Date | Time | Day | MonthOfYear | Month | Weekday)
    }

    /// Whether its released values begin and end like numbers.
    pub(crate) fn is_numeric(self) -> bool {
        matches!(self, Self::Number | Self::Amount | Self::Date | Self::Time | Self::Ip)
    }
}

/// How many values the grid of a kind has; none for a kind that is not near.
#[must_use]
pub fn grid_len(kind: Kind) -> usize {
    match kind {
        Kind::Number | Kind::Amount => number::grid().len(),
        Kind::Date => date::LEN,
        Kind::Time => time::LEN,
        Kind::Day => calendar::DAYS,
        Kind::MonthOfYear => calendar::MONTHS_OF_YEARS,
        Kind::Month => calendar::MONTH_NAMES,
        Kind::Weekday => calendar::WEEKDAY_NAMES,
        _ => 0,
    }
}

/// The index of the grid value nearest to the text of a unit. Of two equally near ones it is the
/// smaller; values outside the grid go to its nearest end, and text without a value to its start.
pub(crate) fn grid_index(kind: Kind, text: &str) -> usize {
    match kind {
        Kind::Number | Kind::Amount => number::index(number::value(text)),
        Kind::Date => date::index(text),
        Kind::Time => time::index(text),
        Kind::Day => calendar::day(text),
        Kind::MonthOfYear => calendar::month_of_year(text),
        Kind::Month => calendar::month_name(text).unwrap_or(0),
        Kind::Weekday => calendar::weekday(text).unwrap_or(0),
        _ => 0,
    }
}

/// The grid value at an index, in the one format of the kind.
///
/// # Panics
/// If the grid has no such index.
#[must_use]
pub fn grid_text(kind: Kind, index: usize) -> String {
    assert!(index < grid_len(kind), "an index of the grid");
    match kind {
        Kind::Amount => format!("${}", number::grid()[index]),
        Kind::Date => date::text(index),
        Kind::Time => time::text(index),
        Kind::Day => calendar::day_text(index),
        Kind::MonthOfYear => calendar::month_of_year_text(index),
        Kind::Month => calendar::month_text(index),
        Kind::Weekday => calendar::weekday_text(index),
        _ => number::grid()[index].to_string(),
    }
}

/// The index at rank `r` (from 1) by the distance of indices from `from`: itself, the one before, the
/// one after, and so on.
///
/// # Panics
/// If the grid has no such index or rank.
#[must_use]
pub fn grid_nth(kind: Kind, from: usize, r: usize) -> usize {
    let n = grid_len(kind);
    assert!(from < n && (1..=n).contains(&r), "an index and a rank of the grid");
    let both_sides = from.min(n - 1 - from);
    if r <= 2 * both_sides + 1 {
        if r.is_multiple_of(2) { from - r / 2 } else { from + r / 2 }
    } else if from < n - 1 - from {
        r - 1
    } else {
        n - r
    }
}

/// The rank (from 1) of an index by its distance from `from`: the inverse of [`grid_nth`].
///
/// # Panics
/// If the grid has no such index.
pub(crate) fn grid_rank(kind: Kind, from: usize, index: usize) -> usize {
    let n = grid_len(kind);
    assert!(from < n && index < n, "indices of the grid");
    let distance = from.abs_diff(index);
    if distance <= from.min(n - 1 - from) {
        if index < from { 2 * distance } else { 2 * distance + 1 }
    } else if from < index {
        index + 1
    } else {
        n - index
    }
}

/// A value of the one shape of a uniform kind. It depends on nothing but the kind: the loss is 0.
///
/// # Panics
/// If the kind is not uniform.
pub fn uniform(kind: Kind, rng: &mut dyn CryptoRng) -> String {
    match kind {
        Kind::Email => address::email(rng),
        Kind::Url => address::url(rng),
        Kind::Ip => address::ip(rng),
        Kind::Identifier => identifier::identifier(rng),
        Kind::Secret => identifier::secret(rng),
        _ => panic!("a {} is drawn by rank", kind.as_str()),
    }
}

/// Whether a text is a number exactly as it would be released.
pub(crate) fn is_grid_number(text: &str) -> bool {
    let index = number::index(number::value(text));
    is_digits(text) && number::grid()[index].to_string() == text
}

/// Whether a text has ASCII digits and nothing else.
pub(crate) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// How many ASCII digits a text has.
pub(crate) fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

/// Whether a character is a currency sign.
pub(crate) fn is_currency(c: char) -> bool {
    matches!(c, '$' | '¢'..='¥' | '֏' | '؋' | '฿' | '₠'..='⃀' | '﷼' | '＄' | '￠' | '￡' | '￥' | '￦')
}

/// The kind of a part: characters that dots and apostrophes alone join.
pub(crate) fn of_part(text: &str) -> Kind {
    if number::is_amount(text) {
        return Kind::Amount;
    }
    if time::is_hour(text) {
        return Kind::Time;
    }
    if calendar::weekday(text).is_some() {
        return Kind::Weekday;
    }
    if calendar::month_name(text).is_some() {
        return Kind::Month;
    }
    let unsigned = text.strip_prefix(['+', '−']).unwrap_or(text);
    let groups: Vec<&str> = unsigned.split('.').collect();
    if !groups.iter().all(|group| is_digits(group)) {
        return of_mixed(text);
    }
    let whole = unsigned.len() == text.len();
    match groups.len() {
        3 if whole && date::parse(text).is_some() => Kind::Date,
        4 if whole && address::is_ip(&groups) => Kind::Ip,
        // however many decimals it has
        2 if groups[0].len() < 8 => Kind::Number,
        _ if digits(text) < 8 => Kind::Number,
        _ => Kind::Identifier,
    }
}

/// The kind of several numeric parts that a colon, comma, hyphen or slash joins, where `own` is the
/// kind of the first of them that is more than a number.
pub(crate) fn of_numbers(text: &str, own: Option<Kind>) -> Kind {
    if date::parse(text).is_some() {
        Kind::Date
    } else if time::parse(text).is_some() {
        Kind::Time
    } else if let Some(own) = own {
        own
    } else if digits(text) < 8 || number::has_thousands(text) {
        Kind::Number
    } else {
        Kind::Identifier
    }
}

/// The kind of what is no number: an identifier or a word.
pub(crate) fn of_mixed(text: &str) -> Kind {
    // in code, a backslash inside of a unit writes a character by its number: \u00e9
    let mut parts = text.split('\\');
    let (mut count, mut chars) = (0, 0);
    let plain = parts.next().into_iter();
    let after = parts.map(|part| {
        let written = match part.bytes().next() {
            Some(b'u') => 5,
            Some(b'U') => 9,
            Some(b'x') => 3,
            _ => 0,
        };
        part.get(written..).unwrap_or("")
    });
    for part in plain.chain(after) {
        count += digits(part);
        chars += part.chars().count();
    }
    if count >= 3 && chars >= 8 { Kind::Identifier } else { Kind::Word }
}

#[cfg(test)]
mod tests;
