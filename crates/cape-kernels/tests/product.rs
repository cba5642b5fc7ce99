//! Every kernel of this machine against the definition, bit for bit.

use cape_kernels::{Bits, Kernel, Rows, Weights};
use proptest::prelude::*;

/// Numbers that differ.
fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn product(weights: &Weights, x: &[f32], bias: &[f32], bits: Bits, kernel: Kernel) -> Vec<f32> {
    let rows = Rows::new(x, weights.inputs(), bits, kernel);
    let mut out = vec![0.0; rows.len() * weights.outputs()];
    weights.product(&rows, bias, &mut out, &|_| {});
    out
}

/// `x·Wᵀ + b` in f64.
fn exact(x: &[f32], w: &[f32], bias: &[f32], inputs: usize) -> Vec<f64> {
    let dot = |x: &[f32], w: &[f32]| -> f64 {
        x.iter().zip(w).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum()
    };
    x.chunks(inputs)
        .flat_map(|x| w.chunks(inputs).zip(bias).map(move |(w, &b)| dot(x, w) + f64::from(b)))
        .collect()
}

/// Weights that are multiples of a scale, so that rounding them loses nothing.
fn rounded(outputs: usize, inputs: usize, seed: u64) -> (Vec<f32>, Weights) {
    let scales: Vec<f32> = (0..outputs).map(|i| 0.01 + i as f32 * 1e-4).collect();
    let values: Vec<i8> =
        numbers(outputs * inputs, seed).iter().map(|v| (v * 128.0).floor() as i8).collect();
    let floats = values
        .chunks(inputs)
        .zip(&scales)
        .flat_map(|(r, s)| r.iter().map(move |&v| f32::from(v) * s));
    (floats.collect(), Weights::new(&values, &scales, inputs))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Odd sizes and tails included.
    #[test]
    fn every_kernel_gives_the_bits_of_the_portable_one(
        rows in 1_usize..70, inputs in 1_usize..200, outputs in 1_usize..100, seed: u64,
    ) {
        let (floats, weights) = rounded(outputs, inputs, seed);
        let (x, bias) = (numbers(rows * inputs, seed ^ 1), numbers(outputs, seed ^ 2));
        let want = exact(&x, &floats, &bias, inputs);
        for (bits, error) in [(Bits::Eight, 1.0 / 127.0), (Bits::Sixteen, 1.0 / 32767.0)] {
            let plain = product(&weights, &x, &bias, bits, Kernel::PORTABLE);
            // a row's rounding is at most half a step each, times the weights, and f32's own
            let room = inputs as f64 * (0.5 * error * 128.0 * 0.02 + 1e-5) + 1e-5;
            for (got, want) in plain.iter().zip(&want) {
                prop_assert!((f64::from(*got) - want).abs() < room, "{got} {want} {room}");
            }
            for kernel in Kernel::available() {
                prop_assert_eq!(&product(&weights, &x, &bias, bits, kernel), &plain);
            }
        }
    }

    #[test]
    fn a_row_in_a_batch_has_the_bits_of_the_row_alone(rows in 2_usize..300, seed: u64) {
        let (inputs, outputs) = (96, 150);
        let (_, weights) = rounded(outputs, inputs, seed);
        let (x, bias) = (numbers(rows * inputs, seed ^ 1), numbers(outputs, seed ^ 2));
        for bits in [Bits::Eight, Bits::Sixteen] {
            let batch = product(&weights, &x, &bias, bits, Kernel::best());
            let row = seed as usize % rows;
            let alone =
                product(&weights, &x[row * inputs..][..inputs], &bias, bits, Kernel::best());
            prop_assert_eq!(&batch[row * outputs..][..outputs], &alone[..]);
        }
    }
}

#[test]
fn large_products_are_cut_into_parts_and_finished_once() {
    let (inputs, outputs) = (128, 1000);
    let (floats, weights) = rounded(outputs, inputs, 3);
    for rows in [1, 40, 500] {
        let (x, bias) = (numbers(rows * inputs, 4), numbers(outputs, 5));
        let want = exact(&x, &floats, &bias, inputs);
        let rows = Rows::new(&x, inputs, Bits::Sixteen, Kernel::best());
        let mut got = vec![f32::NAN; want.len()];
        weights.product(&rows, &bias, &mut got, &|part| {
            for v in part {
                *v = *v * 2.0 + 1.0;
            }
        });
        for (got, want) in got.iter().zip(&want) {
            assert!((f64::from(*got) - (want * 2.0 + 1.0)).abs() < 0.02, "{got} {want}");
        }
    }
}

#[test]
fn the_largest_sums_do_not_overflow() {
    let inputs = 65_536;
    let weights = Weights::new(&vec![-128; inputs], &[1.0], inputs);
    for (x, bits) in
        [(1.0, Bits::Eight), (-1.0, Bits::Eight), (1.0, Bits::Sixteen), (-1.0, Bits::Sixteen)]
    {
        for kernel in Kernel::available() {
            let got = product(&weights, &vec![x; inputs], &[0.0], bits, kernel)[0];
            let want = -128.0 * inputs as f32 * x;
            assert!((got - want).abs() <= want.abs() * 1e-4, "{kernel:?} {bits:?}: {got} {want}");
        }
    }
}

#[test]
fn what_is_not_finite_stays_so_in_its_own_row() {
    let (_, weights) = rounded(5, 8, 1);
    let mut x = numbers(24, 2);
    x[9] = f32::NAN;
    x[17] = f32::INFINITY;
    for kernel in Kernel::available() {
        for bits in [Bits::Eight, Bits::Sixteen] {
            let got = product(&weights, &x, &[0.0; 5], bits, kernel);
            assert!(got[..5].iter().all(|v| v.is_finite()));
            assert!(got[5..].iter().all(|v| !v.is_finite()));
        }
    }
}

#[test]
fn zeros_and_tiny_rows_give_the_bias() {
    let (_, weights) = rounded(5, 8, 1);
    let bias = [1.0, 2.0, 3.0, 4.0, 5.0];
    for kernel in Kernel::available() {
        for x in [0.0, -0.0, f32::MIN_POSITIVE, f32::from_bits(1)] {
            let got = product(&weights, &[x; 8], &bias, Bits::Sixteen, kernel);
            assert!(got.iter().zip(bias).all(|(got, b)| (got - b).abs() < 1e-30), "{got:?}");
        }
    }
}

#[test]
fn integers_are_taken_as_they_are() {
    let values: Vec<i8> = (-64..64).collect();
    let weights = Weights::new(&values, &[0.5], 128);
    let want: i32 = values.iter().map(|&v| i32::from(v) * i32::from(v)).sum();
    for kernel in Kernel::available() {
        let rows = Rows::integers(&values, 2.0, kernel);
        let mut out = [0.0];
        weights.product(&rows, &[0.0], &mut out, &|_| {});
        assert_eq!(out[0], want as f32);
    }
}

#[test]
fn names_lead_back_to_kernels() {
    for kernel in Kernel::available() {
        assert_eq!(Kernel::named(kernel.name()), Some(kernel));
    }
    assert_eq!(Kernel::named("portable"), Some(Kernel::PORTABLE));
    assert_eq!(Kernel::named("mmx"), None);
    assert!(Kernel::available().any(|kernel| kernel == Kernel::best()));
}
