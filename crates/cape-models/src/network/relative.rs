//! MPNet's relative positions: the bias that the distance of two rows adds to their score of attention.

/// How many buckets distances fall into, one half of them for rows before, the other for rows after.
pub(crate) const BUCKETS: usize = 2 * (FIRST.len() + 1);

/// The first distance of each bucket but that of a row from itself. Near ones have a bucket each; then it
/// is the logarithm that counts, up to 128: these are the numbers that transformers has.
const FIRST: [usize; 15] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91];

/// For each head the bias of every distance, from −(longest − 1) to longest − 1. `table` has a row for each
/// bucket and a column for each head.
pub(crate) fn bias_of_each_head(table: &[f32], heads: usize, longest: usize) -> Vec<f32> {
    let bucket = |n: usize| FIRST.partition_point(|&first| first <= n);
    let before = (1..longest).rev().map(bucket);
    // a row itself counts as one before
    let after = (0..longest).map(|n| bucket(n) + if n > 0 { BUCKETS / 2 } else { 0 });
    let buckets: Vec<usize> = before.chain(after).collect();
    (0..heads)
        .flat_map(|head| buckets.iter().map(move |bucket| table[bucket * heads + head]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_distance_has_its_bucket() {
        // a table that says which bucket it is, and a second head with the negative of it
        let table: Vec<f32> =
            (0..BUCKETS).flat_map(|bucket| [bucket as f32, -(bucket as f32)]).collect();
        let longest = 200;
        let all = bias_of_each_head(&table, 2, longest);
        let (first, second) = all.split_at(2 * longest - 1);
        assert!(first.iter().zip(second).all(|(a, b)| *a == -b));
        let at = |distance: isize| first[(longest - 1).checked_add_signed(distance).unwrap_or(0)];
        assert_eq!(
            [-199, -91, -90, -64, -63, -8, -7, -1].map(at),
            [15.0, 15.0, 14.0, 14.0, 13.0, 8.0, 7.0, 1.0]
        );
        assert_eq!([0, 1, 7, 8, 11, 12, 199].map(at), [0.0, 17.0, 23.0, 24.0, 24.0, 25.0, 31.0]);
    }
}
