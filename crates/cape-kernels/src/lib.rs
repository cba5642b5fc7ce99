//! Integer matrix products for device models: `y = x·Wᵀ + b` with weights of 8 bits and activations
//! of 8 or 16 bits.
//!
//! Weights have one scale per output, activations one scale per row, found when the row is rounded.
//! Products and sums are integers, so each [`Kernel`] (AMX, AVX-512 VNNI, AVX2, portable) gives the same
//! bits, and a row gives the same bits alone as in a batch. [`CodedWeights`] are the weights of chat models, as GGUF
//! files code them. [`Attention`] and [`LastRow`] are computed in f32.
//!
//! ```
//! use cape_kernels::{Bits, Kernel, Rows, Weights};
//!
//! let weights = Weights::rounded(&[1.0, 2.0, -3.0, 0.5], 2); // two outputs of two inputs
//! let rows = Rows::new(&[10.0, 20.0], 2, Bits::Sixteen, Kernel::best());
//! let mut y = [0.0; 2];
//! weights.product(&rows, &[0.0, 100.0], &mut y, &|_| {});
//! assert!((y[0] - 50.0).abs() < 0.2 && (y[1] - 80.0).abs() < 0.2);
//! ```

mod attention;
mod blocks;
mod dispatch;
mod head;
mod kernel;
mod last_row;
mod packing;
mod plain;
mod product;
mod rows;
mod weights;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use attention::{Attention, Bias};
pub use blocks::{BLOCK, Coded, CodedRows, CodedWeights, Coding};
pub use kernel::Kernel;
pub use last_row::LastRow;
pub use plain::Bits;
pub use rows::Rows;
pub use weights::{Weights, rounded};
