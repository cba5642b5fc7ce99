//! Times of day: every five minutes, written as 14:30.

use super::is_digits;

/// How many times the grid has.
pub(super) const LEN: usize = 24 * 60 / 5;

/// Whether a part is an hour: 3pm.
pub(super) fn is_hour(text: &str) -> bool {
    half(text).is_some_and(|(hour, _)| is_digits(hour) && hour.len() <= 2)
}

/// The time before am or pm, and how many minutes these add.
fn half(text: &str) -> Option<(&str, u32)> {
    let (before, half) = text.split_at_checked(text.len().checked_sub(2)?)?;
    match half.to_ascii_lowercase().as_str() {
        "am" => Some((before, 0)),
        "pm" => Some((before, 12 * 60)),
        _ => None,
    }
}

/// Whether a word is am or pm, in capitals or with dots: the last dot is not part of a word.
pub(super) fn is_am_or_pm(text: &str) -> bool {
    ["am", "pm", "AM", "PM", "a.m", "p.m", "A.M", "P.M"].contains(&text)
}

/// Whether a number is one of twelve hours, perhaps with minutes, so that am or pm can follow: 9, 9.30.
pub(super) fn is_half_day(text: &str) -> bool {
    let (hour, minutes) = text.split_once('.').unwrap_or((text, "00"));
    let number =
        |text: &str| text.parse::<u32>().ok().filter(|_| is_digits(text) && text.len() <= 2);
    number(hour).is_some_and(|hour| hour <= 12)
        && minutes.len() == 2
        && number(minutes).is_some_and(|m| m < 60)
}

/// The minutes since midnight of a whole text: 14:30, 14:30:00, 2:30pm.
pub(super) fn parse(text: &str) -> Option<u32> {
    let (clock, half) = half(text).map_or((text, None), |(clock, half)| (clock, Some(half)));
    let groups: Vec<&str> = clock.split(':').collect();
    let (hour, rest) = groups.split_first()?;
    let two_digits = |group: &&str| is_digits(group) && group.len() == 2 && **group < *"60";
    let shape = is_digits(hour) && hour.len() <= 2 && rest.iter().all(two_digits);
    if !shape || rest.len() > 2 || rest.is_empty() && half.is_none() {
        return None;
    }
    let hour: u32 = hour.parse().ok()?;
    let minute: u32 = rest.first().map_or(Some(0), |minute| minute.parse().ok())?;
    match half {
        Some(half) if hour <= 12 => Some(hour % 12 * 60 + half + minute),
        None if hour <= 24 => Some(hour * 60 + minute),
        _ => None,
    }
}

/// The index of the first time in a text.
pub(super) fn index(text: &str) -> usize {
    // 9.30 a.m is 9:30am
    let compact = match text.split_once(' ') {
        Some((clock, half)) => format!("{}{}", clock.replace('.', ":"), half.replace('.', "")),
        None => text.to_owned(),
    };
    let text = compact.as_str();
    let whole = parse(text);
    let minutes = whole.or_else(|| text.split([',', '-', '/']).find_map(parse)).unwrap_or(0);
    ((minutes + 2) as usize / 5).min(LEN - 1)
}

/// The time at an index.
pub(super) fn text(index: usize) -> String {
    format!("{:02}:{:02}", index / 12, index % 12 * 5)
}
