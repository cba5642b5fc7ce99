//! Addresses: e-mail, the web, the internet.

use rand::CryptoRng;

use crate::sample::below;

/// Eight letters, in the domain that is reserved for examples.
pub(super) fn email(rng: &mut dyn CryptoRng) -> String {
    format!("{}@example.com", letters(8, rng))
}

/// A page of the same domain.
pub(super) fn url(rng: &mut dyn CryptoRng) -> String {
    format!("https://example.com/{}", letters(8, rng))
}

/// An address of one of the three networks that are reserved for documentation.
pub(super) fn ip(rng: &mut dyn CryptoRng) -> String {
    let network = ["192.0.2", "198.51.100", "203.0.113"][below(3, rng) as usize];
    format!("{network}.{}", below(256, rng))
}

fn letters(n: usize, rng: &mut dyn CryptoRng) -> String {
    (0..n).map(|_| char::from(b'a' + below(26, rng) as u8)).collect()
}

/// Whether four groups of digits are an address of version 4.
pub(super) fn is_ip(groups: &[&str]) -> bool {
    groups.iter().all(|group| group.len() <= 3 && group.parse::<u8>().is_ok())
}
