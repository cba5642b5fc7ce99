//! SHA-256 sums, by which data is known again.

use ring::digest::Context;

/// The sum of all that went in.
pub(crate) fn finish(sum: Context) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(sum.finish().as_ref());
    bytes
}

/// The first eight bytes of a checksum in hexadecimal: enough to tell one from another.
#[must_use]
pub fn short(checksum: &[u8; 32]) -> String {
    checksum[..8].iter().fold(String::new(), |name, byte| name + &format!("{byte:02x}"))
}
