//! Times of day: every five minutes, written as 14:30.

use super::is_digits;

/// How many times the grid has.
pub(super) const LEN: usize = 24 * 60 / 5;

/// Whether a part is an hour, perhaps with minutes: 3pm, 3.30pm.
pub(super) fn is_hour(text: &str) -> bool {
    let short = |group: &str| is_digits(group) && group.len() <= 2;
    half(text)
        .is_some_and(|(clock, _)| clock.split('.').count() <= 2 && clock.split('.').all(short))
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
pub(crate) fn is_am_or_pm(text: &str) -> bool {
    ["am", "pm", "AM", "PM", "a.m", "p.m", "A.M", "P.M"].contains(&text)
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
    // 9.30 a.m is 9:30am; what the clock of twelve hours does not have is read by the other one
    let compact = text.replace(' ', "").replace(".m", "m").replace('.', ":");
    let (clock, _) = half(&compact).unwrap_or((&compact, 0));
    let whole = parse(&compact).or_else(|| parse(clock)).or_else(|| parse(&format!("{clock}:00")));
    let minutes = whole.or_else(|| text.split([',', '-', '/']).find_map(parse)).unwrap_or(0);
    ((minutes + 2) as usize / 5).min(LEN - 1)
}

/// The time at an index.
pub(super) fn text(index: usize) -> String {
    format!("{:02}:{:02}", index / 12, index % 12 * 5)
}
