//! How fast each kernel of this machine is, beside rten's f32 product in the same run.
//!
//!     cargo bench -p cape-kernels --bench products [-- coded]
//!
//! `coded` leaves out all but the coded weights of chat models.

use std::time::Instant;

use cape_kernels::{Bits, Coded, CodedRows, CodedWeights, Coding, Kernel, Rows, Weights};
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_tensor::NdTensorView;

/// Rows, inputs and outputs: a base model on 24 copies of 24 tokens, the default model on one
/// prompt, its decoder.
const SHAPES: [[usize; 3]; 7] = [
    [576, 768, 768],
    [576, 768, 3072],
    [576, 3072, 768],
    [26, 768, 768],
    [26, 768, 3072],
    [26, 3072, 768],
    [1, 768, 30522],
];

/// The same for coded weights: a chat model on some prompts, on the last tokens of 24, and on one token.
const CODED_SHAPES: [[usize; 3]; 5] =
    [[600, 1536, 8960], [600, 8960, 1536], [24, 1536, 8960], [24, 8960, 1536], [1, 1536, 8960]];

fn main() {
    if std::env::args().all(|arg| arg != "coded") {
        products();
    }
    coded_products();
}

fn coded_products() {
    println!("\nbillions of multiplications a second, weights of a GGUF file");
    println!("| rows × inputs × outputs | kernel | Q4_K | Q6_K |");
    println!("|---|---|---|---|");
    for [rows, inputs, outputs] in CODED_SHAPES {
        let x: Vec<f32> = (0..rows * inputs).map(|i| (i as f32 * 0.37).sin()).collect();
        let (mut out, bias) = (vec![0.0; rows * outputs], vec![0.0; outputs]);
        let weights = [Coding::Four, Coding::Six].map(|coding| {
            CodedWeights::new(coding, outputs, inputs, |output, at| Coded {
                codes: std::array::from_fn(|i| ((output + at) * 31 + i * 7) as u8 % 16),
                scales: [40; 16],
                offsets: [20; 16],
                scale: 1e-3,
                offset: 1e-3,
            })
        });
        for kernel in Kernel::available() {
            let [four, six] = weights.each_ref().map(|weights| {
                let seconds = best(|| {
                    let rows = CodedRows::new(&x, inputs, kernel);
                    weights.product(&rows, &bias, &mut out, &|_| {});
                });
                (rows * inputs * outputs) as f64 / seconds / 1e9
            });
            let name = kernel.name();
            println!("| {rows} × {inputs} × {outputs} | {name} | {four:.0} | {six:.0} |");
        }
    }
}

fn products() {
    println!("billions of multiplications a second (and how many times rten's f32)");
    println!("| rows × inputs × outputs | rten f32 | kernel | 16 bits | 8 bits |");
    println!("|---|---|---|---|---|");
    for [rows, inputs, outputs] in SHAPES {
        let numbers = |n: usize| (0..n).map(|i| (i as f32 * 0.37).sin()).collect::<Vec<f32>>();
        let (x, w) = (numbers(rows * inputs), numbers(outputs * inputs));
        let mut out = vec![0.0; rows * outputs];
        let bias = vec![0.0; outputs];
        let speed = |seconds: f64| (rows * inputs * outputs) as f64 / seconds / 1e9;
        let gemm = GemmExecutor::new();
        let packed =
            gemm.prepack_b(NdTensorView::from_data([outputs, inputs], &w[..]).transposed());
        let f32 = speed(best(|| {
            let x = NdTensorView::from_data([rows, inputs], &x[..]);
            gemm.gemm(
                &mut out,
                GemmInputA::Unpacked(x),
                GemmInputB::Packed(&packed),
                GemmOptions::default(),
            )
            .expect("sizes agree");
        }));
        let weights = Weights::rounded(&w, inputs);
        for kernel in Kernel::available() {
            let [sixteen, eight] = [Bits::Sixteen, Bits::Eight].map(|bits| {
                speed(best(|| {
                    let rows = Rows::new(&x, inputs, bits, kernel);
                    weights.product(&rows, &bias, &mut out, &|_| {});
                }))
            });
            println!(
                "| {rows} × {inputs} × {outputs} | {f32:.0} | {} | {sixteen:.0} ({:.2}) | {eight:.0} ({:.2}) |",
                kernel.name(),
                sixteen / f32,
                eight / f32,
            );
        }
    }
}

/// The shortest of many repetitions, in seconds.
fn best(mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < 0.4 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}
