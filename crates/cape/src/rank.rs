//! Which candidate is the r-th best: the order that ranks speak of.

/// The r-th best candidate (r from 1) by utility, ties by index: the permutation that the ranks
/// speak of.
///
/// # Panics
/// If there is no such rank.
pub(crate) fn nth_best(utilities: &[f32], r: usize) -> usize {
    let mut keys = keys(utilities);
    let (_, nth, _) = keys.select_nth_unstable(r - 1);
    index(*nth) as usize
}

/// All candidates, best first.
pub(crate) fn ranking(utilities: &[f32]) -> Vec<u32> {
    let mut keys = keys(utilities);
    keys.sort_unstable();
    keys.into_iter().map(index).collect()
}

/// A number for each candidate, the smaller the better: larger utility first, then smaller index.
fn keys(utilities: &[f32]) -> Vec<u64> {
    (0..).zip(utilities).map(|(i, &u)| u64::from(falling(u)) << 32 | i).collect()
}

fn index(key: u64) -> u32 {
    (key & u64::from(u32::MAX)) as u32
}

/// A number that falls as the float rises, in the total order of floats.
fn falling(u: f32) -> u32 {
    let bits = u.to_bits();
    // the bits of positive floats rise with them, those of negative ones fall
    if bits >> 31 == 0 { 0x7fff_ffff - bits } else { bits }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn selection_agrees_with_sorting(
            utilities in prop::collection::vec(
                prop_oneof![(0_u8..6).prop_map(|u| f32::from(u) / 5.0), any::<u32>().prop_map(f32::from_bits)],
                2..60,
            )
        ) {
            let mut sorted: Vec<u32> = (0..utilities.len() as u32).collect();
            sorted.sort_by(|&a, &b| utilities[b as usize].total_cmp(&utilities[a as usize]));
            let ranking = ranking(&utilities);
            prop_assert_eq!(&ranking, &sorted);
            for (r, &best) in ranking.iter().enumerate() {
                prop_assert_eq!(nth_best(&utilities, r + 1), best as usize);
            }
        }
    }
}
