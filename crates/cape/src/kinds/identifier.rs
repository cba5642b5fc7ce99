//! Identifiers and secrets.

use rand::CryptoRng;

use crate::sample::below;

/// Fifteen digits that pass Luhn's check, like a card's. The first, 9, leaves the numbering to the
/// country whose code follows, and none has the code 999. They are digits alone so that a number in
/// JSON stays one, and few enough to be exact in a float.
pub(super) fn identifier(rng: &mut dyn CryptoRng) -> String {
    let digits = format!("9999{:010}", below(10_u64.pow(10), rng));
    let check = (10 - luhn(&format!("{digits}0")) % 10) % 10;
    format!("{digits}{check}")
}

/// Luhn's sum: a multiple of ten if the last digit is right.
pub(super) fn luhn(digits: &str) -> u32 {
    let doubled = |d: u32| if d > 4 { 2 * d - 9 } else { 2 * d };
    let digits = digits.chars().rev().filter_map(|c| c.to_digit(10)).enumerate();
    digits.map(|(i, d)| if i % 2 == 1 { doubled(d) } else { d }).sum()
}

/// A key that says that it is none.
pub(super) fn secret(rng: &mut dyn CryptoRng) -> String {
    const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let tail = (0..24).map(|_| char::from(ALPHABET[below(36, rng) as usize]));
    "sk-example0".chars().chain(tail).collect()
}

/// How the keys and tokens of well-known services begin.
const PREFIXES: &str = "sk- sk_ rk_ pk_live_ pk_test_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- \
    xoxa- xoxb- xoxp- xoxr- xoxs- xapp- AKIA ASIA AIza ya29. hf_ npm_ pypi- whsec_ SG. eyJ dop_v1_ \
    shpat_ gsk_ dckr_pat_ xai-";

/// Whether a run of characters is a secret: a known prefix, and after it sixteen letters and digits
/// in a row or more, with a digit among them.
pub(crate) fn is_secret(run: &str) -> bool {
    let long = |tail: &str| {
        tail.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|row| row.len() >= 16 && row.bytes().any(|b| b.is_ascii_digit()))
    };
    PREFIXES.split(' ').any(|prefix| run.strip_prefix(prefix).is_some_and(long))
}

/// How many characters an international bank account number may have.
pub(crate) const IBAN_LENGTHS: std::ops::RangeInclusive<usize> = 15..=34;

/// Whether characters are an international bank account number: the remainder by 97 is 1.
pub(crate) fn is_iban(text: &str) -> bool {
    let rest = |sum: u32, c: char| match c.to_digit(36) {
        Some(d @ 0..=9) => (sum * 10 + d) % 97,
        Some(d) => (sum * 100 + d) % 97,
        None => sum,
    };
    IBAN_LENGTHS.contains(&text.len())
        && text.is_ascii()
        && text[4..].chars().chain(text[..4].chars()).fold(0, rest) == 1
}
