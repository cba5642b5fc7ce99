//! Numbers and amounts: one grid for both.

use std::sync::LazyLock;

use super::{is_currency, is_digits};

/// Every integer up to 1000 and from 1900 to 2100, so that a year becomes a near year; three
/// significant digits from there up to seven digits.
static GRID: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let mut grid: Vec<u32> = (0..1000).chain(1900..=2100).collect();
    for step in [10, 100, 1_000, 10_000] {
        grid.extend((100..1000).map(|digits| digits * step));
    }
    grid.sort_unstable();
    grid.dedup();
    grid
});

pub(super) fn grid() -> &'static [u32] {
    &GRID
}

/// The index of the nearest value; of two equally near ones, the smaller.
pub(super) fn index(value: f64) -> usize {
    let after = GRID.partition_point(|&v| f64::from(v) < value).min(GRID.len() - 1);
    let before = after.saturating_sub(1);
    let distance = |i: usize| (f64::from(GRID[i]) - value).abs();
    if distance(before) <= distance(after) { before } else { after }
}

/// The value of a number or amount, whatever the public rule joined to it; a minus does not count.
pub(super) fn value(text: &str) -> f64 {
    let Some(start) = text.find(|c: char| c.is_ascii_digit()) else { return 0.0 };
    let text = &text[start..];
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let number = if has_thousands(number) {
        number.replace(',', "")
    } else {
        // the first mark is the decimal one, but for 1.234,50
        match (number.find('.'), number.rfind(',')) {
            (Some(dot), Some(comma)) if dot < comma => {
                format!("{}.{}", number[..comma].replace(['.', ','], ""), &number[comma + 1..])
            }
            _ => number.replace(',', "."),
        }
    };
    let mut groups = number.split('.');
    let (whole, decimals) = (groups.next().unwrap_or("0"), groups.next().unwrap_or("0"));
    let exponent = exponent(rest).unwrap_or(0).min(20);
    format!("{whole}.{decimals}e{exponent}").parse().unwrap_or(0.0)
}

/// The factor of an exponent or of a letter for thousands, millions or billions: 1e5, 3m, 2bn.
fn exponent(rest: &str) -> Option<i32> {
    let lower = rest.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix('e') {
        let end = digits.rfind(|c: char| c.is_ascii_digit())? + 1;
        return digits[..end].trim_start_matches('+').parse().ok().map(|e: i32| e.max(-20));
    }
    [('k', 3), ('m', 6), ('b', 9)].iter().find(|(c, _)| lower.starts_with(*c)).map(|&(_, e)| e)
}

/// Whether commas stand before groups of three digits: 1,234,567 or 1,234.50.
pub(super) fn has_thousands(text: &str) -> bool {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or("");
    let mut rest = groups.peekable();
    is_digits(decimals)
        && is_digits(first)
        && first.len() <= 3
        && !first.starts_with('0')
        && rest.peek().is_some()
        && rest.all(|group| group.len() == 3 && is_digits(group))
}

/// Whether a part is a number with a currency sign: $5, US$5, −£3m, 15€, 1.50$.
pub(super) fn is_amount(text: &str) -> bool {
    let sign = |c| c == '+' || c == '−';
    let text = text.strip_prefix(sign).unwrap_or(text);
    let start = text.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let (before, number) = text.split_at(start);
    let before = before.strip_suffix(sign).unwrap_or(before);
    let signs_from = before.find(is_currency).unwrap_or(before.len());
    let (letters, signs) = before.split_at(signs_from);
    let end = number.rfind(|c: char| c.is_ascii_digit()).map_or(0, |last| last + 1);
    let (number, after) = number.split_at(end);
    let after_signs = after.trim_end_matches(is_currency);
    let lower = after_signs.to_ascii_lowercase();
    (signs.len() + (after.len() - after_signs.len()) > 0)
        && (letters.is_empty() || !signs.is_empty())
        && letters.len() <= 3
        && letters.bytes().all(|b| b.is_ascii_uppercase())
        && signs.chars().all(is_currency)
        && number.split('.').all(is_digits)
        && ["", "k", "m", "mn", "b", "bn"].contains(&lower.as_str())
}
