//! Products of single rows in f32, always summed in the same order.

use crate::Kernel;

/// How many numbers are summed side by side.
const LANES: usize = 16;

/// The products of `x` with four rows of the same length. They do not depend on how many such products
/// are asked for, or by how many threads: a product of matrices is rounded differently in batches of
/// different sizes.
#[must_use]
pub fn dots(kernel: Kernel, x: &[f32], rows: [&[f32]; 4]) -> [f32; 4] {
    #[cfg(target_arch = "x86_64")]
    return crate::x86::dots(kernel, x, rows);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = kernel;
        dots_plain(x, rows)
    }
}

#[inline(always)]
pub(crate) fn dots_plain(x: &[f32], rows: [&[f32]; 4]) -> [f32; 4] {
    let mut sums = [[0_f32; LANES]; 4];
    let (whole, rest) = x.as_chunks::<LANES>();
    let parts = rows.map(|row| row[..x.len()].as_chunks::<LANES>());
    for (i, x) in whole.iter().enumerate() {
        for (sums, (row, _)) in sums.iter_mut().zip(&parts) {
            for lane in 0..LANES {
                sums[lane] += x[lane] * row[i][lane];
            }
        }
    }
    let mut dots = [0.0; 4];
    for (dot, (sums, (_, row))) in dots.iter_mut().zip(sums.iter().zip(&parts)) {
        let rest: f32 = rest.iter().zip(*row).map(|(x, w)| x * w).sum();
        *dot = sums.iter().sum::<f32>() + rest;
    }
    dots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_definition_and_gives_the_same_bits_everywhere() {
        for len in [1, 5, 16, 33, 100] {
            let numbers = |by: f32| (0..len).map(|i| (i as f32 * by).sin()).collect::<Vec<f32>>();
            let (x, rows) = (numbers(0.3), [0.5, 0.7, 1.1, 1.3].map(numbers));
            let rows = rows.each_ref().map(Vec::as_slice);
            let plain = dots(Kernel::PORTABLE, &x, rows);
            for (row, got) in rows.iter().zip(plain) {
                let want: f64 =
                    x.iter().zip(*row).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum();
                assert!((f64::from(got) - want).abs() < 1e-5, "{got} {want}");
            }
            for kernel in Kernel::available() {
                assert!(dots(kernel, &x, rows) == plain);
            }
        }
    }
}
